//! Parts of a run: what they cannot share, and so must not have.

use crate::mistake::Mistake;
use crate::network::NetworkSpec;
use crate::scenario::{OutputSpec, Scenario};
use farfield_base::{Duration, Part};
use farfield_engine::PlaneKind;
use farfield_traffic::session::SessionSpec;
use std::num::NonZeroU32;

/// The longest part: what is kept of each second takes some 2 kB.
const LONGEST: Duration = Duration::from_secs(25 * 3600);

/// Units of a part at most, where each takes a thread.
const UNITS_MOST: usize = 256;

impl Scenario {
    /// Makes a run that is all of its parts one without parts, but in virtual time, where users of one unit
    /// share what is left to the next visitor.
    pub(crate) fn make_whole(&mut self) {
        if self.run.part.is_whole() && self.plane != PlaneKind::Simulated {
            self.run.part = Part::WHOLE;
        }
    }

    /// The scenario as TOML without what may differ between the parts of a run: which part it is, when it
    /// starts, its name, files, workers and processors.
    pub(crate) fn shared_by_parts(&self) -> String {
        let mut shared = self.clone();
        (shared.run.part, shared.run.start_at) = (Part::WHOLE, None);
        (shared.name, shared.note) = (Scenario::default().name, None);
        shared.output = OutputSpec::default();
        (shared.sockets.workers, shared.sockets.processors) = (None, Vec::new());
        shared.sockets.sources = None;
        if let Some(network) = &mut shared.network {
            (network.shards, network.processors) = (NonZeroU32::MIN, Vec::new());
        }
        shared.to_toml()
    }

    /// Checks that a part of a run is made of what parts can have apart: users, and links of their own.
    pub(crate) fn check_part(&self) -> Result<(), Mistake> {
        if self.run.start_at.is_some() && self.plane == PlaneKind::Simulated {
            let sentence = "virtual time starts when it is asked to; leave this out, or choose another plane";
            return Err(Mistake::at("run.start-at", sentence));
        }
        let part = self.run.part;
        if part.is_whole() {
            return Ok(());
        }
        let refuse = |sentence: &str| Err(Mistake::at("run.part", sentence));
        if self.run.warm_up + self.run.duration + self.run.cool_down > LONGEST {
            return refuse(
                "a part keeps what happened in each second until it ends: a day at most; write a shorter run.duration",
            );
        }
        if !self.aborts.is_empty() {
            let sentence =
                "a condition that ends a run would end this part alone; leave it out, or make the run whole";
            return Err(Mistake::at("aborts", sentence));
        }
        if part.own().len() > UNITS_MOST && self.plane != PlaneKind::Simulated {
            return refuse(
                "each unit of a part takes a worker thread: 256 at most; cut the run into fewer units",
            );
        }
        if self.run.set_aside {
            return refuse(
                "the parts of a run measure the same seconds: none can be set aside of one; leave `set-aside` out",
            );
        }
        let around = |session: &SessionSpec| !session.set_up.is_empty() || !session.tear_down.is_empty();
        let flows = self.flow.iter().filter_map(|flow| flow.session.as_ref());
        if self.session.iter().chain(flows).any(around) {
            return refuse(
                "a session's set-up and tear-down are made once for all users: make them apart, with `farfield try`",
            );
        }
        match self.plane {
            PlaneKind::Sockets if self.target.is_none() => refuse(
                "the parts of a run load one server, and this one would start its own; name it with `target`",
            ),
            PlaneKind::Emulated => refuse(
                "parts of a run on the emulated plane would each answer for the addresses of all clients; use `plane = \
                 \"sockets\"`, or one machine",
            ),
            PlaneKind::Simulated => self.network.as_ref().map_or(Ok(()), NetworkSpec::check_apart),
            PlaneKind::Sockets => Ok(()),
        }
    }
}

impl NetworkSpec {
    /// Clients of several parts share no link in virtual time either.
    fn check_apart(&self) -> Result<(), Mistake> {
        let shared = [
            ("network.shared", self.shared.is_some()),
            ("network.backbone", self.backbone.is_some()),
            ("network.topology", self.topology.is_some()),
            ("network.cross-traffic", !self.cross_traffic.is_empty()),
        ];
        match shared.into_iter().find(|(_, written)| *written) {
            None => Ok(()),
            Some((key, _)) => {
                let sentence = "clients of several parts would share links, and each part would have these to itself; \
                                give clients links of their own (`network.class`), or make the run whole";
                Err(Mistake::at(key, sentence))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;

    /// Each part would have all of such a link to itself.
    #[test]
    fn links_of_several_parts_are_refused() {
        let read = |part: &str, network: &str| {
            let text = format!(
                "plane = 'simulated'\nload = {{ model = 'closed', users = 4 }}\nrun.part = '{part}'\n{network}\n"
            );
            from_text(&text, None, &Overlay::default()).map(|_| ()).map_err(|error| error.to_string())
        };
        for (key, network) in [
            ("network.shared", "[network.shared]\nrtt = '2ms'"),
            ("network.backbone", "[network.backbone]\nsubnets = 2\nhosts = 2"),
        ] {
            assert_eq!(read("1/1", network), Ok(()), "{key}");
            let sentence = read("1/2", network).expect_err(key);
            assert!(sentence.contains(key) && sentence.contains("to itself"), "{sentence}");
        }
    }
}
