// What the parts of the page share. All that comes from the server is text to the page, set as text; the one
// exception, charts, is parsed apart from the page, where no script runs, and the page's policy lets none run that
// is not a file of the server.
import { request } from "/token.js";

export const by = (id) => document.getElementById(id);

/** An element with attributes and children; texts are texts. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A refusal by the server: its sentence, its status, and all that it answered. */
class Refusal extends Error {
  constructor(status, answer) {
    super(answer.error ?? `status ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

async function replyTo(path, options) {
  try {
    return await request(path, options);
  } catch {
    throw new Error("farfield does not answer; it may have ended");
  }
}

/** Asks the server; `body` makes it a command. An error has the server's sentence. */
export async function ask(path, body) {
  const reply = await replyTo(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await reply.json().catch(() => ({ error: `status ${reply.status}` }));
  if (!reply.ok) throw new Refusal(reply.status, answer);
  return answer;
}

/** A page of the server, as text, and whether what it shows goes on. */
export async function askText(path) {
  const reply = await replyTo(path);
  const text = await reply.text();
  if (reply.ok) return { text, goesOn: reply.headers.get("farfield-ended") === "0" };
  let answer = { error: text };
  try {
    answer = JSON.parse(text);
  } catch {
    // A sentence.
  }
  throw new Refusal(reply.status, answer);
}

/** A table whose first column is text and whose others are numbers. */
export function table(head, rows, texts = [0]) {
  const kind = (at) => (texts.includes(at) ? null : "number");
  return el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((name, at) => el("th", { scope: "col", class: kind(at) }, name)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, at) => el("td", { class: kind(at) }, cell))))));
}

/** A chart that the server drew. */
export function chart(svg) {
  return document.adoptNode(new DOMParser().parseFromString(svg, "text/html").body.firstElementChild);
}
