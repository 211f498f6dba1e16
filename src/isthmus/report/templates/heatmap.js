"use strict";
(() => {
  const LINE = 13, FIELD = 22, GAP = 22, HEAD = 30, MISSING = -128;
  // Per cent lost from which each colour counts; of the theme's own warning colour, ever more of it.
  const STEPS = [5, 10, 20, 35, 50];

  class HeatMap {
    constructor(place, {lines, columns, views}) {
      Object.assign(this, {place, lines, columns, views, view: views[0]});
      const label = document.createElement("label"), select = document.createElement("select");
      views.forEach((view, index) => select.append(new Option(view.name, index)));
      select.addEventListener("change", () => { this.view = views[select.value]; this.draw(); });
      label.append(`${place.dataset.choose} `, select);
      this.canvas = document.createElement("canvas");
      this.field = document.createElement("div");
      this.field.className = "field";
      this.field.append(this.canvas);
      this.details = document.createElement("output");
      place.replaceChildren(label, this.details, this.field, this.legend());
      this.canvas.addEventListener("pointermove", event => this.point(event.offsetX, event.offsetY));
      this.canvas.addEventListener("pointerleave", () => { this.details.textContent = ""; });
      new ResizeObserver(() => this.draw()).observe(place);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    legend() {
      const legend = document.createElement("div");
      legend.className = "legend";
      const entries = [[MISSING, this.place.dataset.missing], [0, "< 5 %"], ...STEPS.map((step, index) =>
        [step, index + 1 < STEPS.length ? `${step}–${STEPS[index + 1]} %` : `≥ ${step} %`])];
      for (const [value, text] of entries) {
        const entry = document.createElement("span"), box = document.createElement("i");
        box.style.background = this.style(value);
        entry.append(box, text);
        legend.append(entry);
      }
      return legend;
    }

    // Strength of the colour, by what is lost.
    style(value) {
      if (value === MISSING) return "var(--page)";
      const strong = STEPS.filter(step => value >= step).length;
      return strong ? `color-mix(in oklab, var(--error) ${25 + 75 * strong / STEPS.length}%, var(--page))` : "var(--grid)";
    }

    text(value) {
      const {missing, lost, faster} = this.place.dataset;
      return value === MISSING ? missing : (value < 0 ? faster : lost).replace("{}", Math.abs(value));
    }

    // What the page's variables and mixes come to, which a canvas does not know.
    colours() {
      const probe = document.createElement("i");
      this.place.append(probe);
      const found = new Map();
      for (const value of [MISSING, 0, ...STEPS]) {
        probe.style.color = this.style(value);
        found.set(value, getComputedStyle(probe).color);
      }
      probe.remove();
      return found;
    }

    draw() {
      const {place, canvas, lines, columns, view} = this, style = getComputedStyle(place), whole = place.clientWidth;
      if (!whole) return;
      const pen = canvas.getContext("2d"), font = `11px ${style.fontFamily}`;
      pen.font = font;
      const widest = lines.reduce((most, line) => Math.max(most, pen.measureText(line).width), 0);
      this.left = Math.min(widest + 10, Math.max(whole * 0.4, 90));
      const room = (whole - this.left - GAP - 20) / (2 * columns.length);
      this.wide = Math.max(Math.min(room, FIELD), 6);
      // Few devices are narrower than the words above them.
      const part = title => Math.max(columns.length * this.wide, pen.measureText(title).width);
      this.second = this.left + part(place.dataset.alone) + GAP;
      const width = this.second + part(place.dataset.together), height = HEAD + lines.length * LINE;
      // Browsers draw no canvas that is higher than this.
      const dots = Math.min(devicePixelRatio || 1, 32000 / height);
      canvas.width = width * dots;
      canvas.height = height * dots;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      pen.scale(dots, dots);
      pen.font = font;
      pen.textBaseline = "middle";
      const colours = this.colours();
      pen.fillStyle = style.getPropertyValue("--soft").trim();
      for (const [left, title] of [[this.left, place.dataset.alone], [this.second, place.dataset.together]]) {
        pen.fillText(title, left, 8);
        if (this.wide > 12) columns.forEach((name, column) => pen.fillText(name, left + column * this.wide + 2, 22));
      }
      lines.forEach((line, index) => {
        const top = HEAD + index * LINE;
        let name = line;
        while (name.length > 4 && pen.measureText(name).width > this.left - 8) name = `${name.slice(0, -2)}…`;
        pen.fillStyle = style.getPropertyValue("--ink").trim();
        pen.fillText(name, 0, top + LINE / 2);
        for (const [left, values] of [[this.left, view.alone[index]], [this.second, view.together[index]]]) {
          values.forEach((value, column) => {
            const strong = value === MISSING ? MISSING : [...STEPS].reverse().find(step => value >= step) ?? 0;
            pen.fillStyle = colours.get(strong);
            pen.fillRect(left + column * this.wide, top + 1, this.wide - 1, LINE - 2);
          });
        }
      });
    }

    point(x, y) {
      const line = Math.floor((y - HEAD) / LINE), late = x >= this.second;
      const column = Math.floor((x - (late ? this.second : this.left)) / this.wide);
      const name = this.lines[line];
      this.details.textContent = name === undefined || column < 0 || column >= this.columns.length ? "" : [
        `${name}, ${this.columns[column]}`,
        `${this.place.dataset.alone}: ${this.text(this.view.alone[line][column])}`,
        `${this.place.dataset.together}: ${this.text(this.view.together[line][column])}`,
      ].join(" · ");
    }
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  for (const place of document.querySelectorAll(".heatmap")) {
    unpack(place.querySelector("script").textContent).then(
      drawn => new HeatMap(place, drawn), () => { place.textContent = place.dataset.old; });
  }
})();
