//! The list of planted errors, by place and kind.

use super::{Change, MS, Planted, PlantedError, US, add, each, middle, moved, nth, rounded, scale, shifted};
use farfield_base::{Outcome, Sample};
use serde_json::json;

/// Values of the summary that do not follow from the samples.
pub(super) fn of_summary() -> Vec<PlantedError> {
    let summary =
        |what, change| PlantedError { place: Planted::Summary, what, change: Change::Summary(change) };
    vec![
        summary("completed rate + 10 %", |own| scale(own, "/steady/rates/completed_per_s", 1.1)),
        summary("offered rate + 1 %", |own| scale(own, "/steady/rates/offered_per_s", 1.01)),
        summary("bytes of bodies a second + 1 %", |own| scale(own, "/steady/rates/body_bytes_per_s", 1.01)),
        summary("requests - 1 %", |own| add(own, "/steady/requests", |all| -(all / 100).max(1))),
        summary("error share 0 to 1 %", |own| own["steady"]["error_share"] = json!(0.01)),
        summary("one request of another outcome", |own| {
            add(own, "/steady/outcomes/0/count", |_| -1);
            let other = json!({"name": "status-5xx", "fault": "server", "count": 1});
            own["steady"]["outcomes"].as_array_mut().expect("a list").push(other);
        }),
        summary("mean response time - 3 %", |own| scale(own, "/steady/times/response/mean_ns", 0.97)),
        summary("p50 of the service time - 1 %", |own| {
            scale(own, "/steady/times/service/quantiles/0/value_ns", 0.99);
        }),
        summary("p99 of the response time - 10 %", |own| {
            scale(own, "/steady/times/response/quantiles/3/value_ns", 0.9);
        }),
        summary("longest response time - 1 %", |own| scale(own, "/steady/times/response/max_ns", 0.99)),
        summary("standard deviation of the response time - 10 %", |own| {
            scale(own, "/steady/times/response/sd_ns", 0.9);
        }),
        summary("one value fewer in the transfer times", |own| {
            add(own, "/steady/times/transfer/count", |_| -1);
        }),
        summary("an interval of the error share half as wide", |own| {
            scale(own, "/steady/error_share_interval/1", 0.5);
        }),
        summary("warm-up one request shorter", |own| add(own, "/warm_up/requests", |_| -1)),
        summary("one connection more", |own| add(own, "/connections/used", |_| 1)),
        summary("measured part + 1 %", |own| scale(own, "/phases/steady_ns", 1.01)),
        summary("requests in the system + 10 %", |own| scale(own, "/generator/in_system_mean", 1.1)),
    ]
}

/// Instants of samples that are not those of the packets.
pub(super) fn of_times() -> Vec<PlantedError> {
    let samples =
        |what, change| PlantedError { place: Planted::Samples, what, change: Change::Samples(change) };
    vec![
        samples("every reply read 50 µs late", |own| {
            each(own, |sample| {
                sample.first_byte = moved(sample.first_byte, 50 * US);
                sample.done = shifted(sample.done, 50 * US);
            });
        }),
        samples("every request sent 50 µs early", |own| {
            each(own, |sample| sample.sent = moved(sample.sent, -50 * US));
        }),
        samples("every connection known 50 µs late", |own| {
            each(own, |sample| sample.connected = moved(sample.connected, 50 * US));
        }),
        samples("one reply in ten 3 ms late", |own| {
            nth(own, 10, |sample| sample.done = shifted(sample.done, 3 * MS));
        }),
        samples("due when they were sent", |own| {
            each(own, |sample| sample.due = sample.sent.instant().unwrap_or(sample.due));
        }),
        samples("one session in five due 1 ms early", |own| {
            each(own, |sample| {
                if sample.session % 5 == 0 {
                    sample.due = shifted(sample.due, -MS);
                }
            });
        }),
        samples("times rounded to the millisecond", |own| each(own, rounded)),
    ]
}

/// Samples that are missing, twice, or of another request or reply than the packets.
pub(super) fn of_rows() -> Vec<PlantedError> {
    let samples =
        |what, change| PlantedError { place: Planted::Samples, what, change: Change::Samples(change) };
    vec![
        samples("every tenth missing", |own| {
            let mut number = 0;
            own.retain(|_| {
                number += 1;
                number % 10 != 0
            });
        }),
        samples("the slowest 2 % missing", |own| {
            let mut service: Vec<_> = own.iter().filter_map(Sample::service_time).collect();
            service.sort_unstable();
            let limit = service[service.len() * 98 / 100];
            own.retain(|sample| sample.service_time().is_none_or(|time| time < limit));
        }),
        samples("the last tenth missing", |own| {
            own.sort_by_key(|sample| sample.sent.instant());
            own.truncate(own.len() * 9 / 10);
        }),
        samples("every fiftieth twice", |own| {
            let copies: Vec<Sample> = own.iter().copied().step_by(50).collect();
            own.extend(copies);
        }),
        samples("one in fifty invented", |own| {
            let copies: Vec<Sample> = own.iter().copied().step_by(50).collect();
            own.extend(copies.into_iter().map(|own| Sample { number: own.number + 7_000, ..own }));
        }),
        samples("two users swapped in every fourth session", |own| {
            each(own, |sample| {
                if sample.user % 4 == 1 {
                    sample.user += 1;
                } else if sample.user % 4 == 2 {
                    sample.user -= 1;
                }
            });
        }),
        samples("one ok that was status 500", |own| {
            middle(own, |sample| {
                (sample.outcome, sample.status) = (Outcome::Status5xx, 500);
            })
        }),
        samples("one reply a byte shorter", |own| middle(own, |sample| sample.body_bytes -= 1)),
        samples("one head a byte longer", |own| middle(own, |sample| sample.reply_bytes += 1)),
        samples("one in twenty said to be reset", |own| {
            nth(own, 20, |sample| sample.outcome = Outcome::Reset);
        }),
    ]
}

/// Clocks of the capture that are not those of the run.
pub(super) fn of_clocks() -> Vec<PlantedError> {
    let clock = |what, change| PlantedError { place: Planted::Clock, what, change: Change::Packets(change) };
    vec![
        clock("packets 50 µs later", |own| own.each(|packet| packet.moved(50 * US))),
        clock("packets 50 µs earlier", |own| own.each(|packet| packet.moved(-50 * US))),
        clock("packets 10 ms later", |own| own.each(|packet| packet.moved(10 * MS))),
        clock("packets 200 ppm faster", |own| {
            let first = own.first();
            own.each(|packet| {
                let since = packet.at_ns() - first;
                packet.moved(since as i64 / 5_000);
            });
        }),
        clock("2 ms further from the middle on", |own| {
            let middle = own.middle();
            own.each(|packet| {
                if packet.at_ns() > middle {
                    packet.moved(2 * MS)
                }
            });
        }),
        clock("packets rounded to the millisecond", |own| {
            own.each(|packet| {
                let over = packet.at_ns() % MS as u64;
                packet.moved(-(over as i64));
            });
        }),
    ]
}

/// Packets that are missing, or are others than went over the network.
pub(super) fn of_packets() -> Vec<PlantedError> {
    let capture =
        |what, change| PlantedError { place: Planted::Capture, what, change: Change::Packets(change) };
    vec![
        capture("the server's packets 50 µs early", |own| {
            own.each(|packet| {
                if !packet.is_clients() {
                    packet.moved(-50 * US)
                }
            });
        }),
        capture("every tenth connection missing", |own| own.retain(|packet| packet.client() / 2 % 10 != 3)),
        capture("the first half missing", |own| {
            let middle = own.middle();
            own.retain(|packet| packet.at_ns() > middle);
        }),
        capture("one in five replies missing", |own| {
            let mut number = 0;
            own.retain(|packet| {
                let is_reply = !packet.is_clients() && packet.payload_starts(b"HTTP/1.");
                number += u32::from(is_reply);
                !(is_reply && number % 5 == 0)
            });
        }),
        capture("another status in one reply", |own| {
            let replies = own.count(|packet| packet.payload_starts(b"HTTP/1.1 200"));
            let mut number = 0;
            own.each(|packet| {
                number += usize::from(packet.payload_starts(b"HTTP/1.1 200"));
                if number == replies / 2 && packet.payload_starts(b"HTTP/1.1 200") {
                    packet.set_status(b"503");
                }
            });
        }),
    ]
}
