//! Explicit congestion notification: RFC 3168, section 6.1.

mod scene;

use farfield_net::rand_core::Rng;
use farfield_tcp::{Config, Ecn, EcnUse};
use scene::{A, B, Fate, Pair, Sent, body, luck, ms, plain, twice, with_sack};

fn using(config: Config, ecn: EcnUse) -> Config {
    config.with(|config| config.ecn = ecn)
}

/// A client that offers it and a server that accepts it.
fn pair(config: &Config) -> Pair {
    Pair::new(using(config.clone(), EcnUse::Offer), using(config.clone(), EcnUse::Accept))
}

fn flags(sent: &Sent) -> String {
    format!("{:?}", sent.segment.flags)
}

/// The server sends `len` bytes, of which the packets that `marked` picks meet congestion.
fn download(config: &Config, len: usize, mut fate: impl FnMut(&Sent) -> Fate + 'static) -> Pair {
    let mut pair = pair(config).fate(move |sent| fate(sent)).connected();
    pair.write(B, &body(len));
    pair.run_for(ms(60_000));
    assert!(pair.a.received == body(len), "all of it arrives");
    pair
}

#[test]
fn both_ends_must_agree() {
    use EcnUse::{Accept, Never, Offer};
    for (client, server, syns, agreed) in [
        (Offer, Accept, ["SEW", "SAE"], true),
        (Offer, Offer, ["SEW", "SAE"], true),
        (Offer, Never, ["SEW", "SA"], false),
        (Accept, Offer, ["S", "SA"], false),
        (Never, Accept, ["S", "SA"], false),
    ] {
        let mut pair = Pair::new(using(plain(), client), using(plain(), server)).connected();
        pair.write(A, &body(2_000));
        pair.write(B, &body(2_000));
        pair.run_for(ms(1_000));
        assert_eq!([flags(&pair.log[0]), flags(&pair.log[1])], syns, "{client:?} and {server:?}");
        for sent in &pair.log {
            let expected = if agreed && sent.len > 0 { Ecn::Ect0 } else { Ecn::NotEct };
            assert_eq!(sent.segment.ecn, expected, "{client:?} and {server:?}: {sent:?}");
        }
    }
}

/// A SYN that is not answered may have been dropped for its flags: the second has none.
#[test]
fn a_second_syn_offers_nothing() {
    let mut pair = pair(&plain()).losing(|sent| sent.from == A && sent.at == farfield_tcp::Instant::ZERO);
    pair.run_for(ms(2_000));
    pair.write(A, &body(500));
    pair.run_for(ms(1_000));
    let syns: Vec<String> = pair.log.iter().take(3).map(flags).collect();
    assert_eq!(syns, ["SEW", "S", "SA"]);
    assert!(pair.log.iter().all(|sent| sent.segment.ecn == Ecn::NotEct));
}

/// ECE from the marked segment's acknowledgment on until CWR has come; CWR once, on new data; the window is
/// halved and nothing is sent again.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    let marked = |sent: &Sent| sent.from == B && sent.seq == 20_001 && sent.len > 0;
    let pair = twice(move || {
        download(&plain(), 300_000, move |sent| if marked(sent) { Fate::Mark } else { Fate::Pass })
    });
    let marked_at = pair.log.iter().find(|sent| marked(sent)).expect("it is sent").at;
    let echoes: Vec<&Sent> =
        pair.sent(A).filter(|sent| sent.segment.flags.ece && !sent.segment.flags.syn).collect();
    let cwr: Vec<&Sent> = pair.sent(B).filter(|sent| sent.segment.flags.cwr).collect();
    assert_eq!(cwr.len(), 1, "{cwr:?}");
    assert!(cwr[0].len > 0 && cwr[0].time == 1);
    assert_eq!((echoes[0].at, echoes[0].ack), (marked_at + ms(50), 21_001));
    // A round trip after the mark more is on its way than half, and another until new data may follow.
    assert_eq!(cwr[0].at, marked_at + ms(200));
    let until = cwr[0].at + ms(50);
    assert!(
        pair.sent(A)
            .filter(|sent| sent.at > marked_at + ms(50) && sent.at < until)
            .all(|sent| sent.segment.flags.ece)
    );
    assert!(echoes.iter().all(|sent| sent.at <= until), "none after CWR");
    let marks = |side: &scene::End| *side.tcp.marks().expect("both sides agreed");
    assert_eq!(
        (marks(&pair.a).came, marks(&pair.b).reductions, pair.b.tcp.counters().retransmits),
        (1, 1, 0)
    );
    // Slow start from 10 segments ends with the mark: what was outstanding then is halved.
    let outstanding =
        pair.sent(B).filter(|sent| sent.at < cwr[0].at).map(|sent| sent.seq + sent.len as i64).max();
    let acknowledged = echoes[0].ack;
    let expected = (outstanding.expect("data was sent") - acknowledged) as u32;
    let threshold = pair.b.tcp.window().ssthresh;
    assert!(threshold.abs_diff(expected / 2) <= 1_000, "{threshold} of {expected}");
}

/// All packets of a round trip are marked: the window is reduced once in it, and again in the next.
#[test]
fn marks_count_once_a_round_trip() {
    let count = |rounds: u64| {
        let fate = move |sent: &Sent| {
            let at_ms = sent.at.as_ns() / 1_000_000;
            let within = (300..300 + 100 * rounds).contains(&at_ms);
            if sent.from == B && sent.len > 0 && within { Fate::Mark } else { Fate::Pass }
        };
        let pair = download(&with_sack(), 600_000, fate);
        assert_eq!(pair.b.tcp.counters().retransmits, 0);
        pair.b.tcp.marks().expect("both sides agreed").reductions
    };
    assert_eq!([1, 2, 3].map(count), [1, 2, 3]);
}

/// A loss within the round trip of a mark is of the same congestion. What is sent again may not be marked.
#[test]
fn a_loss_beside_a_mark_reduces_once() {
    let lost = |sent: &Sent| sent.from == B && sent.seq == 22_001 && sent.time == 1;
    let reduced = |with_mark: bool| {
        let fate = move |sent: &Sent| match sent.seq {
            _ if lost(sent) => Fate::Drop,
            20_001 if with_mark && sent.from == B => Fate::Mark,
            _ => Fate::Pass,
        };
        let pair = download(&with_sack(), 200_000, fate);
        let again = pair.sent(B).find(|sent| sent.seq == 22_001 && sent.time == 2).expect("it is sent again");
        assert_eq!(again.segment.ecn, Ecn::NotEct);
        assert_eq!(pair.b.tcp.counters().recoveries, 1);
        pair.b.tcp.window().ssthresh
    };
    let (both, loss) = (reduced(true), reduced(false));
    assert!(both.abs_diff(loss) <= 2_000, "{both} and {loss}");
}

/// Whatever is marked and lost, the data arrives, and no packet that may not be marked is.
#[test]
fn marks_and_losses_at_random() {
    for seed in 0..40 {
        let mut rng = luck(seed);
        let config = [plain(), with_sack(), Config::linux()][seed as usize % 3].clone();
        let fate = move |sent: &Sent| match rng.next_u64() % 100 {
            _ if sent.segment.flags.syn => Fate::Pass,
            0..5 => Fate::Mark,
            5..7 => Fate::Drop,
            _ => Fate::Pass,
        };
        let pair = download(&config, 150_000, fate);
        let [client, server] = [&pair.a, &pair.b].map(|end| *end.tcp.marks().expect("both sides agreed"));
        assert!(client.came > 0 && server.reductions > 0, "seed {seed}");
        assert!(server.reductions <= client.came, "seed {seed}");
    }
}
