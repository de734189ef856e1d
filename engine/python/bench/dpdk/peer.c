// Runs l3_forward.spec on one core, from frames in memory into nothing: the peer of the engine's forwarding program.
//
//     peer code SPEC CODE                          writes the C code of the pipeline
//     peer run LIBRARY PORTS SECONDS TABLE FILE... prints frames sent and the processor time that they took
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUTPUT = 2, MBUFS = 4095, CACHE = 256, STEPS = 1000000 };

static void need(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static FILE *opened(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    need(file != NULL, path);
    return file;
}

static void install(struct rte_swx_ctl_pipeline *control, const char *table, const char *path)
{
    char line[256];
    FILE *file = opened(path, "r");
    while (fgets(line, sizeof line, file)) {
        int blank = 0;
        struct rte_swx_table_entry *entry = rte_swx_ctl_pipeline_table_entry_read(control, table, line, &blank);
        need(entry && !rte_swx_ctl_pipeline_table_entry_add(control, table, entry), line);
    }
    fclose(file);
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// A sink counts what it takes as dropped.
static uint64_t sent(struct rte_swx_pipeline *pipeline)
{
    struct rte_swx_port_out_stats counts;
    need(!rte_swx_ctl_pipeline_port_out_stats_read(pipeline, OUTPUT, &counts), "reading of counts");
    return counts.n_pkts_drop;
}

static void code(const char *specification, const char *path)
{
    uint32_t line = 0;
    const char *fault = "";
    FILE *file = opened(path, "w");
    if (rte_swx_pipeline_codegen(opened(specification, "r"), file, &line, &fault)) {
        fprintf(stderr, "%s:%u: %s\n", specification, line, fault);
        exit(1);
    }
    fclose(file);
}

static void run(char **argv, int argc)
{
    struct rte_swx_pipeline *pipeline;
    need(rte_pktmbuf_pool_create("FRAMES", MBUFS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY) != NULL, "memory");
    need(!rte_swx_pipeline_build_from_lib(&pipeline, "l3_forward", argv[0], opened(argv[1], "r"), 0), "building");
    struct rte_swx_ctl_pipeline *control = rte_swx_ctl_pipeline_create(pipeline);
    for (int at = 3; at + 1 < argc; at += 2)
        install(control, argv[at], argv[at + 1]);
    need(!rte_swx_ctl_pipeline_commit(control, 1), "installing of entries");
    rte_swx_pipeline_run(pipeline, STEPS);
    uint64_t frames = sent(pipeline);
    double from_s = processor_s(), spent_s = 0;
    while (spent_s < atof(argv[2])) {
        rte_swx_pipeline_run(pipeline, STEPS);
        spent_s = processor_s() - from_s;
    }
    printf("%lu %f\n", (unsigned long)(sent(pipeline) - frames), spent_s);
}

int main(int argc, char **argv)
{
    char *eal[] = {argv[0], "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=4", "-m", "512"};
    need(rte_eal_init(sizeof eal / sizeof *eal, eal) >= 0, "start of DPDK");
    if (argc == 4 && !strcmp(argv[1], "code"))
        code(argv[2], argv[3]);
    else if (argc > 4 && !strcmp(argv[1], "run"))
        run(argv + 2, argc - 2);
    else
        need(0, "reading of arguments");
    return 0;
}
