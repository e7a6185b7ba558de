//! `[[network.program]]`: real programs beside the users, each in the place of a client.

use crate::mistake::Mistake;
use crate::network::{NetworkSpec, ProgramSpec};
use crate::scenario::Scenario;
use farfield_engine::plane::{BesideProgram, EmulatedNetwork, PlaneKind};
use farfield_engine::shell::clients_of;

impl Scenario {
    /// The programs with the clients whose places they take. Users act on the others.
    ///
    /// # Errors
    /// If one is neither a command nor the shell, its class has no client left, or a shard would have no
    /// client for users.
    pub(crate) fn programs(
        &self,
        spec: &NetworkSpec,
        network: &EmulatedNetwork,
    ) -> Result<Vec<BesideProgram>, Mistake> {
        if spec.program.is_empty() {
            return Ok(Vec::new());
        }
        if self.plane == PlaneKind::Simulated {
            let sentence = "real programs need a real server: write `plane = \"emulated\"`, or remove them";
            return Err(Mistake::at("network.program", sentence));
        }
        check(&spec.program)?;
        let classes: Vec<Option<&str>> =
            spec.program.iter().map(|program| Some(program.class.as_str())).collect();
        let clients = clients_of(network, &classes).map_err(|none| {
            let key = format!("network.program[{}].class", none.nth());
            Mistake::at(key, none)
        })?;
        let (all, shards) = (network.plan.acting() as u32, network.shards.get());
        for shard in 0..shards {
            let taken = clients.iter().filter(|client| client.shard(shards) == shard).count() as u32;
            if taken >= all / shards {
                let sentence = format!(
                    "programs take all {taken} clients of a shard, and its users have none left; write more \
                     `network.clients`, or fewer shards"
                );
                return Err(Mistake::at("network.program", sentence));
            }
        }
        let program = |(spec, client): (&ProgramSpec, _)| BesideProgram {
            client,
            class: spec.class.clone(),
            command: spec.command.clone(),
        };
        Ok(spec.program.iter().zip(clients).map(program).collect())
    }
}

fn check(programs: &[ProgramSpec]) -> Result<(), Mistake> {
    for (nth, program) in programs.iter().enumerate() {
        let key = |key: &str| format!("network.program[{nth}].{key}");
        match (&program.command, program.shell) {
            (Some(_), true) => {
                let sentence = "a program is a command or the shell; remove this key or `command`";
                return Err(Mistake::at(key("shell"), sentence));
            }
            (None, false) => {
                let sentence =
                    "there is no command; write one such as \"curl http://server/\", or `shell = true`";
                return Err(Mistake::at(key("class"), sentence));
            }
            (Some(command), false) if command.trim().is_empty() => {
                return Err(Mistake::at(
                    key("command"),
                    "the command is empty; write one, or remove the program",
                ));
            }
            _ => {}
        }
    }
    if programs.iter().filter(|program| program.shell).count() > 1 {
        return Err(Mistake::at("network.program", "one shell has the terminal; give the others a command"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::overlay::Overlay;
    use crate::{from_flags, from_text};
    use farfield_engine::Plane;
    use std::path::Path;

    const TWO: &str = "plane = 'emulated'\n[load]\nusers = 4\n[[network.class]]\nname = 'home'\nrtt = '20ms'
        [[network.class]]\nname = 'office'\nrtt = '30ms'\n";

    fn refused(text: &str) -> String {
        from_text(text, Some(Path::new("a.toml")), &Overlay::default()).expect_err(text).to_string()
    }

    #[test]
    fn programs_take_clients_that_users_do_not_lack() {
        let mut flags = Overlay::default();
        flags.add_program("--beside", "home", Some("curl a"));
        flags.add_program("--beside", "office", Some("curl b"));
        flags.add_program("--shell", "home", None);
        let plan = from_text(TWO, Some(Path::new("a.toml")), &flags).expect("a scenario");
        assert_eq!(plan.network().expect("clients").plan.clients.len(), 7, "four users and three programs");
        let Plane::Emulated(laid_out) = &plan.parts.plane else { unreachable!() };
        let seats: Vec<_> =
            laid_out.programs.iter().map(|p| (p.class.as_str(), p.command.as_deref())).collect();
        assert_eq!(seats, [("home", Some("curl a")), ("office", Some("curl b")), ("home", None)]);
        let again = plan.scenario().to_toml();
        let again =
            from_text(&again, Some(Path::new("a.toml")), &Overlay::default()).expect("it reads its own");
        assert_eq!(again.scenario().network, plan.scenario().network);
        let mut flags = Overlay::default();
        flags.add_program("--beside", "clients", Some("true"));
        let plan = from_flags(&flags).expect("a scenario");
        assert_eq!(plan.scenario().plane.name(), "emulated", "a program needs it");
    }

    #[test]
    fn what_cannot_be_is_refused_at_its_key() {
        let with = |program: &str| refused(&format!("{TWO}[[network.program]]\n{program}"));
        let text = with("class = 'hoem'\ncommand = 'true'");
        assert!(text.contains("network.program[0].class") && text.contains("home, office"), "{text}");
        assert!(with("class = 'home'").contains("there is no command"));
        assert!(with("class = 'home'\ncommand = 'true'\nshell = true").contains("a command or the shell"));
        assert!(with("class = 'home'\ncommand = ' '").contains("is empty"));
        let text = refused(&format!(
            "{}[[network.program]]\nclass = 'home'\ncommand = 'true'\n",
            TWO.replace(
                "[[network.class]]\nname = 'home'",
                "[network]\nclients = 2\nshards = 2\n[[network.class]]\nname = 'home'"
            )
        ));
        assert!(text.contains("its users have none left"), "{text}");
        let text = refused(&format!(
            "{}[[network.program]]\nclass = 'home'\ncommand = 'true'\n",
            TWO.replace("emulated", "simulated")
        ));
        assert!(text.contains("real programs need a real server"), "{text}");
    }
}
