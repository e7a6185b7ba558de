//! Scenes of the tests that use the program as people do: a place of its own for each test, farfield run in
//! it, servers that end with the test.
//!
//! Nothing here waits for a length of time: what is awaited is polled for, and a test that waits in vain
//! fails. A process is ended by its own id.

pub mod caddy;
pub mod machine;
pub mod nginx;
pub mod relay;
pub mod secure;
pub mod shop;
pub mod wan;

pub use crate::skip;

use farfield_base::{Outcome, Sample};
use farfield_measure::Summary;
use farfield_measure::samples::SamplesFile;
use farfield_measure::summary::PartSummary;
use rustix::process::{Pid, kill_process};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub use rustix::process::Signal;

/// Longer than anything here takes on the busiest machine: the longest runs are asked to end after 4
/// minutes.
const PATIENCE: Duration = Duration::from_secs(300);

/// The verdict on this machine is not what most tests are about: with these limits its own slowness, a quota,
/// other work, or its host's, makes no run invalid and is the cause of nothing. Little's law and the count of
/// lost samples are still compared with theirs.
pub const CALM: &str = "--set verdict.lateness-p99=1m --set verdict.loop-lag-p99=1m --set verdict.worker-busy=1 \
                        --set verdict.rate-error=1 --set verdict.longest-stall=1m \
                        --set verdict.host-steal=1 --set verdict.machine-busy=1 --set verdict.server-held-up=1 \
                        --set verdict.throttled=1 --set verdict.capture-error=1m";

/// A folder of a test's own, in which it runs farfield and servers.
pub struct Place {
    folder: TempDir,
    runs: Cell<u32>,
}

/// A process, ended at the latest when this is dropped.
pub struct Process {
    child: Child,
    name: String,
}

/// farfield, still running.
pub struct Running {
    process: Process,
    stdout: PathBuf,
    stderr: PathBuf,
    /// The run directory; empty if none was named.
    pub directory: PathBuf,
}

/// Exit code, output and run directory of a farfield that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The standard output, which is UTF-8.
    pub stdout: String,
    /// The standard error, which is UTF-8, and in which no panic is reported.
    pub stderr: String,
    /// The run directory, if it makes one.
    pub directory: PathBuf,
}

impl Default for Place {
    fn default() -> Place {
        Place::new()
    }
}

impl Place {
    /// An empty folder, which goes with the value.
    pub fn new() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Servers that give up their rights must still be able to read here.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
        Place { folder, runs: Cell::new(0) }
    }

    /// The path of `name` in it, whether or not there is such a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with the folders on the way to it, and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("own folder");
        fs::write(&path, content).expect("own file");
        path
    }

    /// Runs `farfield` with these words to its end.
    pub fn farfield(&self, words: &str) -> Ended {
        self.farfield_with(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// `farfield` with these words and a file of hosts of its own, in a mount namespace; `None` where there
    /// is none to be had. The file may be written anew while it runs.
    pub fn with_hosts(&self, hosts: &str, words: &str) -> Option<Command> {
        let may_mount = Command::new("unshare").args(["-m", "true"]).output();
        may_mount.is_ok_and(|output| output.status.success()).then(|| {
            let (hosts, program) = (self.write("hosts", hosts), program());
            let script = format!("mount --bind {} /etc/hosts && exec {program} {words}", hosts.display());
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &script]).current_dir(self.path(""));
            command
        })
    }

    /// Begins it, without waiting for its end.
    pub fn begin(&self, words: &str) -> Running {
        self.spawn(&words.split_whitespace().collect::<Vec<_>>(), PathBuf::new())
    }

    /// Begins it, where a word has spaces in it.
    pub fn begin_with(&self, words: &[&str]) -> Running {
        self.spawn(words, PathBuf::new())
    }

    /// Runs it to its end, where a word has spaces in it.
    pub fn farfield_with(&self, words: &[&str]) -> Ended {
        self.spawn(words, PathBuf::new()).ended()
    }

    /// A short run on one worker into a directory of its own, with [`CALM`] limits. What is said last
    /// counts.
    pub fn run(&self, words: &str) -> Ended {
        self.begin_run(words).ended()
    }

    /// Begins it, without waiting for its end.
    pub fn begin_run(&self, words: &str) -> Running {
        self.runs.set(self.runs.get() + 1);
        let name = format!("run-{}", self.runs.get());
        let all = format!("run {words} -q -o {name}");
        let given: Vec<&str> = all.split_whitespace().collect();
        let unless_given =
            |flags: &[&str], value: &'static str| match given.iter().any(|word| flags.contains(word)) {
                true => "",
                false => value,
            };
        // A run of so many requests, or sessions, ends with them, however slow the machine is.
        let is_counted = given.iter().any(|word| ["-n", "--sessions"].contains(word));
        let enough = if is_counted { "-d 20s" } else { "-d 1s" };
        let defaults = [
            unless_given(&["-d", "--duration"], enough),
            unless_given(&["--warm-up", "-n", "--sessions"], "--warm-up 200ms"),
            unless_given(&["-t", "--workers"], "-t 1"),
        ];
        // The test's own settings stand behind the calm ones, and so outrank them.
        let (run, rest) = all.split_at("run".len());
        let line = format!("{run} {CALM} {} {rest}", defaults.join(" "));
        self.spawn(&line.split_whitespace().collect::<Vec<_>>(), self.path(&name))
    }

    /// The built-in server, on a port of its own, as a process of its own.
    pub fn serve(&self, words: &str) -> FarfieldServer {
        self.serve_at(&format!("127.0.0.1:0 {words}"))
    }

    /// The built-in server at an address.
    pub fn serve_at(&self, words: &str) -> FarfieldServer {
        let line = format!("serve {words}");
        let running = self.spawn(&line.split_whitespace().collect::<Vec<_>>(), PathBuf::new());
        let url = poll("the built-in server to say where it is", || {
            let said = fs::read_to_string(&running.stdout).ok()?;
            let (url, _) = said.strip_prefix("serving ")?.split_once("/ ")?;
            Some(url.to_owned())
        });
        FarfieldServer { running, url }
    }

    /// Begins it by a command to which its words are added.
    pub fn begin_by(&self, command: Command, words: &[&str]) -> Running {
        self.spawn_by(command, words, PathBuf::new())
    }

    /// Begins it with a variable of its own in its environment.
    pub fn begin_knowing(&self, (name, value): (&str, &str), words: &str) -> Running {
        let mut command = Command::new(program());
        command.env(name, value);
        self.spawn_by(command, &words.split_whitespace().collect::<Vec<_>>(), PathBuf::new())
    }

    /// Begins it as a process that may have so many descriptors open.
    pub fn begin_limited(&self, descriptors: u32, words: &str) -> Running {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={descriptors}:{descriptors}")).arg(program());
        self.spawn_by(command, &words.split_whitespace().collect::<Vec<_>>(), PathBuf::new())
    }

    fn spawn(&self, words: &[&str], directory: PathBuf) -> Running {
        self.spawn_by(Command::new(program()), words, directory)
    }

    fn spawn_by(&self, mut command: Command, words: &[&str], directory: PathBuf) -> Running {
        let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let [stdout, stderr] = ["out", "err"].map(|end| self.path(&format!("farfield-{number}.{end}")));
        command
            .args(words)
            .stdout(File::create(&stdout).expect("own file"))
            .stderr(File::create(&stderr).expect("own file"));
        Running { process: Process::start(&mut command, self), stdout, stderr, directory }
    }
}

static COUNTER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// `farfield serve`.
pub struct FarfieldServer {
    running: Running,
    /// `http://` and the address, without a slash at the end.
    pub url: String,
}

impl FarfieldServer {
    /// The process of the server, by number.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Sends its process a signal.
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// The server's standard output so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.running.stdout).expect("own file")
    }

    /// Ends it with a signal, and says how it ended.
    pub fn end(self, signal: Signal) -> Ended {
        self.running.signal(signal);
        self.running.ended()
    }
}

impl Process {
    /// Starts `command` in `place`.
    pub fn start(command: &mut Command, place: &Place) -> Process {
        let name = Path::new(command.get_program()).file_name().map(OsStr::to_string_lossy);
        let name = name.expect("a program").into_owned();
        command.current_dir(place.folder.path()).stdin(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Process { child, name }
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal; it must not have been waited for.
    pub fn signal(&self, signal: Signal) {
        // Not waited for yet, so that the id is still its own.
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("cannot signal {}: {error}", self.name));
    }

    /// The process's exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of this process")
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        poll(&format!("{} to end", self.name), || self.child.try_wait().expect("a child of this process"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            if try_poll(Duration::from_secs(10), || self.ended()).is_none() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

impl Running {
    /// Sends it a signal; it must not have ended.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// The process of farfield, by number.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// True if it has ended.
    pub fn is_gone(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        status.rsplit(')').next().is_none_or(|state| state.trim_start().starts_with('Z'))
    }

    /// The most memory that it has had, in KiB; 0 once it is gone.
    pub fn memory_most_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        most.and_then(|kib| kib.parse().ok()).unwrap_or(0)
    }

    /// The file of its standard output.
    pub fn stdout(&self) -> &Path {
        &self.stdout
    }

    /// The standard error of farfield so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.stderr).expect("own file")
    }

    /// Waits until the run has left a first checkpoint behind.
    pub fn await_checkpoint(&self) {
        poll("a first checkpoint", || self.directory.join("summary.json").exists().then_some(()));
    }

    /// Waits for its end. It must not have panicked.
    pub fn ended(mut self) -> Ended {
        let code = self.process.wait().code();
        let read = |path: &Path| String::from_utf8(fs::read(path).expect("own file")).expect("UTF-8");
        let (stdout, stderr) = (read(&self.stdout), read(&self.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ended { code, stdout, stderr, directory: self.directory.clone() }
    }
}

impl Ended {
    /// Holds the exit code against `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ended {
        let Ended { stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "\n-- standard output\n{stdout}\n-- standard error\n{stderr}");
        self
    }

    /// The one sentence that farfield says of what is wrong, all of `parts` in it.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        let sentence =
            self.stderr.strip_prefix("farfield: ").unwrap_or_else(|| panic!("it says: {}", self.stderr));
        assert_eq!(sentence.lines().count(), 1, "more than one line: {sentence}");
        for part in parts {
            assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
        }
    }

    /// The summary of its run directory.
    #[track_caller]
    pub fn summary(&self) -> Summary {
        let path = self.directory.join("summary.json");
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; it said: {}", path.display(), self.stderr));
        Summary::from_json(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The samples file of its run directory, opened.
    #[track_caller]
    pub fn samples_file(&self) -> SamplesFile<File> {
        let file = File::open(self.directory.join("samples.parquet")).expect("a samples file");
        SamplesFile::open(file).expect("a samples file that can be read")
    }

    /// All samples of that file.
    #[track_caller]
    pub fn samples(&self) -> Vec<Sample> {
        self.samples_file().samples().collect::<Result<_, _>>().expect("rows that can be read")
    }
}

/// Number of `part`'s requests that ended with `outcome`.
pub fn count(part: &PartSummary, outcome: Outcome) -> u64 {
    part.outcomes.iter().find(|counted| counted.name == outcome.name()).map_or(0, |counted| counted.count)
}

/// The path of farfield, which cargo builds beside the programs of its tests.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().expect("this program");
        let folder = test.ancestors().nth(2).expect("`deps` lies in the folder of a profile");
        let program = folder.join("farfield");
        assert!(program.is_file(), "no program at {}: build it with `--package farfield`", program.display());
        program.into_os_string().into_string().expect("a plain path")
    })
}

/// Lets tests run one after the other, those of other test programs too: tests that keep the machine busy
/// spoil each other's measurements.
pub fn alone() -> File {
    // Cargo's folder for what tests write, beside that of the profile.
    let folder = Path::new(program()).ancestors().nth(2).expect("a target folder").join("tmp");
    fs::create_dir_all(&folder).expect("cargo's folder for tests");
    let path = folder.join("alone");
    let file = File::options().create(true).append(true).open(path).expect("cargo's folder for tests");
    file.lock().expect("a lock on a file");
    file
}

/// Runs a line of the shell in `place`, whose run directory is `run`; `FARFIELD` in it is this program.
pub fn shell(place: &Place, line: &str) -> Ended {
    let line = line.replace("FARFIELD", program());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &line]).current_dir(place.path("")).stdin(Stdio::null());
    let output = command.output().expect("a shell");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ended { code: output.status.code(), stdout, stderr, directory: place.path("run") }
}

/// Waits for `what` to be there.
#[track_caller]
pub fn poll<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    try_poll(PATIENCE, found).unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// Waits for it for `patience` at most.
#[expect(clippy::disallowed_methods, reason = "real processes do not report when they are ready")]
pub fn try_poll<T>(patience: Duration, mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let thing = found();
        if thing.is_some() || begun.elapsed() > patience {
            return thing;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
