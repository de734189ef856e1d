"use strict";
(() => {
  const views = new Map();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  for (const source of document.querySelectorAll("script[data-for]")) {
    const place = document.getElementById(source.dataset.for);
    const spec = JSON.parse(source.textContent);
    // A figure of several parts has them below each other where there is no room beside each other.
    if (spec.facet && place.clientWidth < 2 * spec.spec.width) spec.columns = 1;
    const draw = () => vegaEmbed(place, spec, {
      renderer: "svg",
      actions: false,
      tooltip: { theme: dark.matches ? "dark" : "light" },
    }).then((drawn) => views.set(place.id, drawn.view)).catch((error) => { place.textContent = String(error); });
    draw();
    dark.addEventListener("change", draw);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-series]");
    const view = button && views.get(button.dataset.chart);
    if (!view) return;
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    const name = button.dataset.series;
    const others = view.signal("hidden").filter((item) => item !== name);
    view.signal("hidden", shown ? others : [...others, name]).runAsync();
  });
})();

// Paper cannot be unfolded: everything that is folded is printed.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = true;
    folded.dataset.unfolded = "";
  }
});
addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-unfolded]")) {
    folded.open = false;
    delete folded.dataset.unfolded;
  }
});
