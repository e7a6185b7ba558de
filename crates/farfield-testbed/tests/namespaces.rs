//! A testbed and its gateway against the kernel that they are made of: packets in, the kernel's answers out.

mod scene;

use farfield_base::Bytes;
use farfield_testbed::gateway::{Device, Queue};
use farfield_testbed::{
    Command, HostNamespace, Prefix, ServerSpec, ServerTcp, Testbed, TestbedError, TestbedSpec,
};
use farfield_wire::{Addresses, ChecksumNeed, Message, Transport, UdpRepr, VnetHeader};
use scene::{echo, packet, ping, receive, send, skip, testbed};
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::num::NonZeroU32;

fn on(device: Device) -> TestbedSpec {
    TestbedSpec { device, ..TestbedSpec::default() }
}

/// A testbed with nothing on its interface but what the test makes: IPv6 has manners of its own.
fn quiet(device: Device) -> TestbedSpec {
    TestbedSpec { mtu: 1_200, ..on(device) }
}

fn v4(spec: &TestbedSpec, index: u128) -> IpAddr {
    spec.clients_v4.address(index).into()
}

fn v6(spec: &TestbedSpec, index: u128) -> IpAddr {
    spec.clients_v6.address(index).into()
}

fn echoes(test: &str, device: Device) {
    let spec = TestbedSpec { receive_processors: vec![0], receive_asked: true, ..on(device) };
    let Some(testbed) = testbed(test, &spec) else { return };
    let queue = &mut testbed.queues()[0];
    for (sequence, client) in (0..).zip([v4(&spec, 1), v4(&spec, 0x1_ffff), v6(&spec, 1), v6(&spec, 1 << 79)])
    {
        let data = vec![sequence as u8; 100 * usize::from(sequence)];
        ping(queue, &spec, client, sequence, &data);
        let received = receive(queue, client).expect("the kernel answers");
        assert_eq!(echo(&received), (sequence, data));
        assert_eq!(received.header.gso, None);
    }
}

#[test]
fn the_kernel_answers_through_tun() {
    echoes("the_kernel_answers_through_tun", Device::Tun);
}

#[test]
fn the_kernel_answers_through_packet_sockets() {
    echoes("the_kernel_answers_through_packet_sockets", Device::Packet);
}

/// Threads `napi/<interface>-<number>`, and where each may run.
fn receive_threads(interface: &str) -> Vec<(u32, String)> {
    let begins = format!("napi/{interface}-");
    let begins = &begins[..begins.len().min(15)];
    let mut threads = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        if let (Some(name), Some(pid)) = (field("Name:"), field("Pid:"))
            && name.starts_with(begins)
        {
            threads.push((pid.parse().unwrap(), field("Cpus_allowed_list:").unwrap()));
        }
    }
    threads
}

/// The kernel's receive work has a thread for each queue, on the processor that it was put on, and packets
/// come through it; the threads go with the testbed.
#[test]
fn receive_work_has_threads_where_they_were_put() {
    let last = farfield_os::processors::allowed().unwrap().pop().unwrap();
    let receive_processors = vec![last];
    let spec = TestbedSpec { receive_processors, queues: NonZeroU32::new(2).unwrap(), ..on(Device::Tun) };
    let before: Vec<_> = receive_threads("farfield0").into_iter().map(|(pid, _)| pid).collect();
    let Some(testbed) = testbed("receive_work_has_threads_where_they_were_put", &spec) else { return };
    if let Some(why) = &testbed.report().receive_refused {
        return skip("receive_work_has_threads_where_they_were_put", why);
    }
    assert_eq!(testbed.report().receive_work, "in a thread for each queue");
    let mut threads = receive_threads(&testbed.report().interface);
    threads.retain(|(pid, _)| !before.contains(pid));
    let here = threads.iter().filter(|(_, on)| *on == last.to_string()).count();
    assert!(here >= 2, "{threads:?}");
    let mut queues = testbed.queues();
    for index in [2, 3] {
        ping(&mut queues[index % 2], &spec, v4(&spec, index as u128), 7, b"through a thread");
        let received = receive(&mut queues[index % 2], v4(&spec, index as u128)).expect("the kernel answers");
        assert_eq!(echo(&received), (7, b"through a thread".to_vec()));
    }
    drop((queues, testbed));
    let left = receive_threads("farfield0");
    assert!(left.iter().all(|(pid, _)| threads.iter().all(|(old, _)| old != pid)), "{left:?} of {threads:?}");
}

/// A receive thread that gets no time, here because the writer has its processor: the kernel refuses what it
/// has no room for and counts that as no loss of the device's, and takes packets again when there is room.
#[test]
fn a_receive_thread_without_time_refuses_packets() {
    const TEST: &str = "a_receive_thread_without_time_refuses_packets";
    let last = farfield_os::processors::allowed().unwrap().pop().unwrap();
    let spec = TestbedSpec { receive_processors: vec![last], queue_packets: 64, ..on(Device::Tun) };
    let Some(testbed) = testbed(TEST, &spec) else { return };
    if let Some(why) = &testbed.report().receive_refused {
        return skip(TEST, why);
    }
    farfield_os::processors::confine(&[last]).unwrap();
    let addresses = Addresses::V4 { source: "198.18.0.9".parse().unwrap(), destination: spec.server_v4 };
    let udp = UdpRepr { source_port: 7, destination_port: 9 };
    let bytes = packet(addresses, &Message::Udp(udp, &vec![0; 60_000]));
    let header = VnetHeader::default().emit();
    let queue = &mut testbed.queues()[0];
    let mut write = || queue.write(&[IoSlice::new(&header), IoSlice::new(&bytes)]).unwrap();
    assert!((0..100_000).any(|_| !write()), "there is room for 6 GB");
    let mut write_later = || {
        std::thread::yield_now();
        write()
    };
    assert!((0..1_000_000).any(|_| write_later()), "the thread makes no room");
    assert_eq!(testbed.drops().unwrap().to_server, 0);
}

/// Threads for which there is no processor are refused where they were asked for by name, and else left
/// alone.
#[test]
fn receive_work_that_cannot_be_placed_stays_in_the_write() {
    let spec = TestbedSpec { receive_processors: vec![1_000], ..on(Device::Tun) };
    let Some(testbed) = testbed("receive_work_that_cannot_be_placed_stays_in_the_write", &spec) else {
        return;
    };
    assert_eq!(testbed.report().receive_work, "in the write");
    assert!(testbed.report().receive_refused.is_some());
    let queue = &mut testbed.queues()[0];
    ping(queue, &spec, v4(&spec, 1), 1, b"written");
    assert!(receive(queue, v4(&spec, 1)).is_some());
    let asked = TestbedSpec { receive_asked: true, ..spec };
    assert!(matches!(Testbed::build(&asked), Err(TestbedError::Interface { .. })));
}

fn steers(test: &str, device: Device) {
    let spec = TestbedSpec { queues: NonZeroU32::new(3).unwrap(), ..on(device) };
    let Some(testbed) = testbed(test, &spec) else { return };
    let mut queues = testbed.queues();
    assert_eq!(queues.len(), 3);
    for index in [0, 1, 2, 3, 4, 5, 0x1_0000, 0x1_ffff] {
        for client in [v4(&spec, index), v6(&spec, index), v6(&spec, index | 1 << 70)] {
            ping(&mut queues[0], &spec, client, 1, b"which");
            let at = (index % 3) as usize;
            assert_eq!(spec.queue_of(client), at);
            assert!(receive(&mut queues[at], client).is_some(), "{client} is not at queue {at}");
        }
    }
}

#[test]
fn tun_queues_are_steered_by_client() {
    steers("tun_queues_are_steered_by_client", Device::Tun);
}

#[test]
fn packet_sockets_are_steered_by_client() {
    steers("packet_sockets_are_steered_by_client", Device::Packet);
}

/// The server sends a datagram, and gets one whose checksum is left to do.
fn offloads(test: &str, device: Device, offload: bool) {
    let spec = TestbedSpec { offload, ..quiet(device) };
    let Some(testbed) = testbed(test, &spec) else { return };
    let server = testbed.inside(|| UdpSocket::bind((spec.server_v4, 9))).unwrap().unwrap();
    let queue = &mut testbed.queues()[0];
    let client = spec.clients_v4.address(5);
    server.send_to(b"out", (client, 7)).unwrap();
    let received = receive(queue, client.into()).expect("the datagram leaves");
    if offload {
        assert_eq!(received.header.checksum, ChecksumNeed::Partial { start: 20, offset: 6 });
    } else {
        let Transport::Udp(udp) = received.ip().transport().unwrap() else { panic!("{:?}", received.header) };
        assert_eq!(received.header.checksum, ChecksumNeed::Whole);
        assert!(udp.checksum_is_valid(&received.ip().addresses()));
    }
    let addresses = Addresses::V4 { source: client, destination: spec.server_v4 };
    let udp = UdpRepr { source_port: 7, destination_port: 9 };
    let mut bytes = packet(addresses, &Message::Udp(udp, b"in"));
    bytes[26] ^= 0xff;
    let checksum = ChecksumNeed::Partial { start: 20, offset: 6 };
    send(queue, VnetHeader { checksum, ..VnetHeader::default() }, &bytes);
    let mut buffer = [0; 16];
    server.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    assert_eq!(server.recv_from(&mut buffer).unwrap(), (2, (client, 7).into()));
}

#[test]
fn tun_leaves_checksums_to_do() {
    offloads("tun_leaves_checksums_to_do", Device::Tun, true);
}

#[test]
fn packet_sockets_leave_checksums_to_do() {
    offloads("packet_sockets_leave_checksums_to_do", Device::Packet, true);
}

#[test]
fn without_offload_tun_sends_whole_packets() {
    offloads("without_offload_tun_sends_whole_packets", Device::Tun, false);
}

#[test]
fn without_offload_packet_sockets_get_whole_packets() {
    offloads("without_offload_packet_sockets_get_whole_packets", Device::Packet, false);
}

/// Every packet is either read or counted as dropped.
fn counts_drops(test: &str, device: Device) {
    const SENT: u64 = 400;
    let spec = TestbedSpec { queue_packets: 16, ..quiet(device) };
    let Some(testbed) = testbed(test, &spec) else { return };
    let client = spec.clients_v4.address(5);
    let server = testbed.inside(|| UdpSocket::bind((spec.server_v4, 9))).unwrap().unwrap();
    for _ in 0..SENT {
        server.send_to(&[0; 1_000], (client, 7)).unwrap();
    }
    let mut buffer = vec![0; Queue::READ_LEN];
    let queue = &mut testbed.queues()[0];
    let read = std::iter::from_fn(|| queue.read(&mut buffer).unwrap()).count() as u64;
    let drops = testbed.drops().unwrap();
    assert!(drops.to_clients > 0);
    assert_eq!(read + drops.to_clients, SENT);
    assert_eq!(testbed.drops().unwrap(), drops);
}

#[test]
fn what_tun_drops_is_counted() {
    counts_drops("what_tun_drops_is_counted", Device::Tun);
}

#[test]
fn what_packet_sockets_drop_is_counted() {
    counts_drops("what_packet_sockets_drop_is_counted", Device::Packet);
}

#[test]
fn the_servers_tcp_is_as_asked() {
    let tcp = ServerTcp {
        congestion_control: Some("reno".into()),
        sack: Some(false),
        timestamps: Some(false),
        window_scaling: Some(false),
        initial_window: Some(32),
        somaxconn: Some(77),
        syn_backlog: Some(99),
        syn_cookies: Some(false),
        syn_ack_retries: Some(2),
        abort_on_overflow: Some(true),
        receive_buffer_max: Some(Bytes(1 << 20)),
        send_buffer_max: Some(Bytes(8 << 10)),
        settings: [("net.ipv4.tcp_fin_timeout".to_owned().try_into().unwrap(), "17".to_owned())].into(),
    };
    let spec = TestbedSpec { tcp, ..TestbedSpec::default() };
    let Some(testbed) = testbed("the_servers_tcp_is_as_asked", &spec) else { return };
    let report = testbed.report();
    let value = |name: &str| {
        let setting = report.settings.iter().find(|setting| setting.name == name);
        setting.and_then(|setting| setting.value.clone()).unwrap()
    };
    for (name, wanted) in [
        ("net.ipv4.tcp_congestion_control", "reno"),
        ("net.ipv4.tcp_sack", "0"),
        ("net.ipv4.tcp_timestamps", "0"),
        ("net.ipv4.tcp_window_scaling", "0"),
        ("net.core.somaxconn", "77"),
        ("net.ipv4.tcp_max_syn_backlog", "99"),
        ("net.ipv4.tcp_syncookies", "0"),
        ("net.ipv4.tcp_synack_retries", "2"),
        ("net.ipv4.tcp_abort_on_overflow", "1"),
        ("net.ipv4.tcp_wmem", "4096 8192 8192"),
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.ipv4.tcp_fin_timeout", "17"),
    ] {
        assert_eq!(value(name), wanted, "{name}");
    }
    assert!(value("net.ipv4.tcp_rmem").ends_with(" 1048576"));
    assert_eq!((report.mtu, report.clients[0].as_str()), (1_500, "198.18.0.0/15"));
    // Output of `ip` is an oracle of the routes, where there is one.
    let command = || std::process::Command::new("ip").args(["route", "show", "198.18.0.0/15"]).output();
    match testbed.inside(command).unwrap() {
        Ok(output) => {
            let routes = String::from_utf8(output.stdout).unwrap();
            assert!(routes.contains("initcwnd 32") && routes.contains("src 192.0.2.1"), "{routes}");
            assert!(routes.contains("congctl reno"), "{routes}");
        }
        Err(error) => skip("the_servers_tcp_is_as_asked (routes)", &format!("ip: {error}")),
    }
}

/// Outside the first namespace the kernel makes only unrestricted algorithms the default; routes take any.
#[test]
fn every_congestion_control_of_the_kernel_can_be_asked_for() {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    for name in names.split_whitespace() {
        let tcp = ServerTcp { congestion_control: Some(name.to_owned()), ..ServerTcp::default() };
        let spec = TestbedSpec { tcp, ..TestbedSpec::default() };
        let test = "every_congestion_control_of_the_kernel_can_be_asked_for";
        let Some(testbed) = testbed(test, &spec) else { return };
        assert_eq!(testbed.report().congestion_control.as_deref(), Some(name));
    }
}

#[test]
fn what_cannot_be_is_said_with_its_key() {
    let refused = |spec: &TestbedSpec| Testbed::build(spec).unwrap_err();
    let small = TestbedSpec { mtu: 67, ..TestbedSpec::default() };
    assert!(matches!(refused(&small), TestbedError::Mtu { mtu: 67 }));
    let clients_v4 = Prefix::new(Ipv4Addr::new(192, 0, 0, 0), 8).unwrap();
    let overlap = TestbedSpec { clients_v4, ..TestbedSpec::default() };
    assert!(matches!(refused(&overlap), TestbedError::Overlap { .. }));
    let tcp = ServerTcp { congestion_control: Some("none-such".into()), ..ServerTcp::default() };
    let spec = TestbedSpec { tcp, ..TestbedSpec::default() };
    if testbed("what_cannot_be_is_said_with_its_key", &TestbedSpec::default()).is_some() {
        let said = refused(&spec).to_string();
        assert!(said.contains("tcp_congestion_control = \"none-such\""), "{said}");
    }
}

#[test]
fn a_gateway_in_the_namespace_of_a_running_server() {
    let test = "a_gateway_in_the_namespace_of_a_running_server";
    let Some(home) = testbed(test, &TestbedSpec::default()) else { return };
    let fin_timeout =
        || home.inside(|| std::fs::read_to_string("/proc/sys/net/ipv4/tcp_fin_timeout")).unwrap().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let command = Command::Program(vec!["sleep".into(), "1000".into()]);
    let server = home.start_server(&ServerSpec::new(command, directory.path().join("log"))).unwrap();
    let before = fin_timeout();
    for device in [Device::Auto, Device::Packet] {
        let spec = TestbedSpec {
            server_v4: Ipv4Addr::new(192, 0, 2, 9),
            clients_v4: Prefix::new(Ipv4Addr::new(10, 1, 0, 0), 16).unwrap(),
            families: [true, false],
            tcp: ServerTcp {
                settings: [("net.ipv4.tcp_fin_timeout".to_owned().try_into().unwrap(), "23".to_owned())]
                    .into(),
                ..ServerTcp::default()
            },
            ..quiet(device)
        };
        let host = HostNamespace::of_process(server.pid()).unwrap();
        let testbed = Testbed::join(&host, &spec).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fin_timeout(), "23\n");
        let queue = &mut testbed.queues()[0];
        ping(queue, &spec, v4(&spec, 3), 1, b"there?");
        assert!(receive(queue, v4(&spec, 3)).is_some());
        drop(testbed);
        assert_eq!(fin_timeout(), before);
    }
}
