//! Programs that a run of a scenario starts, for somebody to read before they run, and a digest of them that
//! holds a confirmation to what was read.

use crate::inputs;
use crate::plan::RunPlan;
use farfield_testbed::Command;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program that a run starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartedProgram {
    /// The key that names it, such as `server.command`.
    pub key: String,
    /// The command.
    pub command: Command,
    /// The user that it runs as; whoever runs farfield if absent.
    pub user: Option<String>,
    /// The folder that it runs in.
    pub directory: PathBuf,
    /// Variables of its environment that the scenario sets.
    pub environment: BTreeMap<String, String>,
}

impl StartedProgram {
    /// The command as one line; of a list, a word with blanks or quotes stands in quotes.
    pub fn line(&self) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
        let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("{word:?}"),
        };
        match &self.command {
            Command::Shell(line) => line.clone(),
            Command::Program(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
        }
    }
}

impl RunPlan {
    /// The programs that a run of it starts, other than farfield itself.
    pub fn starts(&self) -> Vec<StartedProgram> {
        let scenario = &self.scenario;
        let beside = self.inputs.folder();
        let in_folder = |folder: &Option<PathBuf>| {
            let folder = folder.as_ref().map_or(PathBuf::from("."), |folder| beside.join(folder));
            inputs::absolute(&folder)
        };
        let first = scenario.server.iter().filter_map(|server| {
            Some(StartedProgram {
                key: "server.command".to_owned(),
                command: server.command.clone()?,
                user: server.user.clone(),
                directory: in_folder(&server.directory),
                environment: server.environment.clone(),
            })
        });
        let of_farfield = |key: String, command, directory| StartedProgram {
            key,
            command,
            user: None,
            directory,
            environment: BTreeMap::new(),
        };
        let network = scenario.network.as_ref();
        let servers = network.iter().flat_map(|network| network.server.iter().enumerate());
        let servers = servers.filter_map(|(nth, server)| {
            let command = server.command.clone()?;
            Some(of_farfield(format!("network.server[{nth}].command"), command, in_folder(&server.directory)))
        });
        let programs = network.iter().flat_map(|network| network.program.iter().enumerate());
        let programs = programs.map(|(nth, program)| {
            let (key, command) = match &program.command {
                Some(line) => ("command", Command::Shell(line.clone())),
                None => ("shell", Command::Program(vec![users_shell()])),
            };
            of_farfield(format!("network.program[{nth}].{key}"), command, inputs::absolute(Path::new(".")))
        });
        first.chain(servers).chain(programs).collect()
    }
}

fn users_shell() -> String {
    std::env::var_os("SHELL").map_or("/bin/sh".to_owned(), |shell| shell.to_string_lossy().into_owned())
}

/// The digest of programs: SHA-256 in hexadecimal, of all that decides what is executed and as whom. It is
/// the same as long as they are.
pub fn digest(programs: &[StartedProgram]) -> String {
    let text = serde_json::to_vec(programs).expect("names and texts");
    Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_text;
    use crate::overlay::Overlay;

    const ALL: &str =
        "plane = 'emulated'\n[load]\nusers = 4\n[server]\ncommand = 'nginx -c a.conf'\nuser = 'nobody'
        directory = 'site'\nenvironment = { MODE = 'test' }\n[[network.server]]\nname = 'b'\nrtt = '10ms'
        command = ['redis server', '--port', '6379']\n[[network.class]]\nname = 'home'\nrtt = '20ms'
        [[network.program]]\nclass = 'home'\ncommand = 'curl http://server/'\n";

    fn starts(text: &str) -> Vec<StartedProgram> {
        from_text(text, Some(Path::new("/there/a.toml")), &Overlay::default()).expect("a scenario").starts()
    }

    #[test]
    fn every_program_of_a_scenario_is_named_with_its_user_folder_and_environment() {
        let all = starts(ALL);
        let named: Vec<_> = all.iter().map(|one| (one.key.as_str(), one.line())).collect();
        assert_eq!(
            named,
            [
                ("server.command", "nginx -c a.conf".to_owned()),
                ("network.server[0].command", "\"redis server\" --port 6379".to_owned()),
                ("network.program[0].command", "curl http://server/".to_owned()),
            ]
        );
        assert_eq!(all[0].user.as_deref(), Some("nobody"));
        assert_eq!(all[0].directory, Path::new("/there/site"));
        assert_eq!(all[0].environment["MODE"], "test");
        assert_eq!((&all[1].user, &all[2].user), (&None, &None));
        let shell = starts(&ALL.replace("command = 'curl http://server/'", "shell = true"));
        assert_eq!(shell[2].key, "network.program[0].shell");
        assert_eq!(starts("[load]\nusers = 1"), []);
        assert_eq!(
            starts("plane = 'emulated'\n[network]\nrtt = '10ms'"),
            [],
            "the built-in server is farfield"
        );
    }

    /// Changes to the programs, or to their users, change the digest; nothing else does.
    #[test]
    fn a_digest_is_that_of_the_programs_and_of_nothing_else() {
        let confirmed = digest(&starts(ALL));
        assert_eq!(digest(&starts(&ALL.replace("users = 4", "users = 5"))), confirmed);
        for (from, to) in [
            ("nginx -c a.conf", "nginx -c b.conf"),
            ("'nobody'", "'root'"),
            ("'site'", "'sites'"),
            ("MODE", "LD_PRELOAD"),
            ("'test'", "'tests'"),
            ("'redis server'", "'redis', 'server'"),
            ("6379", "6380"),
            ("curl http", "curl -o x http"),
            ("command = 'curl http://server/'", "shell = true"),
        ] {
            assert!(ALL.contains(from), "{from}");
            assert_ne!(digest(&starts(&ALL.replacen(from, to, 1))), confirmed, "{from}");
        }
        // A line for the shell is no list of words that read alike.
        let listed = ALL.replace("'nginx -c a.conf'", "['nginx', '-c', 'a.conf']");
        assert_eq!(starts(&listed)[0].line(), starts(ALL)[0].line());
        assert_ne!(digest(&starts(&listed)), confirmed);
    }
}
