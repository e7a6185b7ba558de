//! The live view, driven in a pseudo-terminal as a person does: what is on the screen, what keys do, and how
//! the terminal is left.

use crate::common::Place;
use farfield_os::terminal;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::num::NonZeroU16;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than anything here takes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// farfield in a terminal.
struct Session {
    child: Child,
    keyboard: File,
    /// The terminal's end for programs, kept open so that it can be looked at after them.
    terminal: OwnedFd,
    written: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All that was written.
    all: Vec<u8>,
    place: Place,
}

impl Session {
    /// `farfield run` with these words, in a terminal of this size.
    fn begin(words: &str, columns: u16, lines: u16, variables: &[(&str, &str)]) -> Session {
        let place = Place::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
        command.arg("run").args(words.split_whitespace()).arg("--out").arg(place.path("run"));
        command.envs(variables.iter().copied());
        Session::of(&command, place, columns, lines)
    }

    /// A command with these words and variables, in a terminal of this size.
    fn of(words: &Command, place: Place, columns: u16, lines: u16) -> Session {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("its other end");
        let name = ptsname(&keyboard, Vec::new()).expect("its name").into_string().expect("UTF-8");
        let terminal = OpenOptions::new().read(true).write(true).open(name).expect("its other end");
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a size");
        let end = || Stdio::from(terminal.try_clone().expect("a descriptor"));
        // setsid(1) gives the program a terminal of its own, in whose foreground it is.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(words.get_program()).args(words.get_args());
        command.current_dir(place.path("")).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let stdout = File::create(place.path("stdout")).expect("own file");
        let child = command.stdin(end()).stderr(end()).stdout(stdout).spawn().expect("setsid");
        let keyboard = File::from(keyboard);
        let mut reader = keyboard.try_clone().expect("a descriptor");
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(size_of(lines), size_of(columns), 0);
        Session { child, keyboard, terminal: terminal.into(), written, screen, all: Vec::new(), place }
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        while !self.contents().contains(text) {
            let Ok(bytes) = self.written.recv_timeout(PATIENCE) else {
                panic!("{text:?} was never shown:\n{}", self.contents());
            };
            self.take(&bytes);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.all.extend_from_slice(bytes);
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a terminal");
    }

    fn signal(&self, signal: Signal) {
        // setsid(1) does not fork here: the child has become farfield, and is not waited for yet.
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits for its end; returns its exit code and what it printed on standard output. The terminal must be
    /// as it was.
    #[track_caller]
    fn end(self) -> (Option<i32>, String, Vec<u8>) {
        let (status, printed, all) = self.end_with_status();
        (status.code(), printed, all)
    }

    /// Waits for its end like `end`; returns how it ended.
    #[track_caller]
    fn end_with_status(mut self) -> (ExitStatus, String, Vec<u8>) {
        let status = self.child.wait().expect("its end");
        while let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(200)) {
            self.take(&bytes);
        }
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "the terminal is left as it was");
        let modes = tcgetattr(&self.terminal).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON), "{modes:?}");
        let printed = fs::read_to_string(self.place.path("stdout")).expect("own file");
        (status, printed, self.all)
    }
}

fn size_of(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).expect("a size")
}

/// Judgement of this machine, and of short runs, is not what these tests are about.
fn words(duration: &str) -> String {
    format!("-R 50 -d {duration} --warm-up 1s {}", crate::common::CALM)
}

#[test]
fn a_run_is_shown_and_the_terminal_left_as_it_was() {
    for (columns, lines) in [(80, 24), (200, 60)] {
        let mut session = Session::begin(&words("4s"), columns, lines, &[]);
        session.shows("measuring,");
        session.shows("50/s");
        for row in ["offered    ", "completed    ", "response    ", "service    ", "connect    "] {
            session.shows(row);
        }
        session.shows("no check has failed");
        session.shows("▪ completed");
        let contents = session.contents();
        let widest = contents.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(columns), "{contents}");
        let (code, printed, _) = session.end();
        assert_eq!(code, Some(0), "{printed}");
        assert!(printed.contains("VALID") && printed.contains("outcomes"), "{printed}");
    }
}

#[test]
fn keys_choose_what_is_shown_and_end_the_run() {
    let mut session = Session::begin(&words("10m"), 80, 24, &[]);
    session.shows("[1 charts]");
    session.press("2");
    session.shows("[2 outcomes]");
    session.press("\t");
    session.shows("[3 verdict]");
    session.press("p");
    session.shows("display paused");
    session.press("p");
    session.shows("p pauses the display");
    session.press("q");
    let (code, printed, _) = session.end();
    assert_eq!(code, Some(130), "{printed}");
    assert!(printed.contains("INCOMPLETE"), "{printed}");
}

#[test]
fn ctrl_c_is_a_key_and_ends_the_run() {
    let mut session = Session::begin(&words("10m"), 80, 24, &[]);
    session.shows("measuring,");
    session.press("\x03");
    let (code, printed, _) = session.end();
    assert_eq!(code, Some(130), "{printed}");
}

/// A second signal ends the process at once, without its result, and yet leaves the terminal as it was. A
/// stopped process finds both when it goes on, and may have two threads take them: the first may have begun
/// to end the run when the second gets a processor. So the run's end is one that waits for its server.
#[test]
fn a_second_signal_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let session = "session.tear-down = ['last']\n[[session.state]]\nname = 'way'\npath = '/'\n\
                   [[session.state]]\nname = 'last'\npath = '/last'\n";
    let address = silent.local_addr().expect("bound");
    let scenario = place.write("silent.toml", format!("target = 'http://{address}/'\n{session}"));
    let ends_at_once = |signals: &dyn Fn(&mut Session)| {
        let words = format!("{} -c 2 -d 10m --warm-up 1s {}", scenario.display(), crate::common::CALM);
        let mut session = Session::begin(&words, 80, 24, &[]);
        session.shows("measuring,");
        signals(&mut session);
        let (code, printed, _) = session.end();
        assert_eq!((code, printed.as_str()), (Some(130), ""));
    };
    for _ in 0..3 {
        ends_at_once(&|session| {
            for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
                session.signal(signal);
            }
        });
    }
    ends_at_once(&|session| session.press("\x03\x03"));
}

/// True if this process ignores the signal, and so what it starts.
fn is_ignored_here(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("its signals");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a set of signals");
    (ignored >> (signal.as_raw() - 1)) & 1 == 1
}

/// Signals that end a process, from outside, by a limit or by a fault of its own, end this one as they do any
/// other, and yet leave the terminal as it was.
#[test]
fn any_signal_that_ends_the_process_leaves_the_terminal_as_it_was() {
    for signal in [Signal::QUIT, Signal::ABORT, Signal::USR1, Signal::XCPU] {
        // A signal that a shell has had ignored, as it does SIGQUIT for jobs in the background, ends nobody.
        if is_ignored_here(signal) {
            continue;
        }
        let mut session = Session::begin(&words("10m"), 80, 24, &[]);
        session.shows("measuring,");
        session.signal(signal);
        let (status, printed, _) = session.end_with_status();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert_eq!(printed, "");
    }
}

/// Its message is on the screen that stays. The test is its own child, which panics in a terminal that it has
/// taken as the view does.
#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    const CHILD: &str = "THIS_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        terminal::keep(b"\x1b[?1049l\x1b[?25h").expect("a terminal");
        let mut modes = tcgetattr(std::io::stdin()).expect("a terminal");
        modes.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &modes).expect("a terminal");
        eprint!("\x1b[?1049h\x1b[?25l");
        assert!(terminal::is_kept());
        panic!("a fault of its own");
    }
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--exact", "live::a_panic_leaves_the_terminal_as_it_was", "--nocapture"]).env(CHILD, "yes");
    let session = Session::of(&command, Place::new(), 80, 24);
    let (status, printed, all) = session.end_with_status();
    assert_eq!(status.code(), Some(101), "{printed}");
    let text = String::from_utf8_lossy(&all);
    let (before, after) = text.split_once("\x1b[?1049l").expect("the second screen is left");
    assert!(before.contains("\x1b[?1049h") && after.contains("a fault of its own"), "{text}");
}

#[test]
fn without_colour_nothing_is_coloured() {
    let mut session = Session::begin(&words("2s"), 80, 24, &[("NO_COLOR", "1")]);
    session.shows("measuring,");
    let (code, _, all) = session.end();
    assert_eq!(code, Some(0));
    let text = String::from_utf8_lossy(&all);
    let coloured = |sequence: &str| {
        let parameters = sequence.split('m').next().unwrap_or_default();
        parameters.split(';').any(|parameter| matches!(parameter, "31" | "32" | "33" | "36" | "38" | "48"))
    };
    let found: Vec<&str> = text.split("\x1b[").filter(|sequence| coloured(sequence)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn lines_instead_of_the_view_where_they_are_asked_for_or_the_terminal_is_dumb() {
    for (flag, variables) in [(" --plain", &[][..]), ("", &[("TERM", "dumb")][..])] {
        let mut session = Session::begin(&(words("2s") + flag), 80, 24, variables);
        session.shows("requests/s");
        let (code, printed, all) = session.end();
        assert_eq!(code, Some(0), "{printed}");
        assert!(!String::from_utf8_lossy(&all).contains("\x1b[?1049h"), "no second screen");
    }
}
