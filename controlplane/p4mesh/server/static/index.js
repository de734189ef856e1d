import { ask, cell, changes, count, element, listen, progress, reportAddress, runAddress, short, stopButton, token, verdict, when } from "./common.js";

const runs = new Map();
const chosen = new Set();
const FOLLOW_MS = 1000;
const place = (id) => document.getElementById(id);

function words(run) {
  return [run.name, run.test, run.title, run.topology, run.target, run.outcome, ...Object.values(run.notes)]
    .join(" ").toLowerCase();
}

function card(run) {
  const trial = run.live.at(-1);
  const now = trial ? changes(trial.looks).at(-1) : undefined;
  const numbers = trial ? [trial.label] : [];
  if (now) numbers.push(`${count(Math.round(now.tx))} frames/s sent`, `${count(Math.round(now.rx))} frames/s received`);
  if (now && now.mean !== null) numbers.push(`latency ${short(now.mean)} us`);
  const made = element("div", { class: "card", data: { run: run.key } },
    element("p", {}, element("a", { href: runAddress(run.key) }, run.title || run.name), ` on ${run.topology}, ${run.target}`),
    element("p", { class: "name note" }, run.name),
    element("p", { class: "progress" }, ...progress(run)),
    element("div", { class: "numbers" }, ...numbers.map((text) => element("span", {}, text))));
  if (token()) made.append(stopButton(run, tell));
  return made;
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
  return element("tr", { class: run.suite ? "of-suite" : "", data: { run: run.key } },
    element("td", {}, box),
    element("td", { class: "name" }, element("a", { href: runAddress(run.key) }, run.suite ? run.name.split("/").at(-1) : run.name)),
    element("td", { class: "name" }, run.title || run.test), element("td", { class: "name" }, run.notes.device || run.topology), cell(run.target), result,
    cell(run.state === "stopped" && run.progress ? `${count(run.trials)} of ~${count(run.progress.done + run.progress.left)}` : count(run.trials), true), cell(when(run.started_utc)), report);
}

// Runs of one suite stand together below its name, in the order in which they ran.
function groups(runs) {
  const found = new Map();
  for (const run of runs) {
    const group = run.suite || run.key;
    found.set(group, [...(found.get(group) || []), run]);
  }
  return [...found.values()].map((group) => group.sort((a, b) => a.started_utc.localeCompare(b.started_utc) || a.name.localeCompare(b.name)));
}

function suiteName(run) {
  return run.name.split("/").slice(0, -1).join("/") || "this directory";
}

function suiteRow(group) {
  const tests = [...runs.values()].filter((run) => run.suite === group[0].suite);
  const finished = tests.filter((run) => run.state === "finished").length;
  const parts = [`${finished} of ${tests.length} tests that began are finished`];
  const line = element("th", { colSpan: 8, scope: "rowgroup", class: "name" }, `Suite ${suiteName(group[0])}: ${parts}`);
  const report = element("td");
  if (finished === tests.length) report.append(element("a", { href: reportAddress(group[0].suite) }, "report"));
  return element("tr", { class: "suite", data: { suite: group[0].suite } }, line, report);
}

function suiteCards(group) {
  const cards = group.map(card);
  return group[0].suite ? [element("h3", { class: "name" }, `Suite ${suiteName(group[0])}`), ...cards] : cards;
}

function tell(text) {
  place("answer").textContent = text;
}

function tellChosen() {
  const tests = new Set([...chosen].map((key) => runs.get(key)?.test));
  const fits = chosen.size >= 2 && tests.size === 1;
  place("compare").disabled = !fits;
  place("chosen").textContent = chosen.size === 0 ? "" : tests.size > 1
    ? "Choose runs of one test: others cannot be compared." : `${chosen.size} chosen`;
}

function show() {
  const sought = place("filter").value.trim().toLowerCase();
  const all = [...runs.values()].sort((a, b) => b.started_utc.localeCompare(a.started_utc) || a.name.localeCompare(b.name));
  const running = all.filter((run) => run.state === "running");
  const past = all.filter((run) => run.state !== "running");
  place("now").replaceChildren(...starting(), ...groups(running).flatMap(suiteCards));
  place("idle").hidden = place("now").children.length > 0;
  place("past").replaceChildren(...groups(past.filter((run) => words(run).includes(sought))).flatMap((group) =>
    [...(group[0].suite ? [suiteRow(group)] : []), ...group.map(row)]));
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

let begun = [];

// Processes that were started here, and have not written anything yet.
function starting() {
  const names = new Set([...runs.values()].flatMap((run) => [run.name, suiteName(run)]));
  return begun.filter((run) => run.exit_code === null && !names.has(run.name)).map((run) =>
    element("div", { class: "card" }, element("p", { class: "name" }, `${run.name} is starting`)));
}

async function follow() {
  begun = (await ask("/control/started")).started;
  const ended = begun.filter((run) => run.exit_code !== null && run.exit_code !== 0);
  const shown = ended.map((run) => `${run.name} ended with exit code ${run.exit_code}`);
  const known = [...place("started").querySelectorAll("summary")].map((item) => item.textContent);
  if (shown.join("\n") !== known.join("\n")) {
    place("started").replaceChildren(...ended.map((run, index) => element("details", {},
      element("summary", {}, shown[index]), element("pre", {}, run.said))));
  }
  show();
}

const form = document.forms.start.elements;
let offered = [];

function choices(values) {
  return values.map((value) => element("option", { value }, value || "default"));
}

// A field for an option of p4mesh run, with the help text of the command.
function field(option) {
  const made = option.choices.length ? element("select", { name: option.name }, ...choices(["", ...option.choices]))
    : option.is_list ? element("textarea", { name: option.name, rows: 2, placeholder: `${option.example}, one per line` })
      : element("input", { name: option.name, placeholder: option.example, autocomplete: "off" });
  const name = option.flag.replace("--", "");
  return element("label", { class: option.is_list ? "broad" : "" }, `${name[0].toUpperCase()}${name.slice(1)}`, made,
    element("small", {}, option.help));
}

async function offer() {
  const found = await ask("/control");
  offered = found.options;
  const kinds = [["Suites and tests", found.tests], ["Run files", found.run_files]];
  form.test.replaceChildren(...kinds.filter(([, names]) => names.length).map(([label, names]) =>
    element("optgroup", { label }, ...choices(names))));
  form.topology.replaceChildren(element("option", { value: "" }, "that of the run file"), ...choices(found.topologies));
  place("options").replaceWith(...offered.map(field));
  place("control").hidden = false;
  await explain();
}

async function explain() {
  const isFile = form.test.selectedOptions[0].parentElement.label === "Run files";
  form.topology.options[0].hidden = form.topology.options[0].disabled = !isFile;
  if (isFile || !form.topology.value) form.topology.selectedIndex = isFile ? 0 : 1;
  const test = form.test.value;
  place("parameters").replaceChildren();
  const found = await ask(`/control/parameters?test=${encodeURIComponent(test)}`);
  if (test !== form.test.value) return;  // Another one was chosen meanwhile.
  place("parameters").replaceChildren(...found.map((item) => {
    const button = element("button", { type: "button", class: "plain" }, item.name);
    button.addEventListener("click", () => {
      form.settings.value = `${form.settings.value.trimEnd()}\n${item.name}=${item.default}`.trimStart();
      form.settings.focus();
    });
    return element("tr", {}, element("td", {}, button), element("td", { class: "name" }, item.default),
      element("td", { class: "name" }, item.summary, element("small", {}, item.valid)));
  }));
}

function wanted() {
  const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
  const values = offered.map((option) => [option.name, option.is_list ? lines(form[option.name].value) : form[option.name].value]);
  return { test: form.test.value, topology: form.topology.value, ...Object.fromEntries(values) };
}

// The reason of a refusal, beside the button, and the field that it is about.
function refuse(reason) {
  tell(reason);
  place("answer").classList.toggle("problem", Boolean(reason));
  for (const option of offered) {
    const isWrong = [" ", ":", "="].some((end) => reason.startsWith(option.flag + end));
    form[option.name].setAttribute("aria-invalid", isWrong);
    if (isWrong) form[option.name].focus();
  }
}

document.forms.start.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  refuse("");
  try {
    await ask("/control/start", wanted());
    await follow();
  } catch (error) {
    refuse(error.message);
  }
  button.disabled = false;
});
document.forms.start.elements.test.addEventListener("change", () => explain().catch((error) => refuse(error.message)));

if (token()) {
  offer().catch((error) => tell(error.message));
  setInterval(() => follow().catch((error) => tell(error.message)), FOLLOW_MS);
}
