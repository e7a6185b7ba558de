//! `[session]`: sessions with dependencies in place of a set of requests.

use super::Scenario;
use super::mistake::Mistake;
use farfield_base::random::Seed;
use farfield_traffic::LoadSpec;
use farfield_traffic::file::Load;
use farfield_traffic::session::replay::Replay;
use farfield_traffic::session::{Session, SessionError};

impl Scenario {
    /// What sessions the scenario describes, if it does; what it names is read through `load`.
    pub fn session(&self, load: &mut Load<'_>) -> Result<Option<Told>, Mistake> {
        self.check_session_limits()?;
        let Some(spec) = &self.session else { return Ok(None) };
        if self.requests.is_some() {
            let sentence = "a `[session]` says all that is asked for; leave out one of both";
            return Err(Mistake::at("requests", sentence));
        }
        if !matches!(self.load, LoadSpec::Closed(_) | LoadSpec::Hybrid(_)) {
            let sentence = "sessions have users who wait for replies; write `closed` or `hybrid`";
            return Err(Mistake::at("load.model", sentence));
        }
        let wrong = |error: SessionError| Mistake::at(format!("session.{}", error.key), error.sentence);
        let Some(replay) = spec.resolve_replay(load).map_err(wrong)? else {
            let session = spec.resolve(load, Seed(self.seed)).map_err(wrong)?;
            self.check_replies(&session)?;
            return Ok(Some(Told::Dependent(Box::new(session))));
        };
        let has_instants = replay.sessions.iter().all(|session| session.starts.is_some());
        if has_instants && self.load != LoadSpec::default() {
            let sentence = "the recording says when sessions begin; leave the load out";
            return Err(Mistake::at("load", sentence));
        }
        Ok(Some(Told::Recorded(replay)))
    }
}

impl Scenario {
    /// Refuses bounds on sessions where users are in none.
    fn check_session_limits(&self) -> Result<(), Mistake> {
        let has_sessions = self.session.is_some() || matches!(self.load, LoadSpec::Hybrid(_));
        let keys = [
            ("run.sessions", self.run.sessions.is_some()),
            ("run.finish-sessions", !self.run.finish_sessions.is_zero()),
        ];
        match keys.into_iter().find(|(_, written)| *written) {
            Some((key, _)) if !has_sessions => {
                Err(Mistake::at(key, "users are in no sessions; write `[session]`, or a `hybrid` load"))
            }
            _ => Ok(()),
        }
    }
}

/// What a scenario says of sessions.
#[derive(Debug)]
pub enum Told {
    /// Their states.
    Dependent(Box<Session>),
    /// A recording.
    Recorded(Replay),
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    const STATE: &str = "[[session.state]]\nname = 'home'\npath = '/'\n";

    #[test]
    fn what_is_shown_reads_as_the_same() {
        let text = format!(
            "load = {{ model = 'hybrid', arrivals = '5/s' }}\n{STATE}extract = {{ t = {{ css = 'input', attribute = 'value' }} }}\n\
             [[session.state]]\nname = 'buy'\nform = {{ fields = {{ t = '${{t}}' }} }}\non-failure = 'retry 2'\n\
             check = {{ status = ['2xx', 302], contains = 'a', header = {{ x = true }} }}\n"
        );
        let read = |text: &str| from_text(text, Some(Path::new("s.toml")), &Overlay::default()).expect(text);
        let scenario = read(&text);
        assert_eq!(read(&scenario.to_toml()), scenario);
    }

    #[test]
    fn mistakes_are_told_with_file_line_and_key() {
        let check = |text: &str, parts: &[&str]| {
            let told = from_text(text, Some(Path::new("s.toml")), &Overlay::default());
            let sentence = told.expect_err(text).to_string();
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        let second = format!("{STATE}[[session.state]]\nname = 'buy'\npath = '/buy'\n");
        check(
            &format!("{second}body = 'x=${{tokn}}'\n"),
            &["s.toml:7: session.state[1].body: ", "nothing defines `${tokn}`"],
        );
        check(
            &format!("{second}body = 'x=${{to kn}}'\n"),
            &["s.toml:7: session.state[1].body: ", "names no variable"],
        );
        check(
            &format!("{STATE}extract.t = {{ regex = '(' }}\n"),
            &["s.toml:4: session.state[0].extract.t.regex: "],
        );
        check(&format!("{STATE}chek = 1\n"), &["s.toml:4: ", "there is no key `chek`", "`check`"]);
        check(&format!("{STATE}on-failure = 'stop'\n"), &["s.toml:4: ", "go-on"]);
        check(
            &format!("[session.transitions]\nhome = {{ end = 0.9 }}\n{STATE}"),
            &["s.toml:2: ", "sum to 0.9"],
        );
        check(
            &format!("[load]\nmodel = 'open'\narrivals = '5/s'\n{STATE}"),
            &["s.toml:2: load.model: ", "hybrid"],
        );
        check("[run]\nsessions = 5\n", &["s.toml:2: run.sessions: ", "[session]", "hybrid"]);
        check("[run]\nfinish-sessions = '5s'\n", &["s.toml:2: run.finish-sessions: ", "no sessions"]);
        check(&format!("{STATE}[[requests.request]]\npath = '/'\n"), &["s.toml:4: requests: "]);
        check(
            &format!("[[session.data]]\nfile = 'no.csv'\n{STATE}"),
            &["s.toml:2: session.data[0].file: no.csv: "],
        );
    }
}
