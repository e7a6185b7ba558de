//! Ways to the server: the addresses of its name, and Unix sockets, before servers that count.

use crate::common::{Ended, Place, skip};
use farfield_base::Outcome;
use farfield_measure::AddressStats;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixSocketAddr, UnixDatagram, UnixListener};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;

/// Heads of the requests that came to each address, or to the only one, by connection.
type Asked = Arc<Mutex<BTreeMap<String, Vec<Vec<String>>>>>;

/// Answers requests without content until the client closes; returns their heads.
fn serve<S: Read>(stream: S, mut write: impl Write) -> Vec<String> {
    let mut reader = BufReader::new(stream);
    let mut heads = Vec::new();
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match reader.read_line(&mut head) {
                Ok(0) | Err(_) => return heads,
                Ok(_) => {}
            }
        }
        heads.push(head);
        if write.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return heads;
        }
    }
}

fn note(asked: &Asked, address: String, heads: Vec<String>) {
    // A connection that only finds out whether somebody is there asks nothing.
    if !heads.is_empty() {
        asked.lock().expect("no server panics").entry(address).or_default().push(heads);
    }
}

/// A server on all addresses of 127.0.0.0/8, or on those given, at one port.
fn tcp_server(addresses: &[Ipv4Addr]) -> (u16, Asked) {
    let first = TcpListener::bind((addresses[0], 0)).expect("a free port");
    let port = first.local_addr().expect("it is bound").port();
    let others = addresses[1..].iter().map(|own| TcpListener::bind((*own, port)).expect("a free port"));
    let asked = Asked::default();
    for listener in std::iter::once(first).chain(others) {
        let asked = Arc::clone(&asked);
        // Ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&asked);
                thread::spawn(move || {
                    let address = stream.local_addr().expect("it is connected").to_string();
                    let heads = serve(&stream, &stream);
                    note(&asked, address, heads);
                });
            }
        });
    }
    (port, asked)
}

fn loopback(last: impl IntoIterator<Item = u8>) -> Vec<Ipv4Addr> {
    last.into_iter().map(|last| Ipv4Addr::new(127, 0, 0, last)).collect()
}

/// `--resolve` of shop.test with these addresses, and its URL.
fn words(addresses: &[Ipv4Addr], port: u16) -> String {
    let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    format!("http://shop.test:{port}/a --resolve shop.test:{port}:{}", listed.join(","))
}

/// Connections and requests by address, as the server has them once `connections` are over.
fn counted(asked: &Asked, connections: u64) -> BTreeMap<String, (u64, u64)> {
    crate::common::poll("all connections to end", || {
        let asked = asked.lock().expect("no server panics");
        let count = |all: &Vec<Vec<String>>| {
            (all.len() as u64, all.iter().map(|heads| heads.len() as u64).sum::<u64>())
        };
        let all: BTreeMap<_, _> = asked.iter().map(|(own, all)| (own.clone(), count(all))).collect();
        (all.values().map(|(connections, _)| connections).sum::<u64>() >= connections).then_some(all)
    })
}

fn of_summary(ended: &Ended) -> Vec<AddressStats> {
    ended.summary().connections.addresses
}

/// The result by address is what each server counted, and each gets its turn.
#[test]
fn all_addresses_are_asked_in_turn() {
    let place = Place::new();
    for (number, workers, policy) in [(3, 1, "one-request"), (4, 2, "one-request"), (4, 1, "persistent")] {
        let addresses = loopback(2..2 + number);
        let (port, asked) = tcp_server(&addresses);
        let load = format!("-n 240 -c 12 -t {workers} --policy {policy} --addresses all");
        let ended = place.run(&format!("{} {load}", words(&addresses, port))).exits(0);
        let stats = of_summary(&ended);
        let connections = stats.iter().map(|own| own.connections).sum();
        let counted = counted(&asked, connections);
        let said: BTreeMap<_, _> =
            stats.iter().map(|own| (own.address.clone(), (own.established, own.requests))).collect();
        assert_eq!(said, counted, "{policy}, {workers} workers");
        assert!(stats.iter().all(|own| own.failed == 0 && own.connections == own.established));
        let shares = stats.iter().map(|own| own.connections);
        let (least, most) = (shares.clone().min(), shares.max());
        // Each worker's turn may end anywhere.
        assert!(most.unwrap_or(0) - least.unwrap_or(0) <= workers, "{stats:?}");
        assert!(ended.stdout.contains("\n  addresses "), "{}", ended.stdout);
        // Without a word the first that answers is asked alone.
        let ended = place.run(&format!("{} -n 20", words(&addresses, port))).exits(0);
        assert!(of_summary(&ended).is_empty());
    }
}

/// An address at which nobody listens: a warning before the run, failures that are its own, and the others go
/// on. Where nobody listens anywhere, there is no run.
#[test]
fn one_silent_address_is_named_beside_the_others() {
    let place = Place::new();
    let addresses = loopback([2, 3, 4]);
    let (port, _asked) = tcp_server(&addresses[..2]);
    let load = "-n 90 -c 3 --policy one-request --addresses all --set connections.pause-after-failure=1ms";
    let ended = place.run(&format!("{} {load}", words(&addresses, port)));
    let stats = of_summary(&ended);
    let silent = format!("127.0.0.4:{port}");
    for own in &stats {
        let (established, failed) =
            if own.address == silent { (0, own.requests) } else { (own.connections, 0) };
        assert_eq!((own.established, own.failed), (established, failed), "{own:?}");
        assert!(own.requests > 0, "{own:?}");
    }
    let summary = ended.summary();
    assert!(summary.warnings.iter().any(|own| own.contains(&silent) && own.contains("refused")));
    let failures = std::fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    assert!(failures.contains(&format!("at {silent}")), "the cause of its failures is the address");
    let first = format!("\n  addresses {silent} ");
    assert!(ended.stdout.contains(&first), "those with failures come first: {}", ended.stdout);

    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    place
        .farfield(&format!("run {} --addresses all", words(&loopback([7, 8]), nobody)))
        .exits(1)
        .says(&["nothing answers"]);
}

/// A hundred addresses are a hundred rows, and one line of the result.
#[test]
fn a_hundred_addresses_have_their_counts() {
    let place = Place::new();
    let (port, asked) = tcp_server(&[Ipv4Addr::UNSPECIFIED]);
    let addresses = loopback(1..=100);
    let load = "-n 300 -c 10 --policy one-request --addresses all";
    let ended = place.run(&format!("{} {load}", words(&addresses, port))).exits(0);
    let stats = of_summary(&ended);
    let connections = stats.iter().map(|own| own.connections).sum();
    assert_eq!((stats.len(), counted(&asked, connections).len()), (100, 100));
    assert!(stats.iter().all(|own| (3..=4).contains(&own.connections)), "{stats:?}");
    assert_eq!(ended.stdout.lines().filter(|line| line.starts_with("  addresses ")).count(), 1);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 90), "{}", ended.stdout);
    place.farfield(&format!("verify {}", ended.directory.display()));
}

#[test]
fn a_name_without_addresses_is_refused() {
    let place = Place::new();
    for addresses in ["first", "all", "each-connection"] {
        let words = format!("run http://nothing.invalid/ --addresses {addresses} -n 1");
        place.farfield(&words).exits(1).says(&["nothing.invalid"]);
    }
    for (words, parts) in [
        ("http://a.test/ --addresses every", &["--addresses", "each-connection"][..]),
        ("--addresses all", &["--addresses", "built-in server"]),
        ("http://a.test/ --plane emulated --addresses all", &["--addresses", "emulated"]),
        ("http://a.test/ --set connections.resolve-every=1s", &["resolve-every", "each-connection"]),
    ] {
        place.farfield(&format!("run {words}")).exits(2).says(parts);
    }
    let listed = place.farfield("run http://a.test/ --resolve a.test:80:127.0.0.1,b.test").exits(2);
    assert!(listed.stderr.contains("`127.0.0.1,b.test`") && listed.stderr.contains("no list of addresses"));
}

/// A resolver's answer may change during a run: here the file that it reads, in a mount namespace of the
/// test's own.
#[test]
fn each_connection_goes_where_the_name_leads_then() {
    let test = "each_connection_goes_where_the_name_leads_then";
    let place = Place::new();
    let addresses = loopback([2, 3]);
    let (port, asked) = tcp_server(&addresses);
    let run = format!(
        "run http://moving.test:{port}/ -c 4 -d 1h --warm-up 0s -n 100000000 --policy one-request -t 1 -q -o moved --think 5ms \
         --addresses each-connection --set connections.resolve-every=100ms {}",
        crate::common::CALM
    );
    let Some(mut command) = place.with_hosts("127.0.0.2 moving.test\n", &run) else {
        return skip(test, "no mount namespaces");
    };
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = crate::common::Process::start(&mut command, &place);
    let has = |address: &str| {
        let address = format!("{address}:{port}");
        asked.lock().expect("no server panics").get(&address).map_or(0, Vec::len)
    };
    let await_at = |address: &str, more: usize| {
        let before = has(address);
        crate::common::poll("connections to the address", || (has(address) > before + more).then_some(()));
    };
    await_at("127.0.0.2", 20);
    assert_eq!(has("127.0.0.3"), 0, "nobody knows of it");
    // It is written in place, since it is bound over the other.
    place.write("hosts", "127.0.0.3 moving.test\n");
    await_at("127.0.0.3", 20);
    // A name that is gone: connections go on to the address of before.
    place.write("hosts", "127.0.0.1 another.test\n");
    await_at("127.0.0.3", 100);
    process.signal(crate::common::Signal::INT);
    process.wait();
    let text = std::fs::read_to_string(place.path("moved/summary.json")).expect("a summary");
    let summary = farfield_measure::Summary::from_json(&text).expect("a summary");
    let stats = &summary.connections.addresses;
    assert_eq!(stats.len(), 2, "{stats:?}");
    assert!(stats.iter().all(|own| own.connections > 20), "{stats:?}");
    let failed: Vec<_> = summary.steady.outcomes.iter().filter(|own| own.name != "ok").collect();
    assert!(failed.iter().all(|own| own.name == Outcome::Unfinished.name()), "{failed:?}");
    assert!(stats.iter().all(|own| own.failed == 0), "{stats:?}");
    assert!(summary.warnings.iter().any(|own| own.contains("look-ups of `moving.test` failed")));
}

/// A server at a Unix socket.
fn unix_server(listener: UnixListener) -> Asked {
    let asked = Asked::default();
    let known = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let known = Arc::clone(&known);
            thread::spawn(move || {
                let heads = serve(&stream, &stream);
                note(&known, String::new(), heads);
            });
        }
    });
    asked
}

/// By a path, by one that begins in the scenario's folder, and by a name of the abstract kind; the URL says
/// what is asked for, as curl has it.
#[test]
fn unix_sockets_are_connected_to() {
    let place = Place::new();
    let by_path = unix_server(UnixListener::bind(place.path("own.sock")).expect("a new file"));
    let name = format!("farfield-test-{}", std::process::id());
    let address = UnixSocketAddr::from_abstract_name(&name).expect("a short name");
    let by_name = unix_server(UnixListener::bind_addr(&address).expect("a new name"));
    std::fs::create_dir(place.path("folder")).expect("own folder");
    place.write(
        "folder/unix.toml",
        "target = 'http://shop.test:8080/b'\nload = { model = 'closed', users = 2 }\n[connections]\nunix-socket = '../own.sock'\n",
    );
    let flag = format!("http://localhost/a --unix-socket {}", place.path("own.sock").display());
    for (words, asked, host, target) in [
        (flag, &by_path, "localhost", "/a"),
        ("folder/unix.toml".to_owned(), &by_path, "shop.test:8080", "/b"),
        (format!("http://localhost:1/c --unix-socket @{name}"), &by_name, "localhost:1", "/c"),
    ] {
        let ended = place.run(&format!("{words} -n 40 -c 2")).exits(0);
        let samples = ended.samples();
        assert!(samples.len() >= 40 && samples.iter().all(|own| own.outcome == Outcome::Ok), "{words}");
        let opened = samples.iter().filter(|own| own.number == 0).count();
        counted(asked, opened as u64);
        let heads = std::mem::take(&mut *asked.lock().expect("no server panics"));
        let heads: Vec<String> = heads.into_values().flatten().flatten().collect();
        assert_eq!(heads.len(), samples.len());
        for head in heads {
            assert!(head.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{head}");
            assert!(head.contains(&format!("\r\nHost: {host}\r\n")), "{head}");
        }
        // The run directory repeats the run from any folder.
        let again = format!("run {} -n 4 -q -o again", ended.directory.display());
        let again = place.farfield(&again);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        std::fs::remove_dir_all(place.path("again")).expect("a run");
        crate::common::poll("its connections to end", || {
            let mut asked = asked.lock().expect("no server panics");
            let over = asked.values().flatten().map(Vec::len).sum::<usize>() >= 4;
            over.then(|| asked.clear())
        });
    }
}

/// A path that is no socket with a listening server is refused before the run, with its reason.
#[test]
fn sockets_that_are_none_are_refused() {
    let place = Place::new();
    place.write("file", "no socket");
    drop(UnixListener::bind(place.path("left")).expect("a new file"));
    let _datagrams = UnixDatagram::bind(place.path("datagrams")).expect("a new file");
    for (path, parts) in [
        ("none", ["No such file", "start the server"]),
        ("file/none", ["Not a directory", "check the path"]),
        ("file", ["refused", "is no socket"]),
        (".", ["refused", "is no socket"]),
        ("/dev/null", ["refused", "is no socket"]),
        ("left", ["refused", "nobody listens"]),
        ("datagrams", ["rong type", "datagrams"]),
        ("@farfield-test-that-nobody-has", ["refused", "nobody listens"]),
    ] {
        let words = format!("run http://localhost/ --unix-socket {path} -n 4 -q -o none-begun");
        place.farfield(&words).exits(1).says(&[path, parts[0], parts[1]]);
        assert!(!place.path("none-begun").exists());
    }
    let long = "x".repeat(108);
    for (words, parts) in [
        (format!("http://localhost/ --unix-socket {long}"), &["--unix-socket", "107"][..]),
        ("http://localhost/ --unix-socket @".to_owned(), &["--unix-socket", "path"]),
        ("--unix-socket left".to_owned(), &["--unix-socket", "URL"]),
        ("https://localhost/ -k --http 3 --unix-socket left".to_owned(), &["http", "datagrams"]),
        ("http://a.test/ --unix-socket left --addresses all".to_owned(), &["--addresses", "Unix"]),
        ("http://a.test/ --unix-socket left --plane emulated".to_owned(), &["--unix-socket", "emulated"]),
    ] {
        place.farfield(&format!("run {words}")).exits(2).says(parts);
    }
}

/// A backlog that is full and a socket that goes away during the run are failures with a cause.
#[test]
fn unix_sockets_that_take_no_more_have_a_cause() {
    let place = Place::new();
    let path = place.path("full.sock");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
    let address = SocketAddrUnix::new(path.as_path()).expect("a short path");
    rustix::net::bind(&socket, &address).expect("a new file");
    rustix::net::listen(&socket, 0).expect("a bound socket");
    let _first = std::os::unix::net::UnixStream::connect(&path).expect("the one that waits");
    let words = format!("http://localhost/ --unix-socket {} -n 6 -c 2", path.display());
    let ended = place.run(&words).exits(3);
    let outcomes = ended.summary().steady.outcomes;
    assert!(outcomes.iter().all(|own| own.name == Outcome::ConnectRefused.name()), "{outcomes:?}");
    let text = std::fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    assert!(text.contains("EAGAIN"), "{text}");

    let path = place.path("gone.sock");
    let listener = UnixListener::bind(&path).expect("a new file");
    let gone = path.clone();
    thread::spawn(move || {
        // One connection asks whether somebody is there.
        for (number, stream) in listener.incoming().flatten().enumerate() {
            serve(&stream, &stream);
            if number == 5 {
                let _ = std::fs::remove_file(&gone);
            }
        }
    });
    let words = format!("http://localhost/ --unix-socket {} -n 20 -c 1 --policy one-request", path.display());
    let ended = place.run(&words);
    let text = std::fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    assert!(text.contains("ENOENT"), "{text}");
    let samples = ended.samples();
    let failed = samples.iter().filter(|own| own.outcome == Outcome::ConnectRefused).count();
    assert!(failed >= 10 && samples.len() - failed >= 4, "{failed} of {}", samples.len());
}
