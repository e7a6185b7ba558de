//! Programs that keep the processors of a virtual machine awake, one on each (`--keep-awake`).
//!
//! A host takes a processor that sleeps and gives it back late. On a machine of one's own a kernel started
//! with `idle=poll` does the same as these. They run only where nothing else wants the processor: their
//! control group is idle (`cpu.idle`), so that anything of any other group or session takes their place at
//! once. The policy SCHED_IDLE alone would not do: it holds inside a session (autogroups, sched(7)), and
//! sessions share processors evenly.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Hierarchies of control groups with a controller of processors, of version 1 and of version 2.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];

/// The programs and their control group; they end when this is dropped.
pub struct Awake {
    group: PathBuf,
    programs: Vec<Child>,
}

impl Awake {
    /// Starts a program on each of the processors from 0 to `processors`.
    pub fn begin(processors: usize) -> Result<Awake> {
        let mut awake = Awake { group: idle_group()?, programs: Vec::new() };
        let members = awake.group.join("cgroup.procs");
        for processor in 0..processors {
            // Ended by the kernel if this program is killed.
            let program = Command::new("setpriv")
                .args(["--pdeathsig", "KILL", "taskset", "-c", &processor.to_string()])
                .args(["sh", "-c", "echo $$ > \"$0\" && while :; do :; done"])
                .arg(&members)
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start setpriv (util-linux)")?;
            awake.programs.push(program);
        }
        Ok(awake)
    }

    /// The sentence under each table.
    pub fn words() -> &'static str {
        "A program of an idle control group kept each processor awake meanwhile, as a kernel started with `idle=poll` does."
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // It may have ended by itself.
            let _ = program.kill();
            let _ = program.wait();
        }
        if let Err(error) = fs::remove_dir(&self.group) {
            eprintln!("cannot remove {}: {error}", self.group.display());
        }
    }
}

/// A new control group whose members run only where nothing else does.
fn idle_group() -> Result<PathBuf> {
    let name = format!("farfield-awake-{}", std::process::id());
    for hierarchy in HIERARCHIES.map(Path::new) {
        remove_leftovers(hierarchy);
        let group = hierarchy.join(&name);
        if !hierarchy.join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
            continue;
        }
        if fs::write(group.join("cpu.idle"), "1").is_ok() {
            return Ok(group);
        }
        fs::remove_dir(&group).with_context(|| format!("cannot remove {}", group.display()))?;
    }
    bail!("`--keep-awake` needs root and a control group with `cpu.idle` (Linux 5.15 or later)")
}

/// Removes the groups of benches that were killed: those without members.
fn remove_leftovers(hierarchy: &Path) {
    for entry in fs::read_dir(hierarchy).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("farfield-awake-") {
            // Refused while a group has members.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
