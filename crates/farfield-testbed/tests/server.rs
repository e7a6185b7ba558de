//! The server's processes: ready, stopped, and gone whatever happens to us.

mod scene;

use farfield_base::{Bytes, Duration};
use farfield_testbed::{
    Command, Containment, CpuLimit, Limits, MemoryLimit, Ready, RunningServer, ServerError, ServerSpec,
    Testbed, TestbedSpec,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use scene::{skip, testbed};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const OWNER: &str = "FARFIELD_PLACE_OWNER";

/// A server of two processes that say nothing.
const TWO_SLEEPERS: &str = "sleep 1000 & sleep 1000";

fn shell(line: &str, directory: &Path) -> ServerSpec {
    ServerSpec::new(Command::Shell(line.into()), directory.join("log"))
}

/// A server that listens, if the machine has the means.
fn listener(test: &str, port: u16) -> Option<String> {
    let python = std::process::Command::new("python3").arg("--version").output();
    if python.is_err() {
        skip(test, "python3 is not there");
        return None;
    }
    Some(format!("exec python3 -u -m http.server {port}"))
}

/// Descriptors of all processes in the PID namespace of `init`, itself included.
fn all_of(init: u32) -> Vec<OwnedFd> {
    let inode = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/pid")).ok().map(|link| link.ino());
    let wanted = inode(&init.to_string()).unwrap();
    let names = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pids = names.filter(|name| name.parse::<u32>().is_ok() && inode(name) == Some(wanted));
    pids.map(|pid| pidfd_open(Pid::from_raw(pid.parse().unwrap()).unwrap(), PidfdFlags::empty()).unwrap())
        .collect()
}

fn has_ended(process: &OwnedFd, patience: Timespec) -> bool {
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)).unwrap() == 1
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
const SOON: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

#[test]
fn a_server_gets_ready_and_is_gone_afterwards() {
    let test = "a_server_gets_ready_and_is_gone_afterwards";
    let spec = TestbedSpec::default();
    let Some(testbed) = testbed(test, &spec) else { return };
    let directory = tempfile::tempdir().unwrap();
    let Some(line) = listener(test, 80) else { return };
    let ready = ServerSpec { ready: Ready::Tcp(80), ..shell(&line, directory.path()) };
    let mut server = testbed.start_server(&ready).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(*server.containment(), Containment::PidNamespace);
    assert!(testbed.inside(|| TcpStream::connect((spec.server_v6, 80))).unwrap().is_err());
    assert!(testbed.inside(|| TcpStream::connect((spec.server_v4, 80))).unwrap().is_ok());
    assert!(server.runs());
    assert!(server.cpu() > Duration::from_ms(1), "an interpreter started: {}", server.cpu());
    let processes = all_of(server.pid());
    assert!(processes.len() >= 2);
    let status = server.stop().unwrap();
    assert_eq!(status.code(), Some(128 + 15));
    assert!(processes.iter().all(|process| has_ended(process, NOW)));
    assert!(testbed.inside(|| TcpStream::connect((spec.server_v4, 80))).unwrap().is_err());
}

#[test]
fn a_server_that_does_not_stop_is_killed() {
    let Some(testbed) = testbed("a_server_that_does_not_stop_is_killed", &TestbedSpec::default()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    rustix::fs::mkfifoat(rustix::fs::CWD, &started, rustix::fs::Mode::RWXU).unwrap();
    let line = format!("trap '' TERM; echo > {}; while :; do sleep 1000; done", started.display());
    let spec = ServerSpec { stop_timeout: Duration::from_ms(50), ..shell(&line, directory.path()) };
    let server = testbed.start_server(&spec).unwrap();
    // The other end is opened once the trap is set.
    fs::read(&started).unwrap();
    let processes = all_of(server.pid());
    drop(server);
    assert!(processes.iter().all(|process| has_ended(process, NOW)));
}

#[test]
fn a_daemon_is_stopped_as_well() {
    let test = "a_daemon_is_stopped_as_well";
    let Some(testbed) = testbed(test, &TestbedSpec::default()) else { return };
    let Some(line) = listener(test, 8080) else { return };
    let directory = tempfile::tempdir().unwrap();
    let line = format!("(setsid sh -c '{line}' &) ; exit 0");
    let spec = ServerSpec { ready: Ready::Tcp(8080), ..shell(&line, directory.path()) };
    let mut server = testbed.start_server(&spec).unwrap_or_else(|error| panic!("{error}"));
    let processes = all_of(server.pid());
    assert_eq!(server.stop().unwrap().code(), Some(0));
    assert!(processes.iter().all(|process| has_ended(process, NOW)));
}

#[test]
fn a_server_that_never_gets_ready_is_quoted() {
    let Some(testbed) = testbed("a_server_that_never_gets_ready_is_quoted", &TestbedSpec::default()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let ready_timeout = Duration::from_ms(300);
    let spec = shell("echo I would rather sleep; exec sleep 1000", directory.path());
    let spec = ServerSpec { ready: Ready::Tcp(80), ready_timeout, ..spec };
    let said = testbed.start_server(&spec).unwrap_err();
    assert!(matches!(said, ServerError::NotReady { .. }), "{said}");
    assert!(said.to_string().contains("I would rather sleep"), "{said}");
}

#[test]
fn a_server_that_ends_at_once_is_quoted() {
    let Some(testbed) = testbed("a_server_that_ends_at_once_is_quoted", &TestbedSpec::default()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let spec =
        ServerSpec { ready: Ready::Tcp(80), ..shell("echo no configuration >&2; exit 4", directory.path()) };
    let said = testbed.start_server(&spec).unwrap_err().to_string();
    assert!(said.contains("exit status: 4") && said.contains("no configuration"), "{said}");
    let program = Command::Program(vec!["/no/such/server".into()]);
    let said = testbed.start_server(&ServerSpec::new(program, directory.path().join("log"))).unwrap_err();
    assert!(matches!(said, ServerError::Start { .. }), "{said}");
    let spec = ServerSpec { processors: vec![1_000], ..shell("exit 0", directory.path()) };
    let said = testbed.start_server(&spec).unwrap_err();
    assert!(matches!(said, ServerError::Processors { .. }), "{said}");
}

/// Starts a server with limits; `None`, and `test` is skipped, where this machine has no control groups to
/// write.
fn limited(test: &str, testbed: &Testbed, spec: &ServerSpec) -> Option<RunningServer> {
    match testbed.start_server(spec) {
        Ok(server) => Some(server),
        Err(error @ ServerError::Limits { .. }) => {
            skip(test, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Control groups whose names begin like this, at most three folders down.
fn groups(name: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    for _ in 0..4 {
        let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders = below.map(|entry| entry.path()).collect();
        let ours =
            |path: &&PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
        found.extend(folders.iter().filter(ours).cloned());
    }
    found
}

/// Two processes, one of them a daemon in a session of its own, take what processor time they can: a tenth
/// of one processor, together. The kernel counts by its tick, so that each may overdraw a tick of 10 ms.
#[test]
#[expect(clippy::disallowed_methods, reason = "compared with the processor time that passed meanwhile")]
fn a_server_has_the_processor_time_that_it_may() {
    let test = "a_server_has_the_processor_time_that_it_may";
    let Some(testbed) = testbed(test, &TestbedSpec::default()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let busy = "while :; do :; done";
    let cpu = Some(CpuLimit::try_from(0.1).unwrap());
    let limits = Limits { cpu, memory: None };
    let line = format!("setsid sh -c '{busy}' & {busy}");
    let spec = ServerSpec { limits, ..shell(&line, directory.path()) };
    let begun = std::time::Instant::now();
    let Some(mut server) = limited(test, &testbed, &spec) else { return };
    let throttled = |server: &RunningServer| server.limits().unwrap().1;
    while throttled(&server).throttled < Duration::from_ms(1_500) {
        assert!(server.runs() && begun.elapsed().as_secs() < 60, "{:?}", throttled(&server));
        std::thread::yield_now();
    }
    let (used, elapsed) = (server.cpu().as_secs_f64(), begun.elapsed().as_secs_f64());
    assert!(used <= 0.12 * elapsed + 0.03, "{used} s of processor time in {elapsed} s");
    assert!(used >= 0.01 * elapsed, "{used} s of processor time in {elapsed} s");
    let counted = throttled(&server);
    assert!(counted.periods >= counted.throttled_periods && counted.throttled_periods > 0, "{counted:?}");
    // That of the limit, and in version 1 another that counts. Other tests' servers have groups as well.
    let group = server.group_folders()[0].unwrap().file_name().unwrap().to_string_lossy().into_owned();
    assert!([1, 2].contains(&groups(&group).len()), "{:?}", groups(&group));
    server.stop().unwrap();
    assert_eq!(groups(&group), Vec::<PathBuf>::new());
}

/// Thirty processes that nobody of the server's waits for, each with work of some milliseconds. They say
/// themselves how much it was, and end before anyone looks.
#[test]
fn processes_that_have_ended_are_counted_to_the_microsecond() {
    let test = "processes_that_have_ended_are_counted_to_the_microsecond";
    let Some(testbed) = testbed(test, &TestbedSpec::default()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    // Of the shell itself, as of when it waited last: until then the kernel brings the account up to date
    // only once a tick.
    let account = "read ns x < /proc/self/schedstat; echo $ns";
    let child = format!(
        "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; echo >&7; read x <&8; {account} > {path}/$c; echo >&7"
    );
    let all_done = "d=0; while [ $d -lt 30 ]; do read x <&7; d=$((d+1)); done";
    let line = format!(
        "mkfifo {path}/done {path}/go; exec 7<>{path}/done 8<>{path}/go; \
         c=0; while [ $c -lt 30 ]; do c=$((c+1)); (({child}) &); done; {all_done}; \
         c=0; while [ $c -lt 30 ]; do c=$((c+1)); echo >&8; done; {all_done}; \
         {account} > {path}/own; touch {path}/ready; exec sleep 1000"
    );
    let mut server = testbed.start_server(&shell(&line, directory.path())).unwrap();
    let Some(group) = server.account_folder().map(Path::to_owned) else {
        return skip(test, "this process may not make a control group");
    };
    while !directory.path().join("ready").exists() {
        assert!(server.runs(), "{}", server.last_words());
        std::thread::yield_now();
    }
    let used_by = |name: &str| -> f64 {
        let text = fs::read_to_string(directory.path().join(name)).unwrap();
        text.trim().parse::<f64>().unwrap() / 1e9
    };
    let of_children: f64 = (1..=30).map(|child| used_by(&child.to_string())).sum();
    let (used, counted) = (of_children + used_by("own"), server.cpu().as_secs_f64());
    // Their last lines, and the starts of `touch` and `sleep`, come after their accounts.
    assert!(counted >= used - 0.001 && counted <= 1.1 * used + 0.06, "{counted} s counted, {used} s used");
    assert!(of_children > 0.03, "{of_children}");
    server.stop().unwrap();
    assert!(!group.exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "compared with the processor time that passed meanwhile")]
fn a_server_that_wants_more_memory_loses_the_process() {
    let test = "a_server_that_wants_more_memory_loses_the_process";
    let Some(testbed) = testbed(test, &TestbedSpec::default()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let limit = Bytes(32 << 20);
    let limits = Limits { cpu: None, memory: Some(MemoryLimit::try_from(limit).unwrap()) };
    // Lines without an end are held until it comes.
    let line = "head -c 1G /dev/zero | tail -n 1 > /dev/null; exec sleep 1000";
    let spec = ServerSpec { limits, ..shell(line, directory.path()) };
    let Some(server) = limited(test, &testbed, &spec) else { return };
    let begun = std::time::Instant::now();
    let used = loop {
        let (_, used) = server.limits().unwrap();
        if used.oom_kills > 0 {
            break used;
        }
        assert!(server.runs() && begun.elapsed().as_secs() < 60, "{used:?}");
        std::thread::yield_now();
    };
    assert_eq!(used.oom_kills, 1);
    let most = used.memory_max.expect("the kernel says how much it was");
    assert!(most <= limit && most.0 > limit.0 / 2, "{most}");
    assert!(server.runs(), "only one process was killed");
}

/// A server that is no longer root cannot read root's files, but can still use a port below 1024.
#[test]
fn a_server_runs_as_another_user() {
    let test = "a_server_runs_as_another_user";
    let Some(testbed) = testbed(test, &TestbedSpec::default()) else { return };
    let Some(line) = listener(test, 80) else { return };
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    fs::write(&secret, "root's own\n").unwrap();
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let line = format!("id -u; id -G; echo $HOME; cat {}; cd /; {line}", secret.display());
    let spec =
        ServerSpec { user: Some("nobody".into()), ready: Ready::Tcp(80), ..shell(&line, directory.path()) };
    let mut server = testbed.start_server(&spec).unwrap_or_else(|error| panic!("{error}"));
    server.stop().unwrap();
    let said = fs::read_to_string(directory.path().join("log")).unwrap();
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let nobody: Vec<&str> =
        passwd.lines().find(|line| line.starts_with("nobody:")).unwrap().split(':').collect();
    let expected = format!("{}\n{}\n{}\n", nobody[2], nobody[3], nobody[5]);
    assert!(said.starts_with(&expected) && !said.contains("root's own"), "{said}");

    // Without one it has the rights of farfield's own user.
    let spec = ServerSpec { ready: Ready::Tcp(80), ..shell(&line, directory.path()) };
    let mut server = testbed.start_server(&spec).unwrap_or_else(|error| panic!("{error}"));
    server.stop().unwrap();
    let said = fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(said.contains("root's own"), "{said}");

    let spec = ServerSpec { user: Some("no-such-user".into()), ..shell("exit 0", directory.path()) };
    let said = testbed.start_server(&spec).unwrap_err();
    assert!(matches!(said, ServerError::User { .. }), "{said}");
}

#[test]
fn a_thread_inside_serves_inside() {
    let spec = TestbedSpec::default();
    let Some(testbed) = testbed("a_thread_inside_serves_inside", &spec) else { return };
    let listener = testbed.inside(|| TcpListener::bind((spec.server_v4, 80))).unwrap().unwrap();
    assert!(testbed.inside(|| TcpStream::connect((spec.server_v4, 80))).unwrap().is_ok());
    assert!(listener.accept().is_ok());
    assert!(TcpListener::bind((spec.server_v4, 80)).is_err(), "this thread is where it was");
}

/// Two in one: the test starts its own program again, as the owner of a testbed that it then kills.
#[test]
fn a_server_dies_with_an_owner_that_is_killed() {
    let test = "a_server_dies_with_an_owner_that_is_killed";
    if let Some(directory) = std::env::var_os(OWNER) {
        own_a_testbed_until_killed(Path::new(&directory));
    }
    let Some(_other) = testbed(test, &TestbedSpec::default()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(OWNER, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find_map(|line| Some(line.split_once("server ")?.1.to_owned())).unwrap();
    let processes = all_of(said.parse().unwrap());
    assert_eq!(processes.len(), 4, "the init, the shell and two sleepers");
    let record = format!("place-{}-", owner.id());
    let records = || {
        let directories = ["/run/farfield".into(), std::env::temp_dir().join("farfield-0")];
        let entries = directories.iter().flat_map(fs::read_dir).flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&record)).count()
    };
    assert_eq!(records(), 1);
    let made = groups(&format!("farfield-{}-", owner.id()));
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(processes.iter().all(|process| has_ended(process, SOON)));
    drop(Testbed::build(&TestbedSpec::default()).unwrap());
    assert_eq!(records(), 0);
    match made.as_slice() {
        [] => skip(test, "control groups cannot be written here, so none was to be left"),
        _ => assert_eq!(groups(&format!("farfield-{}-", owner.id())), Vec::<PathBuf>::new()),
    }
}

/// A run in another PID namespace, such as a container's that shares `/run`, has numbers that mean nothing
/// here: what says that it lives is its lock.
#[test]
fn a_run_in_another_pid_namespace_is_left_alone() {
    let test = "a_run_in_another_pid_namespace_is_left_alone";
    let Some(_other) = testbed(test, &TestbedSpec::default()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let owner = std::process::Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args(["a_server_dies_with_an_owner_that_is_killed", "--exact", "--nocapture"])
        .env(OWNER, directory.path())
        .stdout(Stdio::piped())
        .spawn();
    let mut owner = match owner {
        Ok(owner) => owner,
        Err(error) => return skip(test, &format!("unshare: {error}")),
    };
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("server ")), "its server runs");
    // The shell and its sleepers, some of which may not be called so yet.
    let own = std::env::current_exe().unwrap();
    let marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else { return false };
        program != own
            && !program.ends_with("unshare")
            && String::from_utf8_lossy(&environment).contains(directory.path().to_str().unwrap())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(marked);
    let open = |pid: u32| pidfd_open(Pid::from_raw(pid as i32).unwrap(), PidfdFlags::empty()).unwrap();
    let sleepers: Vec<OwnedFd> = pids.map(open).collect();
    assert!(sleepers.len() >= 2, "{} of a shell and two sleepers", sleepers.len());
    drop(Testbed::build(&TestbedSpec::default()).unwrap());
    let a_moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    assert!(sleepers.iter().all(|sleeper| !has_ended(sleeper, a_moment)), "another start killed it");
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(sleepers.iter().all(|sleeper| has_ended(sleeper, SOON)));
    drop(Testbed::build(&TestbedSpec::default()).unwrap());
}

fn own_a_testbed_until_killed(directory: &Path) -> ! {
    let testbed = Testbed::build(&TestbedSpec::default()).unwrap();
    let limits = Limits { cpu: Some(CpuLimit::try_from(0.5).unwrap()), memory: None };
    let limited = ServerSpec { limits, ..shell(TWO_SLEEPERS, directory) };
    let server = match testbed.start_server(&limited) {
        Err(ServerError::Limits { .. }) => testbed.start_server(&shell(TWO_SLEEPERS, directory)).unwrap(),
        started => started.unwrap(),
    };
    // The shell has forked once both are asleep, which the test sees as their number.
    while all_of(server.pid()).len() < 4 {
        std::thread::yield_now();
    }
    println!("server {}", server.pid());
    loop {
        std::thread::park();
    }
}
