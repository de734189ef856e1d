import { ask, cell, changes, count, element, listen, reportAddress, runAddress, short, token, verdict, when } from "./common.js";

const runs = new Map();
const chosen = new Set();
const place = (id) => document.getElementById(id);

function words(run) {
  return [run.name, run.test, run.title, run.topology, run.target, run.outcome, ...Object.values(run.notes)]
    .join(" ").toLowerCase();
}

function card(run) {
  const trial = run.live.at(-1);
  const now = trial ? changes(trial.looks).at(-1) : undefined;
  const numbers = [`${count(run.trials)} trials done`];
  if (trial) numbers.push(trial.label);
  if (now) numbers.push(`${count(Math.round(now.tx))} frames/s sent`, `${count(Math.round(now.rx))} frames/s received`);
  if (now && now.mean !== null) numbers.push(`latency ${short(now.mean)} us`);
  const made = element("div", { class: "card", data: { run: run.key } },
    element("p", {}, element("a", { href: runAddress(run.key) }, run.title || run.name), ` on ${run.topology}, ${run.target}`),
    element("p", { class: "name note" }, run.name),
    element("div", { class: "numbers" }, ...numbers.map((text) => element("span", {}, text))));
  if (token()) made.append(stopButton(run));
  return made;
}

function stopButton(run) {
  const button = element("button", { type: "button", class: "danger" }, "Stop");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await ask("/control/stop", { run: run.key });
    } catch (error) {
      place("answer").textContent = error.message;
      button.disabled = false;
    }
  });
  return button;
}

function row(run) {
  const box = element("input", { type: "checkbox", checked: chosen.has(run.key), ariaLabel: `compare ${run.name}` });
  box.disabled = run.state !== "finished";
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(run.key);
    else chosen.delete(run.key);
    tellChosen();
  });
  const result = element("td");
  if (run.verdict) result.append(verdict(run.verdict));
  else result.append(verdict({ tone: "idle", text: run.state }));
  if (run.problem) result.append(" ", element("span", { class: "problem" }, run.problem));
  const report = element("td");
  if (run.state === "finished") report.append(element("a", { href: reportAddress(run.key) }, "report"));
  if (run.state === "finished" && run.suite) report.append(", ", element("a", { href: reportAddress(run.suite) }, "suite"));
  return element("tr", { data: { run: run.key } },
    element("td", {}, box),
    element("td", { class: "name" }, element("a", { href: runAddress(run.key) }, run.name)),
    element("td", { class: "name" }, run.title || run.test), element("td", { class: "name" }, run.notes.device || run.topology), cell(run.target), result,
    cell(count(run.trials), true), cell(when(run.started_utc)), report);
}

function tellChosen() {
  const tests = new Set([...chosen].map((key) => runs.get(key)?.test));
  const fits = chosen.size >= 2 && tests.size === 1;
  place("compare").disabled = !fits;
  place("chosen").textContent = chosen.size === 0 ? "" : tests.size > 1
    ? "Choose runs of one test: others cannot be compared." : `${chosen.size} chosen`;
}

function show() {
  const wanted = place("filter").value.trim().toLowerCase();
  const all = [...runs.values()].sort((a, b) => b.started_utc.localeCompare(a.started_utc) || a.name.localeCompare(b.name));
  const running = all.filter((run) => run.state === "running");
  const past = all.filter((run) => run.state !== "running");
  place("now").replaceChildren(...running.map(card));
  place("idle").hidden = running.length > 0;
  place("past").replaceChildren(...past.filter((run) => words(run).includes(wanted)).map(row));
  place("none").hidden = past.length > 0;
  for (const key of chosen) if (!runs.has(key)) chosen.delete(key);
  tellChosen();
}

listen("/events", {
  runs: (data) => {
    if (data.complete) runs.clear();
    for (const run of data.runs) runs.set(run.key, run);
    for (const key of data.gone) runs.delete(key);
    show();
  },
});
place("filter").addEventListener("input", show);
place("compare").addEventListener("click", () => {
  const query = new URLSearchParams([...chosen].map((key) => ["run", key]));
  location.href = `/compare?${query}`;
});

function options(name, values) {
  const list = document.forms.start.elements[name];
  if (list.options.length === 0) list.replaceChildren(...values.map((value) => element("option", { value }, value)));
}

async function offer() {
  const found = await ask("/control");
  options("test", found.tests);
  options("topology", found.topologies);
  options("target", found.targets);
  place("control").hidden = false;
  const ended = found.started.filter((run) => run.exit_code !== null && run.exit_code !== 0);
  place("started").replaceChildren(...ended.map((run) => element("details", {},
    element("summary", {}, `${run.name} ended with exit code ${run.exit_code}`), element("pre", {}, run.said))));
}

document.forms.start.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target.elements;
  const wanted = Object.fromEntries(["test", "topology", "target", "sizes"].map((name) => [name, form[name].value]));
  wanted.settings = form.settings.value.split("\n").map((line) => line.trim()).filter(Boolean);
  try {
    const { name } = await ask("/control/start", wanted);
    place("answer").textContent = `${name} is starting`;
  } catch (error) {
    place("answer").textContent = error.message;
  }
});

if (token()) {
  const again = () => offer().catch((error) => { place("answer").textContent = error.message; });
  again();
  setInterval(again, 3000);
}
