//! An interface's attributes in sysfs. A mounted sysfs shows the interfaces of the namespace that mounted
//! it, so this module opens one of the calling thread's own.

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
    /// `NotFound` if the kernel has no such attribute, or the kernel's error about the value.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel's, in its own mount")]
    pub fn write(&self, interface: &str, attribute: &str, value: &str) -> io::Result<()> {
        let path = format!("class/net/{interface}/{attribute}");
        let file = openat(&self.root, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, value.as_bytes())?;
        Ok(())
    }
}
