//! Another user for a server that root starts (credentials(7)).

use std::ffi::{CStr, CString};
use std::io;
use std::path::PathBuf;

/// True if this process is root's: of the machine, or of its user namespace.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A user of the system, with the ids and groups of their processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// All groups.
    groups: Vec<libc::gid_t>,
    /// Name, if the system has an entry for the id.
    pub name: Option<String>,
    /// Home directory, if the system has an entry for the id.
    pub home: Option<PathBuf>,
}

impl User {
    /// The user of this name, or of this id, which needs no entry in the system's list.
    ///
    /// # Errors
    /// `NotFound` if there is no user of that name.
    pub fn named(text: &str) -> io::Result<User> {
        let number = text.parse::<u32>().ok().filter(|uid| *uid != u32::MAX);
        let name = CString::new(text).map_err(|_| io::ErrorKind::InvalidInput)?;
        match (look_up(&name, number)?, number) {
            (Some(user), _) => Ok(user),
            (None, Some(uid)) => Ok(User { uid, gid: uid, groups: vec![uid], name: None, home: None }),
            (None, None) => {
                Err(io::Error::new(io::ErrorKind::NotFound, "the system knows no user of that name"))
            }
        }
    }

    /// Makes the calling process this user's, irrevocably. Safe between fork and exec: raw calls, which
    /// change the one thread that exists then.
    ///
    /// # Errors
    /// `EPERM` unless the process is root.
    #[expect(unsafe_code, reason = "raw calls, for between fork and exec")]
    pub fn assume(&self) -> io::Result<()> {
        // SAFETY: the pointer is that of a live list of the given length; the other calls take numbers.
        let done = unsafe {
            libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
                && libc::setgid(self.gid) == 0
                && libc::setuid(self.uid) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The system's entry of a number, or else of a name (getpwnam_r(3)).
#[expect(unsafe_code, reason = "the system's list of users has no safe wrapper")]
fn look_up(name: &CStr, number: Option<u32>) -> io::Result<Option<User>> {
    let mut buffer = vec![0; 1 << 16];
    let mut found = std::ptr::null_mut();
    // SAFETY: all-zero is a valid `passwd`; all pointers are those of live values, the buffer's length is
    // its own. What `found` and its strings point to lies in `entry` and `buffer`, and is copied before
    // these go.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let (text, room) = (buffer.as_mut_ptr(), buffer.len());
        let error = match number {
            Some(uid) => libc::getpwuid_r(uid, &raw mut entry, text, room, &raw mut found),
            None => libc::getpwnam_r(name.as_ptr(), &raw mut entry, text, room, &raw mut found),
        };
        // Several results mean that there is no such entry (getpwnam_r(3), section Errors).
        if !matches!(error, 0 | libc::ENOENT | libc::ESRCH) {
            return Err(io::Error::from_raw_os_error(error));
        }
        if found.is_null() {
            return Ok(None);
        }
        let own = |text: *const libc::c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        let mut groups = vec![0; 1 << 10];
        let mut count = groups.len() as libc::c_int;
        if libc::getgrouplist(entry.pw_name, entry.pw_gid, groups.as_mut_ptr(), &raw mut count) < 0 {
            return Err(io::Error::other("the user is in more than 1024 groups"));
        }
        groups.truncate(count as usize);
        Ok(Some(User {
            uid: entry.pw_uid,
            gid: entry.pw_gid,
            groups,
            name: Some(own(entry.pw_name)),
            home: Some(own(entry.pw_dir).into()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        let root = User::named("root").unwrap();
        assert_eq!((root.uid, root.gid, root.name.as_deref()), (0, 0, Some("root")));
        assert_eq!(User::named("0").unwrap(), root);
        assert!(root.groups.contains(&0));
        let nobody_known = User::named("4123456789").unwrap();
        assert_eq!((nobody_known.uid, nobody_known.name), (4_123_456_789, None));
        assert_eq!(User::named("no such user").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(User::named("a\0b").is_err());
    }
}
