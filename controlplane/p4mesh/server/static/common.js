// What both pages need. Text that comes from a run becomes text in the page, never markup.
export function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") made.className = value;
    else if (key === "data") Object.assign(made.dataset, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

export function verdict(badge) {
  return element("span", { class: `verdict ${badge.tone}` }, badge.text);
}

export function cell(text, isNumber = false) {
  return element("td", isNumber ? { class: "number" } : {}, text);
}

export function count(value) {
  return value.toLocaleString("en-US");
}

export function short(value, digits = 4) {
  return Number.isFinite(value) ? value.toLocaleString("en-US", { maximumSignificantDigits: digits }) : "-";
}

export function decimals(value, digits) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function runAddress(key) {
  return `/run?run=${encodeURIComponent(key)}`;
}

export function reportAddress(key) {
  return `/runs/${encodeURIComponent(key)}/report.html`;
}

export function when(started) {
  return started ? `${started.slice(0, 10)} ${started.slice(11, 19)}` : "-";
}

const PER_SECOND = 1e9;

// Rates and mean latency between one look at a trial and the next; times are those of the target.
export function changes(looks) {
  const rows = [];
  for (let index = 1; index < looks.length; index += 1) {
    const [before, now] = [looks[index - 1], looks[index]];
    const span = now.at_ns - before.at_ns;
    if (span <= 0) continue;
    const frames = now.latency_frames - before.latency_frames;
    rows.push({
      at: now.at_ns / PER_SECOND,
      tx: ((now.tx_frames - before.tx_frames) * PER_SECOND) / span,
      rx: ((now.rx_frames - before.rx_frames) * PER_SECOND) / span,
      mean: frames > 0 ? (now.latency_sum_ns - before.latency_sum_ns) / frames / 1000 : null,
      max: now.latency_frames > 0 ? now.latency_max_ns / 1000 : null,
    });
  }
  return rows;
}

function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${short(seconds / 3600, 3)} h`;
}

// How far a run is, in the words of the terminal; the number of expected trials is a typical one.
export function progress(run) {
  const { done, left, left_s: seconds } = run.progress || { done: run.trials, left: 0, left_s: null };
  if (!run.progress) return [element("span", {}, `${count(done)} trials done`)];
  const parts = [`${count(done)} of ~${count(done + left)} trials done`];
  if (run.state === "running") parts.push(left ? `~${count(left)} left` : "last trials");
  if (run.state === "running" && seconds !== null) parts.push(`~${duration(seconds)}`);
  const bar = element("progress", { max: Math.max(1, done + left), value: done, ariaLabel: "trials done" });
  return [bar, element("span", {}, parts.join(", "))];
}

// Runs that were told to stop, and have not ended yet.
const stopping = new Set();

export function stopButton(run, tell) {
  if (run.state !== "running") stopping.delete(run.key);
  const told = stopping.has(run.key);
  const button = element("button", { type: "button", class: "danger", disabled: told }, told ? "Stopping ..." : "Stop");
  button.addEventListener("click", async () => {
    const question = `Stop ${run.title || run.name}?\n\n${run.name}: trials that are done stay, and the trial that runs is `
      + "lost. The same p4mesh run with --out resumes the run.";
    if (!confirm(question)) return;
    stopping.add(run.key);
    button.disabled = true;
    button.textContent = "Stopping ...";
    try {
      await ask("/control/stop", { run: run.key });
    } catch (error) {
      stopping.delete(run.key);
      button.disabled = false;
      button.textContent = "Stop";
      tell(error.message);
    }
  });
  return button;
}

// Events of the server. After an interruption, a restart of the server as well, everything comes again.
export function listen(address, handlers) {
  const place = document.getElementById("connection");
  const tell = (text, isLost) => {
    place.textContent = text;
    place.classList.toggle("lost", isLost);
  };
  let source = null;
  const connect = () => {
    source = new EventSource(address);
    source.onopen = () => tell("live", false);
    source.onerror = () => {
      tell("connection lost, trying again", true);
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 1500);
    };
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handler(JSON.parse(event.data), source));
    }
  };
  connect();
  window.addEventListener("pagehide", () => source.close());
}

// The token comes behind the # of the address, which browsers do not send, and stays in this tab.
export function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("p4mesh-token", given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("p4mesh-token");
}

export async function ask(address, data) {
  const options = { headers: { Authorization: `Bearer ${token()}` } };
  if (data !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(data);
  }
  const answer = await fetch(address, options);
  const text = await answer.text();
  if (!answer.ok) throw new Error(explained(text));
  return JSON.parse(text);
}

// The reason in an answer that refuses something, and what to do.
export function explained(text) {
  try {
    const found = JSON.parse(text);
    return [found.error, found.hint].filter(Boolean).join(": ");
  } catch {
    return text.trim();
  }
}
