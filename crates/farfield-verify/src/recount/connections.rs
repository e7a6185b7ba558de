//! Connections counted again: what they carried, their handshakes, and the versions of HTTP over them.

use super::expected::Expected;
use super::part::{PartCounts, RunPart};
use super::times::SortedTimes;
use super::{Recount, at, mean_ns};
use farfield_base::{EarlyData, Outcome, Sample, SpokenVersion, TlsStats, TlsVersion};
use serde_json::Value;
use std::collections::BTreeMap;

impl Recount<'_> {
    pub(super) fn connections(&self, warm_up: &PartCounts, steady: &PartCounts) -> Expected {
        let sent = self
            .samples
            .iter()
            .filter(|own| own.connection != Sample::NO_CONNECTION && own.sent.instant().is_some());
        // Samples by their number on their connection: a connection has carried more than n requests if it
        // has one with the number n.
        let mut by_number: BTreeMap<u64, u64> = BTreeMap::new();
        for sample in sent {
            *by_number.entry(u64::from(sample.number)).or_default() += 1;
        }
        let reached = |number: u64| by_number.get(&number).copied().unwrap_or(0);
        let requests: u64 = by_number.values().sum();
        let most = by_number.last_key_value().map_or(0, |(number, _)| number + 1);
        let used = reached(0);
        let (mut classes, mut number) = (Vec::new(), 0);
        while number < most {
            // One by one up to 64, then a sixteenth of an octave.
            let step = if number < 64 { 1 } else { 1 << (number.ilog2() - 4) };
            let carried = reached(number).saturating_sub(reached(number + step));
            if carried > 0 {
                classes.push(Expected::record([
                    ("from", Expected::Count(number + 1)),
                    ("to", Expected::Count((number + step).min(most))),
                    ("connections", Expected::Count(carried)),
                ]));
            }
            number += step;
        }
        let mean = (used > 0).then(|| requests as f64 / used as f64);
        Expected::record([
            ("attempts", Expected::Count(warm_up.events.connects + steady.events.connects)),
            ("established", Expected::Count(warm_up.events.connected + steady.events.connected)),
            ("used", Expected::Count(used)),
            ("requests_mean", Expected::near_or_nothing(mean)),
            ("requests_max", Expected::Count(most)),
            ("requests_per_connection", Expected::List(classes)),
        ])
    }

    pub(super) fn handshakes(&self) -> Expected {
        let secured = |own: &&Sample| {
            own.tls
                .is_some_and(|tls| self.from <= tls.secured.as_ns() && self.is_measured(tls.secured.as_ns()))
                && own.connected.instant().is_some()
        };
        let own: Vec<&Sample> = self.samples.iter().filter(secured).collect();
        if own.is_empty() {
            return Expected::Nothing;
        }
        let took = own.iter().filter_map(|own| {
            let (tls, connected) = (own.tls?, own.connected.instant()?);
            Some(tls.secured.as_ns().saturating_sub(connected.as_ns()))
        });
        let all = own.len() as f64;
        let share = |is: &dyn Fn(TlsStats) -> bool| {
            own.iter().filter(|own| own.tls.is_some_and(is)).count() as f64 / all
        };
        let (accepted, rejected) =
            (share(&|tls| tls.early == EarlyData::Accepted), share(&|tls| tls.early == EarlyData::Rejected));
        let early = if accepted + rejected > 0.0 {
            Expected::record([
                ("accepted_share", Expected::near(accepted)),
                ("rejected_share", Expected::near(rejected)),
            ])
        } else {
            Expected::Nothing
        };
        Expected::record([
            ("per_s", Expected::near(all / ((self.to - self.from) as f64 / 1e9))),
            ("resumed_share", Expected::near(share(&|tls| tls.resumed))),
            ("tls13_share", Expected::near(share(&|tls| tls.version == TlsVersion::Tls13))),
            ("early", early),
            ("time", SortedTimes::of(took).expected(self.without_intervals())),
        ])
    }

    /// Requests that ended in the measured part over `version`, those of them that waited for the server's
    /// windows, and how long in microseconds.
    fn over(&self, version: Option<SpokenVersion>) -> [u64; 3] {
        let ended = self.samples.iter().filter(|own| {
            own.outcome != Outcome::Unfinished && self.happened(RunPart::Steady, own, own.done.as_ns())
        });
        let own = ended.filter(|own| own.http.version() == version);
        own.fold([0; 3], |[all, stalled, us], own| {
            let waited = u64::from(own.http.stalled_us().unwrap_or(0));
            [all + 1, stalled + u64::from(waited > 0), us + waited]
        })
    }

    pub(super) fn http(&self, said: &Value) -> Expected {
        let rows = SpokenVersion::ALL.into_iter().filter_map(|version| {
            let [requests, stalled, us] = self.over(Some(version));
            (requests > 0).then(|| {
                Expected::record([
                    ("version", Expected::word(version.name())),
                    ("requests", Expected::Count(requests)),
                    ("stalled_requests", Expected::Count(stalled)),
                    ("stalled_mean_ns", mean_ns(us, stalled)),
                ])
            })
        });
        let rows: Vec<Expected> = rows.collect();
        // Attempts at an alternative alone leave a summary, too; an older farfield left none at all.
        if at(said, &["http"]).is_none() && (rows.is_empty() || !self.has_intervals) {
            return Expected::Open;
        }
        let [unknown, ..] = self.over(None);
        Expected::record([("versions", Expected::List(rows)), ("unknown", Expected::Count(unknown))])
    }

    pub(super) fn http2(&self, said: &Value) -> Expected {
        let [requests, stalled, us] = self.over(Some(SpokenVersion::Http2));
        if at(said, &["http2"]).is_none() && requests == 0 {
            return Expected::Nothing;
        }
        Expected::record([
            ("requests", Expected::Count(requests)),
            ("stalled_requests", Expected::Count(stalled)),
            ("stalled_mean_ns", mean_ns(us, stalled)),
        ])
    }
}
