// Runs that are kept: another name and note, and their removal, each asked for in a dialog.
import { ask, by } from "/dom.js";

/** Shows a dialog; returns whether it was left by its button of that value. */
function left(dialog, yes) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === yes), { once: true });
  });
}

/** Asks for a name and a note of a run; returns whether it was changed. */
export async function describe(run) {
  by("describe-title").textContent = `Name and note of ${run.shown}`;
  by("describe-name").value = run.scenario;
  by("describe-note").value = run.note ?? "";
  if (!await left(by("describe"), "yes")) return false;
  const { says } = await ask("/api/describe", { run: run.name, name: by("describe-name").value, note: by("describe-note").value });
  by("runs-error").textContent = says ?? "";
  return true;
}

/** Asks whether a run is to be deleted; returns whether it was. */
export async function askToDelete(run) {
  by("delete-title").textContent = `Delete ${run.shown}?`;
  if (!await left(by("delete"), "yes")) return false;
  await ask("/api/delete", { run: run.name });
  return true;
}
