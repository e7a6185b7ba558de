//! Tiers of shells whose use of the processor another account knows.

use super::*;
use farfield_base::Instant;
use farfield_measure::bottleneck::{Examined, find};
use farfield_os::init::cpu_of;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell that runs lines, and ends with the test and with all its children.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Shell {
    fn start() -> Shell {
        let mut command = Command::new("/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("a shell");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Shell { child, input, output }
    }

    /// Runs the lines, and returns the lines that they wrote.
    fn run(&mut self, lines: &str) -> Vec<String> {
        writeln!(self.input, "{lines}\necho end").expect("a pipe");
        let mut written = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a pipe") > 0, "the shell has ended");
            match line.trim_end() {
                "end" => return written,
                line => written.push(line.to_owned()),
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// A tier that is read as if readings were a second apart.
struct Scene {
    tier: Tier,
    log: MonitorLog,
    second: u64,
}

impl Scene {
    fn of(members: Members) -> Scene {
        Scene::with_group(members, None)
    }

    fn with_group(members: Members, group: Option<Group>) -> Scene {
        let name = "web".to_owned();
        let tier = Tier::new(&TierSpec { name, members }, group);
        let mut scene = Scene { tier, log: MonitorLog::default(), second: 0 };
        scene.read();
        scene
    }

    fn read(&mut self) {
        let (now, elapsed) = (self.second as f64, if self.second > 0 { 1.0 } else { 0.0 });
        self.log.begin(self.second, Instant::from_ns(self.second));
        // Searches all processes each time, as a run of more than five seconds does.
        self.tier.next_search = 0.0;
        self.tier.read(&mut self.log, now, elapsed, &[], &mut Vec::new());
        self.log.end();
        self.second += 1;
    }

    /// The sum of a metric of the tier over all readings.
    fn sum(&self, metric: &str) -> f64 {
        self.values(metric).iter().sum()
    }

    /// Seconds of processor time over all readings.
    fn cpu(&self) -> f64 {
        self.sum(metric::CPU_USER) + self.sum(metric::CPU_SYSTEM)
    }

    fn values(&self, metric: &str) -> Vec<f64> {
        self.log.values_of(SeriesSource::Tier, metric)
    }
}

/// Seconds in the form `0m0.250000s`, as `times` of the shell writes them.
fn seconds(text: &str) -> f64 {
    let (minutes, seconds) = text.trim_end_matches('s').split_once('m').expect(text);
    minutes.parse::<f64>().expect(text) * 60.0 + seconds.parse::<f64>().expect(text)
}

const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

/// The kernel's exact clock of the process is the oracle.
#[test]
fn a_busy_loop_uses_what_the_clock_of_its_process_says() {
    let mut shell = Shell::start();
    let pid = shell.child.id();
    let cpu = || cpu_of(pid).expect("it runs").as_secs_f64();
    let before = cpu();
    let mut scene = Scene::of(Members::Processes(vec![pid]));
    for _ in 0..3 {
        shell.run(BUSY);
        scene.read();
    }
    let used = cpu() - before;
    let read = scene.cpu();
    // The shell's work between our reading of the clock and the tier's.
    assert!((used - read).abs() <= 0.01, "{read} s read, {used} s used");
    assert!(used > 0.05, "{used}");
    assert_eq!(scene.values(metric::PROCESSES), [1.0; 4]);
}

/// Children that end between readings, and others that are seen and then end, count once. The shell's
/// own account is the oracle.
#[test]
fn children_count_once() {
    let mut shell = Shell::start();
    let mut scene = Scene::of(Members::Processes(vec![shell.child.id()]));
    shell.run(&format!("({BUSY})"));
    scene.read();
    // One that is seen at work: it waits for a line behind its loop, and for a second loop.
    shell.run(&format!("mkfifo /tmp/farfield-$$; (read x < /tmp/farfield-$$; {BUSY}) & "));
    scene.read();
    shell.run("echo > /tmp/farfield-$$; wait; rm /tmp/farfield-$$");
    scene.read();
    shell.run(&format!("({BUSY}); {BUSY}"));
    scene.read();
    let times = shell.run("times");
    let used: f64 = times.iter().flat_map(|line| line.split_whitespace()).map(seconds).sum();
    let read = scene.cpu();
    // A tick for each process in either mode.
    assert!((used - read).abs() <= 0.1, "{read} s read, {used} s used: {times:?}");
    assert!(used > 0.1, "{used}");
    assert!(scene.values(metric::PROCESSES).contains(&2.0), "{:?}", scene.values(metric::PROCESSES));
}

/// Time that the scheduler has counted of a process of one thread (`schedstat`), which monitors do not read.
fn run_time(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it runs");
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number") / 1e9
}

/// Fifty processes with some milliseconds of work each, less than the tick to which `/proc/PID/stat` is cut
/// off. Some work before they are seen and some after, and they add up in either case.
#[test]
fn many_processes_with_little_work_add_up() {
    const LITTLE: &str = "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); done";
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = Shell::start();
    shell.run(&format!("cd {}; mkfifo done go stay; exec 7<>done 8<>go 9<>stay", folder.path().display()));
    let mut scene = Scene::of(Members::Processes(vec![shell.child.id()]));
    let before = run_time(shell.child.id());
    let child = format!("({LITTLE}; echo >&7; read x <&8; {LITTLE}; echo >&7; read x <&9)");
    let all_done = "d=0; while [ $d -lt 50 ]; do read x <&7; d=$((d+1)); done";
    let pids =
        shell.run(&format!("c=0; while [ $c -lt 50 ]; do {child} & echo $!; c=$((c+1)); done; {all_done}"));
    scene.read();
    shell.run(&format!("c=0; while [ $c -lt 50 ]; do echo >&8; c=$((c+1)); done; {all_done}"));
    scene.read();
    let pids: Vec<u32> = pids.iter().map(|pid| pid.parse().expect("a number")).collect();
    let of_children: f64 = pids.iter().map(|pid| run_time(*pid)).sum();
    let used = of_children + run_time(shell.child.id()) - before;
    assert_eq!(pids.len(), 50);
    // Otherwise a sum of ticks would be as good.
    assert!(of_children / 50.0 > 0.001 && of_children / 50.0 < 0.1, "{of_children} s of 50 processes");
    // They read and wait while the tier reads them.
    let read = scene.cpu();
    assert!((read - used).abs() <= 0.02 * used + 0.01, "{read} s read, {used} s used");
    let counts = scene.values(metric::PROCESSES);
    assert_eq!(counts, [1.0, 51.0, 51.0]);
}

/// The group knows what no process shows: its count is taken, and divided as its modes are.
#[test]
fn a_group_counts_what_no_process_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = |usage: u64, user: u64| {
        let text = format!("usage_usec {usage}\nuser_usec {user}\nsystem_usec {}\n", usage - user);
        std::fs::write(folder.path().join("cpu.stat"), text).expect("a file");
    };
    let shell = Shell::start();
    count(9_000_000, 6_000_000);
    let account: &Path = folder.path();
    let group = Group::of(None, None, Some(account));
    let mut scene = Scene::with_group(Members::Processes(vec![shell.child.id()]), Some(group));
    count(9_900_000, 6_600_000);
    scene.read();
    count(10_200_000, 6_700_000);
    scene.read();
    let close = |values: Vec<f64>, expected: [f64; 2]| {
        assert!(
            values.len() == 2 && values.iter().zip(expected).all(|(value, one)| (value - one).abs() < 1e-5),
            "{values:?}"
        );
    };
    close(scene.values(metric::CPU_USER), [0.6, 0.1]);
    close(scene.values(metric::CPU_SYSTEM), [0.3, 0.2]);
}

/// A parent's time of its ended child is cut off to ticks: the missing rest is no new time, and no less of
/// the time after.
#[test]
fn a_sum_that_falls_is_made_up_for() {
    let mut used = TierTime::default();
    let seconds = [[30, 8], [-6, 2], [4, 1], [10, 1]].map(|new| used.since_before(None, new));
    assert_eq!(seconds, [[30, 8], [0, 2], [0, 1], [8, 1]]);
    // A group that is gone leaves the processes.
    assert_eq!(used.since_before(Some([50, 50]), [1, 0]), [1, 0]);
    assert_eq!(used.since_before(Some([57, 50]), [1, 0]), [7, 0]);
    assert_eq!(used.since_before(None, [2, 3]), [2, 3]);
}

/// A process that had used time before it was found has used none of it in this run.
#[test]
fn what_was_used_before_is_not_counted() {
    let mut shell = Shell::start();
    shell.run(BUSY);
    let scene = &mut Scene::of(Members::Command("no such command is anywhere".into()));
    scene.tier.members = Members::Processes(vec![shell.child.id()]);
    scene.read();
    assert!(scene.sum(metric::CPU_USER) <= 0.02, "{:?}", scene.values(metric::CPU_USER));
}

#[test]
fn processes_that_are_gone_are_said_once_and_the_rest_goes_on() {
    let mut shell = Shell::start();
    let pid = shell.child.id();
    let mut scene = Scene::of(Members::Processes(vec![pid]));
    scene.read();
    shell.child.kill().expect("it runs");
    shell.child.wait().expect("it ended");
    scene.read();
    scene.read();
    assert_eq!(scene.values(metric::PROCESSES), [1.0, 1.0, 0.0, 0.0]);
    let notes = scene.log.notes();
    assert_eq!(
        notes.iter().filter(|note| note.contains("all processes of tier web were gone after 2 s")).count(),
        1
    );
    // PIDs end at 4,194,304 (proc_sys_kernel(5)).
    let wrong = Scene::of(Members::Processes(vec![u32::MAX >> 1]));
    assert!(wrong.log.notes()[0].contains("of tier web: there is none"), "{:?}", wrong.log.notes());
    assert_eq!(find(&wrong.log, Examined { seconds: 9, workers_poll: false }), None);
}

/// A server that opens all that it may.
#[test]
fn descriptors_are_compared_with_the_limit() {
    let mut shell = Shell::start();
    let pid = shell.child.id();
    shell.run("ulimit -n 16");
    shell.run("exec 5</dev/null 6</dev/null 7</dev/null 8</dev/null 9</dev/null");
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its folder").count() as f64;
    let scene = Scene::of(Members::Processes(vec![pid]));
    assert_eq!(scene.values(metric::DESCRIPTORS), [open]);
    assert_eq!(scene.values(metric::DESCRIPTORS_SHARE_MAX), [open / 16.0]);
    assert_eq!(scene.log.values_of(SeriesSource::Process, metric::DESCRIPTORS_LIMIT), [16.0]);
}

/// By its command line, and not the processes that only look for it.
#[test]
fn a_command_is_found_by_its_words() {
    let name = format!("farfield-test-{}", std::process::id());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo; read x", &name]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    // Until then it may have no command line yet.
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut String::new()).expect("a line");
    let scene = Scene::of(Members::Command(name));
    assert_eq!(scene.values(metric::PROCESSES), [1.0]);
    child.kill().expect("it runs");
    child.wait().expect("it ended");
}
