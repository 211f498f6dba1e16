"use strict";
// Colours in the charts are CSS variables, so light, dark and print need no second drawing; that takes SVG.
for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector(".spec").textContent);
  for (const [name, {names, rows}] of Object.entries(spec.datasets)) {
    spec.datasets[name] = rows.map(row => Object.fromEntries(row.map((value, index) => [names[index], value])));
  }
  const place = figure.querySelector(".chart");
  vegaEmbed(place, spec, {mode: "vega-lite", renderer: "svg", actions: false, tooltip: {theme: "custom"}})
    .catch(error => { place.textContent = "This chart could not be drawn: " + error.message; });
}
