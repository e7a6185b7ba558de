// Reports and comparisons, each in a document without an origin: it can neither read the token nor ask the server.
import { askText, by, el } from "/dom.js";

let turn = 0;
let page = null;

/** The page in the theme that was chosen here; what is saved has none. */
function themed(text) {
  const { theme } = document.documentElement.dataset;
  return theme ? text.replace("<html ", `<html data-theme="${theme}" `) : text;
}

/** Shows the page at a path of the server; `name` is what a file of it is called. */
export async function showPage(path, title, name) {
  const mine = ++turn;
  document.title = `${title} · farfield`;
  by("page-title").textContent = title;
  by("page-status").textContent = "loading";
  by("page-status").className = "";
  by("page-save").disabled = true;
  by("page-frame").replaceChildren();
  try {
    const { text, goesOn } = await askText(path);
    if (mine !== turn) return;
    page = { text, name };
    draw(text, title);
    by("page-status").textContent = "";
    by("page-save").disabled = false;
    if (goesOn) setTimeout(() => follow(path, title, mine), PAUSE);
  } catch (error) {
    if (mine !== turn) return;
    by("page-status").textContent = error.message;
    by("page-status").className = "wrong";
  }
}

/** Milliseconds after which a page of what goes on is asked for again. */
const PAUSE = 2000;

/** Shows the page anew as it grows, until what it shows has ended. */
async function follow(path, title, mine) {
  if (mine !== turn) return;
  const again = () => setTimeout(() => follow(path, title, mine), PAUSE);
  // What nobody sees takes no processor from the runs.
  if (document.visibilityState === "hidden") return again();
  try {
    const { text, goesOn } = await askText(path);
    if (mine !== turn) return;
    if (text !== page.text) draw(page.text = text, title);
    by("page-status").textContent = "";
    if (!goesOn) return;
  } catch (error) {
    if (mine !== turn) return;
    by("page-status").textContent = error.message;
  }
  again();
}

function draw(text, title) {
  const frame = el("iframe", { title, src: "/frame", sandbox: "allow-scripts allow-downloads", referrerpolicy: "no-referrer" });
  // It has no origin that could be named; it is the server's own document, which has just been loaded.
  frame.addEventListener("load", () => frame.contentWindow.postMessage(themed(text), "*"), { once: true });
  by("page-frame").replaceChildren(frame);
}

/** Forgets the page: what is not shown takes no memory, and nothing in it runs. */
export function hidePage() {
  turn++;
  page = null;
  by("page-frame").replaceChildren();
}

by("page-save").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([page.text], { type: "text/html" }));
  el("a", { href: url, download: `${page.name}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
});
