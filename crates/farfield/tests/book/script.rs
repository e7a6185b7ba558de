//! A page's steps as a script of bash, run in a fresh folder and in namespaces of its own: network (loopback
//! alone, so that nothing leaves the machine and every port is free), mounts (names of network namespaces are
//! its own) and processes (all end with the script).
//!
//! The `farfield` that the page finds is the one under test, behind a few lines that make its runs fit for a
//! busy machine: they last [`LONGEST_S`] at most unless they are simulated, and the limits of the verdict
//! that judge the machine are wide ([`CALM`]).

use crate::page::{Action, Page, absent};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest measured part of a run on a page, where it is said by `-d`; a longer one is cut to it.
const LONGEST_S: u32 = 2;

/// Longest time for a page, in seconds of the clock of a busy machine.
const PATIENCE_S: u32 = 280;

/// Limits that hold on a busy machine: the pages are about commands, not about this machine.
const CALM: &str = "--set verdict.lateness-p99=1m --set verdict.loop-lag-p99=1m --set verdict.worker-busy=1 \
                    --set verdict.rate-error=1 --set verdict.longest-stall=1m --set verdict.host-steal=1 \
                    --set verdict.machine-busy=1 --set verdict.server-held-up=1 --set verdict.throttled=1 \
                    --set verdict.capture-error=1m --set verdict.departure-lateness-p99=1m \
                    --set verdict.arrival-lateness-p99=1m --set verdict.crossing-lateness-p99=1m \
                    --set verdict.delivery-lateness-p99=1m --set verdict.pickup-lateness-p99=1m \
                    --set verdict.response-time-law=1";

/// The beginning of each script.
const HEAD: &str = r#"
set -o pipefail
ip link set lo up && mount -t tmpfs tmpfs /run || exit 1
listeners() { cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A" { count++ } END { print count + 0 }'; }
await_listener() {
  for _ in $(seq 200); do
    [ "$(listeners)" -gt "$1" ] && return
    kill -0 $! 2>/dev/null || return
    sleep 0.05
  done
}
# The exit code of a pipeline by those of its commands: the last that failed. One before the last that ended
# by SIGPIPE did not: `| head` reads no more than it needs.
outcome() {
  local code=0 number=0 one
  for one in "$@"; do
    number=$((number + 1))
    [ "$one" = 0 ] || { [ "$one" = 141 ] && [ $number -lt $# ]; } || code=$one
  done
  echo $code
}
"#;

/// Runs the steps of `page` in order. The complaint begins with the line of the command that it is about.
pub fn run(page: &Page, root: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [home, out] = ["home", "out"].map(|name| folder.path().join(name));
    for made in [&home, &out, &folder.path().join("bin")] {
        fs::create_dir(made).expect("own folder");
    }
    // Servers that give up their rights must still be able to read here.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
    copy(&root.join("scenarios"), &home.join("scenarios"));
    program(&folder.path().join("bin/farfield"), &farfield());
    program(&folder.path().join("bin/sudo"), "exec \"$@\"\n");
    let script = folder.path().join("script");
    fs::write(&script, script_of(page, &out)).expect("own file");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("timeout")
        .args(["--kill-after=5", &PATIENCE_S.to_string()])
        .args(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"])
        .arg(&script)
        .env("PATH", format!("{}:{path}:/usr/sbin:/sbin", folder.path().join("bin").display()))
        .env("HOME", &home)
        .env("TMPDIR", folder.path())
        .env_remove("CI")
        .current_dir(&home)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text =
        |name: String| fs::read(out.join(name)).map(|text| String::from_utf8_lossy(&text).into_owned());
    let codes = text("codes".to_owned()).unwrap_or_default();
    let codes: BTreeMap<usize, &str> = codes
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(line, code)| Some((line.parse().ok()?, code)))
        .collect();
    for step in &page.steps {
        let Action::Command { text: command, exits, shown } = &step.action else { continue };
        let said = text(step.line.to_string()).unwrap_or_default();
        let what = match codes.get(&step.line) {
            Some(code) if exits.iter().any(|exit| *code == exit.to_string()) => {
                match &absent(shown, &said)[..] {
                    [] => continue,
                    labels => {
                        format!("no line of its output begins with `{}`: `{command}`", labels.join("`, `"))
                    }
                }
            }
            Some(&"silent") => format!("nothing listens after `{command}`"),
            Some(code) => format!("`{command}` ended with exit code {code} instead of {}", words(exits)),
            None => format!("`{command}` did not end ({})", output.status),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {what}\n{said}{errors}", step.line));
    }
    Ok(())
}

/// Copies the files of a folder, so that what a page writes there stays its own.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("own folder");
    for entry in fs::read_dir(from).expect("a folder of the repository") {
        let file = entry.expect("a file of the repository").path();
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("a file is copied");
    }
}

/// The path of a program that pages use.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The script: each command's output goes to a file that is called after its line, and its exit code to
/// `codes`; the first that differs from what is expected ends it.
fn script_of(page: &Page, out: &Path) -> String {
    let mut script = HEAD.to_owned();
    let (out, mut text) = (out.display(), String::new());
    for step in &page.steps {
        let line = step.line;
        let written = match &step.action {
            Action::File { name, content, replaces } => {
                let unless = if *replaces { String::new() } else { format!("[ -e {name} ] || ") };
                write!(text, "{unless}cat > {name} <<'END OF {line}'\n{content}END OF {line}\n")
            }
            Action::Command { text: command, exits, .. } => {
                // The colon is for a command in the background, which leaves the codes as they were.
                let codes = "codes=(\"${PIPESTATUS[@]}\")";
                let begin =
                    format!("before=$(listeners)\n{{\n:\n{command}\n{codes}\n}} > '{out}/{line}' 2>&1\n");
                let code = "code=$(outcome \"${codes[@]}\")\n";
                let wait = match is_server(command) {
                    true => "await_listener $before; [ \"$(listeners)\" -gt $before ] || code=silent\n",
                    false => "",
                };
                let exits = words(exits);
                let end = format!("[[ ' {exits} ' = *\" $code \"* ]] || exit 1\n");
                write!(text, "{begin}{code}{wait}echo {line} $code >> '{out}/codes'\n{end}")
            }
        };
        written.expect("a text takes text");
    }
    script.push_str(&text);
    script
}

fn words(exits: &[i32]) -> String {
    exits.iter().map(i32::to_string).collect::<Vec<_>>().join(" or ")
}

/// True if the command is a server that goes on in the background, whatever comment stands behind it. A
/// subshell is none.
fn is_server(command: &str) -> bool {
    let words = command.split(" #").next().unwrap_or_default();
    words.trim_end().ends_with('&') && !words.starts_with('(')
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/bash\n{script}")).expect("own file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("own file");
}

/// The lines before the farfield under test.
fn farfield() -> String {
    let real = env!("CARGO_BIN_EXE_farfield");
    format!(
        r#"words=()
case "$1" in
run | sweep | capacity) words=("$1" {CALM}); shift ;;
http://* | https://*) words=("$1" {CALM}); shift ;;
esac
[[ "$* " =~ ^https?:// && ! " $* " =~ " -d"|" -n "|" -z "|" --stages "|"-duration" ]] && set -- "$@" -d {LONGEST_S}s
[[ " $* " == *simulated* ]] && exec {real} "${{words[@]}}" "$@"
while [ $# -gt 0 ]; do
  [ "$1" = -- ] && break
  words+=("$1")
  if [[ "$1" = -d || "$1" = --duration ]]; then
    case "$2" in
    *ms | [1-{LONGEST_S}] | [1-{LONGEST_S}]s) words+=("$2") ;;
    *) words+=({LONGEST_S}s) ;;
    esac
    shift
  fi
  shift
done
exec {real} "${{words[@]}}" "$@"
"#
    )
}
