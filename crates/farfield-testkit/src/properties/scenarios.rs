//! Any text as a scenario: the property of the fuzz target `scenario_text`.
//!
//! It is read into a plan or refused with one mistake; nothing is started. A scenario that is printed reads
//! as the same one. Seeds name no files.

use farfield_scenario::{Overlay, from_text};

/// The text of a scenario.
pub fn of_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match from_text(text, None, &Overlay::default()) {
        Ok(plan) => {
            let printed = plan.scenario().to_toml();
            let again = from_text(&printed, None, &Overlay::default());
            let again = again.unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again.scenario().to_toml(), printed, "what is printed reads as the same");
        }
        // The command line writes control characters of it as escapes.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
