//! Errors planted in samples that agree with their packets: each is caught and named, and nothing is found
//! where nothing was planted.

#[path = "planted/compared.rs"]
mod compared;
#[path = "planted/hosts.rs"]
mod hosts;
mod scene;

use farfield_base::{Duration, Instant, Outcome, Sample, Stamp};
use farfield_capture::{TransactionState, UnixNs};
use farfield_verify::errors::TimeErrors;
use farfield_verify::{AgreementLimits, Finding, RunStart, TimeKind, Verification, verify};
use scene::{START, Scene, closed, names, open};
use serde_json::{Value, json};

/// The evidence of the finding `name`, which is there.
fn evidence<'a>(found: &'a Verification, name: &str) -> &'a str {
    let finding = found.findings.iter().find(|finding| finding.name == name);
    &finding.unwrap_or_else(|| panic!("no {name} in {:?}", found.findings)).evidence
}

fn moved(at: Stamp, by: i64) -> Stamp {
    at.instant().map_or(Stamp::NEVER, |at| Stamp::at(shifted(at, by)))
}

fn shifted(at: Instant, by: i64) -> Instant {
    Instant::from_ns(at.as_ns().saturating_add_signed(by))
}

/// All instants of a sample moved.
fn move_all(sample: &mut Sample, by: impl Fn(u64) -> i64) {
    let stamp = |at: Stamp| at.instant().map_or(Stamp::NEVER, |at| Stamp::at(shifted(at, by(at.as_ns()))));
    sample.due = shifted(sample.due, by(sample.due.as_ns()));
    sample.connect_begun = stamp(sample.connect_begun);
    sample.connected = stamp(sample.connected);
    sample.sent = stamp(sample.sent);
    sample.first_byte = stamp(sample.first_byte);
    sample.done = shifted(sample.done, by(sample.done.as_ns()));
}

/// The errors of a time.
fn of(found: &Verification, time: TimeKind) -> &TimeErrors {
    found.times.iter().find(|errors| errors.time == time).expect("each time")
}

#[test]
fn nothing_is_found_where_nothing_was_planted() {
    for scene in [open(), closed()] {
        let found = scene.verify();
        assert_eq!(found.findings, [], "{found:#?}");
        assert_eq!(found.matched.requests, scene.samples.len() as u64);
        assert!(found.agrees && found.clocks.same);
        for errors in &found.times {
            // Two delays of 4 µs in the mean are all that lies between the two.
            // The closed scene opens its connections before the measured part.
            let Some(mean) = errors.mean_absolute_ns else {
                assert!(errors.time.is_of_connection() || errors.time.is_of_events(), "{errors:?}");
                continue;
            };
            assert!(mean < 10_000.0, "{errors:?}");
        }
    }
}

#[test]
fn errors_are_those_of_the_delays_that_were_made() {
    let scene = open();
    let found = scene.verify();
    let window = scene.run.window;
    let measured = |s: &&Sample| window.measure_from <= s.due && s.due < window.measure_to;
    let service = of(&found, TimeKind::Service);
    // Computed by hand from the two lists, which have the same order.
    let pairs = scene.samples.iter().zip(&scene.capture.transactions);
    let errors: Vec<i64> = pairs
        .filter(|(sample, _)| measured(sample))
        .map(|(sample, t)| {
            let by_sample = sample.service_time().expect("sent").as_ns() as i64;
            by_sample - (t.reply_last.expect("answered").0 - t.request_first.0) as i64
        })
        .collect();
    let mean = errors.iter().map(|e| e.abs()).sum::<i64>() as f64 / errors.len() as f64;
    assert_eq!(service.pairs, errors.len() as u64);
    assert!((service.mean_absolute_ns.expect("pairs") - mean).abs() < 1e-6);
    assert_eq!(service.max_absolute_ns, errors.iter().map(|e| e.abs()).max());
}

#[test]
fn a_shifted_clock_is_named_with_its_offset() {
    for (by, words) in [(5_000_000_i64, "5.0"), (-40_000_000, "40.0")] {
        let scene = open().with(|sample| move_all(sample, |_| by));
        let found = scene.verify();
        assert_eq!(names(&found)[0], "clock-offset", "{found:#?}");
        let relation = found.clocks.estimate.expect("an estimate");
        assert!((relation.offset_ns + by as f64).abs() < 5_000.0, "{relation:?}");
        let said = evidence(&found, "clock-offset");
        assert!(said.contains(words) && said.contains("ms"), "{said}");
    }
}

#[test]
fn a_drifting_clock_is_named_with_its_drift() {
    // 100 ppm: 0.8 ms in 8 s.
    let found = open().with(|sample| move_all(sample, |at| (at as f64 * -1e-4) as i64)).verify();
    assert!(names(&found).contains(&"clock-drift"), "{:#?}", found.findings);
    let drift = found.clocks.estimate.expect("an estimate").drift_ppm;
    assert!((drift - 100.0).abs() < 2.0, "{drift}");
}

#[test]
fn another_machines_clock_is_aligned() {
    // 3 s and 60 ppm away, with and without the list of addresses.
    let mut scene = open().with_clock(|at| 3_000_000_000 + (at as f64 * 6e-5) as i64);
    scene.run.start = RunStart::Unknown;
    let with_list = scene.verify();
    scene.run.connections = None;
    for found in [with_list, scene.verify()] {
        assert_eq!(found.matched.requests, scene.samples.len() as u64, "{:?}", found.matched);
        let relation = found.clocks.estimate.expect("an estimate");
        assert!((relation.drift_ppm - 60.0).abs() < 2.0, "{relation:?}");
        assert_eq!(found.findings.iter().filter(|f| f.disagrees).count(), 0, "{:?}", found.findings);
        let late = found.load.arrivals.expect("an open load").lateness.p50_ns.expect("arrivals");
        assert!((0..200_000).contains(&late), "{late} ns: the frame is the run's");
    }
}

#[test]
fn a_dropped_tail_is_named() {
    let whole = open();
    let mut service: Vec<Duration> = whole.samples.iter().filter_map(Sample::service_time).collect();
    service.sort_unstable();
    let p98 = service[service.len() * 98 / 100];
    let mut scene = whole.clone();
    scene.samples.retain(|sample| sample.service_time().is_none_or(|time| time < p98));
    let found = scene.verify();
    assert_eq!(names(&found)[0], "tail-dropped", "{:#?}", found.findings);
    let service = of(&found, TimeKind::Service);
    assert!(service.packets.p99_ns > service.samples.max_ns, "{service:?}");
    assert!((service.distance.expect("both") - 0.02).abs() < 0.005, "{service:?}");
}

#[test]
fn a_dropped_end_and_dropped_requests_are_named() {
    let mut scene = open();
    scene.samples.retain(|sample| sample.due < Instant::from_ns(7_000_000_000));
    assert_eq!(names(&scene.verify())[0], "end-dropped");
    let mut scene = closed();
    let mut number = 0;
    scene.samples.retain(|_| {
        number += 1;
        number % 10 != 0
    });
    let found = scene.verify();
    assert_eq!(names(&found), ["samples-missing"], "{:#?}", found.findings);
    assert!(found.requests_per_connection.differing <= 20);
}

#[test]
fn requests_that_were_never_sent_are_named() {
    let mut scene = closed();
    let mut number = 0;
    scene.capture.transactions.retain(|_| {
        number += 1;
        number % 20 != 0
    });
    let found = scene.verify();
    assert_eq!(names(&found), ["requests-missing"], "{:#?}", found.findings);
}

#[test]
fn swapped_users_are_named_with_and_without_the_list() {
    let swap = |scene: &Scene| {
        scene.with(|sample| {
            // Users 3 and 4 are given each other's requests from 4 s on.
            if sample.due > Instant::from_ns(4_000_000_000) {
                sample.user = match sample.user {
                    3 => 4,
                    4 => 3,
                    other => other,
                };
            }
        })
    };
    let mut scene = swap(&closed());
    let found = scene.verify();
    assert_eq!(names(&found)[..2], ["users-swapped", "connections-shared"], "{:#?}", found.findings);
    scene.run.connections = None;
    assert!(names(&scene.verify()).contains(&"connections-shared"));
}

#[test]
fn coordinated_omission_is_named_with_what_users_waited() {
    // The generator begins every request up to 50 ms late, and counts from then on.
    let late = |due: Instant| due.as_ns() % 50_000_000;
    let scene = open();
    let mut omits = scene.with(|sample| {
        let by = late(sample.due) as i64;
        move_all(sample, |_| by);
        sample.due = sample.begun().expect("sent");
    });
    // The packets are as late as the requests.
    for (transaction, sample) in omits.capture.transactions.iter_mut().zip(&scene.samples) {
        let by = late(sample.due);
        let connection = &mut omits.capture.connections[transaction.connection as usize];
        for at in [&mut transaction.request_first, &mut transaction.request_last, &mut connection.first] {
            at.0 += by;
        }
        for at in [
            &mut transaction.reply_first,
            &mut transaction.reply_last,
            &mut connection.syn,
            &mut connection.syn_ack,
            &mut connection.established,
        ] {
            *at = at.map(|at| UnixNs(at.0 + by));
        }
        connection.last.0 += by;
    }
    let found = omits.verify();
    assert!(names(&found).contains(&"coordinated-omission"), "{:#?}", found.findings);
    assert!(names(&found).contains(&"arrivals-late"), "{:#?}", found.findings);
    let arrivals = found.load.arrivals.as_ref().expect("an open load");
    // 25 ms more in the mean than the samples say.
    let omitted = arrivals.response.mean_ns.expect("replies")
        - of(&found, TimeKind::Response).samples.mean_ns.expect("samples");
    assert!((omitted / 25e6 - 1.0).abs() < 0.1, "{omitted}");
}

#[test]
fn a_due_that_was_moved_is_not_taken_for_late_packets() {
    let found = open().with(|sample| sample.due = sample.begun().expect("sent")).verify();
    assert_eq!(names(&found), ["coordinated-omission"], "{:#?}", found.findings);
}

#[test]
fn arrivals_in_bursts_are_not_poisson() {
    // Every arrival waits for the next 20 ms: a generator that wakes 50 times a second.
    let scene = open();
    let late = |due: Instant| 20_000_000 - due.as_ns() % 20_000_000;
    let mut bursts = scene.clone();
    let both = bursts.samples.iter_mut().zip(&mut bursts.capture.transactions);
    for (number, (sample, transaction)) in both.enumerate() {
        let (by, due) = (late(sample.due), sample.due);
        move_all(sample, |_| by as i64);
        sample.due = due;
        let connection = &mut bursts.capture.connections[number];
        connection.syn = connection.syn.map(|at| UnixNs(at.0 + by));
        connection.syn_ack = connection.syn_ack.map(|at| UnixNs(at.0 + by));
        transaction.request_first.0 += by;
        transaction.reply_first = transaction.reply_first.map(|at| UnixNs(at.0 + by));
        transaction.reply_last = transaction.reply_last.map(|at| UnixNs(at.0 + by));
    }
    let found = bursts.verify();
    assert!(names(&found).contains(&"arrivals-not-poisson"), "{:#?}", found.findings);
}

#[test]
fn rounded_times_are_named_with_their_tick() {
    let down = |ns: u64| -((ns % 1_000_000) as i64);
    let found = open().with(|sample| move_all(sample, down)).verify();
    assert_eq!(names(&found)[0], "rounded-times", "{:#?}", found.findings);
    assert!(evidence(&found, "rounded-times").contains("multiples of 1.00ms"));
    // Durations that are rounded, of instants that are not.
    let found = open()
        .with(|sample| {
            let sent = sample.sent.instant().expect("sent");
            let took = sample.done.since(sent).as_ns() / 100_000 * 100_000;
            sample.done = Instant::from_ns(sent.as_ns() + took);
        })
        .verify();
    assert!(evidence(&found, "rounded-times").contains("service times are multiples of 100µs"));
}

#[test]
fn a_fake_mean_is_named() {
    let mut scene = open();
    // Handshakes of requests that failed count in the summary, too.
    for (sample, transaction) in scene.samples.iter_mut().zip(&mut scene.capture.transactions).step_by(30) {
        (sample.outcome, sample.status, transaction.status) = (Outcome::Status4xx, 404, 404);
        sample.connect_begun = moved(sample.connect_begun, -400);
    }
    let honest = scene.summary();
    scene.run.summary = Some(honest.clone());
    assert_eq!(scene.verify().findings, []);
    for (place, factor) in [
        ("/steady/times/response/mean_ns", 0.97),
        ("/steady/times/service/quantiles/0/value_ns", 0.5),
        ("/steady/times/connect/max_ns", 1.01),
    ] {
        let mut faked = honest.clone();
        let number = faked.pointer_mut(place).expect("a number");
        *number = json!((number.as_f64().expect("a number") * factor) as u64);
        scene.run.summary = Some(faked);
        let found = scene.verify();
        assert_eq!(names(&found), ["summary-wrong"], "{:#?}", found.findings);
        let path = place[1..].replace("/quantiles/0/", "/quantiles[p50]/").replace('/', ".");
        assert!(evidence(&found, "summary-wrong").contains(&path), "{:#?}", found.findings);
    }
}

#[test]
fn duplicated_samples_are_named() {
    let mut scene = closed();
    let copies: Vec<Sample> = scene.samples.iter().copied().step_by(50).collect();
    scene.samples.extend(&copies);
    let found = scene.verify();
    assert_eq!(names(&found), ["duplicated-samples"], "{:#?}", found.findings);
    assert!(evidence(&found, "duplicated-samples").starts_with(&format!("{} samples", copies.len())));
}

#[test]
fn outcomes_that_packets_contradict_are_named() {
    type Plant = fn(&mut farfield_capture::Transaction);
    let plants: [(Plant, &str); 3] = [
        (|t| t.status = 404, "another status"),
        (|t| t.state = TransactionState::Truncated, "no complete reply"),
        (|t| t.body_bytes -= 1, "another length"),
    ];
    for (plant, words) in plants {
        let mut scene = open();
        scene.capture.transactions.iter_mut().step_by(40).for_each(plant);
        let found = scene.verify();
        assert_eq!(names(&found)[0], "outcomes-wrong", "{:#?}", found.findings);
        assert!(evidence(&found, "outcomes-wrong").contains(words));
    }
    let mut scene = open();
    scene.samples.iter_mut().step_by(40).for_each(|sample| sample.outcome = Outcome::Reset);
    assert!(evidence(&scene.verify(), "outcomes-wrong").contains("failed where"));
}

#[test]
fn wrong_times_are_named_with_the_worst() {
    // Replies are read 2 ms late.
    let found = open()
        .with(|sample| {
            sample.first_byte = moved(sample.first_byte, 2_000_000);
            sample.done = shifted(sample.done, 2_000_000);
        })
        .verify();
    assert!(names(&found).contains(&"service-times"), "{:#?}", found.findings);
    assert!(names(&found).contains(&"reply-times"), "{:#?}", found.findings);
    assert!(!names(&found).contains(&"connect-times"), "{:#?}", found.findings);
    assert!(evidence(&found, "service-times").contains("of connection"));
}

#[test]
fn connections_that_the_policy_does_not_allow_are_named() {
    let mut scene = closed();
    scene.asked.policy.requests_max = 5;
    assert_eq!(names(&scene.verify()), ["connections-overused"]);
    let mut scene = closed();
    scene.capture.transactions.iter_mut().skip(5).for_each(|t| t.pipelined = true);
    assert_eq!(names(&scene.verify()), ["pipelined-unasked"]);
    // All users on the connection of the first, as Java's client does (Hashemian et al. 2011, section 4.3).
    let pooled = open().with(|sample| sample.user %= 50);
    assert!(!names(&pooled.verify()).is_empty());
}

#[test]
fn think_times_that_were_not_asked_for_are_named() {
    let mut scene = closed();
    let farfield_traffic::LoadModel::Closed { think, .. } = &mut scene.asked.flows[0].load else {
        unreachable!()
    };
    let mean = farfield_traffic::distribution::Exponential::with_mean(0.13).expect("a mean");
    *think = farfield_traffic::Distribution::Exponential(mean);
    assert_eq!(names(&scene.verify()), ["think-times"]);
}

#[test]
fn a_lossy_capture_is_a_limit_and_no_disagreement() {
    let mut scene = closed();
    // A twentieth of the requests was never captured, which the capture knows.
    let mut number = 0;
    let mut lost = Vec::new();
    scene.capture.transactions.retain(|t| {
        number += 1;
        let keeps = number % 20 != 0;
        if !keeps {
            lost.push(t.connection);
        }
        keeps
    });
    for connection in lost {
        scene.capture.connections[connection as usize].client_side.missing_bytes += 100;
    }
    scene.capture.limits.reported_drops = 100;
    // Numbers are counted without those that are missing.
    let mut numbers = std::collections::BTreeMap::<u32, u32>::new();
    for transaction in &mut scene.capture.transactions {
        let next = numbers.entry(transaction.connection).or_default();
        transaction.number = *next;
        *next += 1;
    }
    let found = scene.verify();
    assert_eq!(names(&found), Vec::<&str>::new(), "{:#?}", found.findings);
    assert_eq!(found.findings[0].name, "capture-lossy");
    assert!(
        of(&found, TimeKind::Service).mean_absolute_ns.expect("pairs") < 10_000.0,
        "{:?}",
        of(&found, TimeKind::Service)
    );
}

/// The rest of a connection was lost, with all that could show it.
#[test]
fn replies_whose_packets_may_be_lost_are_not_called_incomplete() {
    let mut scene = open();
    for (at, transaction) in scene.capture.transactions.iter_mut().enumerate().step_by(40) {
        transaction.state = TransactionState::Unanswered;
        (transaction.reply_first, transaction.reply_last) = (None, None);
        scene.capture.connections[at].end = farfield_capture::End::Open;
    }
    assert_eq!(names(&scene.verify()), ["outcomes-wrong"], "nothing was lost");
    scene.capture.limits.reported_drops = 1_000;
    assert_eq!(names(&scene.verify()), Vec::<&str>::new());
}

#[test]
fn a_capture_of_something_else_is_said_to_be_one() {
    let mut scene = open();
    scene.capture = closed().capture;
    for connection in &mut scene.capture.connections {
        connection.client = "172.16.0.1:5".parse().expect("an address");
    }
    let found = scene.verify();
    assert_eq!(names(&found)[0], "nothing-matched", "{:#?}", found.findings);
    scene.capture = Default::default();
    assert_eq!(names(&scene.verify())[0], "nothing-matched");
}

#[test]
fn tables_have_a_row_for_each_transaction_and_event() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let scene = open();
    let verified = scene.verified();
    let mut transactions = Vec::new();
    let (matching, frame) = (&verified.matching, &verified.frame);
    farfield_verify::tables::write_transactions(
        &scene.capture,
        &scene.samples,
        matching,
        frame,
        &mut transactions,
    )
    .expect("memory takes all");
    let reader = SerializedFileReader::new(bytes::Bytes::from(transactions)).expect("a Parquet file");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), scene.capture.transactions.len());
    let names: Vec<_> = rows[0].get_column_iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names[..4], ["capture_connection", "number", "connection", "user"]);
    let at = names.iter().position(|name| name == "request_first_ns").expect("a column");
    use parquet::record::RowAccessor;
    for (row, transaction) in rows.iter().zip(&scene.capture.transactions) {
        assert_eq!(row.get_long(at).expect("int64") as u64, transaction.request_first.0 - START);
    }
    let mut events = Vec::new();
    farfield_verify::tables::write_connection_events(&scene.capture, frame, &mut events).expect("memory");
    let reader = SerializedFileReader::new(bytes::Bytes::from(events)).expect("a Parquet file");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 2 * scene.capture.connections.len());
    assert_eq!(rows.last().expect("events").get_long(5).expect("int64"), 0, "all connections were closed");
}

#[test]
fn counts_that_samples_do_not_have_are_named() {
    let mut scene = open().with(|sample| {
        // One in thirty fails, on both sides.
        if sample.connection % 30 == 7 {
            (sample.outcome, sample.status) = (Outcome::Status5xx, 503);
        }
    });
    for transaction in &mut scene.capture.transactions {
        if transaction.connection % 30 == 7 {
            transaction.status = 503;
        }
    }
    let truth = scene.summary();
    scene.run.summary = Some(truth.clone());
    assert_eq!(names(&scene.verify()), [""; 0]);
    type Damage = fn(&mut Value);
    fn scale(number: &mut Value, factor: f64) {
        *number = json!(number.as_f64().expect("a number") * factor);
    }
    fn add(number: &mut Value, more: i64) {
        *number = json!(number.as_i64().expect("a whole number") + more);
    }
    let wrong: [(&str, Damage); 6] = [
        ("steady.rates.completed_per_s", |own| scale(&mut own["steady"]["rates"]["completed_per_s"], 1.1)),
        ("steady.requests", |own| add(&mut own["steady"]["requests"], -30)),
        ("steady.requests", |own| add(&mut own["steady"]["requests"], 1)),
        ("steady.error_share", |own| scale(&mut own["steady"]["error_share"], 1.3)),
        ("steady.error_share nothing", |own| own["steady"]["error_share"] = Value::Null),
        ("steady.outcomes[ok].count", |own| {
            add(&mut own["steady"]["outcomes"][0]["count"], 1);
            add(&mut own["steady"]["outcomes"][1]["count"], -1);
        }),
    ];
    for (words, damage) in wrong {
        let mut summary = truth.clone();
        damage(&mut summary);
        scene.run.summary = Some(summary);
        let found = scene.verify();
        assert_eq!(names(&found), ["summary-wrong"], "{words}");
        let said = evidence(&found, "summary-wrong");
        assert!(said.contains(words), "{said}");
    }
    // Samples that are left out make counting impossible.
    scene.run.all_kept = false;
    assert_eq!(names(&scene.verify()), [""; 0]);
}

/// An error that all requests have in common is none of the machine's, however long they take.
#[test]
fn times_that_are_all_off_by_as_much_are_named() {
    let late = |by: i64| {
        open().with(|sample| {
            sample.first_byte = moved(sample.first_byte, by);
            sample.done = shifted(sample.done, by);
        })
    };
    for (by, words) in [(50_000, "service by 5"), (-50_000, "service by -4")] {
        let found = late(by).verify();
        assert_eq!(names(&found), ["times-shifted"], "{:#?}", found.findings);
        assert!(evidence(&found, "times-shifted").contains(words), "{:#?}", found.findings);
    }
    assert_eq!(names(&late(10_000).verify()), [""; 0], "within what lies between an instant and its packet");
    // Two clocks may be as far apart as they are: but not the instants of one of them.
    let mut apart = late(50_000);
    apart.run.start = RunStart::Unknown;
    assert_eq!(names(&apart.verify()), [""; 0]);
    // A clock that is off by as much moves no time but the response time, and both bounds.
    let moved = open().with_clock(|_| 50_000);
    assert_eq!(names(&moved.verify()), ["clock-offset"], "{:#?}", moved.verify().findings);
    // Two requests in three are read 400 µs late, as on a busy machine: that is nothing all have.
    let busy = open().with(|sample| {
        if sample.connection % 3 > 0 {
            sample.done = shifted(sample.done, 400_000);
        }
    });
    assert!(!names(&busy.verify()).contains(&"times-shifted"), "{:#?}", busy.verify().findings);
}

/// Packets that clients stamp themselves have the instants of the samples.
#[test]
fn own_packets_leave_no_room_for_an_error() {
    let mut scene = open();
    let exact = |scene: &mut Scene| {
        let both = scene.samples.iter_mut().zip(&scene.capture.transactions);
        for (sample, transaction) in both {
            let connection = &scene.capture.connections[transaction.connection as usize];
            let at = |at: UnixNs| Instant::from_ns(at.0 - START);
            let stamp = |packet: Option<UnixNs>| Stamp::at(at(packet.expect("captured")));
            (sample.connect_begun, sample.connected) = (stamp(connection.syn), stamp(connection.syn_ack));
            sample.sent = Stamp::at(at(transaction.request_first));
            sample.first_byte = stamp(transaction.reply_first);
            sample.done = at(transaction.reply_last.expect("captured"));
        }
    };
    exact(&mut scene);
    scene.run.stamps_packets = true;
    let limits = AgreementLimits::default().of_own_packets();
    let names_of = |scene: &Scene| -> Vec<String> {
        let found = verify(&scene.samples, &scene.capture, &scene.run, Some(&scene.asked), limits);
        names(&found.verification).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(names_of(&scene), [""; 0]);
    // One reply in ten, a fifth of a millisecond late.
    let late = scene.with(|sample| {
        if sample.connection % 10 == 0 {
            sample.done = shifted(sample.done, 200_000);
        }
    });
    assert!(names_of(&late).contains(&"service-times".to_owned()), "{:?}", names_of(&late));
    let moved = scene.with_clock(|_| 5_000);
    assert_eq!(names_of(&moved)[0], "clock-offset");
    // One complete reply is said to have been cut off.
    let mut one = scene;
    one.samples[100].outcome = Outcome::Truncated;
    assert_eq!(names_of(&one), ["outcomes-wrong"]);
}

#[test]
fn one_sample_of_another_outcome_is_named() {
    let whole = open();
    let middle = whole.samples.len() / 2;
    let mut flipped = whole.clone();
    flipped.run.summary = Some(whole.summary());
    (flipped.samples[middle].outcome, flipped.samples[middle].status) = (Outcome::Status5xx, 500);
    assert_eq!(names(&flipped.verify()), ["outcomes-wrong", "summary-wrong"]);
    // The summary was changed with it: the packets have the status.
    flipped.run.summary = Some(flipped.summary());
    assert_eq!(names(&flipped.verify()), ["outcomes-wrong"]);
    let mut shorter = whole;
    shorter.samples[middle].body_bytes -= 1;
    assert_eq!(names(&shorter.verify()), ["outcomes-wrong"]);
}
