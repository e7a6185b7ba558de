"use strict";
// Reads numbers off the page's charts: a cursor with the value of each series, at the same second in all charts
// over time; magnifies a part of their x axes; hides single series; saves a chart as a file; switches the theme. Names
// are only ever text here. Without this script nothing is missing.
(() => {
  const space = "http://www.w3.org/2000/svg";
  const powers = { linear: (x) => x, log2: (x) => 2 ** x, log10: (x) => 10 ** x };
  const scale = (words) => {
    const [kind, first, last, from, to] = words.split(" ").map((word, at) => (at ? Number(word) : word));
    return { kind, first, last, from, to, number: (at) => powers[kind](first + ((at - from) / (to - from)) * (last - first)) };
  };
  const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(3))));
  const long = (x) => (Number.isInteger(x) ? x.toLocaleString("en") : String(x));
  const make = (name, attributes, text) => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (text, listener) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", listener);
    return made;
  };
  // A chart and its buttons are one box, so that where charts are beside each other, each has its buttons below it.
  const boxed = (svg, below) => {
    const box = document.createElement("figure");
    svg.replaceWith(box);
    box.append(svg, ...below);
  };
  const numbers = (text) => (text ? text.split(" ").map(Number) : []);
  const pairs = (text) => text.split(" ").filter(Boolean).map((point) => point.split(",").map(Number));
  // The points of a series: those of its line, or its markers.
  const marked = (group, points) => (points.length > 0 ? points : [...group.querySelectorAll("circle")].map((circle) =>
    ["cx", "cy"].map((name) => Number(circle.getAttribute(name)))));
  const charts = [];
  for (const svg of document.querySelectorAll("svg:not(.interval)")) {
    const scales = svg.querySelector("g.scales");
    if (!scales) {
      boxed(svg, savers({ svg }));
      continue;
    }
    const x = scale(scales.dataset.x);
    const lines = [...svg.querySelectorAll("g.series polyline,g.series polygon")].map((line) => ({
      line, isArea: line.localName === "polygon", drawn: line.getAttribute("points"), points: pairs(line.getAttribute("points")),
    }));
    const series = [...svg.querySelectorAll("g.series")].map((group, number) => ({
      name: group.dataset.name, group, key: svg.querySelector(`g.key[data-series="${number}"]`), isHidden: false,
      points: marked(group, lines.filter(({ line }) => group.contains(line)).flatMap(({ points }) => points)),
      values: { x: numbers(group.dataset.x), y: numbers(group.dataset.y) },
    }));
    const cursor = svg.appendChild(make("line", { class: "cursor" }));
    const text = document.createElement("p");
    text.className = "reading";
    text.setAttribute("aria-live", "polite");
    const chosen = svg.appendChild(make("rect", { class: "chosen" }));
    const ticks = svg.querySelector("g.x-ticks");
    const chart = {
      svg, x, y: scale(scales.dataset.y), lines, series, cursor, text, chosen, ticks,
      whole: ticks ? [...ticks.children] : [], at: null, view: [x.from, x.to],
      isTime: scales.dataset.kind === "time",
      // Markers stay where they are: only charts of lines are magnified.
      hasZoom: Boolean(ticks) && lines.length > 0 && !svg.querySelector("g.series circle, g.series path, g.series rect"),
    };
    chart.shades = [...svg.querySelectorAll("rect.shade")].map((rect) => {
      const [from, width] = ["x", "width"].map((name) => Number(rect.getAttribute(name)));
      return { rect, ends: [from, from + width] };
    });
    charts.push(chart);
    listen(chart);
  }
  const group = (chart) => (chart.isTime ? charts.filter((other) => other.isTime) : [chart]);

  // Place of the whole axis in the magnified one, and the other way round.
  const moved = ({ x, view: [a, b] }, at) => x.from + ((at - a) / (b - a)) * (x.to - x.from);
  const original = ({ x, view: [a, b] }, at) => a + ((at - x.from) / (x.to - x.from)) * (b - a);

  function show(chart, at) {
    chart.at = at;
    const { x, y, cursor, text, view } = chart;
    const hidden = at === null || at < view[0] || at > view[1];
    cursor.style.display = hidden ? "none" : "";
    if (hidden) return text.replaceChildren();
    const place = moved(chart, at);
    for (const [name, value] of [["x1", place], ["x2", place], ["y1", y.from], ["y2", y.to]]) cursor.setAttribute(name, value);
    const nearest = (points) => points.reduce((best, point, number) =>
      (best === null || Math.abs(point[0] - at) < Math.abs(points[best][0] - at) ? number : best), null);
    const read = chart.series.filter((one) => one.name && !one.isHidden && one.points.length > 0)
      .map(({ name, points, values }) => ({ name, points, values, found: nearest(points) }));
    if (read.length === 0) return text.replaceChildren();
    // The place that is read is that of a point, so that its numbers are those of the run.
    const first = read.reduce((best, one) => (Math.abs(one.points[one.found][0] - at) < Math.abs(best.points[best.found][0] - at) ? one : best));
    const across = chart.isTime ? Math.round(x.number(first.points[first.found][0])) : first.values.x[first.found] ?? x.number(at);
    const words = read.map(({ name, points, values, found }) => `${name} ${long(values.y[found] ?? y.number(points[found][1]))}`);
    text.textContent = [`${chart.isTime ? across : short(across)}:`, ...words].join("  ");
  }
  function move(chart, at) {
    const inside = at === null ? null : Math.min(Math.max(at, chart.view[0]), chart.view[1]);
    for (const other of group(chart)) show(other, inside);
  }

  // The points of a line within the view, with its ends cut there.
  function cut(points, [a, b]) {
    const kept = [];
    points.forEach((point, at) => {
      const before = points[at - 1];
      for (const edge of before ? [a, b] : []) {
        if ((before[0] - edge) * (point[0] - edge) < 0) {
          kept.push([edge, before[1] + ((edge - before[0]) / (point[0] - before[0])) * (point[1] - before[1])]);
        }
      }
      if (point[0] >= a && point[0] <= b) kept.push(point);
    });
    return kept.sort((p, q) => p[0] - q[0]);
  }
  // Round numbers between the ends of the axis, about six; of a logarithmic axis 1, 2 and 5 of each decade.
  function rounds(low, high, kind) {
    if (kind !== "linear" && high / low > 5) {
      const all = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) all.push(...[1, 2, 5].map((n) => n * 10 ** power));
      return all.filter((n) => n >= low && n <= high);
    }
    const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
    return Array.from({ length: 20 }, (_, at) => (Math.ceil(low / step) + at) * step).filter((n) => n <= high);
  }
  function draw(chart) {
    const { x, y, view, ticks } = chart;
    const isWhole = view[0] === x.from && view[1] === x.to;
    for (const { line, isArea, drawn, points } of chart.lines) {
      const half = points.length / 2;
      // Both edges of an area, the lower one backwards.
      const within = () => (isArea ? [...cut(points.slice(0, half), view), ...cut(points.slice(half), view).reverse()] : cut(points, view));
      const cutout = () => within().map(([px, py]) => `${moved(chart, px).toFixed(1)},${py}`).join(" ");
      line.setAttribute("points", isWhole ? drawn : cutout());
    }
    for (const { rect, ends } of chart.shades) {
      const [from, to] = ends.map((at) => Math.min(Math.max(moved(chart, at), x.from), x.to));
      rect.setAttribute("x", from);
      rect.setAttribute("width", to - from);
    }
    for (const one of chart.svg.querySelectorAll(".measured")) one.style.display = isWhole ? "" : "none";
    chart.reset.hidden = isWhole;
    if (isWhole) return ticks.replaceChildren(...chart.whole);
    const power = powers[x.kind], back = { linear: (n) => n, log2: Math.log2, log10: Math.log10 }[x.kind];
    const place = (number) => moved(chart, x.from + ((back(number) - x.first) / (x.last - x.first)) * (x.to - x.from));
    const number = (at) => power(x.first + ((at - x.from) / (x.to - x.from)) * (x.last - x.first));
    const drawn = rounds(number(view[0]), number(view[1]), x.kind).flatMap((round) => {
      const at = place(round);
      return [
        make("line", { x1: at, x2: at, y1: y.from, y2: y.to, stroke: "#dddddd" }),
        make("text", { x: at, y: y.from + 20, "text-anchor": "middle" }, String(Number(round.toPrecision(6)))),
      ];
    });
    ticks.replaceChildren(...drawn);
  }
  function zoom(chart, view) {
    const { x } = chart;
    const [a, b] = view ?? [x.from, x.to];
    if (b - a < (x.to - x.from) / 1000) return;
    for (const other of group(chart).filter((other) => other.hasZoom)) {
      other.view = [Math.max(a, x.from), Math.min(b, x.to)];
      draw(other);
      show(other, other.at);
    }
  }

  function listen(chart) {
    const { svg, x, y, chosen } = chart;
    const keyed = chart.series.filter(({ key }) => key);
    let begun = null;
    svg.tabIndex = 0;
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      return original(chart, Math.min(Math.max(at, x.from), x.to));
    };
    const choose = (to) => {
      const [from, until] = [begun, to].map((at) => moved(chart, at)).sort((a, b) => a - b);
      for (const [name, value] of [["x", from], ["width", until - from], ["y", y.to], ["height", y.from - y.to]]) chosen.setAttribute(name, value);
    };
    svg.addEventListener("pointerdown", (event) => {
      if (!chart.hasZoom || event.button !== 0) return;
      begun = place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      move(chart, place(event));
      if (begun !== null) choose(place(event));
    });
    svg.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const view = [begun, place(event)].sort((a, b) => a - b);
      begun = null;
      chosen.setAttribute("width", 0);
      if (moved(chart, view[1]) - moved(chart, view[0]) > 5) zoom(chart, view);
    });
    svg.addEventListener("pointercancel", () => { begun = null; chosen.setAttribute("width", 0); });
    svg.addEventListener("dblclick", () => { if (chart.hasZoom) zoom(chart, null); });
    svg.addEventListener("pointerleave", () => move(chart, null));
    svg.addEventListener("blur", () => move(chart, null));
    svg.addEventListener("keydown", (event) => {
      const [a, b] = chart.view, at = chart.at ?? (a + b) / 2;
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) move(chart, (chart.at ?? a) + (step * (b - a)) / 100);
      else if (chart.hasZoom && (event.key === "+" || event.key === "=")) zoom(chart, [at - (at - a) / 2, at + (b - at) / 2]);
      else if (keyed[event.key - 1]) toggle(chart, keyed[event.key - 1]);
      else if (chart.hasZoom && (event.key === "-" || event.key === "Escape")) zoom(chart, null);
      else return;
      event.preventDefault();
    });
    chart.reset = button("show the whole axis", () => zoom(chart, null));
    chart.reset.hidden = true;
    for (const one of keyed) {
      one.key.append(make("title", {}, "hide or show"));
      one.key.addEventListener("pointerdown", (event) => event.stopPropagation());
      one.key.addEventListener("click", () => toggle(chart, one));
    }
    boxed(svg, [chart.text, ...savers(chart), chart.reset]);
  }
  function toggle(chart, one) {
    if (!one) return;
    one.isHidden = !one.isHidden;
    one.group.style.display = one.isHidden ? "none" : "";
    one.key.classList.toggle("off", one.isHidden);
    show(chart, chart.at);
  }

  function savers(chart) {
    return [button("save as SVG", () => save(chart, "svg")), button("save as PNG", () => save(chart, "png"))];
  }
  function download(chart, url, kind) {
    const link = document.createElement("a");
    link.href = url;
    link.download = `${chart.svg.getAttribute("aria-label").replace(/[^A-Za-z0-9]+/g, "-")}.${kind}`;
    link.click();
  }
  function save(chart, kind) {
    const copy = chart.svg.cloneNode(true);
    copy.setAttribute("xmlns", space);
    copy.removeAttribute("tabindex");
    copy.querySelectorAll(".cursor,.chosen,.key title").forEach((element) => element.remove());
    const url = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    if (kind === "svg") return download(chart, url, kind);
    // Twice the size, for screens and print.
    const { width, height } = chart.svg.viewBox.baseVal;
    const canvas = Object.assign(document.createElement("canvas"), { width: width * 2, height: height * 2 });
    const image = new Image();
    image.addEventListener("load", () => {
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      download(chart, canvas.toDataURL("image/png"), kind);
    });
    image.src = url;
  }

  // A page in a sandbox has no storage: the theme is then that of the system at first.
  const storage = { read: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    keep: (theme) => { try { localStorage.setItem("theme", theme); } catch { /* It lasts as long as the page. */ } } };
  const themes = ["system", "light", "dark"];
  // Pages within another have that one's theme written into them.
  let theme = themes.find((known) => known === (storage.read() ?? document.documentElement.dataset.theme)) ?? "system";
  const switcher = button("", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    storage.keep(theme);
    apply();
  });
  switcher.className = "theme";
  function apply() {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    switcher.textContent = `theme: ${theme}`;
  }
  apply();
  document.querySelector("h1").before(switcher);
  // Boxes that are wider than the page are scrolled by keys too, also where the page becomes narrower.
  const reach = (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => reach(target)));
  for (const box of document.querySelectorAll(".scroll")) {
    reach(box);
    watcher.observe(box);
  }
})();
