//! Network namespaces, and the user namespace in which an ordinary user may make them
//! (network_namespaces(7), user_namespaces(7)).
//!
//! Namespaces belong to threads: a thread that enters one leaves the other threads of the process where they
//! are.

use farfield_files::{open_regular, system};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// The file system of namespaces' files (statfs(2)).
const NSFS_MAGIC: u32 = 0x6e73_6673;

/// A network namespace, which lives at least as long as this value.
#[derive(Debug, Clone)]
pub struct Namespace {
    link: Arc<OwnedFd>,
}

impl Namespace {
    /// Makes a namespace, empty but for a loopback interface that is down.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSPC` past `user.max_net_namespaces`.
    pub fn make() -> io::Result<Namespace> {
        in_thread(|| {
            unshare(UnshareFlags::NEWNET)?;
            Namespace::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn current() -> io::Result<Namespace> {
        Namespace::at("/proc/thread-self/ns/net")
    }

    /// The namespace of a process.
    ///
    /// # Errors
    /// `NotFound` if there is no such process, `PermissionDenied` if it is another user's.
    pub fn of_process(pid: u32) -> io::Result<Namespace> {
        Namespace::at(&format!("/proc/{pid}/ns/net"))
    }

    /// The namespace that the file at `path` refers to, as ip-netns(8) makes such files.
    ///
    /// # Errors
    /// `NotFound` if there is no file, `PermissionDenied` if it may not be read, `InvalidInput` if it is
    /// another kind of file.
    pub fn of_file(path: &Path) -> io::Result<Namespace> {
        let namespace = Namespace::open(path)?;
        let kind = rustix::fs::fstatfs(&*namespace.link)?.f_type;
        // Of other kinds of namespaces the kernel says when they are entered.
        if i128::from(kind) != i128::from(NSFS_MAGIC) {
            let error = "it is not the file of a network namespace";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        Ok(namespace)
    }

    fn at(path: &str) -> io::Result<Namespace> {
        Namespace::open(Path::new(path))
    }

    fn open(path: &Path) -> io::Result<Namespace> {
        Ok(Namespace { link: Arc::new(open_regular(path)?.into()) })
    }

    /// Runs `work` in a thread of its own inside, and waits for it. Threads and processes that `work` starts
    /// are inside as well.
    ///
    /// # Errors
    /// If the thread cannot be made or may not enter.
    pub fn inside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        in_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Moves the calling thread inside, for good. A thread that is inside already needs no rights for it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN` over the namespace.
    pub fn enter(&self) -> io::Result<()> {
        if Namespace::current()?.inode()? == self.inode()? {
            return Ok(());
        }
        Ok(move_into_link_name_space(self.link.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Inode of the namespace, which identifies it in `/proc`. The kernel may give it to another one later.
    ///
    /// # Errors
    /// None known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(File::from(self.link.try_clone()?).metadata()?.ino())
    }

    /// A number that no other namespace gets until the machine restarts (`SO_NETNS_COOKIE`, Linux 5.14).
    ///
    /// # Errors
    /// As [`inside`](Self::inside), and `ENOPROTOOPT` on older kernels.
    pub fn cookie(&self) -> io::Result<u64> {
        self.inside(current_cookie)?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.link.as_fd()
    }
}

/// The inode of a process' network namespace, if it may be seen.
pub fn inode_of_process(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|link| link.ino())
}

/// Moves the calling process, which must have one thread, into a user namespace of its own, where it has all
/// capabilities and keeps its user and group, so that files and servers look as before.
///
/// # Errors
/// `EINVAL` with more than one thread, `EPERM` or `ENOSPC` where the machine forbids it.
pub fn enter_user_namespace() -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    unshare(UnshareFlags::NEWUSER)?;
    // A group may be mapped only once the process can no longer drop groups (user_namespaces(7)).
    system::write("/proc/self/setgroups", "deny")?;
    system::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    system::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Moves the calling process, which must have one thread, into the user namespace of another process of the
/// same user, where it has all capabilities: a container that an ordinary user runs has one.
///
/// # Errors
/// `EINVAL` with more than one thread or if it is there already, `EPERM` if the namespace is another user's.
pub fn enter_user_namespace_of(pid: u32) -> io::Result<()> {
    let link = system::open(format!("/proc/{pid}/ns/user"))?;
    Ok(move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::User))?)
}

/// Lets children of the calling thread, not the thread, have a PID namespace of their own.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `ENOSPC` past `user.max_pid_namespaces`.
pub fn new_pid_namespace_for_children() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// Runs `work` in a thread of its own, and waits.
fn in_thread<R: Send>(work: impl FnOnce() -> io::Result<R> + Send) -> io::Result<R> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("farfield inside".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[expect(unsafe_code, reason = "unsharing can be unsafe, for descriptors")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: descriptors stay shared, which is the one thing that the call asks for.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
fn current_cookie() -> io::Result<u64> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut cookie: u64 = 0;
    let mut length = size_of_val(&cookie) as libc::socklen_t;
    // SAFETY: the descriptor is open; the pointers are those of a live `u64`, which the option writes, and
    // of the length of it.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
