import { ask, cell, changes, count, element, listen, reportAddress, short, token, verdict, when } from "./common.js";
import { Chart, latency, loads, rates } from "./charts.js";

const place = (id) => document.getElementById(id);
const key = new URLSearchParams(location.search).get("run") || "";
const MOST_ROWS = 2000;
let rows = [];
let current = null;
const loadChart = new Chart(place("loads"), loads());
const liveCharts = new Map();

function facts(run) {
  const pairs = [
    ["Test", `${run.test} (${run.section})`], ["Topology", run.topology], ["Target", run.target],
    ["Frame sizes", `${run.sizes.join(", ")} B`], ["Started", `${when(run.started_utc)} UTC`],
    ["Directory", run.name], ...Object.entries(run.notes),
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
  place("stop").hidden = !(token() && run.state === "running");
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
      const numbers = element("p", { class: "numbers" });
      const box = element("div", { data: { trial: name } }, element("h3", {}, `${trial.unit}, trial ${trial.trial}: ${trial.label}`), numbers,
        element("div", { class: "charts" },
          element("figure", {}, element("figcaption", {}, "Rates"), first),
          element("figure", {}, element("figcaption", {}, "Latency"), second)));
      place("live").append(box);
      shown = { box, numbers, rates: new Chart(first, rates()), latency: new Chart(second, latency()) };
      liveCharts.set(name, shown);
    }
    const points = changes(trial.looks);
    const last = points.at(-1);
    const look = trial.looks.at(-1);
    const parts = [`${short(look.at_ns / 1e9)} s of ${short(trial.duration_ns / 1e9)} s`, `${count(look.tx_frames)} frames sent`, `${count(look.rx_frames)} received`];
    if (last) parts.push(`${count(Math.round(last.tx))} frames/s sent`, `${count(Math.round(last.rx))} frames/s received`);
    if (last && last.mean !== null) parts.push(`mean latency ${short(last.mean)} us`);
    shown.numbers.textContent = parts.join("; ");
    shown.rates.show(points);
    shown.latency.show(points);
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
  const micro = (value) => (value === null ? "-" : short(value / 1000));
  return element("tr", {},
    cell(trial.unit), cell(String(trial.trial), true), cell(short(trial.load_pct, 7), true), cell(trial.verdict),
    cell(count(trial.tx_frames), true), cell(count(trial.lost_frames), true), cell(short(loss), true),
    cell(micro(trial.latency_ns_avg), true), cell(micro(trial.latency_ns_max), true), cell(trial.reason));
}

function trials(data) {
  if (data.complete) {
    rows = [];
    place("trials").replaceChildren();
  }
  const fresh = data.rows.map((trial, index) => ({ ...trial, number: data.first + index + 1 }));
  rows = [...rows, ...fresh].slice(-MOST_ROWS);
  place("trials").prepend(...fresh.map(trialRow).reverse());
  while (place("trials").rows.length > MOST_ROWS) place("trials").lastElementChild.remove();
  const left = data.total - rows.length;
  place("count").textContent = `${count(data.total)} trials${left > 0 ? `; the last ${count(rows.length)} are shown` : ""}`;
  if (fresh.length || data.complete) loadChart.show(rows);
}

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
    trials(data);
    files(data);
  },
  gone: (_, source) => {
    source.close();
    place("connection").textContent = "this run is gone";
  },
});

place("stop").addEventListener("click", async () => {
  try {
    await ask("/control/stop", { run: current.key });
    place("answer").textContent = "The run was told to stop; the same command resumes it.";
  } catch (error) {
    place("answer").textContent = error.message;
  }
});
