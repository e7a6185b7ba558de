//! The profile of a user's browser: what it remembers of hosts' versions of HTTP.

use crate::alt_svc::AltSvc;
use farfield_base::{Duration, HostNumber, Instant, SpokenVersion};
use smallvec::SmallVec;

/// The time for which an alternative is not tried again after it failed.
const BROKEN: Duration = Duration::from_secs(300);
/// The doublings of that time at most: two days.
const DOUBLINGS_MAX: u32 = 9;

/// Memory of all hosts that said something.
#[derive(Debug, Default)]
pub(crate) struct Profiles(Option<Box<HostProfiles>>);

type HostProfiles = SmallVec<[(HostNumber, Profile); 1]>;

impl Profiles {
    /// Memory of `host`, if there is any.
    pub fn of(&self, host: HostNumber) -> Option<&Profile> {
        self.0.as_ref()?.iter().find(|(own, _)| *own == host).map(|(_, profile)| profile)
    }

    /// Memory of `host`, which is empty at first.
    pub fn of_mut(&mut self, host: HostNumber) -> &mut Profile {
        let all = self.0.get_or_insert_default();
        let place = all.iter().position(|(own, _)| *own == host).unwrap_or_else(|| {
            all.push((host, Profile::default()));
            all.len() - 1
        });
        &mut all[place].1
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

/// Memory that a user's browser has of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    /// The version of its connections of TCP, once one was secured.
    pub spoken: Option<SpokenVersion>,
    alternative: Option<Alternative>,
    /// Failures of the alternative in a row, and until when it is not tried.
    broken: Option<(u32, Instant)>,
}

/// HTTP/3 on a port of the same host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alternative {
    port: u16,
    until: Instant,
}

impl Profile {
    /// The head of a reply says this of alternatives, which replaces all that was said before (RFC 7838
    /// section 3.1).
    pub fn note_alternative(&mut self, now: Instant, found: AltSvc) {
        self.alternative = match found {
            AltSvc::Here(port, age) => Some(Alternative { port, until: now + age }),
            AltSvc::Elsewhere | AltSvc::Nothing => None,
        };
    }

    /// The port of the alternative, unless it is too old or has failed.
    pub fn alternative(&self, now: Instant) -> Option<u16> {
        let alternative = self.alternative.filter(|own| own.until > now)?;
        let is_broken = self.broken.is_some_and(|(_, until)| until > now);
        (!is_broken).then_some(alternative.port)
    }

    /// The alternative failed.
    pub fn note_failure(&mut self, now: Instant) {
        let times = self.broken.map_or(0, |(times, _)| times);
        let rests = Duration::from_ns(BROKEN.as_ns() << times.min(DOUBLINGS_MAX));
        self.broken = Some((times.saturating_add(1), now + rests));
    }

    /// The alternative works.
    pub fn note_success(&mut self) {
        self.broken = None;
    }
}
