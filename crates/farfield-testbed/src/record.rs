//! On-disk record of each testbed in use, from which the next start clears away the leftovers of a killed
//! run.
//!
//! A namespace of ours ends with its last process and descriptor, and so with a killed run. Leftovers are a
//! server that could not be contained, control groups, and settings in a namespace that is not ours.
//!
//! A run holds a lock on its record for as long as it lives (flock(2)): a process that gets the lock knows
//! that the owner is gone, in whichever PID namespace it was. Clearing runs with root's rights, so a record
//! is trusted only if nobody else can have written it: in a folder and a file that are ours and that others
//! may not write.

#![expect(
    clippy::disallowed_methods,
    reason = "the folder's name is known to all, so its owner and mode are checked, and files are opened in it"
)]

use super::host::Handle;
use super::{HostNamespace, processes, settings};
use farfield_files::system;
use farfield_os::control_group;
use farfield_os::namespace::Namespace;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

/// Upper bound on a record's size: a longer file was not written by us.
const BYTES_MAX: u64 = 1 << 20;

/// The locked record file of a testbed in use. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct TestbedRecord {
    folder: PathBuf,
    at: OwnedFd,
    name: String,
    file: File,
    content: RecordContent,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordContent {
    /// Boot id of the machine when this was written.
    boot: String,
    namespace_inode: u64,
    /// Cookie of the namespace, unique until the machine restarts.
    namespace_cookie: u64,
    /// Namespace to be found again, if it is not ours.
    host: Option<Host>,
    /// Previous values of its changed settings.
    restore: Vec<(String, String)>,
    /// The control groups of its server.
    groups: Vec<PathBuf>,
}

/// A namespace that is not ours: no process in it is to be killed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Host {
    /// The namespace of a process.
    Process(Process),
    /// A file that refers to it.
    File {
        /// The file's path.
        file: PathBuf,
    },
    /// farfield's own, of which nothing is changed.
    Own {
        /// Always true.
        own: bool,
    },
}

impl Host {
    fn of(host: &HostNamespace) -> Option<Host> {
        Some(match &host.handle {
            Handle::Own => Host::Own { own: true },
            Handle::Process(pid) => Host::Process(Process::of(*pid)?),
            Handle::File(path) => Host::File { file: path.clone() },
        })
    }

    /// The namespace, if it is still there.
    fn find(&self) -> Option<Namespace> {
        match self {
            Host::Process(process) if process.lives() => Namespace::of_process(process.pid).ok(),
            Host::File { file } => Namespace::of_file(file).ok(),
            Host::Process(_) | Host::Own { .. } => None,
        }
    }
}

/// A process, distinguished from a later one of the same number by its start time.
#[derive(Debug, Serialize, Deserialize)]
struct Process {
    pid: u32,
    start_ticks: u64,
}

impl Process {
    fn of(pid: u32) -> Option<Process> {
        Some(Process { pid, start_ticks: processes::start_ticks(pid)? })
    }

    fn lives(&self) -> bool {
        processes::start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// A name that is unique among the running testbeds of this machine.
pub(super) fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |link| link.ino());
    let ticks = processes::start_ticks(pid).unwrap_or(0);
    format!("{pid}-{}-{namespace}-{ticks}", COUNT.fetch_add(1, Ordering::Relaxed))
}

impl TestbedRecord {
    /// Writes the record of a testbed. `None` if no directory is writable: a testbed works without a record.
    pub fn write(namespace: &Namespace, host: Option<&HostNamespace>) -> Option<TestbedRecord> {
        let content = RecordContent {
            boot: boot()?,
            namespace_inode: namespace.inode().ok()?,
            namespace_cookie: namespace.cookie().ok()?,
            host: match host {
                Some(host) => Some(Host::of(host)?),
                None => None,
            },
            restore: Vec::new(),
            groups: Vec::new(),
        };
        let name = format!("place-{}.json", unique_name());
        let (folder, at, file) = directories().into_iter().find_map(|folder| {
            // Another run that ends removes the folder if it is empty, perhaps before the file is in it.
            (0..3).find_map(|_| {
                let at = private_folder(&folder, true)?;
                let file = locked_file(&at, &name, &content).ok()?;
                Some((folder.clone(), at, file))
            })
        })?;
        Some(TestbedRecord { folder, at, name, file, content })
    }

    /// Adds the settings to restore.
    pub fn keep_settings(&mut self, restore: &[(String, String)]) {
        self.content.restore = restore.to_vec();
        // The record exists already; without this part it clears less.
        let _ = write(&self.file, &self.content);
    }

    /// Adds control groups that are about to be made.
    pub fn keep_groups(&mut self, groups: Vec<PathBuf>) {
        self.content.groups.extend(groups);
        let _ = write(&self.file, &self.content);
    }
}

impl Drop for TestbedRecord {
    fn drop(&mut self) {
        // If the file cannot be removed, the next start finds that its owner is gone, and nothing to clear.
        let _ = rustix::fs::unlinkat(&self.at, &self.name, AtFlags::empty());
        // The folder stays while it holds records of other testbeds.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Clears away the leftovers of killed runs, as far as this user may.
pub(super) fn clear_leftovers() {
    for folder in directories() {
        let Some(at) = private_folder(&folder, false) else { continue };
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| name.starts_with("place-") && name.ends_with(".json")) {
            // The lock is held until the file is gone, so that only one of two starts clears.
            let Some(file) = left_by_the_dead(&at, &name) else { continue };
            if let Some(content) = read(&file)
                && is_of_this_boot(&content)
            {
                clear(&content);
            }
            // If the file cannot be removed it does no harm: the next start finds nothing of what it
            // describes.
            let _ = rustix::fs::unlinkat(&at, &name, AtFlags::empty());
        }
    }
}

fn clear(content: &RecordContent) {
    match &content.host {
        None => kill_all(content),
        Some(host) => {
            let same = |namespace: &Namespace| {
                namespace.cookie().is_ok_and(|cookie| cookie == content.namespace_cookie)
            };
            if let Some(namespace) = host.find().filter(same) {
                // A namespace that cannot be entered cannot be restored from here.
                let _ = namespace.inside(|| settings::restore(&content.restore));
            }
        }
    }
    for group in &content.groups {
        control_group::remove(group);
    }
}

/// Kills all processes in the namespace, identified by its cookie: the inode may be another namespace's by
/// now.
fn kill_all(content: &RecordContent) {
    let here = Namespace::current().and_then(|namespace| namespace.cookie());
    if here.map_or(true, |here| here == content.namespace_cookie) {
        return;
    }
    processes::kill_in_network_namespace(content.namespace_inode, content.namespace_cookie);
}

/// Directories for records, the preferred one first.
fn directories() -> Vec<PathBuf> {
    let of_user = env::var_os("XDG_RUNTIME_DIR").map(|directory| PathBuf::from(directory).join("farfield"));
    let user = rustix::process::getuid().as_raw();
    let shared = env::temp_dir().join(format!("farfield-{user}"));
    [Some(PathBuf::from("/run/farfield")), of_user, Some(shared)].into_iter().flatten().collect()
}

/// Opens the folder if it is this user's own and nobody else may write in it, and creates it first if
/// `make`. A folder that others may read is closed to them: a run is private.
fn private_folder(path: &Path, make: bool) -> Option<OwnedFd> {
    if make {
        // An existing folder is checked below, like a new one.
        let _ = rustix::fs::mkdir(path, Mode::RWXU);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&at).ok()?;
    if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o022 != 0 {
        return None;
    }
    if found.st_mode & 0o077 != 0 {
        rustix::fs::fchmod(&at, Mode::RWXU).ok()?;
    }
    Some(at)
}

/// Creates the file, locked before anyone can see it under its name.
fn locked_file(at: &OwnedFd, name: &str, content: &RecordContent) -> io::Result<File> {
    let draft = format!(".{name}");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(at, &draft, flags, Mode::RUSR | Mode::WUSR)?);
    let named = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(io::Error::from)
        .and_then(|()| write(&file, content))
        .and_then(|()| Ok(rustix::fs::renameat_with(at, &draft, at, name, RenameFlags::NOREPLACE)?));
    if let Err(error) = named {
        let _ = rustix::fs::unlinkat(at, &draft, AtFlags::empty());
        return Err(error);
    }
    Ok(file)
}

/// Opens and locks the record, if it can be trusted and its owner is gone.
fn left_by_the_dead(at: &OwnedFd, name: &str) -> Option<File> {
    // NONBLOCK: if it is a FIFO, opening it does not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(at, name, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    let is_ours = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
        && found.st_uid == rustix::process::geteuid().as_raw()
        && found.st_mode & 0o022 == 0
        && found.st_nlink == 1;
    if !is_ours {
        return None;
    }
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(file.into()),
        // Its owner lives, or another start is clearing it.
        Err(Errno::WOULDBLOCK) => None,
        // Without locks in the file system the owner may live, and a live run must not be cleared.
        Err(_) => None,
    }
}

/// Overwrites the content, which only grows: a run that is killed meanwhile leaves the new text, and at
/// worst an old end behind it, which reading ignores.
fn write(file: &File, content: &RecordContent) -> io::Result<()> {
    let text = serde_json::to_vec(content)?;
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)
}

fn read(file: &File) -> Option<RecordContent> {
    let mut text = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::Deserializer::from_slice(&text).into_iter().next()?.ok()
}

fn boot() -> Option<String> {
    system::read_text("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn is_of_this_boot(content: &RecordContent) -> bool {
    boot().is_some_and(|boot| boot == content.boot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn content() -> RecordContent {
        let (boot, restore, groups) = ("now".into(), Vec::new(), vec!["/sys/fs/cgroup/farfield-1".into()]);
        RecordContent { boot, namespace_inode: 1, namespace_cookie: 2, host: None, restore, groups }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_that_others_may_write_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("farfield");
        assert!(private_folder(&folder, false).is_none(), "only looked for");
        assert!(private_folder(&folder, true).is_some() && mode(&folder) == 0o700);
        let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        for open in [0o777, 0o770, 0o702, 0o1777] {
            set(open);
            assert!(private_folder(&folder, true).is_none(), "{open:o}");
        }
        set(0o755);
        assert!(private_folder(&folder, true).is_some() && mode(&folder) == 0o700, "closed to readers");
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(private_folder(&link, true).is_none(), "a link leads elsewhere");
    }

    #[test]
    fn a_record_is_its_owners_and_exclusive() {
        let home = tempfile::tempdir().unwrap();
        let at = private_folder(home.path(), false).unwrap();
        let file = locked_file(&at, "place-1.json", &content()).unwrap();
        let path = home.path().join("place-1.json");
        assert_eq!(mode(&path), 0o600);
        assert!(locked_file(&at, "place-1.json", &content()).is_err(), "there is one of that name");
        assert!(left_by_the_dead(&at, "place-1.json").is_none(), "its owner lives");
        drop(file);
        assert_eq!(read(&left_by_the_dead(&at, "place-1.json").unwrap()).unwrap().groups, content().groups);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(left_by_the_dead(&at, "place-1.json").is_none(), "others may have written it");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&path, home.path().join("place-2.json")).unwrap();
        assert!(left_by_the_dead(&at, "place-2.json").is_none(), "a second name may be somebody else's file");
        std::os::unix::fs::symlink(&path, home.path().join("place-3.json")).unwrap();
        rustix::fs::mkfifoat(&at, "place-4.json", Mode::RUSR | Mode::WUSR).unwrap();
        for strange in ["place-3.json", "place-4.json", "place-5.json"] {
            assert!(left_by_the_dead(&at, strange).is_none(), "{strange}");
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 4, "no draft is left");
    }

    /// In a namespace that is not ours, whatever it is found by, no process may be killed.
    #[test]
    fn a_host_is_read_as_one() {
        let pid = std::process::id();
        let own = HostNamespace::own().unwrap();
        let of_process = HostNamespace::of_process(pid).unwrap();
        let of_file = HostNamespace::of_file(Path::new("/proc/self/ns/net")).unwrap();
        for host in [own, of_process, of_file] {
            let content = RecordContent { host: Host::of(&host), ..content() };
            let text = serde_json::to_string(&content).unwrap();
            let read: RecordContent = serde_json::from_str(&text).unwrap();
            assert!(read.host.is_some(), "{text}");
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        let ours: RecordContent = serde_json::from_str(&serde_json::to_string(&content()).unwrap()).unwrap();
        assert!(ours.host.is_none());
    }

    /// A run that is killed while it writes may leave an old end behind the new beginning.
    #[test]
    fn an_old_end_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("place-1.json");
        fs::write(&path, [serde_json::to_vec(&content()).unwrap(), b"], \"x\": 1}".to_vec()].concat())
            .unwrap();
        assert_eq!(read(&File::open(&path).unwrap()).unwrap().namespace_cookie, 2);
        fs::write(&path, "{\"boot\": \"").unwrap();
        assert!(read(&File::open(&path).unwrap()).is_none());
    }
}
