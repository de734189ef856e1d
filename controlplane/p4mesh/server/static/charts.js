// Figures that follow their data. The library that draws them is large: what a page says without it does not wait for it.
import { element } from "./common.js";

const LIBRARY = "/static/vega.js";
const INK = "currentColor";
const CONFIG = {
  background: "transparent",
  font: "'Liberation Sans', Arial, Helvetica, sans-serif",
  view: { stroke: null },
  axis: {
    labelColor: INK, titleColor: INK, domainColor: INK, tickColor: INK, gridColor: INK, gridOpacity: 0.14,
    domainOpacity: 0.5, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
  },
  axisX: { labelFlush: false, labelSeparation: 8 },
  legend: { labelColor: INK, titleColor: INK, labelFontSize: 12, orient: "bottom", title: null },
};

function specification(description, body) {
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    description,
    width: "container",
    height: 220,
    autosize: { type: "fit", contains: "padding" },
    data: { name: "rows", values: [] },
    config: CONFIG,
    ...body,
  };
}

export function rates() {
  return specification("Frames per second over time", {
    transform: [
      { fold: ["tx", "rx"], as: ["direction", "fps"] },
      { calculate: "datum.direction === 'tx' ? 'sent' : 'received'", as: "what" },
    ],
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "at", type: "quantitative", title: "time of the target since the first departure (s)" },
      y: { field: "fps", type: "quantitative", title: "frames/s", scale: { zero: true } },
      color: { field: "what", type: "nominal", scale: { domain: ["sent", "received"], range: ["#7a8794", "#2f7ed8"] } },
      strokeDash: { field: "what", type: "nominal", scale: { domain: ["sent", "received"], range: [[6, 3], [1, 0]] } },
      tooltip: [{ field: "what" }, { field: "at", format: ".4~g" }, { field: "fps", format: ".6~g" }],
    },
  });
}

export function latency() {
  return specification("Latency over time", {
    transform: [
      { fold: ["mean", "max"], as: ["which", "us"] },
      { filter: "isValid(datum.us)" },
      { calculate: "datum.which === 'mean' ? 'mean since the look before' : 'largest so far'", as: "what" },
    ],
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "at", type: "quantitative", title: "time of the target since the first departure (s)" },
      y: { field: "us", type: "quantitative", title: "latency (us)", scale: { zero: true } },
      color: {
        field: "what", type: "nominal",
        scale: { domain: ["mean since the look before", "largest so far"], range: ["#2f7ed8", "#c2571a"] },
      },
      tooltip: [{ field: "what" }, { field: "at", format: ".4~g" }, { field: "us", format: ".6~g" }],
    },
  });
}

export function loads() {
  const verdicts = ["PASS", "FAIL", "MEASURED", "INVALID", "ABORT"];
  return specification("Load of each trial", {
    layer: [
      { mark: { type: "line", opacity: 0.35 }, encoding: { detail: { field: "unit" }, color: { value: INK } } },
      {
        mark: { type: "point", filled: true, size: 55 },
        encoding: {
          color: {
            field: "verdict", type: "nominal",
            legend: { columns: 3 },
            scale: { domain: verdicts, range: ["#2c8a57", "#d0392e", "#2f7ed8", "#b8860b", "#8a3fa8"] },
          },
          shape: {
            field: "verdict", type: "nominal",
            legend: { columns: 3 },
            scale: { domain: verdicts, range: ["circle", "cross", "square", "diamond", "triangle-up"] },
          },
          tooltip: [
            { field: "unit" }, { field: "trial" }, { field: "load_pct", format: ".6~g" }, { field: "verdict" },
          ],
        },
      },
    ],
    encoding: {
      x: { field: "number", type: "quantitative", title: "number of the trial in the run", scale: { zero: false, nice: false }, axis: { tickMinStep: 1, format: ",d" } },
      y: { field: "load_pct", type: "quantitative", title: "load (% of line rate)", scale: { zero: false } },
    },
  });
}

let library = null;

// Loads the library once, after the next frame: the browser shows first what the page has.
function loaded() {
  library ??= new Promise((resolve, reject) => {
    const onerror = () => {
      library = null;
      reject(new Error("the library of figures cannot be loaded"));
    };
    requestAnimationFrame(() => setTimeout(() => document.head.append(element("script", { src: LIBRARY, onload: resolve, onerror }))));
  });
  return library;
}

export class Chart {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.rows = null;
    this.view = null;
    this.drawing = false;
  }

  async show(rows) {
    this.rows = rows;
    if (!this.view) {
      if (this.drawing) return;
      this.drawing = true;
      try {
        await loaded();
        this.view = (await window.vegaEmbed(this.place, this.spec, { renderer: "svg", actions: false })).view;
      } catch (error) {
        this.place.textContent = error.message;
        return;
      } finally {
        this.drawing = false;
      }
    }
    this.view.data("rows", this.rows).resize().runAsync();
  }
}
