//! Ready-made access links, each with where its numbers come from.
//!
//! A preset is a round trip and a rate each way; half of the round trip is the propagation of each direction.
//! The WAGON paper does not say whether its delays are one way or there and back; they are taken as round
//! trips, for 500 ms is what a geostationary hop takes there and back. Jitter and loss are left to the
//! scenario; only `starlink` has its delay and losses from a model fitted to data.

use crate::bit_rate::BitRate;
use crate::link::LinkSpec;
use crate::profile::{Profile, ProfileName};
use crate::queue::{Limit, QueueSpec};
use farfield_base::Duration;
use serde::{Deserialize, Serialize};

/// A kind of access link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Access {
    /// WAGON's Modem1.
    #[serde(rename = "modem-56k")]
    Modem56k,
    /// WAGON's Modem2.
    #[serde(rename = "modem-33k")]
    Modem33k,
    /// WAGON's T1 or DSL of 1999.
    T1,
    /// WAGON's WAN.
    Wan,
    /// WAGON's satellite of 1999.
    Satellite,
    /// WAGON's Ethernet.
    Ethernet,
    /// Fibre to the home.
    Fibre,
    /// Today's DSL.
    Dsl,
    /// 4G.
    #[serde(rename = "4g")]
    FourG,
    /// 5G.
    #[serde(rename = "5g")]
    FiveG,
    /// Wi-Fi behind a fixed line that is faster.
    #[serde(rename = "wifi")]
    WiFi,
    /// A satellite that stands still.
    Geostationary,
    /// A satellite in a low orbit.
    LowOrbit,
    /// Starlink, whose delay and losses follow a [profile](crate::profile).
    Starlink,
}

/// The values of a preset.
#[derive(Debug, Clone, Copy)]
struct Preset {
    round_trip: Duration,
    down_kbit: u64,
    up_kbit: u64,
    queue: Limit,
    source: &'static str,
}

const WAGON: &str = "Liu et al. 1999 (WAGON), table 5; queue of 50 packets as in Dummynet";

/// Dummynet's default.
const FIFTY: Limit = Limit::Packets(50);

impl Access {
    /// All of them.
    pub const ALL: [Access; 14] = [
        Access::Modem56k,
        Access::Modem33k,
        Access::T1,
        Access::Wan,
        Access::Satellite,
        Access::Ethernet,
        Access::Fibre,
        Access::Dsl,
        Access::FourG,
        Access::FiveG,
        Access::WiFi,
        Access::Geostationary,
        Access::LowOrbit,
        Access::Starlink,
    ];

    /// The link towards the client.
    pub fn down<J>(self) -> LinkSpec<J> {
        let preset = self.preset();
        let link = preset.link(preset.down_kbit);
        let path_profile = self.profile_name();
        let delay = if path_profile.is_some() { Duration::ZERO } else { link.delay };
        LinkSpec { delay, path_profile, ..link }
    }

    /// The link from the client.
    pub fn up<J>(self) -> LinkSpec<J> {
        let preset = self.preset();
        let link = preset.link(preset.up_kbit);
        LinkSpec { delay: self.profile().map_or(link.delay, |profile| profile.other_way), ..link }
    }

    /// The model fitted to data that the link towards the client follows, if there is one.
    pub fn profile(self) -> Option<&'static Profile> {
        self.profile_name().map(ProfileName::profile)
    }

    fn profile_name(self) -> Option<ProfileName> {
        (self == Access::Starlink).then_some(ProfileName::Starlink)
    }

    /// Source of the numbers.
    pub fn source(self) -> &'static str {
        self.preset().source
    }

    fn preset(self) -> Preset {
        let ms = Duration::from_ms;
        let of = |round_trip, down_kbit, up_kbit, queue, source| Preset {
            round_trip,
            down_kbit,
            up_kbit,
            queue,
            source,
        };
        let wagon = |round_trip, kbit| of(round_trip, kbit, kbit, FIFTY, WAGON);
        let buffer = |kib: u64| Limit::Bytes(kib * 1024);
        match self {
            Access::Modem56k => wagon(ms(300), 56),
            Access::Modem33k => wagon(ms(300), 33),
            Access::T1 => wagon(ms(20), 1_500),
            Access::Wan => wagon(ms(180), 150),
            Access::Satellite => wagon(ms(500), 2_000),
            Access::Ethernet => wagon(Duration::from_us(100), 100_000),
            Access::Fibre => of(ms(8), 500_000, 500_000, buffer(1024), "chosen, typical"),
            Access::Dsl => of(ms(20), 50_000, 10_000, buffer(256), "chosen, typical of VDSL2"),
            Access::FourG => {
                of(ms(70), 12_000, 12_000, buffer(256), "WebPageTest's profile `LTE`; queue chosen")
            }
            Access::FiveG => of(
                ms(30),
                166_130,
                21_080,
                buffer(1024),
                "rates: Ookla, median worldwide, third quarter of 2021; round trip and queue chosen",
            ),
            Access::WiFi => of(ms(4), 100_000, 100_000, buffer(512), "chosen, typical of a home"),
            Access::Geostationary => of(
                ms(630),
                18_130,
                3_000,
                buffer(512),
                "Ookla, Viasat in the US, second quarter of 2021; rate up (reported as below 3.5 Mbit/s) and queue chosen",
            ),
            Access::LowOrbit | Access::Starlink => of(
                ms(40),
                104_970,
                12_000,
                buffer(512),
                "Ookla, Starlink in the US, fourth quarter of 2021; queue chosen",
            ),
        }
    }
}

impl Preset {
    fn link<J>(self, kbit: u64) -> LinkSpec<J> {
        let rate = BitRate::per_second(kbit * 1000).expect("no preset has a rate of zero");
        let delay = Duration::from_ns(self.round_trip.as_ns() / 2);
        LinkSpec { queue: QueueSpec::drop_tail(self.queue), ..LinkSpec::of(rate, delay) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NoJitter;

    #[derive(Deserialize)]
    struct Class {
        access: Access,
    }

    #[test]
    fn wagons_modem_is_in_its_table() {
        let class: Class = toml::from_str("access = 'modem-56k'").unwrap();
        let (down, up) = (class.access.down::<NoJitter>(), class.access.up::<NoJitter>());
        assert_eq!(down.rate, "56kbit".parse().ok());
        assert_eq!(down.delay + up.delay, Duration::from_ms(300));
    }

    #[test]
    fn every_preset_resolves_and_names_its_source() {
        for access in Access::ALL {
            let spec = access.up::<NoJitter>();
            let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no preset has a trace"));
            assert!(model.is_ok_and(|model| model.propagation() > Duration::ZERO), "{access:?}");
            assert!(!access.source().is_empty());
            let slow = access.down::<NoJitter>().rate < access.up::<NoJitter>().rate;
            assert!(!slow, "{access:?} is slower down than up");
        }
    }
}
