//! The network namespace of a server that runs already: that of this machine, of a process, or of a file.
//!
//! Nothing here changes anything. What a testbed adds to such a namespace is in [`joined`](super::joined).

use farfield_os::namespace::{self, Namespace};
use std::io;
use std::path::{Path, PathBuf};

/// A network namespace that is not the run's own.
#[derive(Debug, Clone)]
pub struct HostNamespace {
    pub(super) namespace: Namespace,
    pub(super) handle: Handle,
    described: String,
    is_machines: bool,
}

/// Handle by which the namespace is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Handle {
    /// farfield runs in it.
    Own,
    /// A process in it.
    Process(u32),
    /// A file that refers to it.
    File(PathBuf),
}

impl HostNamespace {
    /// The namespace that farfield runs in.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn own() -> io::Result<HostNamespace> {
        Ok(HostNamespace::of(Namespace::current()?, Handle::Own, "this machine's own".to_owned()))
    }

    /// The namespace of a process.
    ///
    /// # Errors
    /// `NotFound` if there is no such process, `PermissionDenied` if it is another user's.
    pub fn of_process(pid: u32) -> io::Result<HostNamespace> {
        let (namespace, handle) = (Namespace::of_process(pid)?, Handle::Process(pid));
        Ok(HostNamespace::of(namespace, handle, format!("that of process {pid}")))
    }

    /// The namespace that a file refers to.
    ///
    /// # Errors
    /// See [`Namespace::of_file`].
    pub fn of_file(path: &Path) -> io::Result<HostNamespace> {
        let (namespace, handle) = (Namespace::of_file(path)?, Handle::File(path.to_owned()));
        Ok(HostNamespace::of(namespace, handle, path.display().to_string()))
    }

    fn of(namespace: Namespace, handle: Handle, described: String) -> HostNamespace {
        let inode = namespace.inode().ok();
        // farfield's own is that of its first thread, wherever the calling one is.
        let others = [namespace::inode_of_process(std::process::id()), namespace::inode_of_process(1)];
        let is_machines = inode.is_none() || handle == Handle::Own || others.contains(&inode);
        HostNamespace { namespace, handle, described: String::new(), is_machines }.described(described)
    }

    /// Sets its name for messages and reports, which stands behind "the network namespace:" there. That of
    /// this machine keeps its own.
    #[must_use]
    pub fn described(self, name: String) -> HostNamespace {
        let described = if self.is_machines { "this machine's own".to_owned() } else { name };
        HostNamespace { described, ..self }
    }

    /// The namespace's name, such as "this machine's own" or "that of process 7".
    pub fn name(&self) -> &str {
        &self.described
    }

    /// True if it is the machine's: the one that farfield runs in, or the system's first process. Programs
    /// other than the server depend on its settings.
    pub fn is_machines(&self) -> bool {
        self.is_machines
    }

    /// The namespace itself.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}
