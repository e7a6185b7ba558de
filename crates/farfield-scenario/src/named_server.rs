//! Servers that farfield knows by name, in place of a command: `@nginx`, `@apache`, `@apache-prefork`. Each
//! is the machine's own program with a plain configuration, in front of the files that the scenario asks
//! for, so that two servers can be compared without a line of either's configuration.
//!
//! Settings follow the name: `@nginx processes=4 keep-alive=15s`. They serve HTTP/1 in cleartext; a server
//! with TLS, HTTP/2, logs or modules of its own is started by its own command.

mod config;
mod home;

pub use home::NamedHome;

use farfield_base::Duration;
use farfield_testbed::Command;
use std::num::NonZeroU32;

/// Processes at most.
const PROCESSES_MAX: u32 = 10_000;
/// A connection without a request is kept as long as this: longer than runs last, as benches need it.
const KEEP_ALIVE: Duration = Duration::from_secs(3_600);

/// A server that is known by name, with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedServer {
    pub kind: NamedKind,
    /// Worker processes.
    pub processes: NonZeroU32,
    /// Time that a connection waits for its next request; none is kept if it is zero.
    pub keep_alive: Duration,
}

/// The program, and how it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedKind {
    /// nginx: processes that wait for events.
    Nginx,
    /// Apache with its event module: 64 threads in each process.
    Apache,
    /// Apache with a process for each connection, all of them there from the start.
    ApachePrefork,
}

impl NamedKind {
    const ALL: [NamedKind; 3] = [NamedKind::Nginx, NamedKind::Apache, NamedKind::ApachePrefork];

    fn name(self) -> &'static str {
        match self {
            NamedKind::Nginx => "@nginx",
            NamedKind::Apache => "@apache",
            NamedKind::ApachePrefork => "@apache-prefork",
        }
    }

    /// Worker processes where nothing else is said.
    fn processes(self) -> NonZeroU32 {
        let processes = match self {
            NamedKind::Nginx => 1,
            NamedKind::Apache => 4,
            NamedKind::ApachePrefork => 128,
        };
        NonZeroU32::new(processes).expect("more than none")
    }
}

impl NamedServer {
    /// The server that `command` names; `None` for a command of another kind.
    ///
    /// # Errors
    /// A sentence, if the name or a setting is unknown.
    pub fn of(command: &Command) -> Option<Result<NamedServer, String>> {
        let words: Vec<&str> = match command {
            Command::Shell(line) => line.split_whitespace().collect(),
            Command::Program(words) => words.iter().map(String::as_str).collect(),
        };
        let (name, settings) = words.split_first()?;
        name.starts_with('@').then(|| NamedServer::read(name, settings))
    }

    fn read(name: &str, settings: &[&str]) -> Result<NamedServer, String> {
        let kind = NamedKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = NamedKind::ALL.map(NamedKind::name).join(", ");
            format!(
                "`{}` is no server that farfield knows; those are {names}, and any other is a command",
                name.escape_debug()
            )
        })?;
        let mut server = NamedServer { kind, processes: kind.processes(), keep_alive: KEEP_ALIVE };
        for setting in settings {
            match setting.split_once('=') {
                Some(("processes", text)) => server.processes = processes(text)?,
                Some(("keep-alive", text)) => {
                    let time = text.parse::<Duration>();
                    server.keep_alive = time.map_err(|error| format!("keep-alive={text}: {error}"))?;
                }
                _ => {
                    return Err(format!(
                        "`{}` is no setting of {name}; write processes=4 or keep-alive=15s, or a command with a \
                         configuration of your own",
                        setting.escape_debug()
                    ));
                }
            }
        }
        Ok(server)
    }
}

fn processes(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse::<NonZeroU32>().ok().filter(|number| number.get() <= PROCESSES_MAX);
    number
        .ok_or_else(|| format!("processes={}: write a number from 1 to {PROCESSES_MAX}", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Result<NamedServer, String>> {
        NamedServer::of(&Command::Shell(line.to_owned()))
    }

    #[test]
    fn names_have_settings() {
        let found = read("@nginx").expect("a name").expect("a server");
        assert_eq!((found.kind, found.processes.get(), found.keep_alive), (NamedKind::Nginx, 1, KEEP_ALIVE));
        let found = read(" @apache-prefork  processes=7 keep-alive=0s").expect("a name").expect("a server");
        assert_eq!((found.kind, found.processes.get()), (NamedKind::ApachePrefork, 7));
        assert!(found.keep_alive.is_zero());
        let words = Command::Program(vec!["@apache".to_owned(), "processes=2".to_owned()]);
        assert_eq!(NamedServer::of(&words).expect("a name").map(|found| found.processes.get()), Ok(2));
        for own in ["nginx -c a.conf", "", "user@host", "echo @nginx"] {
            assert_eq!(read(own), None, "{own}");
        }
    }

    #[test]
    fn what_is_no_name_or_setting_is_refused() {
        for (line, part) in [
            ("@ngnix", "those are @nginx, @apache, @apache-prefork"),
            ("@nginx\u{1b}[2J", "\\u{1b}"),
            ("@nginx processes=0", "from 1 to 10000"),
            ("@nginx processes=99999", "from 1 to 10000"),
            ("@nginx keep-alive=much", "keep-alive=much: "),
            ("@apache; rm -rf x", "is no server"),
            ("@apache workers=2", "is no setting of @apache"),
        ] {
            let error = read(line).expect("a name").expect_err(line);
            assert!(error.contains(part) && !error.contains('\u{1b}'), "{line}: {error}");
        }
    }
}
