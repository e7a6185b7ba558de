//! Files that one program sees in place of the machine's (mount_namespaces(7)).

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::Path;

const HOSTS: &str = "/etc/hosts";

/// Adds names to `/etc/hosts` (hosts(5)), for the calling thread and what it starts: it gets a mount
/// namespace of its own, where the new file `over` lies over the machine's.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `NotFound` without that file; then the machine's stays.
pub fn add_hosts(hosts: &[(IpAddr, &str)], over: &Path) -> io::Result<()> {
    let mut text = std::fs::read_to_string(HOSTS)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for (address, name) in hosts {
        let _ = writeln!(text, "{address}\t{name}");
    }
    std::fs::write(over, text)?;
    unshare_mounts()?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    Ok(mount_bind(over, HOSTS)?)
}

#[expect(unsafe_code, reason = "unsharing can be unsafe, for descriptors")]
fn unshare_mounts() -> io::Result<()> {
    // SAFETY: descriptors stay shared, which is the one thing that the call asks for.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}
