"""Arguments of every command. Each command has the function that carries it out, as ``handler``."""

from __future__ import annotations

import argparse

from p4mesh.argument_parser import Parser
from p4mesh.cli import commands
from p4mesh.cli.run_arguments import add_option
from p4mesh.numerals import integer
from p4mesh.otg.options import DEFAULT_TOPOLOGY, GRPC, HTTP
from p4mesh.target.names import SIMULATED, TARGET_NAMES
from p4mesh.version import __version__


def parser() -> Parser:
    """The parser of the whole command line."""
    whole = Parser(prog="p4mesh", description="A network tester made from a programmable switch.")
    whole.add_argument("--version", action="version", version=f"p4mesh {__version__}")
    whole.add_argument("--debug", action="store_true", help="show a traceback with an error")
    added = whole.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, help: str, example: str) -> argparse.ArgumentParser:
        return added.add_parser(name, help=help, epilog=f"Example: p4mesh {name} {example}".rstrip())

    # In the order in which somebody meets them: a run and its results, what there is, the page, networks and tools.
    _init(command("init", "write a run file with comments", "lab.yaml --topology wrs-18x1g"))
    _run(command("run", "run a test and write a run directory", "rfc2544.throughput --topology wrs-18x1g --sizes 64"))
    _traffic(
        command(
            "traffic",
            "send the traffic of a file of your own, judged class by class",
            "traffic/three-classes.yaml --topology wrs-18x1g",
        )
    )
    _show(command("show", "print the result tables of a finished run", "runs/lab-20261102-101500"))
    _report(
        command(
            "report",
            "write the report of a run or of a suite as a page or as PDF",
            "runs/lab-20261102-101500 --pdf a.pdf",
        )
    )
    _compare(
        command(
            "compare",
            "compare runs of the same test: differences, and whether they may be chance",
            "runs/before runs/after --html compare.html",
        )
    )
    _export(
        command("export", "write the results of a run or of a suite for other programs", "runs/before --format junit")
    )
    _runs(command("runs", "list past runs with their verdicts", "runs"))
    _listing(command("tests", "list the tests, or show one with its parameters", "--search 'head of line'"))
    _doctor(command("doctor", "say what works on this machine and how to mend the rest", "--target live"))
    _serve(command("serve", "show runs in a browser while they go on, and compare past ones", "runs --control"))
    _otg(
        command(
            "otg",
            "serve the Open Traffic Generator API to scripts, such as those that use snappi",
            "--topology back-to-back --time fast",
        )
    )
    _topology(command("topology", "work with topology files", "check lab.yaml"))
    _net(
        command(
            "net", "build networks of Linux parts from topologies, for live, bmv2 and other programs", "up lab.yaml"
        )
    )
    added.add_parser("switch", help="serve P4Runtime over the embedded engine", add_help=False)
    _calibrate(command("calibrate", "measure wires between tester ports", "--topology back-to-back --out wires.json"))
    _import_xena(
        command("import-xena", "make a run file of a file of Xena2544 or Xena2889", "lab.x2889 --run-out lab.yaml")
    )
    _clab(
        command("clab", "make the files of a tester in a container lab", "frr.clab.yml --node tester --out frr-p4mesh")
    )
    _completion(command("completion", "print what makes a shell complete the words of commands", "bash"))
    return whole


def _run(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measures what is not on disk yet, stores it, and shows the results. Options come before what a run file says."
    )
    parser.add_argument(
        "test",
        metavar="TEST",
        help="test or suite that 'p4mesh tests' lists, or a run file such as 'p4mesh init' writes",
    )
    for name in ("topology", "sizes", "ports", "settings", "target", "interfaces", "device"):
        add_option(parser, name)
    for name in ("access", "calibration", "notes"):
        add_option(parser, name)
    for name in ("capture_frames", "out", "jobs", "workers", "require_all", "allow_hooks"):
        add_option(parser, name)
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")
    parser.set_defaults(handler=commands.run)


def _traffic(parser: argparse.ArgumentParser) -> None:
    parser.description = "Sends the classes of a traffic file (docs/TRAFFIC.md) and judges each of them."
    parser.add_argument("test", metavar="SPEC", help="traffic file, for example traffic/*.yaml")
    add_option(parser, "topology")
    how = "set a key of a class, such as dm.rate='10 %%', or of the file, such as duration_s=1"
    add_option(parser, "settings", metavar="CLASS.KEY=VALUE", help=how)
    add_option(parser, "target", default=SIMULATED)
    for name in ("interfaces", "device", "access", "notes", "capture_frames", "out"):
        add_option(parser, name)
    add_option(parser, "jobs", help="worker processes, at most one per run of a sweep")
    add_option(parser, "workers")
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")
    parser.add_argument("--watch", action="store_true", help="show the samples of each class while traffic runs")
    parser.set_defaults(handler=commands.traffic)


def _calibrate(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures the wires of a topology and stores them, beside those measured before."
    cabled = "tester ports cabled to each other in pairs; on a Tofino with BF Runtime any, as its MACs keep departures"
    add_option(parser, "topology", required=True, help=cabled)
    add_option(parser, "sizes", help="frame sizes in bytes with FCS; default: those of RFC 2544")
    for name in ("load_pct", "target", "interfaces", "access"):
        add_option(parser, name)
    wires = "calibration file; wires are appended to those that are in it"
    add_option(parser, "out", metavar="FILE", required=True, help=wires)
    _json(parser)
    parser.set_defaults(handler=commands.calibrate)


def _listing(parser: argparse.ArgumentParser) -> None:
    parser.description = "Lists the tests; shows one with its parameters, their units, defaults, ranges and clauses."
    parser.add_argument("name", metavar="NAME", nargs="?", help="test or suite; default: all tests")
    parser.add_argument("--search", metavar="WORDS", help="show only tests and parameters that have these words")
    _json(parser)
    parser.set_defaults(handler=commands.tests)


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR")
    _json(parser)
    parser.set_defaults(handler=commands.show)


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.description = "Compares finished runs of one test; the first one is the reference."
    parser.add_argument("directories", metavar="DIR", nargs="+")
    parser.add_argument("--html", metavar="FILE", help="write a page with tables and figures there")
    parser.add_argument("--pdf", metavar="FILE", help="write the same as PDF there")
    _json(parser)
    parser.set_defaults(handler=commands.compare)


def _export(parser: argparse.ArgumentParser) -> None:
    parser.description = "Writes results in a form that docs/RESULTS.md describes; CSV is in every run directory."
    parser.add_argument("directory", metavar="DIR")
    formats = ("hdr", "json", "junit", "parquet", "prometheus", "xena")
    parser.add_argument("--format", choices=formats, required=True, help="format to write")
    parser.add_argument("--out", metavar="PATH", help="file, for Parquet and Xena a directory; default: in DIR")
    _json(parser)
    parser.set_defaults(handler=commands.export)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def _report(parser: argparse.ArgumentParser) -> None:
    parser.description = "Writes the page of a finished run or suite, or a PDF with the same content, or both."
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument(
        "--html", metavar="FILE", help="write the page there; default without --pdf: report.html in DIR"
    )
    parser.add_argument("--pdf", metavar="FILE", help="write the PDF there")
    parser.add_argument("--annex", action="store_true", help="let the PDF have long tables, all trials and files, too")
    _json(parser)
    parser.set_defaults(handler=commands.report)


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.description = "Serves a live page of the runs below DIR on 127.0.0.1, until it is interrupted."
    parser.add_argument("directory", metavar="DIR", nargs="?", default="runs", help="default: runs")
    parser.add_argument("--port", metavar="N", type=integer, default=8642, help="default: 8642; 0 takes a free one")
    parser.add_argument(
        "--control",
        action="store_true",
        help="let users with the token start and stop runs; it is new each time, unless P4MESH_SERVE_TOKEN sets it",
    )
    parser.add_argument(
        "--topologies",
        metavar="DIR",
        help="what --control can choose from; default: those that come with P4Mesh",
    )
    parser.add_argument("--run-files", metavar="DIR", help="run files that --control can choose from; default: none")
    parser.add_argument("--json", action="store_true", help="print where the page is as one JSON document on stdout")
    parser.set_defaults(handler=commands.serve)


def _otg(parser: argparse.ArgumentParser) -> None:
    parser.description = "Serves the Open Traffic Generator API over HTTP and gRPC until it is interrupted."
    own = f"test set-up whose ports the clients have (default: {DEFAULT_TOPOLOGY}, or the --interfaces)"
    parser.add_argument("--topology", metavar="FILE", help=own)
    others = "folder of topologies that clients can name: p4mesh://TOPOLOGY/PORT; default: those that come with P4Mesh"
    parser.add_argument("--topologies", metavar="DIR", help=others)
    add_option(parser, "target", default=SIMULATED)
    for name in ("interfaces", "access"):
        add_option(parser, name)
    parser.add_argument(
        "--time",
        choices=("wall", "fast"),
        default="wall",
        help="how virtual time passes: with the wall clock, or while clients wait and poll (default: wall)",
    )
    parser.add_argument("--http", metavar="ADDRESS:PORT", default=HTTP, help=f"default: {HTTP}")
    parser.add_argument("--grpc", metavar="ADDRESS:PORT", default=GRPC, help=f"default: {GRPC}")
    parser.add_argument("--tls-certificate", metavar="FILE", help="certificate of the server in PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="the key of the certificate in PEM")
    parser.add_argument("--json", action="store_true", help="print where the API is as one JSON document on stdout")
    parser.set_defaults(handler=commands.otg)


def _topology(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    check = actions.add_parser("check", help="validate a topology file")
    check.add_argument("file", metavar="FILE")
    _json(check)
    check.set_defaults(handler=commands.topology_check)
    drawing = actions.add_parser("draw", help="draw a topology as SVG, to standard output")
    drawing.add_argument("file", metavar="FILE")
    _json(drawing)
    drawing.set_defaults(handler=commands.topology_draw)


def _init(parser: argparse.ArgumentParser) -> None:
    parser.description = "Writes a run file, and a topology beside it where none is named. No file is overwritten."
    parser.add_argument("file", metavar="FILE", nargs="?", default="p4mesh.yaml", help="default: p4mesh.yaml")
    parser.add_argument("--topology", metavar="FILE", help="test set-up of the run; default: a simulated switch")
    parser.add_argument("--test", dest="tests", metavar="TEST", action="append", help="test that the file runs")
    _json(parser)
    parser.set_defaults(handler=commands.init)


def _import_xena(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes a topology and a run file, and names what has no place in them where the measurement differs for it."
    )
    parser.add_argument("file", metavar="FILE", help="configuration that ends in .x2544, .v2544, .x2889 or .v2889")
    parser.add_argument("--topology-out", metavar="FILE", help="default: NAME-topology.yaml, NAME that of the file")
    parser.add_argument("--run-out", metavar="FILE", help="default: NAME.yaml")
    parser.add_argument("--all", action="store_true", help="list every value that has no place, with the reason")
    _json(parser)
    parser.set_defaults(handler=commands.import_xena)


def _clab(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes a topology and a run file for the tester of a containerlab file, and prints what the lab needs for it."
    )
    parser.add_argument("file", metavar="FILE", help="lab file that ends in .clab.yml")
    tester = (
        "node that is the tester; default: the one with the image p4mesh, the label p4mesh: tester, or the name tester"
    )
    parser.add_argument("--node", metavar="NAME", help=tester)
    behind = "what is at its links; default: a switch where there are bridges alone, else a router"
    parser.add_argument("--device", choices=("router", "switch"), help=behind)
    parser.add_argument(
        "--out", metavar="DIR", help="folder of both files; default: p4mesh-NAME beside FILE, NAME.clab.yml"
    )
    _json(parser)
    parser.set_defaults(handler=commands.clab)


def _runs(parser: argparse.ArgumentParser) -> None:
    parser.description = "Lists the runs in a folder, newest first. Damaged ones are named."
    parser.add_argument("folder", metavar="DIR", nargs="?", default="runs", help="folder with runs; default: runs")
    _json(parser)
    parser.set_defaults(handler=commands.runs)


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.description = "Prints a script for the shell; docs/RUN_FILES.md says where it goes."
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    _json(parser)
    parser.set_defaults(handler=commands.completion)


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = "Looks at what each target needs. Exits with 3 where the target, by default sim, cannot run."
    parser.add_argument("--target", choices=TARGET_NAMES, help="look at what this target needs; default: all of them")
    parser.add_argument("--topology", metavar="FILE", help="the set-up to look at; tofino needs it for its switch")
    _json(parser)
    parser.set_defaults(handler=commands.doctor)


def _net(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    up = actions.add_parser("up", help="build the network of a topology; it stays until 'net down'")
    up.add_argument("file", metavar="FILE")
    _json(up)
    up.set_defaults(handler=commands.net_up)
    down = actions.add_parser("down", help="remove the network of a topology")
    down.add_argument("file", metavar="FILE")
    _json(down)
    down.set_defaults(handler=commands.net_down)
    status = actions.add_parser("status", help="show the networks that are up, with their namespaces and interfaces")
    _json(status)
    status.set_defaults(handler=commands.net_status)
    clean = actions.add_parser("clean", help="remove what killed commands have left; what is in use stays")
    _json(clean)
    clean.set_defaults(handler=commands.net_clean)
