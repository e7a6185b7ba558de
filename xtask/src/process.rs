//! Runs other programs, and says which one failed.

use anyhow::{Context, Result, bail};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Cargo, the same that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The folder of all builds: this program lies in `debug` or the like below it.
pub fn builds() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let builds = program.parent().and_then(Path::parent);
    builds.map(Path::to_owned).context("this program lies in no build folder")
}

/// The profile of what is shipped and measured.
pub const SHIPPED: &str = "dist";

/// The path at which [`build_farfield`] leaves the program.
pub fn farfield() -> Result<PathBuf> {
    Ok(builds()?.join(SHIPPED).join("farfield"))
}

/// Builds farfield as it is shipped; returns its executable.
pub fn build_farfield() -> Result<PathBuf> {
    run(cargo().args(["build", "--profile", SHIPPED, "--package", "farfield"]))?;
    farfield()
}

/// Runs `command` with this process's own output, after saying what is run.
pub fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", words(command));
    let status = command.status().with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", words(command));
    }
    Ok(())
}

/// The output of `command`, if it succeeds.
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", words(command), output.status);
    }
    Ok(output.stdout)
}

/// `command` as one would type it, without the folder of its program.
pub fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Processor time of a process and of those that it has waited for (proc_pid_stat(5)).
pub fn processor_time(pid: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the program's name: the state is field 3, and the four times, in hundredths of a second, are
    // 14 to 17.
    let (_, fields) = stat.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(4).map(|ticks| ticks.parse::<u64>().ok());
    let ticks: u64 = times.sum::<Option<u64>>()?;
    Some(Duration::from_millis(10 * ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 7"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 7` failed (exit status: 7)");
        let error = output(&mut Command::new("/nonexistent/tool")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start tool");
    }

    #[test]
    fn output_is_what_was_printed() {
        assert_eq!(output(Command::new("/bin/sh").args(["-c", "printf hello"])).unwrap(), b"hello");
    }
}
