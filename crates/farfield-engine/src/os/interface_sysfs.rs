//! What an interface has in sysfs: files that the machine's own sysfs shows for the interfaces of whoever mounted it.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io;

/// The sysfs of the calling thread's network namespace, mounted nowhere.
#[derive(Debug)]
pub struct InterfaceSysfs {
    root: OwnedFd,
}

impl InterfaceSysfs {
    /// Opens it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, or in a user namespace without a full view of sysfs.
    pub fn open() -> io::Result<InterfaceSysfs> {
        let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        Ok(InterfaceSysfs {
            root: fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?,
        })
    }

    /// Writes `value` into the file `attribute` of `interface`.
    ///
    /// # Errors
    /// `NotFound` from a kernel that does not have it, or what the kernel says of the value.
    pub fn write(&self, interface: &str, attribute: &str, value: &str) -> io::Result<()> {
        let path = format!("class/net/{interface}/{attribute}");
        let file = openat(&self.root, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, value.as_bytes())?;
        Ok(())
    }
}
