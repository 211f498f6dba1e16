"use strict";
const places = new Set(["x", "x2", "y", "low", "high", "text"]);

function formatTooltip(row, sanitize) {
  const lines = Object.keys(row).filter(name => !places.has(name)).map(name =>
    `<tr><td class="key">${name.replaceAll("_", " ")}</td><td class="value">${sanitize(row[name])}</td></tr>`);
  return `<table>${lines.join("")}</table>`;
}

// Colours in the charts are CSS variables, so light, dark and print need no second drawing; that takes SVG.
for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector(".spec").textContent);
  for (const [name, {names, rows}] of Object.entries(spec.datasets)) {
    spec.datasets[name] = rows.map(row => Object.fromEntries(row.map((value, index) => [names[index], value])));
  }
  const place = figure.querySelector(".chart");
  vegaEmbed(place, spec, {mode: "vega-lite", renderer: "svg", actions: false, tooltip: {theme: "custom", formatTooltip}})
    .catch(error => { place.textContent = "This chart could not be drawn: " + error.message; });
}
