// Figures that follow their data, in SVG. A library that draws any figure takes longer to load than all the rest of a page.
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 240;
const ROW = 18;
const FONT = { "font-size": 12, "font-family": "'Liberation Sans', Arial, Helvetica, sans-serif", fill: "currentColor" };
const LETTER = 6.8;
const MOST_DOTS = 400;
const VERDICTS = {
  PASS: { color: "#2c8a57", mark: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0" },
  FAIL: { color: "#d0392e", mark: "M-4.5,-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z" },
  MEASURED: { color: "#2f7ed8", mark: "M-3.7,-3.7h7.4v7.4h-7.4z" },
  INVALID: { color: "#b8860b", mark: "M0,-5l5,5l-5,5l-5,-5z" },
  ABORT: { color: "#8a3fa8", mark: "M0,-4.6l5,8.6h-10z" },
};
const DOT = "M-2.4,0a2.4,2.4 0 1,0 4.8,0a2.4,2.4 0 1,0 -4.8,0";

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function digits(value, most) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: most });
}

// Round numbers from below `low` to above `high`, about `most` of them and at least `least` apart; no two look alike.
export function ticks(low, high, most, least = 0) {
  const rough = (high - low || Math.abs(high) / 10 || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const label = (value) => value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const found = [];
  for (let place = Math.floor(low / step + 1e-9); ; place += 1) {
    found.push({ value: place * step, label: label(place * step) });
    if (place * step >= high - step * 1e-9 && found.length > 1) return found;
  }
}

const TIME = { title: "time of the target since the first departure (s)" };

// The series of a figure: `points` are [x, y] in the order of a line; a mark is drawn at each of them.
function course(name, color, dash, rows, field) {
  const points = rows.filter((row) => row[field] !== null).map((row) => [row.at, row[field]]);
  const told = ([x, y]) => `${name}: ${digits(y, 6)} at ${digits(x, 4)} s`;
  return { name, color, dash, opacity: 1, lines: [points], marks: points.map((point) => ({ point, mark: DOT, text: told(point) })) };
}

export function rates() {
  return {
    x: TIME,
    y: { title: "frames/s", zero: true },
    series: (rows) => [course("sent", "#7a8794", "6 3", rows, "tx"), course("received", "#2f7ed8", "none", rows, "rx")],
  };
}

export function latency() {
  return {
    x: TIME,
    y: { title: "latency (us)", zero: true },
    series: (rows) => [
      course("mean since the look before", "#2f7ed8", "none", rows, "mean"),
      course("largest so far", "#c2571a", "none", rows, "max"),
    ],
  };
}

export function loads() {
  const place = (row) => [row.number, row.load_pct];
  const units = (rows) => [...new Set(rows.map((row) => row.unit))];
  const told = (row) => `${row.unit}, trial ${row.trial}: ${digits(row.load_pct, 7)} %, ${row.verdict}`;
  return {
    x: { title: "number of the trial in the run", least: 1 },
    y: { title: "load (% of line rate)" },
    series: (rows) => [
      { color: "currentColor", dash: "none", opacity: 0.35, marks: [],
        lines: units(rows).map((unit) => rows.filter((row) => row.unit === unit).map(place)) },
      ...Object.entries(VERDICTS).map(([name, { color, mark }]) => ({
        name, color, mark, lines: [],
        marks: rows.filter((row) => row.verdict === name).map((row) => ({ point: place(row), mark, text: told(row) })),
      })).filter((series) => series.marks.length),
    ],
  };
}

function extent(values, zero) {
  return [Math.min(...values, ...(zero ? [0] : [])), Math.max(...values)];
}

function drawn(spec, rows, width) {
  const series = spec.series(rows);
  const points = series.flatMap((one) => [...one.lines.flat(), ...one.marks.map((mark) => mark.point)]);
  const levels = ticks(...extent(points.map((point) => point[1]), spec.y.zero), 5);
  const left = 26 + LETTER * Math.max(...levels.map((level) => level.label.length));
  const [right, top, bottom] = [26, 8, HEIGHT - 66];
  const keys = placed(series, left, width);
  const [first, last] = extent(points.map((point) => point[0]));
  const pad = last > first ? 0 : 0.5;
  const across = (x) => left + ((x - first + pad) / (last - first + 2 * pad)) * (width - left - right);
  const [lowest, highest] = [levels[0].value, levels.at(-1).value];
  const up = (y) => bottom - ((y - lowest) / (highest - lowest)) * (bottom - top);
  const at = ([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`;
  const text = (x, y, words, more = {}) => shape("text", { ...FONT, x, y, "text-anchor": "middle", ...more }, words);

  const axes = shape("g", { class: "axes" });
  const rule = (x1, y1, x2, y2, opacity) => axes.append(shape("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-opacity": opacity }));
  const vertical = shape("g", { class: "axis labels" });
  for (const { value, label } of levels) {
    rule(left, up(value), width - right, up(value), 0.14);
    vertical.append(text(left - 6, up(value) + 4, label, { "text-anchor": "end" }));
  }
  const horizontal = shape("g", { class: "axis labels" });
  // A label is about 60 pixels wide, and as far from the next one.
  for (const { value, label } of ticks(first, last, Math.max(2, Math.floor((width - left) / 120)), spec.x.least)) {
    if (value < first - pad || value > last + pad) continue;
    rule(across(value), bottom, across(value), bottom + 5, 0.5);
    horizontal.append(text(across(value), bottom + 18, label));
  }
  rule(left, bottom, width - right, bottom, 0.5);
  const middle = (top + bottom) / 2;
  const titles = [text((left + width - right) / 2, bottom + 36, spec.x.title), text(12, middle, spec.y.title, { transform: `rotate(-90 12 ${middle})` })];

  const body = series.flatMap((one) => [
    ...one.lines.filter((line) => line.length).map((line) => shape("path", {
      class: "line", d: `M${line.map(at).join("L")}`, fill: "none", stroke: one.color, "stroke-width": 2,
      "stroke-dasharray": one.dash, "stroke-opacity": one.opacity })),
    ...(one.marks.length > MOST_DOTS ? [] : one.marks).map(({ point, mark, text: words }) =>
      shape("path", { class: "mark", d: mark, fill: one.color, transform: `translate(${at(point)})` }, shape("title", {}, words))),
  ]);

  const height = HEIGHT + ROW * Math.max(0, ...keys.map((key) => key.row));
  const legend = keys.map(({ one, x, row }) => shape("g", { transform: `translate(${x},${HEIGHT - 8 + ROW * row})` },
    one.mark
      ? shape("path", { d: one.mark, fill: one.color, transform: "translate(8,-4)" })
      : shape("line", { x1: 0, x2: 16, y1: -4, y2: -4, stroke: one.color, "stroke-width": 2, "stroke-dasharray": one.dash }),
    text(22, 0, one.name, { "text-anchor": "start" })));
  return shape("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, axes, vertical, horizontal, ...titles, ...body, ...legend);
}

// Places of the words of a legend, in as many rows as it takes.
function placed(series, left, width) {
  let [x, row] = [left, 0];
  return series.filter((one) => one.name).map((one) => {
    const needed = 40 + LETTER * one.name.length;
    if (x > left && x + needed > width) [x, row] = [left, row + 1];
    x += needed;
    return { one, x: x - needed, row };
  });
}

export class Chart {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.rows = [];
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const width = this.place.clientWidth;
    this.place.replaceChildren(...(this.rows.length && width ? [drawn(this.spec, this.rows, width)] : []));
  }
}
