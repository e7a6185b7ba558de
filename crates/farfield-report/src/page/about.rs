//! The comparison with packets, the machine, and how to run it again.

use super::{escaped, missing, table, text_of};
use crate::comparison::inputs::flatten_json;
use crate::directory::RunDirectory;
use crate::secrets;
use crate::terminal::Look;
use farfield_verify::Verification;
use std::collections::BTreeMap;
use std::fmt::Write;

const BYTES_MAX: u64 = 1 << 28;
/// Characters of the scenario that are shown.
const SCENARIO_MAX: usize = 100_000;
/// Rows of the environment that are shown.
const ROWS: usize = 500;

pub(super) fn verification(page: &mut String, run: &RunDirectory) {
    let Some(text) = text_of(run, "verify.json", BYTES_MAX) else { return };
    page.push_str("<h2>Samples and packets</h2>\n");
    match serde_json::from_str::<Verification>(&text) {
        Ok(found) => {
            let text = crate::verification::render(&found, Look::default());
            let lines: Vec<String> = text.lines().map(escaped).collect();
            let _ = writeln!(page, "<pre>{}</pre>", lines.join("\n"));
        }
        Err(error) => missing(page, &format!("verify.json: {error}")),
    }
}

pub(super) fn environment(page: &mut String, run: &RunDirectory) {
    page.push_str("<h2>Environment</h2>\n");
    let text = text_of(run, "environment.json", BYTES_MAX);
    let Some(machine) = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok()) else {
        return missing(page, "environment.json is absent or damaged");
    };
    let mut keys = BTreeMap::new();
    flatten_json("", &machine, &mut keys);
    let row = |(key, value): (&String, &String)| {
        let value: String = value.chars().take(500).collect();
        let key = escaped(key.trim_start_matches('.'));
        vec![key, format!("<span class=\"name\">{}</span>", escaped(&value))]
    };
    let rows: Vec<Vec<String>> = keys.iter().take(ROWS).map(row).collect();
    page.push_str("<details><summary>The machine and its settings</summary>\n");
    table(page, &["", ""], &rows);
    page.push_str("</details>\n");
}

pub(super) fn again(page: &mut String, run: &RunDirectory) {
    let name = run.path().file_name().unwrap_or(run.path().as_os_str()).to_string_lossy();
    let _ = writeln!(
        page,
        "<h2>Again</h2>\n<p>With the run directory: <code class=\"name\">farfield run {}</code></p>",
        escaped(&name)
    );
    let Some(scenario) = text_of(run, "scenario.toml", BYTES_MAX) else {
        return missing(page, "scenario.toml is absent");
    };
    let Some(scenario) = secrets::shown(&scenario) else {
        return missing(page, "scenario.toml is damaged");
    };
    let shown: Vec<String> =
        scenario.chars().take(SCENARIO_MAX).collect::<String>().lines().map(escaped).collect();
    let _ = writeln!(
        page,
        "<details><summary>The scenario, with all defaults, and without credentials</summary><pre>{}</pre></details>",
        shown.join("\n")
    );
}
