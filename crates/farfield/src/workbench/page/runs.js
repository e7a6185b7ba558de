// The list of runs, and a run while it goes on.
import { ask, by, chart, el, table } from "/dom.js";
import { askToDelete, describe } from "/kept.js";

const started = new Map();
let runs = [];
const chosen = new Set();
let shown = null;
let single = false;
let writes = false;
/** The column by which the list is sorted, and whether downwards; null for the newest first. */
let sorted = null;

/** Takes the newest figures of a run. */
export function takeRun(run) {
  const before = started.get(run.id);
  started.set(run.id, run);
  if (run.id === shown && !by("part-run").hidden) drawRun(run);
  if (by("part-runs").hidden) return;
  drawStarted();
  if (before?.running && !run.running) load();
}

/** Shows the list. */
export function showRuns(about) {
  shown = null;
  writes = !about.read_only;
  document.title = "Runs · farfield";
  drawStarted();
  load();
}

/** Reads the list again. */
export const refresh = () => load();

async function load() {
  try {
    const answer = await ask("/api/runs");
    runs = answer.runs;
    drawExperiments(answer.experiments);
    for (const run of answer.started) started.set(run.id, run);
    if (!by("part-run").hidden && started.has(shown)) drawRun(started.get(shown));
    by("runs-none").hidden = runs.length > 0;
    drawStarted();
    drawRuns();
  } catch (error) {
    by("runs-count").textContent = error.message;
  }
}

function drawStarted() {
  const going = [...started.values()].filter((run) => run.running || run.exit !== null || run.messages)
    .sort((a, b) => b.id - a.id).filter((run, at) => run.running || at < 3);
  by("started").replaceChildren(...going.map((run) => el("div", { class: run.running ? "card" : "card over" },
    el("span", { class: "grow" }, el("a", { href: `#run/${run.id}` }, run.scenario), " ",
      run.running ? run.figures?.phase ?? "starting" : `ended${words(run.exit)}`),
    run.figures ? el("span", { class: run.figures.verdict.state }, run.figures.verdict.words) : null,
    run.running ? el("button", { type: "button", class: "danger", onclick: () => stop(run.id) }, "Stop") : null)));
}

/** Searches for capacity and sweeps, whose pages grow as they go on. */
function drawExperiments(all) {
  by("experiments").hidden = all.length === 0;
  by("experiments").querySelector("ul").replaceChildren(...all.map((one) => el("li", {},
    el("a", { href: `#experiment/${encodeURIComponent(one.name)}` }, one.shown), " ",
    el("span", { class: "faint" }, one.kind === "search" ? "search for capacity" : "sweep", one.ended ? "" : ", not ended"))));
}

function words(exit) {
  const known = { 0: "", 1: ": it failed", 2: ": the scenario is wrong", 3: ": invalid", 99: ": a threshold failed",
    105: ": aborted by a threshold", 130: ": stopped, what was measured is kept" };
  return known[exit] ?? (exit === null ? "" : ` with ${exit}`);
}

function drawRuns() {
  const sought = by("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (run) => [run.shown, run.load, run.target, run.verdict, run.scenario, run.note].join(" ").toLowerCase();
  const found = runs.filter((run) => sought.every((word) => text(run).includes(word)));
  const all = `${runs.length} ${runs.length === 1 ? "run" : "runs"}`;
  by("runs-count").textContent = found.length === runs.length ? all : `${found.length} of ${all}`;
  by("runs-rows").replaceChildren(...inOrder(found).slice(0, 1000).map(row));
  const valid = new Set(runs.map((run) => run.name));
  for (const name of chosen) if (!valid.has(name)) chosen.delete(name);
  drawChosen();
}

const columns = {
  verdict: (run) => run.verdict,
  run: (run) => run.shown,
  rate: (run) => run.order?.rate,
  p99: (run) => run.order?.p99,
  errors: (run) => run.order?.errors,
  load: (run) => run.load,
};

/** The runs by the chosen column; those without a value are last in either direction. */
function inOrder(list) {
  if (!sorted) return list;
  const value = columns[sorted.by];
  const lacks = (run) => value(run) === null || value(run) === undefined;
  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  const known = list.filter((run) => !lacks(run)).sort((a, b) => (sorted.down ? -1 : 1) * compare(value(a), value(b)));
  return [...known, ...list.filter(lacks)];
}

/** Sorts by a column: upwards, then downwards, then the newest first again. */
function sortBy(name) {
  if (sorted?.by !== name) sorted = { by: name, down: false };
  else sorted = sorted.down ? null : { by: name, down: true };
  for (const head of document.querySelectorAll("table.runs th[data-by]")) {
    if (head.dataset.by !== sorted?.by) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
  }
  drawRuns();
}
for (const head of document.querySelectorAll("table.runs th[data-by]")) {
  head.querySelector("button").addEventListener("click", () => sortBy(head.dataset.by));
}

/** What may be done with a run besides reading it. */
function actions(run, readable) {
  const act = (name, words, what) => el("button", { type: "button", "aria-label": `${words} ${run.shown}`, onclick: async () => {
    by("runs-error").textContent = "";
    try {
      if (await what(run)) await load();
    } catch (error) {
      by("runs-error").textContent = error.message;
    }
  } }, name);
  return el("td", { class: "actions" },
    readable ? el("a", { class: "button", href: `#new/${encodeURIComponent(run.name)}`, "aria-label": `Run again, with changes: ${run.shown}` }, "Run again") : null,
    readable ? act("Name, note", "Name, note of", describe) : null,
    act("Delete", "Delete", askToDelete));
}

function row(run) {
  const readable = run.verdict !== "UNREADABLE";
  const box = el("input", { type: "checkbox", "aria-label": `compare ${run.shown}`, disabled: !readable, onchange: () => {
    if (box.checked) chosen.add(run.name);
    else chosen.delete(run.name);
    drawChosen();
  } });
  box.checked = chosen.has(run.name);
  const name = readable
    ? el("a", { href: `#report/${encodeURIComponent(run.name)}` }, run.shown)
    : el("span", {}, run.shown);
  const number = (value) => el("td", { class: "number" }, value ?? "–");
  const note = run.note ? el("div", { class: "help" }, run.note) : null;
  return el("tr", {}, el("td", {}, box), el("td", { class: `badge ${run.verdict}` }, run.verdict), el("td", {}, name, note),
    number(run.rate), number(run.p99), number(run.errors), el("td", {}, run.why ?? run.load), writes ? actions(run, readable) : null);
}

function drawChosen() {
  by("compare").disabled = chosen.size < 2;
  by("compare").textContent = chosen.size < 2 ? "Compare" : `Compare ${chosen.size} runs`;
}

by("search").addEventListener("input", drawRuns);
by("compare").addEventListener("click", () => {
  // The oldest one is what the others are compared with; the list has the newest first.
  const names = runs.map((run) => run.name).filter((name) => chosen.has(name)).reverse();
  location.hash = `#compare/${names.map(encodeURIComponent).join("/")}`;
});

async function stop(id) {
  by("run-error").textContent = "";
  try {
    await ask("/api/stop", { id });
  } catch (error) {
    by("run-error").textContent = error.message;
  }
}
by("stop").addEventListener("click", () => stop(shown));

/** Shows a run. */
export async function showRun(id, about) {
  shown = id;
  single = about.single;
  by("run-title").textContent = "Run";
  if (!started.has(id) && !single) await load();
  const run = started.get(id);
  if (run) drawRun(run);
  else by("run-phase").textContent = single ? "starting" : "there is no such run: it was started by another workbench";
}

function drawRun(run) {
  const figures = run.figures;
  document.title = `${run.scenario} · farfield`;
  by("run-title").textContent = run.scenario;
  by("stop").disabled = !run.running;
  by("run-report").hidden = run.running || single || !run.name || !figures;
  by("run-report").href = `#report/${encodeURIComponent(run.name)}`;
  by("run-phase").textContent = run.running ? figures?.phase ?? "starting" : `ended${words(run.exit)}`;
  by("run-messages").hidden = !run.messages;
  by("run-messages").textContent = run.messages;
  if (single && !run.running) by("run-phase").textContent = `ended; farfield report ${run.name} prints the result again`;
  if (!figures) return;
  by("run-target").textContent = figures.target;
  by("run-load").textContent = `${figures.load} · ${figures.plane}`;
  by("run-progress").value = run.running ? figures.passed : 1;
  by("run-verdict").className = `verdict ${figures.verdict.state}`;
  by("run-verdict").textContent = figures.verdict.words;
  by("run-rates").replaceChildren(table(["", "last second", "measured"], figures.rates), el("p", { class: "faint" }, `open now: ${figures.open}`));
  by("run-times").replaceChildren(table(["", "p50", "p90", "p99", "p99.9", "max"], figures.times ?? []));
  by("run-outcomes").replaceChildren(table(["outcome", "requests", "share", "fault"], figures.outcomes ?? [], [0, 3]));
  const named = (title, rows) => (rows?.length ? [el("h2", {}, title), table(["", "requests", "errors", "p50", "p99"], rows)] : []);
  by("run-named").replaceChildren(...named("Classes", figures.classes), ...named("States", figures.states));
  by("run-charts").replaceChildren(...figures.charts.map(chart));
  by("run-checks").querySelector("ul").replaceChildren(...(figures.checks ?? []).map((check) => el("li", {},
    el("span", { class: check.state === "failed" ? "bad" : "faint" }, `${check.state} `), `${check.name}: ${check.what}`,
    ...check.more.map((more) => el("div", { class: "help" }, more)))));
}
