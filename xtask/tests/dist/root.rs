//! Roots with next to nothing in them: the libraries of the packages that farfield's depends on, and places
//! for the kernel's file systems. No compiler, no shell.

use crate::release::succeeds;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Mounts the kernel's file systems into the root `$1`, and runs what follows there, in mount and process
/// namespaces of its own, so that all of it is gone at the end.
const ENTER: &str = "set -e; root=$1; shift
mount -t proc proc \"$root/proc\"
mount --rbind /sys \"$root/sys\"
mount --rbind /dev \"$root/dev\"
exec chroot \"$root\" \"$@\"";

/// A root, removed when it is dropped.
pub struct Root {
    folder: TempDir,
}

impl Root {
    /// A root without a file.
    pub fn empty() -> Root {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["proc", "sys", "dev", "tmp", "root", "etc", "run"] {
            fs::create_dir(folder.path().join(name)).expect("a folder in a root");
        }
        Root { folder }
    }

    /// A root with the libraries of these packages of Debian, as they are installed here, of which its own
    /// dpkg knows.
    pub fn with_packages(packages: &[&str]) -> Root {
        let root = Root::empty();
        let mut status = String::new();
        for package in packages {
            for file in succeeds(Command::new("dpkg-query").args(["-L", package])).lines() {
                let name = file.rsplit('/').next().unwrap_or_default();
                // Not what glibc converts character sets with, and the like.
                let is_library =
                    name.contains(".so") && !file.contains("/gconv/") && Path::new(file).is_file();
                if is_library && (file.starts_with("/lib") || file.starts_with("/usr/lib")) {
                    let copy = root.path(file);
                    fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder in a root");
                    fs::copy(file, copy).expect("a library is copied");
                }
            }
            status += &succeeds(Command::new("dpkg-query").args(["-s", package]));
            status.push('\n');
        }
        let known = root.path("var/lib/dpkg");
        fs::create_dir_all(known.join("info")).expect("a folder in a root");
        fs::create_dir_all(known.join("updates")).expect("a folder in a root");
        fs::write(known.join("status"), status).expect("dpkg's list");
        root
    }

    /// The path outside of a path inside.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside.trim_start_matches('/'))
    }

    /// Runs a program of the root.
    pub fn run(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]);
        command.arg(self.folder.path()).args(words).current_dir(self.folder.path());
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        command
    }
}

/// True if this process may build roots; if not, `test` is skipped.
pub fn may_build(test: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        farfield_testkit::skip(test, "roots need root");
    }
    root
}

/// True if the system has `program`; if not, `test` is skipped.
pub fn has(test: &str, program: &str) -> bool {
    let has = xtask::system::find(program).is_some();
    if !has {
        farfield_testkit::skip(test, &format!("{program} is not installed"));
    }
    has
}
