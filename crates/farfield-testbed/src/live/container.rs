//! Containers by name: the number of their first process, as their runtime's own program says it.
//!
//! `docker`, `podman` and `nerdctl` have `inspect NAME`, which prints a list of one object with `State.Pid`.
//! `crictl` (Kubernetes) has `inspect ID` with `info.pid`, and finds ids by name with `ps --quiet --name`.
//! The programs are asked in turn, with the caller's own rights; their daemons are not spoken to.

use super::LiveError;
use farfield_base::printable;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Programs in the order in which they are asked.
const DOCKER_LIKE: [&str; 3] = ["docker", "podman", "nerdctl"];
const CRICTL: &str = "crictl";

/// The number of a container's first process, from the runtimes on the PATH.
pub(super) fn process_of(name: &str) -> Result<u32, LiveError> {
    let mut said = Vec::new();
    for program in DOCKER_LIKE.into_iter().chain([CRICTL]) {
        let asked = match program {
            CRICTL => inspect_by_crictl(name),
            _ => ask(program, &["inspect", "--type", "container", name]),
        };
        match asked {
            RuntimeAnswer::Answered(text) => return read(program, name, &text),
            RuntimeAnswer::Refused(why) => said.push(format!("{program} says {why:?}")),
            RuntimeAnswer::NotInstalled => {}
        }
    }
    match said.is_empty() {
        true => Err(LiveError::NoRuntime { name: name.to_owned() }),
        false => Err(LiveError::NoContainer { name: name.to_owned(), said: said.join(", and ") }),
    }
}

/// Answer of a program.
enum RuntimeAnswer {
    NotInstalled,
    Answered(String),
    /// The program failed, and said this.
    Refused(String),
}

fn ask(program: &str, arguments: &[&str]) -> RuntimeAnswer {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Ok(output) = output else { return RuntimeAnswer::NotInstalled };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return RuntimeAnswer::Answered(text(&output.stdout));
    }
    let said = text(&output.stderr);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    RuntimeAnswer::Refused(printable(line, &[]).into_owned())
}

/// `crictl` takes ids alone: a name is looked up first.
fn inspect_by_crictl(name: &str) -> RuntimeAnswer {
    let by_name = match ask(CRICTL, &["ps", "--quiet", "--name", &format!("^{name}$")]) {
        RuntimeAnswer::Answered(ids) => {
            ids.lines().map(str::trim).find(|id| !id.is_empty()).map(str::to_owned)
        }
        other => return other,
    };
    ask(CRICTL, &["inspect", by_name.as_deref().unwrap_or(name)])
}

/// The number of the process in the answer to `inspect`.
fn read(program: &'static str, name: &str, text: &str) -> Result<u32, LiveError> {
    let unreadable = || LiveError::Unreadable { name: name.to_owned(), program };
    let answer: Value = serde_json::from_str(text).map_err(|_| unreadable())?;
    let object = answer.as_array().and_then(|list| list.first()).unwrap_or(&answer);
    let (pid, state) = match program {
        CRICTL => (&object["info"]["pid"], &object["status"]["state"]),
        _ => (&object["State"]["Pid"], &object["State"]["Status"]),
    };
    let pid = pid.as_u64().and_then(|pid| u32::try_from(pid).ok());
    let state = state.as_str().unwrap_or("unknown");
    let runs = matches!(state, "running" | "paused" | "CONTAINER_RUNNING" | "unknown");
    match pid {
        Some(pid) if pid > 0 && runs => Ok(pid),
        None if runs => Err(unreadable()),
        _ => {
            let state = printable(state, &[]).into_owned();
            Err(LiveError::NotRunning { name: name.to_owned(), state, program })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of the programs, cut to the parts around what is read.
    #[test]
    fn answers_of_runtimes_are_read() {
        let docker = r#"[{"Id":"4f","State":{"Status":"running","Running":true,"Paused":false,"Pid":4321,"ExitCode":0},
            "NetworkSettings":{"Networks":{"bridge":{"IPAddress":"172.17.0.2"}}}}]"#;
        assert_eq!(read("docker", "web", docker).unwrap(), 4321);
        let podman =
            r#"[{"State":{"OciVersion":"1.1.0","Status":"running","Running":true,"Pid":77,"ConmonPid":75}}]"#;
        assert_eq!(read("podman", "web", podman).unwrap(), 77);
        let crictl = r#"{"status":{"id":"9c","state":"CONTAINER_RUNNING"},"info":{"sandboxID":"a","pid":99,"runtimeSpec":{}}}"#;
        assert_eq!(read("crictl", "web", crictl).unwrap(), 99);
    }

    #[test]
    fn what_does_not_run_is_named() {
        let exited = r#"[{"State":{"Status":"exited","Running":false,"Pid":0}}]"#;
        let said = read("docker", "web", exited).unwrap_err().to_string();
        assert!(said.contains("web is not running (exited, says docker)"), "{said}");
        let exited = r#"{"status":{"state":"CONTAINER_EXITED"},"info":{"pid":0}}"#;
        assert!(matches!(read("crictl", "web", exited), Err(LiveError::NotRunning { .. })));
        for text in ["", "[]", "{}", "no JSON", r#"[{"State":{"Pid":"7"}}]"#] {
            assert!(matches!(read("podman", "web", text), Err(LiveError::Unreadable { .. })), "{text}");
        }
    }
}
