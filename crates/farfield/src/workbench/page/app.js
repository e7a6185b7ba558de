// The workbench's page: which part is shown, its user's token, and the theme.
import { ask, by } from "/dom.js";
import { follow } from "/events.js";
import { hidePage, showPage } from "/pages.js";
import { refresh, showRun, showRuns, takeRun } from "/runs.js";
import { showForm } from "/form.js";
import { askTabs, hasToken, noteValid, takeFromAddress, takeFromText } from "/token.js";

const themes = ["system", "light", "dark"];
function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  by("theme").textContent = `theme: ${theme}`;
}
function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}
let theme = themes.includes(storedTheme()) ? storedTheme() : "system";
setTheme(theme);
by("theme").addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  setTheme(theme);
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // A browser that keeps nothing: the theme lasts as long as the page.
  }
});

let about = { single: false, read_only: false };
const parts = { run: "run", new: "new", report: "page", compare: "page", experiment: "page" };
function partOf(name) {
  if (about.single) return "run";
  return name === "new" && about.read_only ? "runs" : parts[name] ?? "runs";
}

/** Shows one part, and no other. */
function show(shown) {
  for (const name of ["token", "runs", "run", "new", "page"]) by(`part-${name}`).hidden = name !== shown;
  by("main").classList.toggle("wide", shown === "page");
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.part === (shown === "page" ? "runs" : shown)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown !== "page") hidePage();
}

function text(encoded) {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function route(event) {
  // The link that skips the header names a place of this page, and no part.
  if (location.hash === "#main") return;
  const [part, ...names] = location.hash.slice(1).split("/");
  const shown = partOf(part);
  show(shown);
  if (shown === "runs") showRuns(about);
  if (shown === "run") showRun(about.single ? 1 : Number(names[0]), about);
  if (shown === "new") showForm(names.length > 0 ? text(names[0]) : null);
  if (shown === "page") {
    const runs = names.map((name) => `run=${name}`).join("&");
    if (part === "report") showPage(`/report?${runs}`, text(names[0] ?? ""), text(names[0] ?? "report"));
    else if (part === "experiment") showPage(`/experiment?name=${names[0] ?? ""}`, text(names[0] ?? ""), text(names[0] ?? "experiment"));
    else showPage(`/compare?${runs}`, `Comparison of ${names.length} runs`, "comparison");
  }
  // After a change of part, the keyboard and screen readers go on at its beginning.
  if (event) by("main").focus();
}

/** Says what to do where the server does not know this page's user. */
function askForToken() {
  by("token-why").textContent = hasToken()
    ? "farfield does not know this page any more: it has been started again since, and each start has a token of its own."
    : "This address lacks its token, which stands behind the # of the URL that farfield printed when it started.";
  document.querySelector("nav").hidden = true;
  by("connection").textContent = "";
  document.title = "farfield";
  show("token");
}
by("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (takeFromText(by("token-url").value)) location.reload();
  else by("token-wrong").textContent = "This is no URL that farfield printed: it ends in #token= and 48 letters and digits.";
});

function listen() {
  let ended = false;
  const events = follow("/api/events", {
    event({ name, data }) {
      if (name !== "run") return;
      by("connection").textContent = "";
      const run = JSON.parse(data);
      ended = about.single && !run.running;
      if (ended) events.close();
      takeRun(run);
    },
    open() {
      by("connection").textContent = "";
      // What happened while there was no stream.
      if (!about.single) refresh();
    },
    lost(sentence) {
      by("connection").textContent = sentence;
    },
    refused: begin,
  });
}

let begun = false;
/** Begins, with the token of the address, of this tab or of another tab. */
async function begin() {
  takeFromAddress();
  try {
    if (!hasToken() && !await askTabs()) return askForToken();
    about = await ask("/api/about").catch(async (error) => {
      if (error.status !== 401 || !await askTabs()) throw error;
      return ask("/api/about");
    });
  } catch (error) {
    if (error.status === 401) return askForToken();
    by("connection").textContent = error.message;
    return;
  }
  noteValid();
  if (about.single) document.querySelector("nav").replaceChildren();
  else by("runs-folder").textContent = about.folder;
  if (about.read_only) {
    for (const element of document.querySelectorAll(".writes")) element.remove();
  }
  if (!begun) window.addEventListener("hashchange", route);
  begun = true;
  listen();
  route();
}

// A URL with another token that is opened in this tab changes its fragment alone.
window.addEventListener("hashchange", () => { if (takeFromAddress()) location.reload(); });
begin();
