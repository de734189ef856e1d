import { cell, changes, count, decimals, element, explained, listen, progress, reportAddress, short, stopButton, token, verdict, when } from "./common.js";
import { Chart, latency, loads, rates } from "./charts.js";

const place = (id) => document.getElementById(id);
const key = new URLSearchParams(location.search).get("run") || "";
const PAGE_ROWS = 200;
let current = null;
const loadChart = new Chart(place("loads"), loads());
const liveCharts = new Map();

function facts(run) {
  const pairs = [
    ["Test", `${run.test} (${run.section})`], ["Topology", run.topology], ["Target", run.target],
    ["Frame sizes", run.sizes], ["Started", `${when(run.started_utc)} UTC`],
    ["Directory", run.name], ...Object.entries(run.notes).map(([name, text]) => [name.replaceAll("_", " "), text]),
  ];
  place("facts").replaceChildren(...pairs.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function head(run) {
  document.title = `P4Mesh: ${run.title || run.name}`;
  place("title").textContent = run.title || run.name;
  place("verdict").replaceChildren(verdict(run.verdict || { tone: run.state === "running" ? "neutral" : "idle", text: run.state }));
  place("subtitle").textContent = `${run.section} on ${run.topology}`;
  place("outcome").textContent = run.problem || run.outcome;
  place("links").replaceChildren(...(run.state === "finished" ? [element("a", { href: reportAddress(run.key) }, "Report")] : []));
  const button = stopButton(run, (text) => { place("answer").textContent = text; });
  place("stop").replaceChildren(...(token() && run.state === "running" ? [button] : []));
  place("progress").hidden = !run.progress;
  place("progress").replaceChildren(...progress(run));
  place("findings").replaceChildren(...(run.findings.length ? [element("div", { class: "list bad" },
    element("h3", {}, "Findings"), element("ul", {}, ...run.findings.map((text) => element("li", {}, text))))] : []));
}

function traffic(run) {
  place("traffic").hidden = run.live.length === 0;
  const present = new Set();
  for (const trial of run.live) {
    const name = `${trial.unit} ${trial.trial}`;
    present.add(name);
    let shown = liveCharts.get(name);
    if (!shown) {
      const [first, second] = [element("div", { class: "drawing" }), element("div", { class: "drawing" })];
      const figures = [["Rates", first], ["Latency", second]].map(([title, drawing]) =>
        element("figure", { hidden: true }, element("figcaption", {}, title), drawing));
      const numbers = element("p", { class: "numbers" });
      const box = element("div", { data: { trial: name } }, element("h3", {}, `${trial.unit}, trial ${trial.trial}: ${trial.label}`), numbers,
        element("div", { class: "charts" }, ...figures));
      place("live").append(box);
      shown = { box, numbers, figures, rates: new Chart(first, rates()), latency: new Chart(second, latency()) };
      liveCharts.set(name, shown);
    }
    const points = changes(trial.looks);
    const last = points.at(-1);
    const look = trial.looks.at(-1);
    const parts = [`${short(look.at_ns / 1e9)} s of ${short(trial.duration_ns / 1e9)} s`, `${count(look.tx_frames)} frames sent`, `${count(look.rx_frames)} received`];
    if (last) parts.push(`${count(Math.round(last.tx))} frames/s sent`, `${count(Math.round(last.rx))} frames/s received`);
    if (last && last.mean !== null) parts.push(`mean latency ${short(last.mean)} us`);
    shown.numbers.textContent = parts.join("; ");
    // No empty axes: a trial that reads no latencies has no figure of them.
    const latencies = points.filter((point) => point.max !== null);
    [points, latencies].forEach((rows, index) => { shown.figures[index].hidden = rows.length === 0; });
    if (points.length) shown.rates.show(points);
    if (latencies.length) shown.latency.show(latencies);
  }
  for (const [name, shown] of liveCharts) {
    if (!present.has(name)) {
      shown.box.remove();
      liveCharts.delete(name);
    }
  }
}

function trialRow(trial) {
  const loss = trial.expected_rx_frames ? (100 * trial.lost_frames) / trial.expected_rx_frames : NaN;
  const micro = (value) => (value === null ? "-" : decimals(value / 1000, 3));
  return element("tr", { class: trial.number === trials.marked ? "marked" : "" },
    cell(count(trial.number), true), cell(trial.unit), cell(count(trial.trial), true), cell(short(trial.load_pct, 7), true), cell(trial.verdict),
    cell(count(trial.tx_frames), true), cell(count(trial.lost_frames), true), cell(short(loss), true),
    cell(micro(trial.latency_ns_avg), true), cell(micro(trial.latency_ns_max), true), cell(trial.reason));
}

// A page of trials: those from place `first` on, or the newest ones. The rest stays on the server until it is asked for.
const trials = { rows: [], first: 0, total: 0, generation: -1, follows: true, marked: 0, isShown: true, isLoading: false, isStale: false };

async function load() {
  if (trials.isLoading) {
    trials.isStale = true;
    return;
  }
  trials.isLoading = true;
  do {
    trials.isStale = false;
    const wanted = trials.follows ? Math.max(0, current.total - PAGE_ROWS) : trials.first;
    try {
      const answer = await fetch(`/runs/${encodeURIComponent(key)}/trials?first=${wanted}&most=${PAGE_ROWS}`);
      if (!answer.ok) throw new Error(explained(await answer.text()));
      const found = await answer.json();
      Object.assign(trials, { rows: found.rows, first: wanted, total: found.total, generation: found.generation });
      showTrials();
    } catch (error) {
      place("count").textContent = `trials cannot be read: ${error.message}`;
    }
  } while (trials.isStale);
  trials.isLoading = false;
}

function showTrials() {
  place("trials").replaceChildren(...trials.rows.map(trialRow).reverse());
  loadChart.show(trials.rows);
  showPlace();
  if (!trials.isShown) place("trials").querySelector(".marked")?.scrollIntoView({ block: "nearest" });
  trials.isShown = true;
}

function showPlace() {
  const { rows, first, total } = trials;
  place("count").textContent = rows.length === 0 ? "No trial has ended yet."
    : rows.length === total ? `${count(total)} trials` : `Trials ${count(first + 1)} to ${count(first + rows.length)} of ${count(total)}, the latest first`;
  place("pages").hidden = rows.length === total;
  place("older").disabled = first === 0;
  place("newer").disabled = place("newest").disabled = first + rows.length >= total;
  place("number").max = total;
}

function turnTo(first) {
  trials.first = Math.max(0, first);
  trials.follows = trials.first + PAGE_ROWS >= trials.total;
  load();
}

function turn(pages) {
  trials.marked = 0;
  turnTo(trials.first + pages * PAGE_ROWS);
}

place("older").addEventListener("click", () => turn(-1));
place("newer").addEventListener("click", () => turn(1));
place("newest").addEventListener("click", () => turn(Infinity));
place("pages").addEventListener("submit", (event) => {
  event.preventDefault();
  trials.marked = place("number").valueAsNumber;
  trials.isShown = false;
  turnTo(trials.marked - PAGE_ROWS / 2);
});

function samples(data) {
  place("classes").hidden = data.samples.length === 0;
  place("samples").replaceChildren(...data.samples.map((sample) => element("tr", {},
    cell(sample.unit), cell(sample.name), cell(short(Number(sample.at_s), 6), true),
    ...["tx_frames", "rx_frames", "lost_frames", "reordered_frames"].map((name) => cell(count(Number(sample[name])), true)))));
}

function files(data) {
  place("kept").hidden = data.files.length === 0;
  place("files").replaceChildren(...data.files.map((name) => element("li", {},
    element("a", { href: `/runs/${encodeURIComponent(key)}/files/${encodeURIComponent(name)}` }, name))));
}

listen(`/events?run=${encodeURIComponent(key)}`, {
  run: (data) => {
    current = data;
    head(data);
    facts(data);
    traffic(data);
    samples(data);
    files(data);
    const isOther = data.generation !== trials.generation;
    if (isOther || (data.total !== trials.total && (trials.follows || trials.rows.length < PAGE_ROWS))) load();
    else if (data.total !== trials.total) {
      trials.total = data.total;
      showPlace();
    }
  },
  gone: (_, source) => {
    source.close();
    place("connection").textContent = "this run is gone";
  },
});
