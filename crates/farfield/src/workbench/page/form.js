// The form and the scenario's text beside it. The server knows the fields, writes and reads the text, and checks it;
// here is only what shows them.
import { ask, by, el } from "/dom.js";
import { Scope, groupOf, prepare } from "/fields.js";

let form = null;
const fields = new Scope("field");

/** The text that the form was filled from, over which it is laid, and what stands in its place since. */
let base = "";
let shown = "";

/** The run whose scenario was filled in last, to be run again; null once a file was opened. */
let filledWith = null;

/** The text as it was filled in, opened or saved last: another one has changes that are nowhere else. */
let kept = "";

/** How often the form was shown: what was asked for by an earlier time is dropped. */
let times = 0;

function entitle(title) {
  by("new-title").textContent = title;
  if (!by("part-new").hidden) document.title = `${title} · farfield`;
}

/** Shows the form, filled with the scenario of the run `again` where there is one. */
export async function showForm(again = null) {
  const time = ++times;
  const isFilled = again !== null && again === filledWith;
  entitle(isFilled ? titleOf(again) : "New run");
  try {
    if (!form) {
      form = await ask("/api/form");
      draw();
      await fromText();
    }
    await listFiles();
    // Whoever comes back to the form finds it as it was.
    if (time === times && again !== null && again !== filledWith) await fill(again, time);
  } catch (error) {
    if (time === times) say(error.message, "wrong");
  }
}

const titleOf = (run) => `${run} again, with changes`;

async function listFiles() {
  const { files } = await ask("/api/scenarios");
  const before = by("files").value;
  by("files").replaceChildren(...files.map((name) => el("option", { value: name }, name)));
  if (files.includes(before)) by("files").value = before;
  by("open").disabled = files.length === 0;
}

/** Whether the text may be replaced: one with changes that are not saved is asked about. */
function mayReplace() {
  return (by("text").value === kept && !isAhead) || window.confirm("The scenario in the form has changes that are not saved. Replace it?");
}

/** Shows another scenario in place of what was there. */
async function replace(text, file) {
  by("text").value = kept = text;
  by("file").value = file;
  await fromText();
}

/** Fills in the scenario of a run, unless the form was shown anew or changed before the answer came. */
async function fill(run, time) {
  if (!mayReplace()) return say("The form is left as it was.");
  const mine = ++turn;
  const isLate = () => mine !== turn || time !== times;
  try {
    const { text, file } = await ask(`/api/again?run=${encodeURIComponent(run)}`);
    if (isLate()) return;
    filledWith = run;
    saved = null;
    entitle(titleOf(run));
    await replace(text, file);
  } catch (error) {
    if (!isLate()) say(error.message, "wrong");
  }
}

function say(text, kind = "") {
  by("new-status").className = kind;
  by("new-status").textContent = text;
}

/** Keys of the text's own tables for which there is no field. */
const others = el("p", { class: "help" });

function draw() {
  prepare(form, fromForm);
  by("form").replaceChildren(...form.parts.map(({ title, without, fields: inner }, at) => {
    const group = groupOf(`part-${at}-wrong`);
    return el("fieldset", {}, el("legend", {}, title), group.line, ...inner.map((field) => fields.draw(field, { group, without })));
  }), others);
  apply();
}

/** Hides fields that do not apply, by the values of others, and parts without any that do. */
function apply() {
  fields.apply();
  for (const part of by("form").querySelectorAll(":scope > fieldset")) {
    part.hidden = [...part.querySelectorAll(":scope > .field")].every((box) => box.hidden);
  }
}

/** What the last mistake is shown at. */
let marked = null;

/** Says what is wrong, also at the field that it is about. */
function refuse(error) {
  settle();
  say(error.message, "wrong");
  const { key, sentence } = error.answer ?? {};
  if (!key) return;
  // A key that is missing is none yet: the sentence has its name.
  const missing = /^missing field `([^`]+)`/.exec(sentence)?.[1];
  marked = (missing && fields.find(`${key}.${missing}`)) || fields.find(key);
  marked?.mark(sentence);
}
function settle() {
  marked?.mark("");
  marked = null;
}

// What was changed last counts: answers about what was before it are dropped.
let writing = 0;
let reading = 0;
let turn = 0;
/** Whether the form has changes that the text lacks: they were refused, or are not written yet. */
let isAhead = false;
function fromForm() {
  apply();
  clearTimeout(writing);
  clearTimeout(reading);
  isAhead = true;
  const mine = ++turn;
  writing = setTimeout(() => write(mine), 250);
}

/** Lays the form over the text; returns whether that is a scenario. */
async function write(mine) {
  // What was typed beside the form and is not in it yet is not written over.
  if (by("text").value !== shown) {
    await fromText();
    return false;
  }
  try {
    const { text } = await ask("/api/write", { text: base, values: fields.values() });
    if (mine !== turn) return false;
    by("text").value = text;
    shown = by("text").value;
    isAhead = false;
    return await check(mine);
  } catch (error) {
    if (mine === turn) refuse(error);
    return false;
  }
}

/** Writes at once what the form has and the text lacks; returns whether the text has all of it. */
async function settled() {
  clearTimeout(writing);
  if (isAhead) await write(++turn);
  return !isAhead;
}

by("text").addEventListener("input", () => {
  clearTimeout(writing);
  clearTimeout(reading);
  turn++;
  reading = setTimeout(fromText, 400);
});

async function fromText() {
  const mine = ++turn;
  const text = by("text").value;
  try {
    const { values } = await ask("/api/read", { text });
    if (mine !== turn) return;
    base = shown = text;
    isAhead = false;
    // Rows are made anew, and with them what was marked.
    settle();
    fields.fill(values);
    others.textContent = values.others.length > 0 ? `Also in the file, where it stays: ${values.others.join(", ")}` : "";
    apply();
    fields.settle();
    await check(mine);
  } catch (error) {
    if (mine === turn) refuse(error);
  }
}

const count = (programs) => (programs.length === 1 ? "a program" : `${programs.length} programs`);

/** A program that a run would start: what, as whom, and where. */
function program({ key, command, user, directory, environment }) {
  return el("div", { class: "program" }, el("pre", {}, command),
    el("p", { class: "help" }, "as ", el("strong", {}, user), `, in ${directory}, by `, el("code", {}, key),
      ...(environment.length > 0 ? [", with ", el("code", {}, environment.join(" "))] : [])));
}

/** Shows the programs, and asks whether to start them. */
function confirmed(programs) {
  const dialog = by("confirm");
  by("confirm-title").textContent = `Start ${count(programs)}?`;
  by("confirm-programs").replaceChildren(...programs.map(program));
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
  });
}

/** Starts a run of a file; programs of it are confirmed first. Returns its number, or null if they were not. */
async function start(file) {
  let confirm = "";
  for (;;) {
    try {
      return (await ask("/api/start", { file, confirmed: confirm })).id;
    } catch (error) {
      // The file may be changed while one reads: what is asked for then is asked anew.
      if (error.status !== 409) throw error;
      if (!await confirmed(error.answer.programs)) return null;
      confirm = error.answer.confirm;
    }
  }
}

/** Checks the text; returns whether it is a scenario. */
async function check(mine) {
  try {
    const answer = await ask("/api/check", { file: by("file").value, text: by("text").value });
    if (mine !== turn) return false;
    by("resolved").textContent = answer.resolved;
    by("programs").hidden = answer.programs.length === 0;
    by("programs").replaceChildren(`A run of this scenario starts ${count(answer.programs)}:`, ...answer.programs.map(program));
    settle();
    say("The scenario is valid.", "fine");
    return true;
  } catch (error) {
    if (mine === turn) refuse(error);
    return false;
  }
}

/** The file that is being edited: it was opened or saved here. */
let saved = null;
by("open").addEventListener("click", async () => {
  const name = by("files").value;
  if (!mayReplace()) return;
  const mine = ++turn;
  try {
    const { text } = await ask(`/api/scenario?file=${encodeURIComponent(name)}`);
    if (mine !== turn) return;
    saved = name;
    filledWith = null;
    entitle("New run");
    await replace(text, name);
  } catch (error) {
    if (mine === turn) say(error.message, "wrong");
  }
});

/** Writes the file; asks before it replaces another than the one that is being edited. */
async function save() {
  const file = by("file").value.trim();
  const body = { file, text: by("text").value };
  const known = [...by("files").options].some((option) => option.value === file);
  const isReplaced = known && (saved === file || window.confirm(`Replace ${file}?`));
  if (known && !isReplaced) return false;
  await ask("/api/save", { ...body, replace: isReplaced });
  saved = file;
  kept = body.text;
  await listFiles();
  return true;
}
by("save").addEventListener("click", async () => {
  try {
    if (!await settled()) return;
    if (await save()) say(`Saved as ${saved}.`, "fine");
  } catch (error) {
    say(error.message, "wrong");
  }
});
by("start").addEventListener("click", async () => {
  try {
    if (!(await settled()) || !(await check(++turn)) || !(await save())) return;
    const id = await start(saved);
    if (id === null) say(`Saved as ${saved}, and not started.`);
    else location.hash = `#run/${id}`;
  } catch (error) {
    say(error.message, "wrong");
  }
});
by("form").addEventListener("submit", (event) => event.preventDefault());
