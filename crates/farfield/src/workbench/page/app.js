// The workbench's page: which part is shown, and the theme.
import { ask, by } from "/dom.js";
import { showRun, showRuns, takeRun } from "/runs.js";
import { showForm } from "/form.js";

const themes = ["system", "light", "dark"];
function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  by("theme").textContent = `theme: ${theme}`;
}
let theme = themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system";
setTheme(theme);
by("theme").addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  localStorage.setItem("theme", theme);
  setTheme(theme);
});

let about = { single: false };
function route(event) {
  const [part, id] = location.hash.slice(1).split("/");
  const shown = about.single ? "run" : { run: "run", new: "new" }[part] ?? "runs";
  for (const name of ["runs", "run", "new"]) by(`part-${name}`).hidden = name !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.part === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown === "runs") showRuns();
  if (shown === "run") showRun(about.single ? 1 : Number(id), about);
  if (shown === "new") showForm();
  // After a change of part, the keyboard and screen readers go on at its beginning.
  if (event) by("main").focus();
}

function listen() {
  const events = new EventSource("/api/events");
  let ended = false;
  events.addEventListener("run", (event) => {
    by("connection").textContent = "";
    const run = JSON.parse(event.data);
    ended = about.single && !run.running;
    if (ended) events.close();
    takeRun(run);
  });
  events.addEventListener("open", () => { by("connection").textContent = ""; });
  events.addEventListener("error", () => { if (!ended) by("connection").textContent = "farfield does not answer"; });
}

ask("/api/about").then((answer) => {
  about = answer;
  if (about.single) document.querySelector("nav").replaceChildren();
  else by("runs-folder").textContent = about.folder;
  window.addEventListener("hashchange", route);
  listen();
  route();
}, (error) => { by("connection").textContent = error.message; });
