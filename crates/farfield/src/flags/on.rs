//! The flags by which each run of a command is made by parts, here or on other machines. They are no keys of
//! the scenario.

use clap::Args;
use farfield_base::Part;
use std::fmt;
use std::str::FromStr;

/// The variable by which Slurm says how many tasks a job has.
const TASKS: &str = "SLURM_NTASKS";
/// Doors, as they are typed.
const WRITE: &str = "write local:N, ssh:HOST,HOST… or slurm:N";

/// The door through which the parts of each run are started.
#[derive(Debug, Clone, Default, Args)]
pub struct OnFlags {
    /// Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent
    ///
    /// N processes of this machine; one at each host, which the system's ssh reaches; or N tasks of Slurm,
    /// where N may be absent within a job. They load one server, which the scenario names. The result is that
    /// of their sum.
    #[arg(long, hide_short_help = true, value_name = "DOOR", value_parser = door)]
    pub on: Option<Door>,
    /// The command that reaches a host of --on
    #[arg(long, hide_short_help = true, value_name = "COMMAND", default_value = "ssh", requires = "on")]
    pub on_ssh: String,
    /// Listen here for the parts of --on; at a free port, of any address unless all are local, if absent
    ///
    /// Parts connect to the address that is named here. If that is 0.0.0.0 or absent, those at hosts connect
    /// to the one that they see their ssh come from, and tasks of Slurm to this machine's name.
    #[arg(long, hide_short_help = true, value_name = "ADDRESS:PORT", requires = "on")]
    pub on_listen: Option<String>,
    /// Time for all parts of a run of --on to come and be ready, also in a queue
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = "5m", requires = "on")]
    pub on_wait: String,
}

/// A way to the machines of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// So many processes of this machine.
    Local(u32),
    /// A part at each host.
    Ssh(Vec<String>),
    /// So many tasks of Slurm.
    Slurm(u32),
}

impl OnFlags {
    /// The words of a command line by which one run has the same flags.
    pub fn words(&self) -> Vec<String> {
        let Some(door) = &self.on else { return Vec::new() };
        let words = [
            format!("--on={door}"),
            format!("--on-ssh={}", self.on_ssh),
            format!("--on-wait={}", self.on_wait),
        ];
        words.into_iter().chain(self.on_listen.iter().map(|at| format!("--on-listen={at}"))).collect()
    }

    /// The part by which a scenario is tried before it is run: the first of as many as there are to be.
    pub fn first_part(&self) -> Option<String> {
        self.on.as_ref().map(|door| format!("1/{}", door.parts()))
    }
}

impl Door {
    /// Number of parts.
    pub fn parts(&self) -> u32 {
        match self {
            Door::Local(count) | Door::Slurm(count) => *count,
            Door::Ssh(hosts) => hosts.len() as u32,
        }
    }

    /// True if runs through both have as many parts, started in the same way: hosts may be others.
    pub fn is_like(&self, other: &Door) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.parts() == other.parts()
    }

    /// The door of this name, in a job of so many tasks, if it is one.
    fn read(text: &str, tasks: Option<&str>) -> Result<Door, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let count = |rest: Option<&str>| {
            let count = rest.and_then(|rest| rest.trim().parse::<u32>().ok());
            let count = count.filter(|count| (2..=Part::UNITS_MAX).contains(count));
            count.ok_or_else(|| {
                format!("{name}: write a number of parts from 2 to {}, such as {name}:4", Part::UNITS_MAX)
            })
        };
        match (name, rest) {
            ("local", rest) => Ok(Door::Local(count(rest)?)),
            ("slurm", None) if tasks.is_none() => Err(format!(
                "slurm: this is no job of Slurm ({TASKS}); write a number of tasks, such as slurm:4"
            )),
            ("slurm", rest) => Ok(Door::Slurm(count(rest.or(tasks))?)),
            ("ssh", Some(rest)) => {
                let hosts: Vec<String> = rest.split(',').map(|host| host.trim().to_owned()).collect();
                if let Some(odd) = hosts.iter().find(|host| host.is_empty() || host.starts_with('-')) {
                    return Err(format!("ssh: `{odd}` is no host"));
                }
                match u32::try_from(hosts.len()) {
                    Ok(2..=Part::UNITS_MAX) => Ok(Door::Ssh(hosts)),
                    _ => Err(
                        "ssh: name two parts at least, such as ssh:a,b; a host that is named twice makes two"
                            .to_owned(),
                    ),
                }
            }
            ("ray", _) => Err(format!(
                "ray: over a cluster of Ray sweeps are made by farfield.ray.sweep of the Python package; here {WRITE}"
            )),
            _ => Err(WRITE.to_owned()),
        }
    }
}

impl FromStr for Door {
    type Err = String;

    fn from_str(text: &str) -> Result<Door, String> {
        Door::read(text, std::env::var(TASKS).ok().as_deref())
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Door::Local(count) => write!(f, "local:{count}"),
            Door::Ssh(hosts) => write!(f, "ssh:{}", hosts.join(",")),
            Door::Slurm(count) => write!(f, "slurm:{count}"),
        }
    }
}

fn door(text: &str) -> Result<Door, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Command, Flags};
    use clap::Parser;

    #[test]
    fn a_door_is_what_it_prints() {
        for text in ["local:2", "ssh:a,me@b.example,a", "slurm:4096"] {
            let door = Door::read(text, None).expect("a door");
            assert_eq!(door.to_string(), text);
        }
        assert_eq!(Door::read("slurm", Some("3")), Ok(Door::Slurm(3)));
        assert_eq!(Door::read("slurm:2", Some("3")), Ok(Door::Slurm(2)));
        for (text, says) in [
            ("local", "such as local:4"),
            ("local:1", "from 2 to 4096"),
            ("slurm", "SLURM_NTASKS"),
            ("ssh:a", "two parts at least"),
            ("ssh:a,,b", "`` is no host"),
            ("ssh:a,-oProxyCommand=x", "is no host"),
            ("ssh", "write local:N"),
            ("ray", "farfield.ray.sweep"),
            ("", "write local:N"),
        ] {
            let refused = Door::read(text, None).expect_err("no door");
            assert!(refused.contains(says), "{text}: {refused}");
        }
        assert!(Door::read("slurm", Some("1")).is_err());
    }

    #[test]
    fn other_hosts_are_alike_and_another_number_is_not() {
        let of = |text: &str| Door::read(text, None).expect("a door");
        assert!(of("ssh:a,b").is_like(&of("ssh:a,c")));
        assert!(!of("ssh:a,b").is_like(&of("ssh:a,b,c")));
        assert!(!of("local:2").is_like(&of("slurm:2")));
    }

    /// A run that a sweep makes has the flags of the sweep.
    #[test]
    fn the_words_of_a_door_give_the_same() {
        let of = |words: &[&str]| match Flags::try_parse_from(words).expect("flags").command {
            Some(Command::Run(flags)) => flags.on,
            Some(Command::Sweep(flags)) => flags.on,
            other => panic!("{other:?}"),
        };
        let sweep = ["farfield", "sweep", "s.toml", "--on", "ssh:a,b", "--on-ssh", "ssh -F x"];
        let given = of(&[&sweep[..], &["--on-listen", "10.0.0.1:9009", "--on-wait", "1h"]].concat());
        let words = given.words();
        let run: Vec<&str> =
            ["farfield", "run"].into_iter().chain(words.iter().map(String::as_str)).collect();
        assert_eq!(format!("{:?}", of(&run)), format!("{given:?}"));
        assert_eq!(given.first_part().as_deref(), Some("1/2"));
        assert_eq!(of(&["farfield", "run"]).words(), Vec::<String>::new());
    }
}
