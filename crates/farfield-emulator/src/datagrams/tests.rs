//! Datagrams in virtual time, against formulas and against what the same packets do as segments.

use super::stage::{
    DatagramScene, PORT, SocketEvent, V4, V6, at, complain, cuttable, data_of, echo, link, network,
};
use super::*;
use crate::packet::PacketPayload;
use crate::plan::MovePlan;
use crate::slots::ClientId;
use farfield_wire::{Icmpv4Repr, IpPacket, Transport};

fn nobody(_: &Packet) -> Vec<Packet> {
    Vec::new()
}

/// 1,000 B at 1 Mb/s take 8 ms, and as long back: the three of a row leave one after the other, and so do
/// their echoes. 30 ms pass each way.
#[test]
fn each_datagram_takes_the_time_of_its_links() {
    for (address, headers) in [(V4, 28), (V6, 48)] {
        let mut stage = DatagramScene::of(network(1, address, "delay = '30ms'\nrate = '1Mbit'", &[]), 1);
        stage.send(at(5_000), 0, Ecn::NotEct, 1_000 - headers, 3 * (1_000 - headers));
        let drops = stage.play(echo);
        assert_eq!(drops, Default::default());
        let departed: Vec<_> =
            stage.departed.iter().map(|(at, packet)| (*at, packet.bytes, packet.ttl)).collect();
        assert_eq!(departed, [(at(43_000), 1_000, 63), (at(51_000), 1_000, 63), (at(59_000), 1_000, 63)]);
        let heard: Vec<_> = stage.heard_by(0).into_iter().map(|(at, _)| at).collect();
        assert_eq!(heard, [at(81_000), at(89_000), at(97_000)]);
    }
}

/// A row is cut where it says, and each datagram keeps its bytes and its codepoint, there and back.
#[test]
fn a_row_is_cut_and_keeps_its_codepoint() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'", &["delay = '1ms'"]), 1);
        stage.send(at(1), 0, ecn, 1_200, 3_000);
        stage.play(echo);
        let row: Vec<u8> = (0..3_000).map(|byte: u32| byte as u8).collect();
        let parts = [&row[..1_200], &row[1_200..2_400], &row[2_400..]];
        assert_eq!(stage.departed.iter().map(|(_, packet)| data_of(packet)).collect::<Vec<_>>(), parts);
        assert!(stage.departed.iter().all(|(_, packet)| packet.ecn == ecn && packet.whole));
        let heard: Vec<_> = stage.heard_by(0).into_iter().map(|(_, heard)| heard).collect();
        assert_eq!(heard, parts.map(|part| SocketEvent::Datagram(ecn, part.to_vec())));
    }
}

/// Each datagram is lost by itself, at the link's rate: of n, np within five standard deviations.
#[test]
fn datagrams_are_lost_one_by_one() {
    const SENT: u32 = 50_000;
    let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'\nloss = '3%'", &[]), 1);
    (0..SENT / 10).for_each(|row| stage.send(at(100 * u64::from(row)), 0, Ecn::NotEct, 100, 1_000));
    let drops = stage.play(nobody);
    let (expected, deviation) = (f64::from(SENT) * 0.03, (f64::from(SENT) * 0.03 * 0.97).sqrt());
    let lost = f64::from(SENT) - stage.departed.len() as f64;
    assert!((lost - expected).abs() < 5.0 * deviation, "{lost} lost, {expected} expected");
    assert_eq!(drops.lost as f64, lost);
}

/// Losses that belong to connections are each socket's own: a burst on one says nothing of the other.
#[test]
fn losses_of_connections_are_the_sockets() {
    // Bad for good, as good as, once it is; and nothing passes then.
    let own = "delay = '1ms'\nloss = { model = 'gilbert-elliott', to-bad = 0.02, to-good = 0.000001, per = 'connection' }";
    let mut stage = DatagramScene::of(network(2, V4, own, &[]), 1);
    (0..2_000).for_each(|nth| stage.send(at(10 * nth), (nth % 2) as u32, Ecn::NotEct, 100, 100));
    stage.play(nobody);
    let of = |client: u32| {
        let address = stage.sides[0].transit.plan.address(crate::ClientId::new(client));
        stage.departed.iter().filter(|(_, packet)| packet.addresses.source() == address).count()
    };
    // Geometric, with a mean of 50; both ended, and neither ended the other.
    assert!(of(0) < 1_000 && of(1) < 1_000, "{} and {}", of(0), of(1));
    assert_ne!(of(0), of(1));
}

/// Of two links in a row each remembers its own losses: the first, which would stay bad but never becomes so,
/// does not take those of the second for its own. That loses one in 21, and never two in a row.
#[test]
fn links_in_a_row_remember_their_own_losses() {
    let of = |chain: &str| {
        format!("delay = '1ms'\nloss = {{ model = 'gilbert-elliott', per = 'connection', {chain} }}")
    };
    let mut plan = network(1, V4, &of("to-bad = 0, to-good = 0.000001"), &[]);
    plan.classes[0].up.push(link(&of("to-bad = '5%', to-good = '100%'")));
    let mut stage = DatagramScene::of(plan, 1);
    (0..2_000).for_each(|nth| stage.send(at(10 * nth), 0, Ecn::NotEct, 100, 100));
    stage.play(nobody);
    // 1,905 of 2,000, with a deviation of 9.
    let passed = stage.departed.len();
    assert!((1_850..1_950).contains(&passed), "{passed} passed");
}

/// On a link that clients share, losses that belong to connections are each socket's own too.
#[test]
fn losses_of_connections_are_theirs_on_a_shared_link() {
    let own = "delay = '1ms'\nloss = { model = 'gilbert-elliott', to-bad = 0.02, to-good = 0.000001, per = 'connection' }";
    for shards in [1, 2] {
        let mut stage = DatagramScene::of(network(8, V4, "delay = '1ms'", &[own]), shards);
        (0..2_400).for_each(|nth| stage.send(at(10 * nth), (nth % 8) as u32, Ecn::NotEct, 100, 100));
        stage.play(nobody);
        let of = |client: u32| {
            let address = stage.sides[0].transit.plan.address(crate::ClientId::new(client));
            stage.departed.iter().filter(|(_, packet)| packet.addresses.source() == address).count()
        };
        // Geometric, with a mean of 50: one memory for all would end them all at once.
        let passed: Vec<usize> = (0..8).map(of).collect();
        let (least, most) = (passed.iter().min(), passed.iter().max());
        assert!(most > least.map(|least| least + 10).as_ref(), "{passed:?}");
    }
}

/// A socket may be connected to another port of the server's, as an alternative service names one: it hears
/// what comes from there, and nothing else. That is so where packets are captured, too.
#[test]
fn a_socket_may_have_another_port_of_the_server() {
    const OTHER: u16 = PORT + 1;
    for is_captured in [false, true] {
        let staged = || {
            let mut stage = DatagramScene::of(network(2, V4, "delay = '1ms'", &["delay = '1ms'"]), 1);
            if is_captured {
                stage.capture();
            }
            stage.reopen(0, OTHER);
            (0..2).for_each(|user| stage.send(at(1), user, Ecn::Ect0, 100, 100));
            stage
        };
        let mut stage = staged();
        assert_eq!(stage.play(echo), Default::default());
        let mut ports: Vec<u16> = stage.departed.iter().map(|(_, packet)| server_port(packet)).collect();
        ports.sort_unstable();
        assert_eq!(ports, [PORT, OTHER]);
        for user in 0..2 {
            let [(when, SocketEvent::Datagram(Ecn::Ect0, bytes))] = &stage.heard_by(user)[..] else {
                panic!("user {user}: {:?}", stage.heard_by(user))
            };
            assert_eq!((*when, bytes.len()), (at(4_001), 100));
        }
        // From the ports the other way about, all is for nobody.
        let mut stage = staged();
        stage.play(|packet| {
            let Some(PacketPayload::Udp(udp)) = echo(packet).pop().map(|packet| packet.carried) else {
                return vec![];
            };
            let udp = Udp { source_port: PORT + OTHER - udp.source_port, ..udp };
            vec![Packet::udp(packet.addresses.reversed(), Ecn::NotEct, udp)]
        });
        assert_eq!((stage.heard_by(0), stage.heard_by(1)), (vec![], vec![]));
        let mut stage = staged();
        stage.play(complain(IcmpError::PortUnreachable));
        for user in 0..2 {
            assert_eq!(stage.heard_by(user), [(at(4_001), SocketEvent::Refused)]);
        }
    }
}

fn server_port(packet: &Packet) -> u16 {
    let PacketPayload::Udp(udp) = &packet.carried else { panic!("{packet:?}") };
    udp.destination_port
}

/// A datagram larger than a link is lost and answered, whatever the socket makes of it; one that fits goes
/// on.
#[test]
fn a_probe_that_is_too_big_is_lost() {
    for address in [V4, V6] {
        let mut stage =
            DatagramScene::of(network(1, address, "delay = '1ms'", &["delay = '1ms'\nmtu = 1400"]), 1);
        stage.send(at(1), 0, Ecn::Ect0, 1_452, 1_452);
        stage.send(at(2), 0, Ecn::Ect0, 1_200, 1_200);
        stage.capture();
        let drops = stage.play(echo);
        assert_eq!(drops.too_big, 1);
        assert_eq!(
            stage.departed.iter().map(|(_, packet)| data_of(packet).len()).collect::<Vec<_>>(),
            [1_200]
        );
        assert_eq!(stage.heard.len(), 1, "{:?}", stage.heard);
        let answered =
            stage.captured().into_iter().filter(|seen| matches!(seen.packet.carried, PacketPayload::Raw(_)));
        assert_eq!(answered.count(), 1, "the router's answer reached the client");
    }
}

/// More than IP can say is not sent; the run goes on.
#[test]
fn a_datagram_beyond_ip_is_counted() {
    let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'\nmtu = 65535", &[]), 1);
    stage.send(at(1), 0, Ecn::NotEct, 65_508, 65_508);
    stage.send(at(2), 0, Ecn::NotEct, 65_507, 65_507);
    let drops = stage.play(nobody);
    assert_eq!((drops.too_big, stage.departed.len()), (1, 1));
    assert_eq!(stage.departed[0].1.to_bytes().len(), 65_535);
}

/// A closed port ends the socket, before and after the server was heard; its port is free again.
#[test]
fn a_closed_port_refuses() {
    for address in [V4, V6] {
        for heard_before in [false, true] {
            let mut stage = DatagramScene::of(network(1, address, "delay = '1ms'", &[]), 1);
            stage.send(at(1), 0, Ecn::NotEct, 100, 100);
            if heard_before {
                stage.play(echo);
                stage.send(at(10_000), 0, Ecn::NotEct, 100, 100);
            }
            stage.play(complain(IcmpError::PortUnreachable));
            let heard = stage.heard_by(0);
            assert_eq!(heard.last().map(|(_, heard)| heard), Some(&SocketEvent::Refused));
            assert_eq!(heard.len(), 1 + usize::from(heard_before));
            let client = &stage.sides[0].hosts.clients[ClientSlot::new(0)];
            assert_eq!(client.socket((PortKind::Udp, 10_000)), None);
            let key = stage.key(0);
            assert!(!stage.sides[0].hosts.close_datagram_socket(key), "it is gone");
        }
    }
}

/// No way to the server ends a socket that has heard nothing, and is a soft error later.
#[test]
fn no_way_is_a_soft_error_once_the_server_was_heard() {
    for error in [IcmpError::HostUnreachable, IcmpError::NoRoute, IcmpError::Prohibited] {
        for address in [V4, V6] {
            let mut stage = DatagramScene::of(network(1, address, "delay = '1ms'", &[]), 1);
            stage.send(at(1), 0, Ecn::NotEct, 100, 100);
            stage.play(complain(error));
            assert_eq!(
                stage.heard_by(0).iter().map(|(_, heard)| heard).collect::<Vec<_>>(),
                [&SocketEvent::Unreachable]
            );

            let mut stage = DatagramScene::of(network(1, address, "delay = '1ms'", &[]), 1);
            stage.send(at(1), 0, Ecn::NotEct, 100, 100);
            stage.play(echo);
            stage.send(at(10_000), 0, Ecn::NotEct, 100, 100);
            stage.play(complain(error));
            stage.send(at(20_000), 0, Ecn::NotEct, 100, 100);
            stage.play(echo);
            assert_eq!(stage.heard_by(0).len(), 2, "both echoes, and nothing else");
        }
    }
}

/// An error that quotes another port, another host or another protocol is nobody's.
#[test]
fn forged_errors_are_ignored() {
    let forge: [fn(&mut Packet); 3] = [
        |packet| {
            if let PacketPayload::Udp(udp) = &mut packet.carried {
                udp.source_port ^= 1
            }
        },
        |packet| {
            if let PacketPayload::Udp(udp) = &mut packet.carried {
                udp.destination_port ^= 1
            }
        },
        |packet| {
            packet.addresses = {
                let source = packet.addresses.source();
                match source {
                    std::net::IpAddr::V4(source) => farfield_wire::Addresses::V4 {
                        source,
                        destination: std::net::Ipv4Addr::new(203, 0, 113, 1),
                    },
                    std::net::IpAddr::V6(_) => unreachable!("an IPv4 client"),
                }
            }
        },
    ];
    for change in forge {
        let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'", &[]), 1);
        stage.send(at(1), 0, Ecn::NotEct, 100, 100);
        stage.play(|packet| {
            let mut forged = packet.clone();
            change(&mut forged);
            complain(IcmpError::PortUnreachable)(&forged)
        });
        assert_eq!(stage.departed.len(), 1);
        assert!(stage.heard.is_empty(), "{:?}", stage.heard);
    }
}

/// Datagrams for a socket that was closed, or from another port than the server's, are answered as a host
/// does; users hear nothing of them.
#[test]
fn strays_are_answered() {
    let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'", &[]), 1);
    stage.send(at(1), 0, Ecn::NotEct, 100, 100);
    stage.play(|packet| {
        let mut answers = echo(packet);
        let [answer] = &mut answers[..] else { return answers };
        if let PacketPayload::Udp(udp) = &mut answer.carried {
            udp.source_port = PORT + 1;
        }
        answers
    });
    let key = stage.key(0);
    stage.send(at(10_000), 0, Ecn::NotEct, 100, 100);
    stage.play(nobody);
    assert!(stage.sides[0].hosts.close_datagram_socket(key));
    let (_, last) = stage.departed.last().cloned().expect("a datagram");
    stage.sides[0].transit.now = at(20_000);
    let answer = echo(&last).remove(0);
    stage.sides[0].send_down(ClientSlot::new(0), answer);
    stage.play(nobody);
    assert!(stage.heard.is_empty(), "{:?}", stage.heard);
    let closed = stage.departed.iter().filter(|(_, packet)| {
        let bytes = packet.to_bytes();
        let ip = IpPacket::parse(&bytes).expect("a packet");
        let Ok(Transport::Icmpv4(icmp)) = ip.transport() else { return false };
        matches!(
            Icmpv4Repr::parse(&icmp),
            Ok(Icmpv4Repr::Unreachable { reason: farfield_wire::Unreachable::Port, .. })
        )
    });
    assert_eq!((closed.count(), stage.departed.len()), (2, 4));
}

/// A datagram that was damaged under way does not reach its socket.
#[test]
fn damage_is_noticed() {
    const SENT: usize = 2_000;
    for address in [V4, V6] {
        let mut stage =
            DatagramScene::of(network(1, address, "delay = '1ms'", &["delay = '1ms'\ncorrupt = '20%'"]), 1);
        (0..SENT).for_each(|nth| stage.send(at(10 * nth as u64), 0, Ecn::Ect0, 40, 40));
        // Packets that came damaged to the server are not answered, as a kernel would not.
        let drops = stage.play(|packet| {
            if matches!(packet.carried, PacketPayload::Udp(_)) { echo(packet) } else { Vec::new() }
        });
        let sent: Vec<u8> = (0..40).collect();
        assert!(drops.damaged > 100, "{drops:?}");
        // A flip in the TTL or in the ECN bits is not the data's: IPv6 has no checksum over them.
        let altered = stage
            .heard
            .iter()
            .filter(|(_, _, heard)| !matches!(heard, SocketEvent::Datagram(_, data) if *data == sent));
        assert_eq!(altered.count(), 0);
        assert!(stage.heard.len() > SENT / 2);
    }
}

/// A large datagram of a server that lets routers cut it comes whole to the socket.
#[test]
fn fragments_are_put_together() {
    let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'", &["delay = '1ms'\nmtu = 600"]), 1);
    stage.send(at(1), 0, Ecn::NotEct, 100, 100);
    let data: Vec<u8> = (0..1_400u32).map(|byte| (byte % 251) as u8).collect();
    stage.play(|packet| {
        let PacketPayload::Udp(udp) = &packet.carried else { return Vec::new() };
        let back = Udp {
            source_port: udp.destination_port,
            destination_port: udp.source_port,
            payload: data.clone().into(),
        };
        vec![cuttable(packet.addresses.reversed(), back)]
    });
    let heard: Vec<_> = stage.heard_by(0).into_iter().map(|(_, heard)| heard).collect();
    assert_eq!(heard, [SocketEvent::Datagram(Ecn::NotEct, data)]);
}

/// A mark that one fragment got on its way is the datagram's (RFC 3168, section 5.3).
#[test]
fn a_mark_on_a_fragment_is_the_datagrams() {
    let mut stage = DatagramScene::of(network(1, V4, "delay = '1ms'", &[]), 1);
    stage.send(at(1), 0, Ecn::Ect0, 100, 100);
    stage.play(|packet| {
        let mut back = echo(packet).pop().expect("a datagram");
        back.whole = false;
        let mut pieces = Vec::new();
        icmp::fragments(&back, 100, |piece| pieces.push(piece));
        assert_eq!(pieces.len(), 2);
        pieces[1].mark();
        pieces
    });
    let heard: Vec<_> = stage.heard_by(0).into_iter().map(|(_, heard)| heard).collect();
    assert_eq!(heard, [SocketEvent::Datagram(Ecn::Ce, (0..100).collect())]);
}

/// A capture changes nothing, and shows each datagram at the client and at the gateway.
#[test]
fn captures_show_datagrams() {
    let play = |captures: bool| {
        let mut stage =
            DatagramScene::of(network(2, V4, "delay = '3ms'\nrate = '5Mbit'", &["delay = '1ms'"]), 1);
        if captures {
            stage.capture();
        }
        (0..2).for_each(|user| stage.send(at(u64::from(user)), user, Ecn::Ect0, 500, 1_700));
        stage.play(echo);
        stage
    };
    let mut seen = play(true);
    assert_eq!(seen.heard, play(false).heard);
    let captured = seen.captured();
    assert_eq!(captured.len(), 2 * 4 * 4, "two users, four datagrams, there and back, both ends");
    assert!(
        captured
            .iter()
            .all(|seen| matches!(seen.packet.carried, PacketPayload::Udp(_)) && seen.packet.ecn == Ecn::Ect0)
    );
}

/// Links of several clients on one side and on three: the same at every instant.
#[test]
fn any_number_of_shards_says_the_same() {
    let play = |shards| {
        let shared =
            ["delay = '2ms'\nrate = '20Mbit'\nqueue = '30KB'\nloss = '2%'", "delay = '0ms'\ncorrupt = '1%'"];
        let mut stage = DatagramScene::of(network(12, V4, "delay = '5ms'\nrate = '3Mbit'", &shared), shards);
        for round in 0..40u64 {
            for user in 0..12 {
                // Apart from one another by some ns, so that no two are anywhere at once.
                let due =
                    at(4_000 * round) + farfield_base::Duration::from_ns(u64::from(user) * 7_919 + round);
                stage.send(due, user, Ecn::Ect0, 1_200 - user as usize, 4_000);
            }
        }
        let drops = stage.play(|packet| {
            if matches!(packet.carried, PacketPayload::Udp(_)) { echo(packet) } else { Vec::new() }
        });
        let departed = std::mem::take(&mut stage.departed);
        let mut departed: Vec<_> = departed.into_iter().map(|(at, packet)| (at, packet.to_bytes())).collect();
        departed.sort();
        stage.heard.sort();
        (stage.heard, departed, drops)
    };
    let one = play(1);
    assert!(
        one.0.len() > 500 && one.2.lost > 20 && one.2.queue_full > 20 && one.2.damaged > 0,
        "{:?}",
        one.2
    );
    for shards in [2, 3] {
        assert!(play(shards) == one, "{shards} shards");
    }
    assert!(play(1) == one, "again");
}

/// A client that opens no socket takes no memory for them.
#[test]
fn a_socket_is_small_and_none_is_nothing() {
    assert!(size_of::<DatagramSocket>() <= 24, "{}", size_of::<DatagramSocket>());
    let sockets = DatagramSockets::default();
    assert_eq!((sockets.sockets.capacity(), sockets.bound.capacity()), (0, 0));
}

/// A router that cannot bring datagrams further ends a socket at once; behind the first hop of a client's own
/// nobody says so.
#[test]
fn a_closed_link_is_heard_of() {
    for (answer, heard) in [("host", true), ("network", true), ("prohibited", true), ("nothing", false)] {
        let shared = format!("delay = '1ms'\nunreachable = '{answer}'");
        let mut stage = DatagramScene::of(network(1, V4, "delay = '3ms'", &[&shared]), 1);
        stage.send(at(0), 0, Ecn::NotEct, 100, 100);
        let drops = stage.play(echo);
        assert_eq!(drops.unreachable, 1);
        let expected = if heard { vec![(at(6_000), SocketEvent::Unreachable)] } else { Vec::new() };
        assert_eq!(stage.heard_by(0), expected);
    }
    let own = "delay = '3ms'\nunreachable = { answer = 'host', from = '0s', to = '1ms' }";
    let mut stage = DatagramScene::of(network(1, V4, own, &[]), 1);
    stage.send(at(999), 0, Ecn::NotEct, 100, 100);
    stage.send(at(1_000), 0, Ecn::NotEct, 100, 100);
    let drops = stage.play(echo);
    assert_eq!((drops.unreachable, stage.departed.len(), stage.heard.len()), (1, 1, 1));
}

/// A client moves at 5 ms: what it sends then comes from the other address, where the echo reaches it, while
/// the one that was under way to the old address finds nobody.
#[test]
fn a_socket_goes_with_its_client() {
    for shards in [1, 2] {
        let mut plan = network(4, V4, "delay = '1ms'", &["delay = '1ms'"]);
        plan.moves = vec![MovePlan { client: ClientId::new(0), at: at(5_500) }];
        let mut stage = DatagramScene::of(plan, shards);
        for (sent, user) in [(1_000, 0), (2_000, 0), (2_000, 1), (6_000, 0), (6_000, 1)] {
            stage.send(at(sent), user, Ecn::NotEct, 100, 100);
        }
        let drops = stage.play(echo);
        assert_eq!(drops.nobody, 1, "{shards}");
        let plan = &stage.sides[0].transit.plan;
        let address = |number| plan.address(ClientId::new(number));
        let sources: Vec<_> =
            stage.departed.iter().map(|(at, packet)| (*at, packet.addresses.source())).collect();
        for (sent, client) in [(1_000, 0), (2_000, 0), (2_000, 1), (6_000, 2), (6_000, 1)] {
            assert!(sources.contains(&(at(sent + 2_000), address(client))), "{sent}: {sources:?}");
        }
        let heard = stage.heard_by(0).into_iter().map(|(at, heard)| (at, heard == SocketEvent::Moved));
        let expected = [(at(5_000), false), (at(5_500), true), (at(10_000), false)];
        assert_eq!(heard.collect::<Vec<_>>(), expected, "{shards}");
        assert_eq!(stage.heard_by(1).len(), 2);
    }
}
