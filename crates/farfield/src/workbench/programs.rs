//! Programs that a run would start, as somebody reads them before they run: what, as whom, and where.

use farfield_base::printable;
use farfield_os::user::User;
use farfield_scenario::starts::StartedProgram;
use serde_json::{Value, json};

/// The programs, for the page. Texts have no control characters and no turns of the direction of writing:
/// what is read is what runs.
pub fn json(programs: &[StartedProgram]) -> Value {
    let own = own_user();
    let line = |program: &StartedProgram| {
        let environment = program.environment.iter();
        let environment: Vec<String> = environment
            .map(|(name, value)| printable(&format!("{name}={value}"), &[]).into_owned())
            .collect();
        json!({
            "key": program.key,
            "command": printable(&program.line(), &['\n']),
            "user": printable(program.user.as_deref().unwrap_or(&own), &[]),
            "directory": printable(&program.directory.to_string_lossy(), &[]),
            "environment": environment,
        })
    };
    programs.iter().map(line).collect()
}

/// The user whose process this is, by name where the system has one.
fn own_user() -> String {
    let uid = rustix::process::geteuid().as_raw().to_string();
    User::named(&uid).ok().and_then(|user| user.name).unwrap_or_else(|| format!("user {uid}"))
}
