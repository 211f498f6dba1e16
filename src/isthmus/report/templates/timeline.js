"use strict";
(() => {
  const packed = document.getElementById("timelines");
  const places = [...document.querySelectorAll(".timeline")];
  const ROW = 24, AXIS = 26, LEAST_NS = 100;

  function time(ns) {
    const [factor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
    return `${+(ns / factor).toPrecision(4)} ${unit}`;
  }

  function size(bytes) {
    const [factor, unit] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "kB"] : [1, "B"];
    return `${+(bytes / factor).toPrecision(3)} ${unit}`;
  }

  // A round distance between ticks, about so large.
  function step(about) {
    const power = 10 ** Math.floor(Math.log10(about));
    return power * [1, 2, 5, 10].find(factor => factor * power >= about);
  }

  class Timeline {
    constructor(place, {span, texts, lanes}) {
      Object.assign(this, {place, span, texts, lanes, from: 0, to: span});
      this.canvas = document.createElement("canvas");
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      const buttons = document.createElement("div");
      buttons.className = "buttons";
      for (const [sign, text, act] of [["−", packed.dataset.out, () => this.zoom(2)],
        ["+", packed.dataset.in, () => this.zoom(0.5)], ["↔", packed.dataset.all, () => this.show(0, span)]]) {
        const button = document.createElement("button");
        button.textContent = sign;
        button.title = text;
        button.setAttribute("aria-label", text);
        button.addEventListener("click", act);
        buttons.append(button);
      }
      place.replaceChildren(buttons, this.canvas, this.tip);
      this.listen();
      new ResizeObserver(() => this.draw()).observe(place);
      // Colours follow the page's theme.
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    listen() {
      const {canvas, place} = this;
      let held = null;
      canvas.addEventListener("pointerdown", event => {
        held = {x: event.offsetX, from: this.from, to: this.to};
        canvas.setPointerCapture(event.pointerId);
        canvas.classList.add("held");
      });
      const release = () => { held = null; canvas.classList.remove("held"); };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("pointermove", event => {
        if (!held) return this.point(event.offsetX, event.offsetY);
        const moved = (held.x - event.offsetX) / this.width * (held.to - held.from);
        this.show(held.from + moved, held.to + moved);
      });
      canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      canvas.addEventListener("dblclick", event => this.zoom(0.25, event.offsetX));
      // The wheel alone scrolls the page.
      canvas.addEventListener("wheel", event => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
        event.preventDefault();
        this.zoom(1.002 ** (event.deltaY || event.deltaX), event.offsetX);
      }, {passive: false});
      place.addEventListener("keydown", event => {
        const tenth = (this.to - this.from) / 10;
        const act = {
          ArrowLeft: () => this.show(this.from - tenth, this.to - tenth),
          ArrowRight: () => this.show(this.from + tenth, this.to + tenth),
          "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.show(0, this.span),
        }[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
      });
    }

    show(from, to) {
      const width = Math.min(Math.max(to - from, LEAST_NS), this.span);
      this.from = Math.min(Math.max(from, 0), this.span - width);
      this.to = this.from + width;
      this.tip.hidden = true;
      requestAnimationFrame(() => this.draw());
    }

    zoom(factor, x = this.left + this.width / 2) {
      const share = Math.min(Math.max((x - this.left) / this.width, 0), 1);
      const middle = this.from + share * (this.to - this.from), width = Math.max((this.to - this.from) * factor, LEAST_NS);
      this.show(middle - share * width, middle + (1 - share) * width);
    }

    at(ns) { return this.left + (ns - this.from) / (this.to - this.from) * this.width; }

    // The first record of a lane that begins at or after a time; records are in the order in which they began.
    first(lane, ns) {
      let low = 0, high = lane.start.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (lane.start[middle] < ns) low = middle + 1; else high = middle;
      }
      return low;
    }

    draw() {
      const {canvas, place, lanes} = this, style = getComputedStyle(place), whole = place.clientWidth;
      if (!whole) return;
      const height = AXIS + ROW * lanes.length, dots = devicePixelRatio || 1;
      this.left = Math.min(260, whole * 0.3);
      this.width = Math.max(whole - this.left - 4, 1);
      canvas.width = whole * dots;
      canvas.height = height * dots;
      canvas.style.height = `${height}px`;
      const pen = canvas.getContext("2d");
      pen.scale(dots, dots);
      pen.font = `12px ${style.fontFamily}`;
      pen.textBaseline = "middle";
      const colour = name => style.getPropertyValue(name).trim();
      this.axis(pen, height, colour);
      lanes.forEach((lane, index) => this.lane(pen, lane, AXIS + index * ROW, colour));
    }

    axis(pen, height, colour) {
      const distance = step((this.to - this.from) / Math.max(this.width / 110, 1));
      pen.strokeStyle = colour("--grid");
      pen.fillStyle = colour("--soft");
      for (let tick = Math.ceil(this.from / distance) * distance; tick <= this.to; tick += distance) {
        const x = Math.round(this.at(tick)) + 0.5;
        pen.beginPath();
        pen.moveTo(x, AXIS - 4);
        pen.lineTo(x, height);
        pen.stroke();
        const text = time(tick), wide = pen.measureText(text).width;
        pen.fillText(text, Math.min(x, this.left + this.width - wide), AXIS / 2);
      }
    }

    lane(pen, lane, top, colour) {
      pen.fillStyle = colour("--ink");
      let name = lane.name;
      while (name.length > 4 && pen.measureText(name).width > this.left - 8) name = `${name.slice(0, -2)}…`;
      pen.fillText(name, 0, top + ROW / 2);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, top, this.width, ROW);
      pen.clip();
      pen.fillStyle = colour(lane.colour);
      const part = this.span / lane.busy.length;
      for (let index = Math.max(Math.floor(this.from / part), 0); index < Math.min(Math.ceil(this.to / part), lane.busy.length); index++) {
        if (!lane.busy[index]) continue;
        // As high as it is busy.
        const high = Math.max(lane.busy[index] / 255 * (ROW - 6), 1), x = this.at(index * part);
        pen.globalAlpha = 0.45;
        pen.fillRect(x, top + ROW - 3 - high, Math.max(this.at((index + 1) * part) - x, 0.5), high);
      }
      pen.globalAlpha = lane.busy.length ? 0.6 : 1;
      let drawn = -1;
      for (let index = this.visible(lane); index < lane.start.length && lane.start[index] <= this.to; index++) {
        const x = this.at(lane.start[index]), exact = this.at(lane.start[index] + lane.lasted[index]);
        // What is too short to be seen is in the shares, where there are any.
        if (lane.busy.length && exact - x < 0.7) continue;
        const end = Math.max(exact, x + 0.7);
        if (end <= drawn + 0.3) continue;
        // A gap of a pixel between neighbours that are wide enough for one.
        pen.fillRect(x, top + 3, end - x > 4 ? end - x - 1 : end - x, ROW - 6);
        drawn = end;
      }
      pen.restore();
    }

    // The first record that may reach into what is shown: none lasts longer than the longest.
    visible(lane) {
      lane.longest ??= lane.lasted.reduce((most, each) => Math.max(most, each), 0);
      return this.first(lane, this.from - lane.longest);
    }

    // What lies under the pointer: the shortest of those that are within two pixels.
    point(x, y) {
      const lane = this.lanes[Math.floor((y - AXIS) / ROW)], {tip} = this;
      if (!lane || x < this.left) { tip.hidden = true; return; }
      const near = 2 / this.width * (this.to - this.from), ns = this.from + (x - this.left) / this.width * (this.to - this.from);
      let found = -1;
      for (let index = this.visible(lane); index < lane.start.length && lane.start[index] <= ns + near; index++) {
        if (lane.start[index] + lane.lasted[index] >= ns - near && (found < 0 || lane.lasted[index] <= lane.lasted[found])) found = index;
      }
      const lines = [lane.name];
      if (found >= 0) {
        const lasted = lane.lasted[found], bytes = lane.bytes.length ? lane.bytes[found] : -1;
        lines.push(`${time(lane.start[found])} + ${time(lasted)}`);
        if (bytes >= 0) lines.push(size(bytes) + (lasted > 0 ? `, ${+(bytes / lasted).toPrecision(3)} GB/s` : ""));
        if (this.texts[lane.told[found]]) lines.push(this.texts[lane.told[found]]);
      } else {
        const busy = lane.busy.length ? lane.busy[Math.floor(ns / this.span * lane.busy.length)] : 0;
        if (busy) lines.push(`${Math.round(busy / 2.55)} %`);
        lines.push(`${lane.records} ${packed.dataset.records}`);
      }
      tip.textContent = lines.join("\n");
      tip.hidden = false;
      tip.style.left = `${Math.min(x + 12, this.left + this.width - tip.offsetWidth)}px`;
      tip.style.top = `${y + 44}px`;
    }
  }

  async function unpack() {
    if (!("DecompressionStream" in window)) throw new Error(packed.dataset.old);
    const bytes = Uint8Array.from(atob(packed.textContent), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  unpack().then(all => places.forEach(place => new Timeline(place, all[place.dataset.lanes])),
    error => places.forEach(place => { place.textContent = error.message; }));
})();
