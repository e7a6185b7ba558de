//! A queue as a scenario writes it. A bare size or count is drop-tail:
//!
//! ```toml
//! queue = "unlimited"
//! queue = "64KiB"
//! queue = "50 packets"
//! queue = { discipline = "drop-tail", limit = "64KiB" }
//! queue = { discipline = "red", limit = "100 packets", min = 5, max = 15, probability = "2%", weight = 0.002 }
//! queue = { discipline = "pie", target = "15ms", update = "15ms", burst = "150ms", limit = "1000 packets" }
//! queue = { discipline = "codel", target = "5ms", interval = "100ms", limit = "1MiB" }
//! queue = { discipline = "fq-codel", limit = "10240 packets", quantum = 1514, queues = 1024, ecn = true }
//! queue = { discipline = "fq-pie", target = "15ms", limit = "10240 packets", quantum = 1514, queues = 1024 }
//! ```
//!
//! A discipline by its name alone, such as `queue = "fq-codel"`, has the defaults of its keys.

use super::{Discipline, Limit, LimitError, codel, fq_codel, fq_pie, pie, red};
use crate::mtu::Mtu;
use farfield_base::{Duration, Share, TextOrTable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;

/// A queue as written: it can be meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSpec(QueueKeys);

/// Reasons for which a queue is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// A limit that cannot be read.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Thresholds that leave no room between them, or reach beyond the limit.
    #[error(
        "`min` {min} and `max` {max} of the RED queue must be 0 ≤ min < max, and max within the limit of {limit}"
    )]
    Thresholds {
        /// `min`, in the limit's unit.
        min: f64,
        /// `max`, in the limit's unit.
        max: f64,
        /// The queue's limit.
        limit: Limit,
    },
    /// A weight that averages nothing.
    #[error("`weight` of the RED queue is {0}; write a number above 0 and at most 1, such as 0.002")]
    Weight(f64),
    /// A probability that drops nothing.
    #[error("`probability` of the RED queue is 0; write a share above 0, such as `2%`")]
    Probability,
    /// A mean size of zero.
    #[error("`mean-packet` of the RED queue is 0; write bytes, such as 500")]
    MeanPacket,
    /// Times that CoDel cannot go by.
    #[error(
        "`target` {target} of the CoDel queue must be above 0 and below its `interval` {interval}, such as 5ms and 100ms"
    )]
    Times {
        /// `target`.
        target: Duration,
        /// `interval`.
        interval: Duration,
    },
    /// Times or weights that PIE cannot go by.
    #[error(
        "`target`, `update`, `alpha` and `beta` of the PIE queue must be above 0, such as 15ms, 15ms, 0.125 and 1.25"
    )]
    Controller,
    /// A quantum so small that turns are many, or so large that there are hardly any.
    #[error("`quantum` of the queue is {0}; write 256 to 1048576 bytes, such as 1514")]
    Quantum(u32),
    /// No queue to put a flow in.
    #[error("`queues` of the queue is 0; write how many flows are hashed into, such as 1024")]
    Queues,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
enum QueueKeys {
    Unlimited,
    DropTail {
        limit: Limit,
    },
    Red {
        limit: Limit,
        min: f64,
        max: f64,
        #[serde(default = "two_percent")]
        probability: Share,
        #[serde(default = "papers_weight")]
        weight: f64,
        #[serde(default = "mean_packet")]
        mean_packet: u64,
        #[serde(default = "gentle")]
        gentle: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        ecn: bool,
    },
    Pie {
        #[serde(default = "thousand_packets")]
        limit: Limit,
        #[serde(default = "fifteen_ms")]
        target: Duration,
        #[serde(default = "fifteen_ms")]
        update: Duration,
        #[serde(default = "burst")]
        burst: Duration,
        #[serde(default = "eighth")]
        alpha: f64,
        #[serde(default = "five_fourths")]
        beta: f64,
        #[serde(default, skip_serializing_if = "is_false")]
        ecn: bool,
    },
    #[serde(rename = "codel")]
    Codel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
        #[serde(default = "five_ms")]
        target: Duration,
        #[serde(default = "hundred_ms")]
        interval: Duration,
        #[serde(default, skip_serializing_if = "is_false")]
        ecn: bool,
    },
    #[serde(rename = "fq-codel")]
    FqCodel {
        #[serde(default = "ten_thousand_packets")]
        limit: Limit,
        #[serde(default = "five_ms")]
        target: Duration,
        #[serde(default = "hundred_ms")]
        interval: Duration,
        /// Bytes; the largest packet of the link if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantum: Option<u32>,
        #[serde(default = "thousand_queues")]
        queues: u16,
        #[serde(default = "marks")]
        ecn: bool,
    },
    #[serde(rename = "fq-pie")]
    FqPie {
        #[serde(default = "ten_thousand_packets")]
        limit: Limit,
        #[serde(default = "fifteen_ms")]
        target: Duration,
        #[serde(default = "fifteen_ms")]
        update: Duration,
        #[serde(default = "burst")]
        burst: Duration,
        #[serde(default = "eighth")]
        alpha: f64,
        #[serde(default = "five_fourths")]
        beta: f64,
        /// Bytes; the largest packet of the link if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantum: Option<u32>,
        #[serde(default = "thousand_queues")]
        queues: u16,
        #[serde(default, skip_serializing_if = "is_false")]
        ecn: bool,
    },
}

/// Quanta in bytes, as Linux bounds them.
const QUANTA: std::ops::RangeInclusive<u32> = 256..=1 << 20;

/// 1/50, as in Floyd and Jacobson 1993.
fn two_percent() -> Share {
    Share::new(0.02).expect("0.02 is between 0 and 1")
}

/// Floyd and Jacobson 1993.
fn papers_weight() -> f64 {
    0.002
}

/// The mean packet of ns-2's RED.
fn mean_packet() -> u64 {
    500
}

fn gentle() -> bool {
    true
}

/// The default of Linux, and of RFC 8290, section 5.2.6.
fn marks() -> bool {
    true
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The value of Linux.
fn thousand_packets() -> Limit {
    Limit::Packets(1000)
}

/// The value of RFC 8033, section 4.2, of `QDELAY_REF` and of `T_UPDATE`.
fn fifteen_ms() -> Duration {
    Duration::from_ms(15)
}

/// The value of RFC 8033, section 4.4.
fn burst() -> Duration {
    Duration::from_ms(150)
}

/// The value of RFC 8033, section 4.2.
fn eighth() -> f64 {
    0.125
}

/// The value of RFC 8033, section 4.2.
fn five_fourths() -> f64 {
    1.25
}

/// The value of RFC 8289.
fn five_ms() -> Duration {
    Duration::from_ms(5)
}

/// The value of RFC 8289.
fn hundred_ms() -> Duration {
    Duration::from_ms(100)
}

/// The value of RFC 8290, section 5.2.3, and of Linux for `fq_pie`.
fn ten_thousand_packets() -> Limit {
    Limit::Packets(10_240)
}

/// The value of RFC 8290, section 5.2.5, and of Linux for `fq_pie`.
fn thousand_queues() -> u16 {
    1024
}

impl QueueKeys {
    fn pie() -> QueueKeys {
        QueueKeys::Pie {
            limit: thousand_packets(),
            target: fifteen_ms(),
            update: fifteen_ms(),
            burst: burst(),
            alpha: eighth(),
            beta: five_fourths(),
            ecn: false,
        }
    }

    fn codel() -> QueueKeys {
        QueueKeys::Codel { limit: None, target: five_ms(), interval: hundred_ms(), ecn: false }
    }

    fn fq_codel() -> QueueKeys {
        QueueKeys::FqCodel {
            limit: ten_thousand_packets(),
            target: five_ms(),
            interval: hundred_ms(),
            quantum: None,
            queues: thousand_queues(),
            ecn: marks(),
        }
    }

    fn fq_pie() -> QueueKeys {
        QueueKeys::FqPie {
            limit: ten_thousand_packets(),
            target: fifteen_ms(),
            update: fifteen_ms(),
            burst: burst(),
            alpha: eighth(),
            beta: five_fourths(),
            quantum: None,
            queues: thousand_queues(),
            ecn: false,
        }
    }
}

impl QueueSpec {
    /// Everything waits.
    pub const UNLIMITED: QueueSpec = QueueSpec(QueueKeys::Unlimited);

    /// A drop-tail queue of `limit`.
    pub const fn drop_tail(limit: Limit) -> QueueSpec {
        QueueSpec(QueueKeys::DropTail { limit })
    }

    /// The discipline for a link of `mtu` that adds `overhead` bytes to each packet.
    pub fn discipline(&self, mtu: Mtu, overhead: u32) -> Discipline {
        let max_packet = u64::from(mtu.as_bytes()) + u64::from(overhead);
        match self.0 {
            QueueKeys::Unlimited => Discipline::Unlimited,
            QueueKeys::DropTail { limit } => Discipline::DropTail(limit),
            QueueKeys::Red { limit, min, max, probability, weight, mean_packet, gentle, ecn } => {
                let probability = probability.as_f64();
                let (least, most) = (min, max);
                Discipline::Red(red::Parameters {
                    limit,
                    least,
                    most,
                    probability,
                    weight,
                    mean_packet,
                    gentle,
                    ecn,
                })
            }
            QueueKeys::Pie { limit, target, update, burst, alpha, beta, ecn } => {
                let mean_packet = max_packet;
                Discipline::Pie(pie::Parameters {
                    limit,
                    target,
                    update,
                    burst,
                    alpha,
                    beta,
                    mean_packet,
                    ecn,
                })
            }
            QueueKeys::Codel { limit, target, interval, ecn } => {
                Discipline::Codel(codel::Parameters { limit, target, interval, max_packet, ecn })
            }
            QueueKeys::FqCodel { limit, target, interval, quantum, queues, ecn } => {
                let codel = codel::Parameters { limit: Some(limit), target, interval, max_packet, ecn };
                let quantum = quantum.unwrap_or(u32::try_from(max_packet).unwrap_or(u32::MAX));
                Discipline::FqCodel(fq_codel::Parameters { codel, quantum, queues })
            }
            QueueKeys::FqPie { limit, target, update, burst, alpha, beta, quantum, queues, ecn } => {
                let mean_packet = max_packet;
                let pie = pie::Parameters { limit, target, update, burst, alpha, beta, mean_packet, ecn };
                let quantum = quantum.unwrap_or(u32::try_from(max_packet).unwrap_or(u32::MAX));
                Discipline::FqPie(fq_pie::Parameters { pie, quantum, queues })
            }
        }
    }
}

impl Default for QueueSpec {
    /// 256 KiB, drop-tail: the default of IP-TNE's routers (Williamson et al. 2004, table 1).
    fn default() -> QueueSpec {
        QueueSpec::drop_tail(Limit::Bytes(256 * 1024))
    }
}

impl TryFrom<QueueKeys> for QueueSpec {
    type Error = QueueError;

    fn try_from(written: QueueKeys) -> Result<QueueSpec, QueueError> {
        let is_above = |weight: f64| weight > 0.0 && weight.is_finite();
        match written {
            QueueKeys::Red { limit, min, max, probability, weight, mean_packet, .. } => {
                if !(0.0 <= min && min < max && max <= limit.count() as f64) {
                    return Err(QueueError::Thresholds { min, max, limit });
                }
                if !(weight > 0.0 && weight <= 1.0) {
                    return Err(QueueError::Weight(weight));
                }
                if probability == Share::NONE {
                    return Err(QueueError::Probability);
                }
                if mean_packet == 0 {
                    return Err(QueueError::MeanPacket);
                }
            }
            QueueKeys::Pie { target, update, alpha, beta, .. }
            | QueueKeys::FqPie { target, update, alpha, beta, .. }
                if target.is_zero() || update.is_zero() || !is_above(alpha) || !is_above(beta) =>
            {
                return Err(QueueError::Controller);
            }
            QueueKeys::Codel { target, interval, .. } | QueueKeys::FqCodel { target, interval, .. }
                if target.is_zero() || target >= interval =>
            {
                return Err(QueueError::Times { target, interval });
            }
            QueueKeys::FqCodel { quantum: Some(quantum), .. }
            | QueueKeys::FqPie { quantum: Some(quantum), .. }
                if !QUANTA.contains(&quantum) =>
            {
                return Err(QueueError::Quantum(quantum));
            }
            QueueKeys::FqCodel { queues: 0, .. } | QueueKeys::FqPie { queues: 0, .. } => {
                return Err(QueueError::Queues);
            }
            _ => {}
        }
        Ok(QueueSpec(written))
    }
}

impl FromStr for QueueSpec {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<QueueSpec, QueueError> {
        match text.trim() {
            "unlimited" => Ok(QueueSpec::UNLIMITED),
            "pie" => Ok(QueueSpec(QueueKeys::pie())),
            "codel" => Ok(QueueSpec(QueueKeys::codel())),
            "fq-codel" => Ok(QueueSpec(QueueKeys::fq_codel())),
            "fq-pie" => Ok(QueueSpec(QueueKeys::fq_pie())),
            limit => Ok(QueueSpec::drop_tail(limit.parse()?)),
        }
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            QueueKeys::Unlimited => serializer.serialize_str("unlimited"),
            QueueKeys::DropTail { limit } => limit.serialize(serializer),
            written => written.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueSpec, D::Error> {
        TextOrTable {
            expected: "a size such as \"64KiB\", or a queue discipline such as \"fq-codel\"",
            text: |text| text.parse().map_err(|error: <QueueSpec as FromStr>::Err| error.to_string()),
            number: Some(|number| {
                let text = number.to_string();
                text.parse().map_err(|error: <QueueSpec as FromStr>::Err| error.to_string())
            }),
            table: |table: QueueKeys| QueueSpec::try_from(table).map_err(|error| error.to_string()),
        }
        .read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Link {
        queue: QueueSpec,
    }

    fn read(text: &str) -> Result<QueueSpec, String> {
        toml::from_str(text).map(|link: Link| link.queue).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(text: &str, discipline: Discipline) {
        let queue = read(text).unwrap();
        assert_eq!(queue.discipline(Mtu::ETHERNET, 20), discipline, "{text}");
        let written = toml::to_string(&Link { queue }).unwrap();
        assert_eq!(read(&written), Ok(queue), "{written}");
    }

    #[test]
    fn all_spellings_mean_what_they_say() {
        check("queue = 'unlimited'", Discipline::Unlimited);
        check("queue = '2KiB'", Discipline::DropTail(Limit::Bytes(2048)));
        check("queue = 3000", Discipline::DropTail(Limit::Bytes(3000)));
        check(
            "queue = { discipline = 'drop-tail', limit = '9 packets' }",
            Discipline::DropTail(Limit::Packets(9)),
        );
        let codel = codel::Parameters {
            limit: None,
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            max_packet: 1520,
            ecn: false,
        };
        check("queue = { discipline = 'codel' }", Discipline::Codel(codel));
        check("queue = 'codel'", Discipline::Codel(codel));
        let pie = pie::Parameters {
            limit: Limit::Packets(1000),
            target: Duration::from_ms(15),
            update: Duration::from_ms(15),
            burst: Duration::from_ms(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: 1520,
            ecn: false,
        };
        check("queue = 'pie'", Discipline::Pie(pie));
        let marking = pie::Parameters { ecn: true, ..pie };
        check("queue = { discipline = 'pie', ecn = true }", Discipline::Pie(marking));
        let quick = pie::Parameters { target: Duration::from_ms(5), ..pie };
        check("queue = { discipline = 'pie', target = '5ms' }", Discipline::Pie(quick));
        let limit = Some(Limit::Packets(10_240));
        let fair = fq_codel::Parameters {
            codel: codel::Parameters { limit, ecn: true, ..codel },
            quantum: 1520,
            queues: 1024,
        };
        check("queue = 'fq-codel'", Discipline::FqCodel(fair));
        check("queue = { discipline = 'fq-codel' }", Discipline::FqCodel(fair));
        let limit = Some(Limit::Bytes(2048));
        let small = fq_codel::Parameters {
            codel: codel::Parameters { limit, ecn: true, ..codel },
            quantum: 300,
            queues: 8,
        };
        check(
            "queue = { discipline = 'fq-codel', limit = '2KiB', quantum = 300, queues = 8 }",
            Discipline::FqCodel(small),
        );
        let red = red::Parameters {
            limit: Limit::Packets(100),
            least: 5.0,
            most: 15.0,
            probability: 0.02,
            weight: 0.002,
            mean_packet: 500,
            gentle: true,
            ecn: false,
        };
        check(
            "queue = { discipline = 'red', limit = '100 packets', min = 5, max = 15 }",
            Discipline::Red(red),
        );
    }

    /// The keys of PIE with its values, and those of flows with FQ-CoDel's; marks are off, as in Linux.
    #[test]
    fn flows_under_pie_have_the_keys_of_both() {
        let Discipline::Pie(pie) = read("queue = 'pie'").unwrap().discipline(Mtu::ETHERNET, 20) else {
            panic!("a queue under PIE")
        };
        let all = fq_pie::Parameters {
            pie: pie::Parameters { limit: Limit::Packets(10_240), ..pie },
            quantum: 1520,
            queues: 1024,
        };
        check("queue = 'fq-pie'", Discipline::FqPie(all));
        check("queue = { discipline = 'fq-pie' }", Discipline::FqPie(all));
        let target = Duration::from_ms(5);
        let small = fq_pie::Parameters {
            pie: pie::Parameters { limit: Limit::Bytes(2048), target, ecn: true, ..pie },
            quantum: 300,
            queues: 8,
        };
        let limits = "limit = '2KiB', quantum = 300, queues = 8";
        check(
            &format!("queue = {{ discipline = 'fq-pie', target = '5ms', ecn = true, {limits} }}"),
            Discipline::FqPie(small),
        );
    }

    #[test]
    fn what_cannot_be_meant_says_what_would() {
        let refuse = |text: &str, hint: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("queue = '0 packets'", "holds nothing");
        refuse("queue = { discipline = 'codel', target = '200ms' }", "interval");
        refuse("queue = { discipline = 'pie', update = '0s' }", "above 0");
        refuse("queue = { discipline = 'pie', beta = -1 }", "above 0");
        refuse("queue = { discipline = 'fq-codel', target = '200ms' }", "interval");
        refuse("queue = { discipline = 'fq-codel', quantum = 0 }", "1514");
        refuse("queue = { discipline = 'fq-codel', queues = 0 }", "1024");
        refuse("queue = { discipline = 'fq-pie', alpha = 0 }", "above 0");
        refuse("queue = { discipline = 'fq-pie', quantum = 0 }", "1514");
        refuse("queue = { discipline = 'fq-pie', queues = 0 }", "1024");
        refuse("queue = 'fair-codel'", "fair-codel");
        refuse("queue = { discipline = 'red', limit = '10 packets', min = 5, max = 15 }", "within the limit");
        refuse(
            "queue = { discipline = 'red', limit = '20 packets', min = 5, max = 15, weight = 0 }",
            "weight",
        );
        refuse("queue = { discipline = 'drop-tail', limit = '10 packets', gentle = true }", "gentle");
    }
}
