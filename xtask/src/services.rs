//! Keeps Debian's services off while packages are installed: none is started, and none stays enabled for the
//! next boot.
//!
//! The tests bring their own configurations and ports; a server that Debian starts would take port 80. What
//! was enabled before stays so.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Debian asks this program before it starts a service; 101 forbids it.
const POLICY: &str = "usr/sbin/policy-rc.d";

/// While it lives no service starts; when it goes, those that were enabled meanwhile are disabled again.
#[derive(Debug)]
pub struct ServicesOff {
    root: PathBuf,
    /// True if the policy was made here and must go again: a machine may have one of its own.
    made_policy: bool,
    enabled_before: BTreeSet<PathBuf>,
}

impl ServicesOff {
    /// Forbids services on the system below `root`, which is `/`.
    pub fn begin(root: &Path) -> Result<ServicesOff> {
        let policy = root.join(POLICY);
        let script = "#!/bin/sh\n# Kept by `cargo xtask` while it installs packages; delete it if it was left behind.\nexit 101\n";
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&policy);
        let made_policy = match made.and_then(|mut file| file.write_all(script.as_bytes())) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", policy.display())),
        };
        Ok(ServicesOff { root: root.to_owned(), made_policy, enabled_before: enabled(root) })
    }
}

impl Drop for ServicesOff {
    fn drop(&mut self) {
        let complain = |what: &Path, error: io::Error, then: &str| {
            eprintln!("cannot change {}: {error}; {then}", what.display());
        };
        if self.made_policy {
            let policy = self.root.join(POLICY);
            if let Err(error) = fs::remove_file(&policy) {
                complain(&policy, error, "services will not start until it is gone");
            }
        }
        for link in enabled(&self.root).difference(&self.enabled_before) {
            if let Err(error) = disable(link) {
                complain(link, error, "the service will start at the next boot");
            }
        }
    }
}

/// The links by which services start at boot: systemd's in `*.wants` and `*.requires`, and those of the run
/// levels.
fn enabled(root: &Path) -> BTreeSet<PathBuf> {
    let wanted = |folder: &Path| {
        folder.extension().is_some_and(|extension| extension == "wants" || extension == "requires")
    };
    let systemd = entries(&root.join("etc/systemd/system")).filter(|folder| wanted(folder));
    let levels = ["rc2.d", "rc3.d", "rc4.d", "rc5.d", "rcS.d"].map(|level| root.join("etc").join(level));
    let starts = levels.iter().flat_map(|level| entries(level)).filter(|link| level_link(link).is_some());
    systemd.flat_map(|folder| entries(&folder)).chain(starts).collect()
}

/// Undoes a link as `systemctl disable` and `update-rc.d NAME disable` do.
fn disable(link: &Path) -> io::Result<()> {
    match level_link(link) {
        Some(rest) => fs::rename(link, link.with_file_name(format!("K{rest}"))),
        None => fs::remove_file(link),
    }
}

/// The text after the `S` of a link in a run level's folder that starts a service, such as `S01nginx`.
fn level_link(link: &Path) -> Option<&str> {
    let folder = link.parent()?.file_name()?.to_str()?;
    let rest = link.file_name()?.to_str()?.strip_prefix('S')?;
    folder.starts_with("rc").then_some(rest)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// A system with one service enabled, and a way to enable others as a package's script does.
    fn system() -> (tempfile::TempDir, impl Fn(&str)) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        for place in ["usr/sbin", "etc/systemd/system/multi-user.target.wants", "etc/rc3.d"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        let enable = move |name: &str| {
            let unit = root.join(format!("etc/systemd/system/multi-user.target.wants/{name}.service"));
            symlink(format!("/lib/systemd/system/{name}.service"), unit).unwrap();
            symlink(format!("../init.d/{name}"), root.join(format!("etc/rc3.d/S01{name}"))).unwrap();
        };
        enable("ssh");
        (folder, enable)
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        entries(folder).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn services_are_forbidden_for_a_while_and_none_stays_enabled() {
        let (folder, enable) = system();
        let off = ServicesOff::begin(folder.path()).unwrap();
        let policy = folder.path().join(POLICY);
        assert_eq!(Command::new("/bin/sh").arg(&policy).status().unwrap().code(), Some(101));
        enable("nginx");
        drop(off);
        assert!(!policy.exists());
        let units = names(&folder.path().join("etc/systemd/system/multi-user.target.wants"));
        assert_eq!(units, BTreeSet::from(["ssh.service".to_owned()]));
        let levels = names(&folder.path().join("etc/rc3.d"));
        assert_eq!(levels, BTreeSet::from(["S01ssh".to_owned(), "K01nginx".to_owned()]));
    }

    #[test]
    fn a_policy_of_the_machine_stays() {
        let (folder, _) = system();
        let policy = folder.path().join(POLICY);
        fs::write(&policy, "own").unwrap();
        drop(ServicesOff::begin(folder.path()).unwrap());
        assert_eq!(fs::read_to_string(&policy).unwrap(), "own");
    }
}
