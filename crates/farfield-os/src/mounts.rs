//! Files that one program sees in place of the machine's (mount_namespaces(7)).

use farfield_files::{Folder, TempDir, system, temporary_folder};
use rustix::fs::{Mode, fchmod};
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::Path;

const HOSTS: &str = "/etc/hosts";
const RESOLVER: &str = "/etc/resolv.conf";
const SWITCH: &str = "/etc/nsswitch.conf";
/// Folders with sockets of caches of names, which reach out of a network namespace.
const CACHES: [&str; 2] = ["/run/nscd", "/var/run/nscd"];

/// Adds names to `/etc/hosts` (hosts(5)), for the calling thread and what it starts, and lets them ask
/// `resolver` for all others, and nobody else: they get a mount namespace of their own, where files of a
/// temporary folder lie over the machine's. The folder is returned; what lies over a file stays there without
/// its own name.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `NotFound` without `/etc/hosts`; then the machine's stay.
pub fn add_names(hosts: &[(IpAddr, &str)], resolver: Option<IpAddr>) -> io::Result<TempDir> {
    let mut text = system::read_text(HOSTS)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for (address, name) in hosts {
        let _ = writeln!(text, "{address}\t{name}");
    }
    let files = temporary_folder("farfield-names-")?;
    let folder = Folder::open(files.path())?;
    unshare_mounts()?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    lay_over(HOSTS, "hosts", &text, &folder)?;
    if let Some(resolver) = resolver {
        // Without this file the C library asks 127.0.0.1, and without the next it asks as here.
        let _ = lay_over(RESOLVER, "resolv.conf", &format!("nameserver {resolver}\n"), &folder);
        if let Ok(text) = system::read_text(SWITCH) {
            let _ = lay_over(SWITCH, "nsswitch.conf", &of_files_and_dns(&text), &folder);
        }
        let empty = files.path().join("nothing");
        system::create_folder(&empty)?;
        for cache in CACHES.iter().filter(|cache| Path::new(cache).is_dir()) {
            mount_bind(&empty, *cache)?;
        }
    }
    Ok(files)
}

/// Shows `text` in place of a file that there is.
fn lay_over(file: &str, name: &str, text: &str, folder: &Folder) -> io::Result<()> {
    let mut over = folder.create_private(name)?;
    over.write_all(text.as_bytes())?;
    // Any user that the program runs as reads it, through the mount and not through the folder.
    fchmod(&over, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)?;
    Ok(mount_bind(folder.path().join(name), file)?)
}

/// A name service switch (nsswitch.conf(5)) whose hosts come from files and DNS: a service such as
/// systemd-resolved would be asked outside the namespace.
fn of_files_and_dns(switch: &str) -> String {
    let others = switch.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    others.chain(["hosts: files dns"]).fold(String::new(), |text, line| text + line + "\n")
}

#[expect(unsafe_code, reason = "unsharing can be unsafe, for descriptors")]
fn unshare_mounts() -> io::Result<()> {
    // SAFETY: descriptors stay shared, which is the one thing that the call asks for.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_from_files_and_dns() {
        let switch = "passwd: files systemd\n  hosts: files resolve [!UNAVAIL=return] dns\nports: db\n";
        assert_eq!(of_files_and_dns(switch), "passwd: files systemd\nports: db\nhosts: files dns\n");
    }
}
