//! A TCP as written: a profile, and what differs from it.

use farfield_base::{Bytes, Duration, TextOrTable};
use farfield_tcp::delayed_ack::DelayedAckPolicy;
use farfield_tcp::rtt::RtoLimits;
use farfield_tcp::syn::SynSchedule;
use farfield_tcp::{Algorithm, Config, EcnUse, InitialWindow, LossRecovery, ReceiveBuffer, SlowStart};
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::num::NonZeroU16;

/// A profile's name, or a table that begins with one. It is written as a table with the receive buffer, which
/// bounds what a client is sent in a round trip, whether or not that was given.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpSpec(TcpKeys);

/// A stack whose defaults hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// 4.4BSD, as the papers of the late 1990s measured.
    Bsd,
    /// A Linux of today.
    #[default]
    Linux,
    /// Windows.
    Windows,
}

/// The keys: those of [`Config`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct TcpKeys {
    profile: Profile,
    #[serde(skip_serializing_if = "Option::is_none")]
    mss: Option<NonZeroU16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_buffer: Option<Room>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reassembly_max: Option<Buffer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_scaling: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamps: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sack: Option<bool>,
    /// Offered, or neither offered nor accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<Recovery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<Congestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_start: Option<Growth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_window: Option<FirstFlight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_transmit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nagle: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto: Option<Rto>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syn: Option<Schedule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syn_ack: Option<Schedule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abandon_after: Option<Limit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delayed_ack: Option<DelayedAck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_wait: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fin_wait_2: Option<Limit>,
}

/// Bytes of memory: from 1 to 1 GiB, the largest window there is (RFC 7323, section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Bytes", into = "Bytes")]
struct Buffer(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Recovery {
    Reno,
    NewReno,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Congestion {
    Reno,
    Cubic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Growth {
    PerAck,
    PerByte,
}

/// A receive buffer as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A buffer that grows, as the profile has it; as Linux has it where the profile's does not grow.
    Auto,
    Sizes(ReceiveBuffer),
}

/// A receive buffer that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Growing {
    initial: Option<Buffer>,
    max: Option<Buffer>,
}

/// A number of segments, or the rule of an RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Either", into = "Either")]
enum FirstFlight {
    Segments(u8),
    Rfc5681,
    Rfc6928,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Word(String),
}

/// A time, or `"never"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Limit(Option<Duration>);

/// The waits after each SYN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Duration>", into = "Vec<Duration>")]
struct Schedule(Vec<Duration>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Rto {
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    granularity: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct DelayedAck {
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quick_segments: Option<u8>,
}

/// Replaces the profile's value by the written one, if there is one.
fn put<T>(place: &mut T, written: Option<T>) {
    if let Some(value) = written {
        *place = value;
    }
}

impl TcpSpec {
    /// Resolves the receive buffer by the profile.
    fn new(written: TcpKeys) -> TcpSpec {
        let receive_buffer = match (written.receive_buffer, written.profile.config().receive_buffer) {
            (Some(Room::Sizes(sizes)), _) => sizes,
            (Some(Room::Auto), ReceiveBuffer::Fixed(_)) => ReceiveBuffer::LINUX,
            (_, of_profile) => of_profile,
        };
        TcpSpec(TcpKeys { receive_buffer: Some(Room::Sizes(receive_buffer)), ..written })
    }

    /// The configuration of a connection.
    pub fn config(&self) -> Config {
        let written = &self.0;
        let mut config = written.profile.config();
        put(&mut config.mss, written.mss.map(NonZeroU16::get));
        if let Some(Room::Sizes(sizes)) = written.receive_buffer {
            config.receive_buffer = sizes;
        }
        // By default as much may arrive out of order as the window has room for.
        config.reassembly_max = written.reassembly_max.map_or(config.receive_buffer.max(), |max| max.0);
        put(&mut config.window_scaling, written.window_scaling);
        put(&mut config.timestamps, written.timestamps);
        put(&mut config.sack, written.sack);
        put(&mut config.ecn, written.ecn.map(|offers| if offers { EcnUse::Offer } else { EcnUse::Never }));
        put(&mut config.recovery, written.recovery.map(Recovery::resolve));
        put(&mut config.congestion, written.congestion.map(Congestion::resolve));
        put(&mut config.slow_start, written.slow_start.map(Growth::resolve));
        put(&mut config.initial_window, written.initial_window.map(FirstFlight::resolve));
        put(&mut config.limited_transmit, written.limited_transmit);
        put(&mut config.nagle, written.nagle);
        written.rto.unwrap_or_default().lay_over(&mut config.rto);
        put(&mut config.syn, written.syn.as_ref().map(Schedule::resolve));
        put(&mut config.syn_ack, written.syn_ack.as_ref().map(Schedule::resolve));
        put(&mut config.abandon_after, written.abandon_after.map(|limit| limit.0));
        written.delayed_ack.unwrap_or_default().lay_over(&mut config.delayed_ack);
        put(&mut config.time_wait, written.time_wait);
        put(&mut config.fin_wait_2, written.fin_wait_2.map(|limit| limit.0));
        config
    }

    /// True if the MSS was written, and does not follow from the MTU.
    pub fn mss_is_given(&self) -> bool {
        self.0.mss.is_some()
    }
}

impl Default for TcpSpec {
    fn default() -> TcpSpec {
        TcpSpec::new(TcpKeys::default())
    }
}

impl Profile {
    fn config(self) -> Config {
        match self {
            Profile::Bsd => Config::bsd(),
            Profile::Linux => Config::linux(),
            Profile::Windows => Config::windows(),
        }
    }
}

impl Rto {
    fn lay_over(self, limits: &mut RtoLimits) {
        put(&mut limits.initial, self.initial);
        put(&mut limits.min, self.min);
        put(&mut limits.max, self.max);
        put(&mut limits.granularity, self.granularity);
    }
}

impl DelayedAck {
    fn lay_over(self, policy: &mut DelayedAckPolicy) {
        put(&mut policy.delay, self.delay);
        put(&mut policy.heartbeat, self.heartbeat);
        put(&mut policy.quick_segments, self.quick_segments);
    }
}

impl Recovery {
    fn resolve(self) -> LossRecovery {
        match self {
            Recovery::Reno => LossRecovery::Reno,
            Recovery::NewReno => LossRecovery::NewReno,
        }
    }
}

impl Congestion {
    fn resolve(self) -> Algorithm {
        match self {
            Congestion::Reno => Algorithm::Reno,
            Congestion::Cubic => Algorithm::Cubic,
        }
    }
}

impl Growth {
    fn resolve(self) -> SlowStart {
        match self {
            Growth::PerAck => SlowStart::PerAck,
            Growth::PerByte => SlowStart::PerByte,
        }
    }
}

impl FirstFlight {
    fn resolve(self) -> InitialWindow {
        match self {
            FirstFlight::Segments(count) => InitialWindow::Segments(count),
            FirstFlight::Rfc5681 => InitialWindow::Rfc5681,
            FirstFlight::Rfc6928 => InitialWindow::Rfc6928,
        }
    }
}

impl Schedule {
    fn resolve(&self) -> SynSchedule {
        SynSchedule::new(self.0.iter().copied()).expect("it was neither empty nor too long when it was read")
    }
}

impl TryFrom<Bytes> for Buffer {
    type Error = String;

    fn try_from(bytes: Bytes) -> Result<Buffer, String> {
        let fits = u32::try_from(bytes.0).ok().filter(|bytes| (1..=1 << 30).contains(bytes));
        fits.map(Buffer)
            .ok_or_else(|| format!("a buffer of {bytes} is out of range; write from 1 byte to 1GiB"))
    }
}

impl From<Buffer> for Bytes {
    fn from(buffer: Buffer) -> Bytes {
        Bytes(buffer.0.into())
    }
}

impl Growing {
    fn resolve(self) -> Result<Room, String> {
        let usual = ReceiveBuffer::LINUX;
        let initial = self.initial.map_or(usual.initial(), |initial| initial.0);
        let max = self.max.map_or(usual.max(), |max| max.0);
        // A size that is left out gives way to the one that is written.
        let (initial, max) = match (self.initial, self.max) {
            (Some(_), Some(_)) if initial > max => {
                let [initial, max] = [initial, max].map(|bytes| Bytes(bytes.into()));
                return Err(format!("a buffer of {initial} does not grow to {max}; write a larger max"));
            }
            (Some(_), None) => (initial, max.max(initial)),
            _ => (initial.min(max), max),
        };
        Ok(Room::Sizes(ReceiveBuffer::Auto { initial, max }))
    }
}

impl Room {
    fn of_size(text: &str) -> Result<Room, String> {
        let size: Bytes = text.parse().map_err(|error| format!("{error}, or \"auto\""))?;
        Ok(Room::Sizes(ReceiveBuffer::Fixed(Buffer::try_from(size)?.0)))
    }
}

impl Serialize for Room {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Room::Auto => serializer.serialize_str("auto"),
            Room::Sizes(ReceiveBuffer::Fixed(bytes)) => Buffer(bytes).serialize(serializer),
            Room::Sizes(ReceiveBuffer::Auto { initial, max }) => {
                Growing { initial: Some(Buffer(initial)), max: Some(Buffer(max)) }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Room {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Room, D::Error> {
        TextOrTable {
            expected: "a size such as \"64KiB\", \"auto\", or a table such as { max = \"1MiB\" }",
            text: |text| if text == "auto" { Ok(Room::Auto) } else { Room::of_size(text) },
            number: Some(|bytes| Room::of_size(&bytes.to_string())),
            table: Growing::resolve,
        }
        .read(deserializer)
    }
}

impl TryFrom<Either> for FirstFlight {
    type Error = String;

    fn try_from(written: Either) -> Result<FirstFlight, String> {
        match written {
            Either::Number(count @ 1..=255) => Ok(FirstFlight::Segments(count as u8)),
            Either::Word(word) if word == "rfc5681" => Ok(FirstFlight::Rfc5681),
            Either::Word(word) if word == "rfc6928" => Ok(FirstFlight::Rfc6928),
            Either::Number(count) => Err(refuse_window(&count)),
            Either::Word(word) => Err(refuse_window(&word)),
        }
    }
}

fn refuse_window(given: &dyn fmt::Display) -> String {
    format!("`{given}` is no initial window; write 1 to 255 segments, \"rfc5681\" or \"rfc6928\"")
}

impl From<FirstFlight> for Either {
    fn from(window: FirstFlight) -> Either {
        match window {
            FirstFlight::Segments(count) => Either::Number(count.into()),
            FirstFlight::Rfc5681 => Either::Word("rfc5681".to_owned()),
            FirstFlight::Rfc6928 => Either::Word("rfc6928".to_owned()),
        }
    }
}

impl TryFrom<String> for Limit {
    type Error = farfield_base::QuantityError;

    fn try_from(text: String) -> Result<Limit, Self::Error> {
        if text == "never" { Ok(Limit(None)) } else { text.parse().map(|time| Limit(Some(time))) }
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> String {
        limit.0.map_or("never".to_owned(), |time| time.to_string())
    }
}

impl TryFrom<Vec<Duration>> for Schedule {
    type Error = String;

    fn try_from(waits: Vec<Duration>) -> Result<Schedule, String> {
        match SynSchedule::new(waits.iter().copied()) {
            Some(_) => Ok(Schedule(waits)),
            None => {
                Err("write 1 to 255 waits, one after each SYN, such as [\"1s\", \"2s\", \"4s\"]".to_owned())
            }
        }
    }
}

impl From<Schedule> for Vec<Duration> {
    fn from(schedule: Schedule) -> Vec<Duration> {
        schedule.0
    }
}

impl Serialize for TcpSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TcpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpSpec, D::Error> {
        TextOrTable {
            expected: "\"linux\", \"bsd\" or \"windows\", or a table such as { profile = \"bsd\", mss = 536 }",
            text: |name| {
                let profile = Profile::deserialize(StrDeserializer::<de::value::Error>::new(name));
                let profile = profile.map_err(|error| error.to_string())?;
                Ok(TcpSpec::new(TcpKeys { profile, ..TcpKeys::default() }))
            },
            number: None,
            table: |written| Ok(TcpSpec::new(written)),
        }
        .read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Class {
        tcp: TcpSpec,
    }

    fn read(text: &str) -> Result<TcpSpec, String> {
        let class: Class = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = toml::to_string(&class).expect("TOML");
        assert_eq!(toml::from_str::<Class>(&written).expect("its own text").tcp, class.tcp, "{written}");
        Ok(class.tcp)
    }

    #[test]
    fn a_profile_is_its_name() {
        assert_eq!(read("tcp = 'bsd'").unwrap().config(), Config::bsd());
        assert_eq!(read("tcp = 'windows'").unwrap().config(), Config::windows());
        assert_eq!(read("tcp = {}").unwrap().config(), Config::linux());
    }

    #[test]
    fn what_is_written_replaces_what_the_profile_has() {
        let text =
            "[tcp]\nprofile = 'bsd'\nmss = 536\nsack = true\nreceive-buffer = '64KiB'\nrto.min = '300ms'
            syn = ['2s', '4s']\nabandon-after = 'never'\ninitial-window = 'rfc5681'\ncongestion = 'cubic'
            recovery = 'new-reno'\ndelayed-ack = { delay = '0s' }\nwindow-scaling = true\ntimestamps = true
            limited-transmit = true\nnagle = false\ntime-wait = '1s'\nfin-wait-2 = '9s'\nsyn-ack = ['1s']
            slow-start = 'per-byte'\necn = true";
        let tcp = read(text).unwrap();
        assert!(tcp.mss_is_given());
        let seconds = Duration::from_secs;
        let expected = Config::bsd().with(|config| {
            config.mss = 536;
            config.sack = true;
            config.receive_buffer = ReceiveBuffer::Fixed(65_536);
            config.reassembly_max = 65_536;
            config.rto.min = Duration::from_ms(300);
            config.syn = SynSchedule::new([seconds(2), seconds(4)]).unwrap();
            config.syn_ack = SynSchedule::new([seconds(1)]).unwrap();
            config.abandon_after = None;
            config.initial_window = InitialWindow::Rfc5681;
            config.congestion = Algorithm::Cubic;
            config.slow_start = SlowStart::PerByte;
            config.recovery = LossRecovery::NewReno;
            config.delayed_ack.delay = Duration::ZERO;
            config.window_scaling = true;
            config.timestamps = true;
            config.limited_transmit = true;
            config.nagle = false;
            config.time_wait = seconds(1);
            config.fin_wait_2 = Some(seconds(9));
            config.ecn = EcnUse::Offer;
        });
        assert_eq!(tcp.config(), expected);
    }

    #[test]
    fn a_receive_buffer_stays_or_grows() {
        let buffer = |text: &str| {
            let config = read(text).unwrap().config();
            assert_eq!(config.reassembly_max, config.receive_buffer.max(), "{text}");
            config.receive_buffer
        };
        let auto = |initial, max| ReceiveBuffer::Auto { initial, max };
        assert_eq!(buffer("tcp = { receive-buffer = '4MiB' }"), ReceiveBuffer::Fixed(4 << 20));
        assert_eq!(buffer("tcp = { receive-buffer = 1000 }"), ReceiveBuffer::Fixed(1000));
        assert_eq!(buffer("tcp = { receive-buffer = 'auto' }"), auto(65_536, 6 << 20));
        assert_eq!(buffer("tcp = { receive-buffer = {} }"), auto(65_536, 6 << 20));
        assert_eq!(buffer("tcp = { receive-buffer = { max = '32KiB' } }"), auto(32_768, 32_768));
        assert_eq!(buffer("tcp = { receive-buffer = { max = '32MiB' } }"), auto(65_536, 32 << 20));
        assert_eq!(buffer("tcp = { receive-buffer = { initial = '8MiB' } }"), auto(8 << 20, 8 << 20));
        assert_eq!(
            buffer("tcp = { receive-buffer = { initial = '4KiB', max = '1MiB' } }"),
            auto(4_096, 1 << 20)
        );
        let with_auto =
            |profile: &str| buffer(&format!("tcp = {{ profile = '{profile}', receive-buffer = 'auto' }}"));
        assert_eq!([with_auto("windows"), with_auto("bsd")], [ReceiveBuffer::WINDOWS, ReceiveBuffer::LINUX]);
        assert_eq!(buffer("tcp = 'bsd'"), ReceiveBuffer::Fixed(16_384));
    }

    #[test]
    fn the_receive_buffer_is_written_where_the_profile_has_it() {
        let shown = |text: &str| toml::to_string(&Class { tcp: read(text).unwrap() }).unwrap();
        assert!(shown("tcp = 'bsd'").contains("receive-buffer = \"16KiB\""));
        let linux = shown("tcp = 'linux'");
        assert!(linux.contains("initial = \"64KiB\"") && linux.contains("max = \"6MiB\""), "{linux}");
    }

    #[test]
    fn invalid_values_are_refused_with_what_would_do() {
        let refuse = |text: &str, hint: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("tcp = 'lynux'", "`linux`");
        refuse("tcp = { mss = 0 }", "nonzero");
        refuse("tcp = { mtu = 1500 }", "unknown field `mtu`");
        refuse("tcp = { initial-window = 0 }", "1 to 255 segments");
        refuse("tcp = { syn = [] }", "1 to 255 waits");
        refuse("tcp = { receive-buffer = '2GiB' }", "1GiB");
        refuse("tcp = { receive-buffer = 'large' }", "\"auto\"");
        refuse("tcp = { receive-buffer = true }", "{ max = \"1MiB\" }");
        refuse("tcp = { receive-buffer = { max = '0B' } }", "1 byte to 1GiB");
        refuse("tcp = { receive-buffer = { initial = '2MiB', max = '1MiB' } }", "a larger max");
        refuse("tcp = { receive-buffer = { min = '4KiB' } }", "unknown field `min`");
        refuse("tcp = { abandon-after = 'soon' }", "300ms");
    }
}
