"use strict";
// Reads numbers off the page's charts: a cursor with the value of each series, at the same second in all charts
// over time; and saves a chart as a file. Names are only ever text here. Without this script nothing is missing.
(() => {
  const space = "http://www.w3.org/2000/svg";
  const scale = (words) => {
    const [kind, first, last, from, to] = words.split(" ").map((word, at) => (at ? Number(word) : word));
    const power = { linear: (x) => x, log2: (x) => 2 ** x, log10: (x) => 10 ** x }[kind];
    return { from, to, number: (at) => power(first + ((at - from) / (to - from)) * (last - first)) };
  };
  const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : x.toPrecision(3));
  const charts = [];
  for (const svg of document.querySelectorAll("svg")) {
    const scales = svg.querySelector("g.scales");
    if (!scales) continue;
    const series = [...svg.querySelectorAll("g.series")].map((group) => ({
      name: group.dataset.name,
      points: [...group.querySelectorAll("polyline")].flatMap((line) =>
        line.getAttribute("points").split(" ").filter(Boolean).map((point) => point.split(",").map(Number))),
    }));
    const line = document.createElementNS(space, "line");
    line.setAttribute("class", "cursor");
    const text = document.createElementNS(space, "text");
    text.setAttribute("class", "reading");
    text.setAttribute("text-anchor", "end");
    svg.append(line, text);
    const chart = {
      svg, series, line, text,
      x: scale(scales.dataset.x), y: scale(scales.dataset.y), isTime: scales.dataset.kind === "time", at: null,
    };
    charts.push(chart);
    listen(chart);
  }
  function show(chart, at) {
    chart.at = at;
    const { x, y, line, text } = chart;
    line.style.display = text.style.display = at === null ? "none" : "";
    if (at === null) return;
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", y.from], ["y2", y.to]]) line.setAttribute(name, value);
    const nearest = (points) => points.reduce((best, point) =>
      (best === null || Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best), null);
    const read = chart.series.map(({ name, points }) => [name, nearest(points)]).filter(([, point]) => point !== null);
    text.textContent = [short(x.number(at)) + ":", ...read.map(([name, point]) => `${name} ${short(y.number(point[1]))}`)]
      .join("  ");
    text.setAttribute("x", x.to);
    text.setAttribute("y", y.to - 6);
  }
  function move(chart, at) {
    const inside = at === null ? null : Math.min(Math.max(at, chart.x.from), chart.x.to);
    for (const other of chart.isTime ? charts.filter((other) => other.isTime) : [chart]) show(other, inside);
  }
  function listen(chart) {
    const { svg, x } = chart;
    svg.tabIndex = 0;
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      move(chart, ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width);
    });
    svg.addEventListener("pointerleave", () => move(chart, null));
    svg.addEventListener("blur", () => move(chart, null));
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(chart, (chart.at ?? x.from) + (step * (x.to - x.from)) / 100);
    });
    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "save as SVG";
    save.addEventListener("click", () => {
      const copy = svg.cloneNode(true);
      copy.setAttribute("xmlns", space);
      copy.querySelectorAll(".cursor,.reading").forEach((element) => element.remove());
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
      link.download = `${svg.getAttribute("aria-label").replace(/[^A-Za-z0-9]+/g, "-")}.svg`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
    svg.after(save);
  }
})();
