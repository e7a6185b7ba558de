// The form and the scenario's text beside it. The server knows the fields, writes and reads the text, and checks it;
// here is only what shows them.
import { ask, by, chart, el } from "/dom.js";

let form = null;
const fields = new Map();

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
  return by("text").value === kept || window.confirm("The scenario in the form has changes that are not saved. Replace it?");
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

function draw() {
  by("form").replaceChildren(...form.parts.map((part) =>
    el("fieldset", {}, el("legend", {}, part.title), ...part.fields.map(drawField))));
  apply();
}

function drawField(field) {
  const id = `field-${field.key.replaceAll(".", "-")}`;
  const help = el("p", { class: "help", id: `${id}-help` }, el("code", {}, field.key), field.help ? `: ${field.help}` : "");
  const made = makers[field.kind](field, id, `${id}-help`);
  const box = el("div", { class: "field" }, ...made.elements, help, ...(made.after ?? []));
  fields.set(field.key, { field, box, value: made.value, set: made.set });
  return box;
}

const label = (field, id) => el("label", { for: id }, field.label);
const plain = (tag) => (field, id, help) => {
  const input = el(tag, { id, "aria-describedby": help, placeholder: field.example, oninput: fromForm, spellcheck: "false" });
  return { elements: [label(field, id), input], value: () => input.value, set: (value) => { input.value = value ?? ""; } };
};
const choices = (values, example) => [el("option", { value: "" }, example ? `default (${example})` : "default"),
  ...values.map((value) => el("option", { value }, value))];

const makers = {
  text: plain("input"),
  number: plain("input"),
  lines: plain("textarea"),
  paths: plain("textarea"),
  choice(field, id, help) {
    const select = el("select", { id, "aria-describedby": help, onchange: fromForm }, ...choices(field.choices, field.example));
    return {
      elements: [label(field, id), select], value: () => select.value,
      set: (value) => {
        if (value && ![...select.options].some((option) => option.value === value)) select.append(el("option", { value }, value));
        select.value = value ?? "";
      },
    };
  },
  distribution(field, id, help) {
    const select = el("select", { id, "aria-describedby": help, onchange: () => { parameters({}); changed(); } },
      el("option", { value: "" }, "a plain value"), ...form.distributions.map((known) => el("option", { value: known.name }, known.name)));
    const inputs = el("div", { class: "parameters" });
    const drawn = el("div", { class: "drawn", "aria-live": "polite" });
    let timer = 0;
    const changed = () => { fromForm(); clearTimeout(timer); timer = setTimeout(preview, 200); };
    function parameters(values) {
      const known = form.distributions.find((one) => one.name === select.value);
      const names = known ? [...new Set([...known.parameters, ...Object.keys(values)])] : ["value"];
      inputs.replaceChildren(...names.filter((name) => name !== "distribution").map((name) => {
        const input = el("input", { "data-name": name, oninput: changed, spellcheck: "false", placeholder: known ? "" : field.example });
        input.value = values[name] ?? "";
        return el("label", {}, known ? `${name} ` : "value ", input);
      }));
    }
    function value() {
      const all = [...inputs.querySelectorAll("input")].map((input) => [input.dataset.name, input.value]);
      return select.value ? { distribution: select.value, ...Object.fromEntries(all) } : all[0][1];
    }
    async function preview() {
      const given = value();
      if (!given || (typeof given === "object" && Object.values(given).some((text) => text === ""))) return drawn.replaceChildren();
      try {
        const answer = await ask("/api/draw", { key: field.key, value: given });
        drawn.replaceChildren(el("p", { class: "help" }, answer.words), chart(answer.chart));
      } catch (error) {
        drawn.replaceChildren(el("p", { class: "wrong" }, error.message));
      }
    }
    parameters({});
    return {
      elements: [label(field, id), select, inputs], after: [drawn], value,
      set: (given) => {
        const known = typeof given === "object" && form.distributions.some((one) => one.name === given.distribution);
        select.value = known ? given.distribution : "";
        parameters(known ? given : { value: typeof given === "object" ? "" : given ?? "" });
        preview();
      },
    };
  },
  classes(field, id, help) {
    const body = el("tbody");
    const row = (values) => {
      const cell = (name, title, input) => {
        input.dataset.name = name;
        input.setAttribute("aria-label", `${title} of the class`);
        input.value = values[name] ?? "";
        return el("td", {}, input);
      };
      const text = () => el("input", { oninput: fromForm, spellcheck: "false" });
      const line = el("tr", {}, cell("name", "name", text()), cell("share", "share", text()),
        cell("access", "access link", el("select", { onchange: fromForm }, ...choices(field.choices))),
        cell("rtt", "round-trip time", text()),
        el("td", {}, el("button", { type: "button", "aria-label": "remove the class", onclick: () => { line.remove(); fromForm(); } }, "×")));
      return line;
    };
    const add = el("button", { type: "button", "aria-describedby": help, onclick: () => body.append(row({})) }, "Add a class");
    const head = ["name", "share", "access link", "round-trip time", ""].map((name) => el("th", { scope: "col" }, name || el("span", { class: "unseen" }, "remove")));
    return {
      elements: [el("span", { class: "label" }, field.label),
        el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": field.label }, el("table", { class: "rows" }, el("thead", {}, el("tr", {}, ...head)), body)), add],
      value: () => [...body.rows].map((line) =>
        Object.fromEntries([...line.querySelectorAll("[data-name]")].map((input) => [input.dataset.name, input.value]))),
      set: (rows) => body.replaceChildren(...(rows ?? []).map(row)),
    };
  },
};

/** Hides fields that do not apply, by the values of others, and parts without any that do. */
function apply() {
  for (const { field, box } of fields.values()) {
    const { key, values } = field.when;
    box.hidden = Boolean(key) && !values.includes(fields.get(key).value());
  }
  for (const part of by("form").querySelectorAll("fieldset")) {
    part.hidden = [...part.children].every((child) => child.hidden || child.tagName === "LEGEND");
  }
}

// What was changed last counts: answers about what was before it are dropped.
let writing = 0;
let reading = 0;
let turn = 0;
function fromForm() {
  apply();
  clearTimeout(writing);
  clearTimeout(reading);
  const mine = ++turn;
  writing = setTimeout(async () => {
    const values = {};
    for (const [key, { box, value }] of fields) values[key] = box.hidden ? (Array.isArray(value()) ? [] : "") : value();
    try {
      const { text } = await ask("/api/write", { text: by("text").value, values });
      if (mine !== turn) return;
      by("text").value = text;
      await check(mine);
    } catch (error) {
      if (mine === turn) say(error.message, "wrong");
    }
  }, 250);
}

by("text").addEventListener("input", () => {
  clearTimeout(writing);
  clearTimeout(reading);
  turn++;
  reading = setTimeout(fromText, 400);
});

async function fromText() {
  const mine = ++turn;
  try {
    const { values } = await ask("/api/read", { text: by("text").value });
    if (mine !== turn) return;
    for (const [key, { set }] of fields) set(values[key]);
    apply();
    await check(mine);
  } catch (error) {
    if (mine === turn) say(error.message, "wrong");
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
    say("The scenario is valid.", "fine");
    return true;
  } catch (error) {
    if (mine === turn) say(error.message, "wrong");
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
    if (await save()) say(`Saved as ${saved}.`, "fine");
  } catch (error) {
    say(error.message, "wrong");
  }
});
by("start").addEventListener("click", async () => {
  try {
    if (!(await check(++turn)) || !(await save())) return;
    const id = await start(saved);
    if (id === null) say(`Saved as ${saved}, and not started.`);
    else location.hash = `#run/${id}`;
  } catch (error) {
    say(error.message, "wrong");
  }
});
by("form").addEventListener("submit", (event) => event.preventDefault());
