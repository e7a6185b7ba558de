// The fields of the form, as the server describes them: how each kind is drawn, filled in and read. A scope has the
// fields of one table of a scenario; a list of tables has a scope for each of its rows, with the scope around it for
// conditions on other fields.
import { ask, chart, el } from "/dom.js";

/** Distributions with their parameters, and what is called after each change. */
let distributions = [];
let changed = () => {};

/** Prepares the fields: `described` is the server's form. */
export function prepare(described, whenChanged) {
  distributions = described.distributions;
  changed = whenChanged;
}

/** Rows were made so often: their elements have names of their own. */
let rowsMade = 0;

const isEmpty = (value) => value === undefined || value === null || value === ""
  || (typeof value === "object" && Object.values(value).every(isEmpty));
const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A sentence about something wrong, beside what it is about. */
function complaint(id) {
  const line = el("p", { class: "wrong", id, hidden: true });
  return { line, show(sentence) { line.textContent = sentence; line.hidden = sentence === ""; } };
}

/** The fields of a table. */
export class Scope {
  /** `prefix` begins the ids of its elements; `helped` those of the descriptions, where these lie apart. */
  constructor(prefix, around = null, helped = null) {
    this.prefix = prefix;
    this.around = around;
    this.helped = helped;
    this.entries = new Map();
  }

  /** The field of a key, here or around. */
  entry(key) {
    return this.entries.get(key) ?? this.around?.entry(key);
  }

  /** Draws a field; in a cell of a table its name stands above. Its group shows what is wrong with a table of fields. */
  draw(field, { isCell = false, group = null, without = "" } = {}) {
    const id = `${this.prefix}-${field.key.replaceAll(".", "-")}`;
    const helpId = this.helped ? `${this.helped}-${field.key.replaceAll(".", "-")}-help` : `${id}-help`;
    const wrong = complaint(`${id}-wrong`);
    const made = makers[field.kind](field, id, isCell ? `${id}-wrong` : `${helpId} ${id}-wrong`, this);
    const help = this.helped ? null : el("p", { class: "help", id: helpId }, el("code", {}, field.key), field.help ? `: ${field.help}` : "");
    const isWide = ["rows", "distribution", "lines", "paths", "area"].includes(field.kind);
    const box = isCell ? el("td", {}, ...made.controls, wrong.line)
      : el("div", { class: isWide ? "field wide" : "field" }, made.label, ...made.controls, help, wrong.line, ...(made.after ?? []));
    if (!made.rows) made.controls[0].dataset.key = field.key;
    this.entries.set(field.key, this.track({ field, box, group, without, wrong, made, isHidden: false }));
    return box;
  }

  /** A field that nobody changed has the value that it was filled with, whatever its elements make of that. */
  track(entry) {
    const { made } = entry;
    let given;
    let shown = null;
    return Object.assign(entry, {
      wasHidden: false,
      given: () => given,
      value: () => (JSON.stringify(made.value()) === shown ? given ?? made.value() : made.value()),
      fill(value) {
        given = value;
        made.set(value);
        shown = JSON.stringify(made.value());
      },
      mark(sentence) {
        entry.wrong.show(sentence);
        const input = made.rows ? null : entry.box.querySelector("input, select, textarea");
        if (sentence) input?.setAttribute("aria-invalid", "true");
        else input?.removeAttribute("aria-invalid");
      },
    });
  }

  fill(values) {
    for (const [key, entry] of this.entries) entry.fill(values[key]);
  }

  /** Notes which fields do not apply now: what the text has of these stays. */
  settle() {
    for (const entry of this.entries.values()) {
      entry.wasHidden = entry.isHidden;
      for (const row of entry.made.rows ?? []) row.scope.settle();
    }
  }

  /** The values of the fields. One that came not to apply is empty. */
  values() {
    const values = {};
    for (const [key, entry] of this.entries) {
      if (!entry.isHidden) values[key] = entry.value();
      else values[key] = entry.wasHidden ? entry.given() : entry.made.rows ? [] : "";
    }
    return values;
  }

  /** Whether a field applies, by the values of others. */
  applies({ when }) {
    return !when.key || when.values.includes(this.entry(when.key).value());
  }

  /** Hides fields that do not apply. */
  apply() {
    for (const entry of this.entries.values()) {
      const { field, box, without, made } = entry;
      entry.isHidden = !this.applies(field) || (without !== "" && this.entry(without).made.rows.length > 0);
      box.hidden = entry.isHidden;
      made.apply?.();
    }
  }

  /** What shows a key: its field, the nearest table of fields around it, or the first field in it. */
  find(key) {
    for (const [own, entry] of this.entries) {
      if (key !== own && !key.startsWith(`${own}.`) && !key.startsWith(`${own}[`)) continue;
      return entry.made.find?.(key.slice(own.length)) ?? entry;
    }
    const below = [...this.entries].filter(([own, { isHidden }]) => own.startsWith(`${key}.`) && !isHidden);
    return below.length > 0 ? below[0][1].group ?? below[0][1] : null;
  }
}

/** A table of fields that a sentence may be about, with the line that shows it. */
export function groupOf(id) {
  const wrong = complaint(id);
  return { line: wrong.line, mark: wrong.show };
}

const label = (field, id) => el("label", { for: id }, field.label);
const plain = (tag) => (field, id, described) => {
  const input = el(tag, { id, "aria-describedby": described, placeholder: field.example, oninput: () => changed(), spellcheck: "false" });
  return { label: label(field, id), controls: [input], value: () => input.value, set: (value) => { input.value = value ?? ""; } };
};
const choices = (values, example) => [el("option", { value: "" }, example ? `default (${example})` : "default"),
  ...values.map((value) => el("option", { value }, value))];

const makers = {
  text: plain("input"),
  number: plain("input"),
  area: plain("textarea"),
  lines: plain("textarea"),
  paths: plain("textarea"),
  choice(field, id, described) {
    const select = el("select", { id, "aria-describedby": described, onchange: () => changed() }, ...choices(field.choices, field.example));
    return {
      label: label(field, id), controls: [select], value: () => select.value,
      set: (value) => {
        if (value && ![...select.options].some((option) => option.value === value)) select.append(el("option", { value }, value));
        select.value = value ?? "";
      },
    };
  },
  distribution(field, id, described) {
    const select = el("select", { id, "aria-describedby": described, onchange: () => { parameters({}); changing(); } },
      el("option", { value: "" }, "a plain value"), ...distributions.map((known) => el("option", { value: known.name }, known.name)));
    const inputs = el("div", { class: "parameters" });
    const picture = drawing(field, () => {
      const given = value();
      return given && (typeof given !== "object" || !Object.values(given).includes("")) ? { value: given } : null;
    });
    const changing = () => { changed(); picture.soon(); };
    function parameters(values) {
      const known = distributions.find((one) => one.name === select.value);
      const names = known ? [...new Set([...known.parameters, ...Object.keys(values)])] : ["value"];
      inputs.replaceChildren(...names.filter((name) => name !== "distribution").map((name) => {
        const input = el("input", { "data-name": name, oninput: changing, spellcheck: "false", placeholder: known ? "" : field.example });
        input.value = values[name] ?? "";
        return el("label", {}, known ? `${name} ` : "value ", input);
      }));
    }
    function value() {
      const all = [...inputs.querySelectorAll("input")].map((input) => [input.dataset.name, input.value]);
      return select.value ? { distribution: select.value, ...Object.fromEntries(all) } : all[0][1];
    }
    parameters({});
    return {
      label: label(field, id), controls: [select, inputs], after: [picture.box], value,
      set: (given) => {
        const known = typeof given === "object" && distributions.some((one) => one.name === given?.distribution);
        select.value = known ? given.distribution : "";
        parameters(known ? given : { value: typeof given === "object" ? "" : given ?? "" });
        picture.now();
      },
    };
  },
  rows: drawRows,
};

/** A picture of a field's value by the server; `wanted` is what to ask for, null for nothing. */
function drawing(field, wanted) {
  const box = el("div", { class: "drawn plots", "aria-live": "polite" });
  let timer = 0;
  let turn = 0;
  let last = "null";
  async function now() {
    const asked = wanted();
    if (JSON.stringify(asked) === last) return;
    last = JSON.stringify(asked);
    const mine = ++turn;
    if (!asked) return box.replaceChildren();
    try {
      const answer = await ask("/api/draw", { key: field.key, ...asked });
      if (mine === turn) box.replaceChildren(el("p", { class: "help" }, answer.words), chart(answer.chart));
    } catch (error) {
      if (mine === turn) box.replaceChildren(el("p", { class: "wrong" }, error.message));
    }
  }
  return { box, now, soon() { clearTimeout(timer); timer = setTimeout(now, 200); } };
}

/** A list of tables: a line or a box each, to be added, removed and moved. */
function drawRows(field, id, described, scope) {
  const { one, is_line: isLine, by_name: byName, is_drawn: isDrawn, takes, fields } = field.rows;
  const rows = [];
  const body = el(isLine ? "tbody" : "div", { id });
  const heads = fields.map((inner) => el("th", { scope: "col" }, inner.label));
  const picture = isDrawn ? drawing(field, () => stagesOf(rows, scope)) : null;
  const add = el("button", { type: "button", id: `${id}-add`, "aria-describedby": described, onclick: append }, `Add a ${one}`);

  function insert(values) {
    const row = (isLine ? lineOf : boxOf)(field, id, scope, { remove: () => remove(row), raise: () => raise(row) });
    row.from = values.from;
    row.scope.fill(values);
    row.show(values.others ?? []);
    rows.push(row);
    body.append(row.element);
    return row;
  }
  function append() {
    const first = {};
    if (takes && rows.length === 0) {
      for (const inner of fields.filter(({ key }) => key.startsWith(takes))) first[inner.key] = scope.entry(inner.key)?.value();
    }
    const row = insert(first);
    changed();
    row.scope.settle();
    row.element.querySelector("input").focus();
  }
  function remove(row) {
    const at = rows.indexOf(row);
    rows.splice(at, 1);
    row.element.remove();
    changed();
    const next = rows[Math.min(at, rows.length - 1)];
    (next ? next.element.querySelector("input") : add).focus();
  }
  function raise(row) {
    const at = rows.indexOf(row);
    if (at === 0) return;
    rows.splice(at, 1);
    rows.splice(at - 1, 0, row);
    body.insertBefore(row.element, rows[at].element);
    changed();
    // The first row has nowhere to go, and its button no focus.
    (row.raise.disabled ? row.element.querySelector("input") : row.raise).focus();
  }
  const value = () => rows.map((row) => ({ from: row.from, ...row.scope.values() }));
  const isBlank = (row) => row.from === undefined && isEmpty(row.scope.values());
  const named = (name) => rows.find((row) => row.scope.entries.get("name").value() === name);

  const table = isLine && el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": field.label },
    el("table", { class: "rows" }, el("thead", {}, el("tr", {}, ...heads, el("th", { scope: "col" }, el("span", { class: "unseen" }, "order")))), body));
  return {
    label: el("span", { class: "label" }, field.label),
    controls: isLine ? [table, add] : [describe(field, id), body, add],
    after: picture ? [picture.box] : [],
    rows,
    value,
    set(given) {
      rows.splice(0);
      body.replaceChildren();
      for (const values of given ?? []) insert(values);
      picture?.now();
    },
    apply() {
      rows.forEach((row, at) => {
        row.scope.apply();
        row.entitle(at + 1);
        row.raise.disabled = at === 0;
      });
      fields.forEach((inner, at) => { if (isLine) heads[at].hidden = inner.when.key !== "" && !scope.applies(inner); });
      if (table) table.hidden = rows.length === 0;
      picture?.soon();
    },
    /** What shows the rest of a key: a row by its number or name, or a field in it. */
    find(rest) {
      const [, number, name, key] = /^(?:\[(\d+)\]|\.([^.[]+))\.?(.*)$/.exec(rest) ?? [];
      const row = number !== undefined ? rows.filter((one) => !isBlank(one))[Number(number)] : byName && named(name);
      return row ? (key && row.scope.find(key)) || row.group : null;
    },
  };
}

/** What to ask for a picture of the load that stages make; null while one of them lacks something. */
function stagesOf(rows, scope) {
  const stages = rows.map((row) => row.scope.values()).filter((values) => !isEmpty(values));
  if (stages.length === 0 || stages.some((stage) => isEmpty(stage.for) || isEmpty(stage.to))) return null;
  const isClosed = ["", "closed"].includes(scope.entry("load.model").value());
  return { value: stages, from: isClosed ? scope.entry("load.users").value() : "" };
}

/** The buttons of a row. */
function toolsOf(one, { remove, raise }, texts) {
  const up = el("button", { type: "button", onclick: raise }, texts.raise);
  const away = el("button", { type: "button", onclick: remove }, texts.remove);
  function entitle(number) {
    up.setAttribute("aria-label", `Move up: ${one} ${number}`);
    away.setAttribute("aria-label", `Remove: ${one} ${number}`);
  }
  return { up, away, entitle };
}

/** A row as a line of a table. */
function lineOf(field, id, around, does) {
  const scope = new Scope(`${id}-${++rowsMade}`, around, id);
  const cells = field.rows.fields.map((inner) => scope.draw(inner, { isCell: true }));
  const tools = toolsOf(field.rows.one, does, { raise: "↑", remove: "×" });
  const others = el("p", { class: "help" });
  const element = el("tr", {}, ...cells, el("td", { class: "tools-of-row" }, tools.up, tools.away, others));
  return {
    scope, element, raise: tools.up,
    group: [...scope.entries.values()][0],
    show(keys) { others.textContent = keys.length > 0 ? `and ${keys.join(", ")}` : ""; },
    entitle(number) {
      tools.entitle(number);
      for (const entry of scope.entries.values()) entry.made.controls[0].setAttribute("aria-label", `${entry.field.label}, ${field.rows.one} ${number}`);
    },
  };
}

/** A row as a box. */
function boxOf(field, id, around, does) {
  const { one, fields } = field.rows;
  const prefix = `${id}-${++rowsMade}`;
  const scope = new Scope(prefix, around, id);
  const group = groupOf(`${prefix}-wrong`);
  const boxes = fields.map((inner) => scope.draw(inner, { group }));
  const tools = toolsOf(one, does, { raise: "Move up", remove: "Remove" });
  const legend = el("legend");
  const others = el("p", { class: "help" });
  const element = el("fieldset", { class: "one" }, legend, group.line, el("div", { class: "fields" }, ...boxes), others,
    el("div", { class: "tools" }, tools.up, tools.away));
  return {
    scope, element, group, raise: tools.up,
    show(keys) { others.textContent = keys.length > 0 ? `Also in the file, where it stays: ${keys.join(", ")}` : ""; },
    entitle(number) {
      tools.entitle(number);
      const name = scope.entries.get("name").value();
      legend.textContent = name ? `${capital(one)} ${number}: ${name}` : `${capital(one)} ${number}`;
    },
  };
}

/** The descriptions of the fields of boxes, once for all of them. */
function describe(field, id) {
  const lines = field.rows.fields.flatMap((inner) => [
    el("dt", {}, inner.label, " ", el("code", {}, inner.key)),
    el("dd", { id: `${id}-${inner.key.replaceAll(".", "-")}-help` }, inner.help),
  ]);
  return el("details", { class: "help" }, el("summary", {}, `The fields of a ${field.rows.one}`), el("dl", {}, ...lines));
}
