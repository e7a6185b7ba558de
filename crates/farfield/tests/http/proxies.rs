//! Proxies: one that counts, hostile ones, and Apache's as Debian has it.

use crate::common::wan::find;
use crate::common::{Ended, Place, Process, poll};
use farfield_base::Outcome;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

/// Heads that came to the proxy, by connection.
type Heads = Arc<Mutex<Vec<Vec<String>>>>;

/// The next head; `None` at the end of the connection.
fn read_head(mut stream: &TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).expect("ASCII"))
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Leads tunnels to `origin`, whatever server they are for, and answers all else itself.
fn proxy(origin: Option<SocketAddr>) -> (SocketAddr, Heads) {
    let heads = Heads::default();
    let noted = Arc::clone(&heads);
    let address = listen(move |stream| {
        let place = {
            let mut noted = noted.lock().expect("no proxy panics");
            noted.push(Vec::new());
            noted.len() - 1
        };
        while let Some(head) = read_head(&stream) {
            let asks_for_tunnel = head.starts_with("CONNECT ");
            noted.lock().expect("no proxy panics")[place].push(head);
            match origin.filter(|_| asks_for_tunnel) {
                Some(origin) => {
                    let server = TcpStream::connect(origin).expect("the origin listens");
                    (&stream)
                        .write_all(b"HTTP/1.1 200 Connection established\r\nContent-Length: 9\r\n\r\n")
                        .ok();
                    thread::scope(|scope| {
                        scope.spawn(|| copy(&stream, &server));
                        copy(&server, &stream);
                    });
                    return;
                }
                None => (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap_or(()),
            }
        }
    });
    (address, heads)
}

/// Serves each connection on a thread of its own, which ends with the process of the tests.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, serve) = (listener.local_addr().expect("it is bound"), Arc::new(serve));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Heads of the connections on which something was asked.
fn asked(heads: &Heads) -> Vec<Vec<String>> {
    heads.lock().expect("no proxy panics").iter().filter(|all| !all.is_empty()).cloned().collect()
}

/// Nothing that farfield wrote has the password, as it is or as the field has it.
fn shows_no_password(place: &Place, ended: &Ended) {
    let report =
        place.farfield(&format!("report {} --format html -o {}", ended.directory.display(), "page.html"));
    let page = fs::read_to_string(place.path("page.html")).unwrap_or_default();
    for text in [&ended.stdout, &ended.stderr, &report.stdout, &report.stderr, &page] {
        assert!(!text.contains("s3cret") && !text.contains("YW5uOnMzY3JldA"), "{text}");
    }
}

/// `http://` is asked for in absolute form: the proxy's address is connected to, and the name of the server
/// is nobody's here.
#[test]
fn plain_http_is_asked_for_in_absolute_form() {
    let place = Place::new();
    let (address, heads) = proxy(None);
    for (url, line, host) in [
        ("http://shop.invalid/a?b=c", "GET http://shop.invalid/a?b=c HTTP/1.1", "shop.invalid"),
        ("http://shop.invalid:81/", "GET http://shop.invalid:81/ HTTP/1.1", "shop.invalid:81"),
    ] {
        heads.lock().expect("no proxy panics").clear();
        let words = format!("{url} --proxy http://ann:s3cret@{address} -n 20 -c 2");
        let ended = place.run(&words).exits(0);
        assert_eq!(ended.samples().iter().filter(|own| own.outcome == Outcome::Ok).count(), 20);
        let asked = asked(&heads);
        assert_eq!((asked.len(), asked.iter().flatten().count()), (2, 20), "connections are used again");
        for head in asked.iter().flatten() {
            assert!(head.starts_with(&format!("{line}\r\nHost: {host}\r\n")), "{head}");
            assert_eq!(head.matches("Proxy-Authorization: Basic YW5uOnMzY3JldA==\r\n").count(), 1, "{head}");
        }
        shows_no_password(&place, &ended);
    }
}

/// A session asks in the same form, and its samples and its cookies have the path alone. `try` names the
/// proxy.
#[test]
fn sessions_go_through_a_proxy() {
    let place = Place::new();
    let (address, heads) = proxy(None);
    let scenario = format!(
        "target = 'http://shop.invalid/'\nconnections.proxy = 'http://ann:s3cret@{address}'\n\
         load = {{ model = 'closed' }}\n[session]\npath = ['a', 'b']\n[[session.state]]\nname = 'a'\npath = '/a'\n\
         [[session.state]]\nname = 'b'\npath = '/b/${{user}}'\n"
    );
    place.write("s.toml", &scenario);
    let ended = place.farfield(&format!("try {} --trace", place.path("s.toml").display())).exits(0);
    let way = format!("through the proxy http://{address}");
    assert!(
        ended.stdout.contains(&way) && ended.stdout.contains("GET http://shop.invalid/a "),
        "{}",
        ended.stdout
    );
    assert!(!ended.stdout.contains("YW5uOnMzY3JldA") && !ended.stdout.contains("s3cret"), "{}", ended.stdout);
    // The flag is that of a run.
    let key = format!("connections.proxy = 'http://ann:s3cret@{address}'\n");
    place.write("flag.toml", scenario.replace(&key, ""));
    let flag = place.farfield(&format!("try flag.toml --proxy http://ann:s3cret@{address}")).exits(0);
    assert!(flag.stdout.contains(&way) && !flag.stdout.contains("s3cret"), "{}", flag.stdout);
    let asked = asked(&heads);
    let lines: Vec<_> = asked.iter().flatten().filter_map(|head| head.lines().next()).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[1].starts_with("GET http://shop.invalid/b/") && lines[1].ends_with(" HTTP/1.1"),
        "{lines:?}"
    );
}

/// https goes through a tunnel in each version that TCP carries, one tunnel a connection.
#[test]
fn https_goes_through_a_tunnel() {
    let place = Place::new();
    let served = place.serve("--tls");
    let origin: SocketAddr = served.url.trim_start_matches("https://").parse().expect("an address");
    for http in ["1.1", "2", "auto"] {
        let (address, heads) = proxy(Some(origin));
        let words = format!(
            "https://shop.invalid/ --insecure --http {http} -x http://ann:s3cret@{address} -n 40 -c 4"
        );
        let ended = place.run(&words).exits(0);
        let samples = ended.samples();
        assert!(samples.len() >= 40 && samples.iter().all(|own| own.outcome == Outcome::Ok));
        assert!(samples.iter().any(|own| own.tls.is_some()), "there is TLS within");
        let asked = asked(&heads);
        // One more shakes hands before the run.
        assert_eq!(asked.len(), 5, "{asked:?}");
        for heads in &asked {
            let [head] = &heads[..] else { panic!("one head a tunnel: {heads:?}") };
            assert!(
                head.starts_with("CONNECT shop.invalid:443 HTTP/1.1\r\nHost: shop.invalid:443\r\n"),
                "{head}"
            );
            assert!(head.contains("\r\nProxy-Authorization: Basic YW5uOnMzY3JldA==\r\n"), "{head}");
        }
        shows_no_password(&place, &ended);
        let directory = ended.directory.display().to_string();
        fs::write(place.path("other.pcapng"), b"").expect("own file");
        let held =
            place.farfield(&format!("verify {directory} --capture {}", place.path("other.pcapng").display()));
        held.exits(2).says(&["through a proxy"]);
    }
}

/// A proxy's answer in place of a tunnel ends the connection with the reason, within the limits.
#[test]
fn a_tunnel_that_does_not_open_says_why() {
    type Reply = fn(&TcpStream) -> std::io::Result<()>;
    let place = Place::new();
    let cases: [(&str, Outcome, &str, Reply); 8] = [
        ("407", Outcome::ConnectRefused, "407 Proxy Authentication Required", |mut stream| {
            stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        }),
        ("502", Outcome::ConnectRefused, "502 Bad Gateway", |mut stream| {
            stream.write_all(b"HTTP/1.0 502 Bad Gateway\r\n\r\nnobody is there")
        }),
        ("long reason", Outcome::ConnectRefused, "503 xxxxxx", |mut stream| {
            stream.write_all(format!("HTTP/1.1 503 {}\r\n\r\n", "x".repeat(9000)).as_bytes())
        }),
        ("garbage", Outcome::ConnectRefused, "", |mut stream| stream.write_all(&[0xff; 4096])),
        ("endless", Outcome::ConnectRefused, "head-limit", |mut stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"a: b\r\n")?;
            }
        }),
        ("closed", Outcome::ConnectRefused, "closes before it has answered CONNECT", |mut stream| {
            stream.write_all(b"HTTP/1.1 200 O")
        }),
        ("reset", Outcome::ConnectRefused, "the proxy resets the connection", |stream| {
            // With no time to linger, closing resets.
            rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO))?;
            Ok(())
        }),
        ("silent", Outcome::TimedOut, "", |mut stream| stream.read(&mut [0; 9]).map(drop)),
    ];
    for (name, outcome, words, reply) in cases {
        let address = listen(move |stream| {
            if read_head(&stream).is_some() {
                let _ = reply(&stream);
            }
        });
        let load =
            "-n 3 -c 1 --set connections.request-timeout=500ms --set connections.pause-after-failure=1ms";
        let ended = place.run(&format!("https://shop.invalid/ --insecure --proxy {address} {load}"));
        let samples = ended.samples();
        assert_eq!(samples.len(), 3, "{name}: {}", ended.stderr);
        for sample in &samples {
            assert_eq!((sample.outcome, sample.status), (outcome, 0), "{name}");
            assert!(sample.connected.instant().is_none(), "{name}: no connection was there");
        }
        let text = fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
        assert!(text.contains(words), "{name}: {text}");
        assert!(text.len() < 100_000, "{name}: what a proxy says is bounded");
    }
}

#[test]
fn what_no_proxy_can_do_is_refused() {
    let place = Place::new();
    for (words, parts) in [
        ("https://a.invalid/ --http 3 --proxy h:1", ["http", "UDP"]),
        ("http://a.invalid/ --proxy https://h:1", ["--proxy", "SOCKS"]),
        ("http://a.invalid/ --proxy http://h", ["--proxy", "port"]),
        ("http://a.invalid/ --proxy h:1 --capture", ["capture", "proxy"]),
        ("http://a.invalid/ --proxy h:1 --connect-to ::b:1", ["connect-to", "proxy"]),
        ("--proxy h:1", ["--proxy", "target"]),
        ("http://a.invalid/ --plane emulated --proxy h:1", ["--proxy", "emulated"]),
        ("--plane simulated --proxy h:1", ["--proxy", "simulated"]),
    ] {
        let ended = place.farfield(&format!("run {words} -n 1"));
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{words}: {}", ended.stderr);
        ended.exits(2);
    }
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    place
        .farfield(&format!("run http://a.invalid/ --proxy {closed} -n 1"))
        .exits(1)
        .says(&["no proxy answers", "start the proxy"]);
}

/// Apache's mod_proxy, both ways, with a password that it checks nowhere: it counts in its log.
#[test]
fn apache_leads_to_the_server() {
    let test = "apache_leads_to_the_server";
    let place = Place::new();
    let Some(program) = find(test, "apache2") else { return };
    let (plain, secure) = (place.serve(""), place.serve("--tls"));
    let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let home = place.path("").to_str().expect("a plain path").trim_end_matches('/').to_owned();
    let modules = ["mpm_event", "authz_core", "proxy", "proxy_http", "proxy_connect"]
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    let port = secure.url.rsplit(':').next().expect("a port");
    place.write(
        "server.conf",
        format!(
            "ServerRoot {home}\nServerName p.test\nPidFile {home}/pid\nDefaultRuntimeDir {home}\nListen {address}\n\
             User nobody\nGroup nogroup\n{}ErrorLog {home}/error.log\nCustomLog {home}/access.log \"%r\"\n\
             ProxyRequests On\nAllowCONNECT {port}\nMaxKeepAliveRequests 0\n",
            modules.concat()
        ),
    );
    let mut command = Command::new(program);
    command.args(["-d", &home, "-f", &format!("{home}/server.conf"), "-DFOREGROUND"]);
    let mut process = Process::start(&mut command, &place);
    poll("apache2 to listen", || match TcpStream::connect(address) {
        Ok(_) => Some(()),
        Err(_) => process.ended().map(|ended| panic!("apache2 ended: {ended}")),
    });
    let ended = place.run(&format!("{}/ --proxy http://{address} -n 30 -c 3", plain.url)).exits(0);
    assert!(ended.samples().iter().all(|own| own.outcome == Outcome::Ok));
    for http in ["1.1", "2"] {
        let words = format!("{}/ --insecure --http {http} --proxy {address} -n 30 -c 3", secure.url);
        let ended = place.run(&words).exits(0);
        assert!(ended.samples().iter().all(|own| own.outcome == Outcome::Ok));
    }
    let log = || fs::read_to_string(place.path("access.log")).unwrap_or_default();
    let count = |what: &str| log().lines().filter(|line| line.starts_with(what)).count();
    // A tunnel is logged once it is over; of each run one more shook hands before it.
    poll("tunnels to end", || (count("CONNECT ") >= 8).then_some(()));
    assert_eq!((count("CONNECT "), count("GET http://127.0.0.1:") >= 30), (8, true), "{}", log());
}
