"use strict";
(() => {
  const packed = document.getElementById("drawings");
  const places = [...document.querySelectorAll("[data-chart]")];
  // What positions a mark says nothing that its other fields do not say better.
  const hidden = new Set(["x", "x2", "y", "low", "high", "text"]);
  let content = null;

  function unpacked(element) {
    if (!("DecompressionStream" in window)) throw new Error(packed.dataset.old);
    const bytes = Uint8Array.from(atob(element.textContent), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  // The library is unpacked once, by the first chart that comes into view.
  let library = null;
  const load = () => library ??= unpacked(document.getElementById("library")).text().then(text => new Function(text)());

  function formatTooltip(row, sanitize) {
    const lines = Object.keys(row).filter(name => !hidden.has(name)).map(name =>
      `<tr><td class="key">${sanitize(name === "kind" ? packed.dataset.curve : name.replaceAll("_", " "))}</td><td>${sanitize(row[name])}</td></tr>`);
    return `<table>${lines.join("")}</table>`;
  }

  // Colours in the charts are CSS variables, so light, dark and print need no second drawing; that takes SVG.
  async function draw(place) {
    if (!content || "drawn" in place.dataset) return;
    place.dataset.drawn = "";
    try {
      await load();
      const spec = content.charts[place.dataset.chart];
      const datasets = Object.fromEntries(Object.entries(spec.datasets).map(([name, {names, rows}]) =>
        [name, rows.map(row => Object.fromEntries(row.map((value, index) => [names[index], value])))]));
      await vegaEmbed(place, {...spec, datasets},
        // By its name and not as "inherit", of which a canvas measures nothing: long labels would be cut off.
        {mode: "vega-lite", renderer: "svg", actions: false, tooltip: {theme: "custom", formatTooltip},
         config: {font: getComputedStyle(place).fontFamily}});
    } catch (error) {
      place.textContent = `${packed.dataset.broken} ${error.message}`;
    }
  }

  // Details of cells are many, and few are ever looked at.
  let numbers = null;
  addEventListener("mouseover", ({target}) => {
    const cell = target.closest?.(".figures td");
    if (!cell || !content) return;
    numbers ??= new Map([...document.querySelectorAll(".figures td")].map((each, number) => [each, number]));
    cell.title = content.details[content.cells[numbers.get(cell)]];
  });

  // Charts are drawn when they come near the window, so that the page is there at once however many it has.
  const near = new IntersectionObserver(seen => {
    for (const entry of seen.filter(each => each.isIntersecting)) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, {rootMargin: "600px"});

  // What is printed or photographed is what is open: all of that is drawn as soon as it opens.
  for (const part of document.querySelectorAll("details.part")) {
    part.addEventListener("toggle", () => part.open && part.querySelectorAll("[data-chart]").forEach(draw));
  }
  // Links to what lies in closed details open them.
  function unfold() {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = place?.querySelector("details.part") ?? place; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
    }
    place?.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  async function begin() {
    content = await unpacked(packed).json();
  }
  begin().then(() => places.forEach(place => place.closest("details:not([open])") || near.observe(place)), error => {
    for (const place of places) place.textContent = error.message;
  });
})();
