//! Programs that people use, each behind a modem, 4G and a satellite, before nginx: curl, wget, Python and
//! Chromium get what there is, and take at least the time that the path takes.
//!
//! Root is needed, and the programs; a test that lacks one skips by name. Only lower bounds of times are
//! asserted, since other tests run on the machine.

use crate::common::Ended;
use crate::common::wan::{DebianServer, LoggedRequest, Wan, find};
use std::fs;

/// A path: its flags, its round trip, and its rate towards the client.
struct Path {
    access: &'static str,
    rtt_ms: f64,
    kbit: f64,
}

const PATHS: [Path; 3] = [
    Path { access: "modem-56k", rtt_ms: 300.0, kbit: 56.0 },
    Path { access: "4g", rtt_ms: 70.0, kbit: 12_000.0 },
    Path { access: "geostationary", rtt_ms: 630.0, kbit: 18_130.0 },
];

/// Bytes of the file that the simple programs fetch.
const FILE: usize = 16 * 1024;
/// Bytes of each image of the page, and how many there are.
const IMAGE: usize = 1_000;
const IMAGES: usize = 12;
/// Share of the time of a user of farfield's own by which Chromium may have the page sooner.
const APART: f64 = 0.15;
/// As long as what Chromium says.
const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/100.0.0.0 Safari/537.36";
const ACCEPT: &str = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
/// A picture of one transparent pixel.
const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

impl Path {
    /// Milliseconds that `bytes` take at least on a new connection: a handshake, a request, and the time on
    /// the slowest link.
    fn least_ms(&self, bytes: usize) -> f64 {
        2.0 * self.rtt_ms + bytes as f64 * 8.0 / self.kbit
    }
}

fn server(wan: &Wan) -> String {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    format!("nginx -p {home} -c {home}/server.conf -e stderr")
}

/// Runs a command behind `path`; it must succeed.
fn behind(wan: &Wan, path: &Path, command: &[&str]) -> Ended {
    let server = server(wan);
    let words = ["shell", "--access", path.access, "--server", &server, "--"];
    wan.place.farfield_with(&[&words[..], command].concat()).exits(0)
}

/// Fails unless a program fetches the file, and says that it took its time.
#[track_caller]
fn fetches(wan: &Wan, path: &Path, command: &[&str], milliseconds: impl Fn(&Ended) -> f64) {
    let ended = behind(wan, path, command);
    let got = fs::read(wan.place.path("got")).expect("a file");
    assert!(got == vec![b'x'; FILE], "{} bytes of {FILE}: {ended:?}", got.len());
    let (ms, least) = (milliseconds(&ended), path.least_ms(FILE));
    assert!(ms >= least, "{ms} ms, where {} takes {least} at least: {ended:?}", path.access);
    fs::remove_file(wan.place.path("got")).expect("own file");
}

fn wan(test: &str, program: &str) -> Option<(Wan, String)> {
    find(test, program)?;
    let wan = Wan::configured(test, DebianServer::Nginx, |config| {
        config.replace("$remote_addr $request'", "$remote_addr $request_length $request'")
    })?;
    wan.place.write("www/16k", vec![b'x'; FILE]);
    let got = wan.place.path("got").to_str().expect("a plain path").to_owned();
    Some((wan, got))
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

#[test]
fn curl_behind_three_paths() {
    let Some((wan, got)) = wan("curl_behind_three_paths", "curl") else { return };
    for path in &PATHS {
        let command = ["curl", "-sS", "-o", &got, "-w", "%{time_total}", "http://server/16k"];
        fetches(&wan, path, &command, |ended| number(&ended.stdout) * 1e3);
    }
}

/// wget does not say how long it took; the shell around it does, in milliseconds.
#[test]
fn wget_behind_three_paths() {
    let Some((wan, got)) = wan("wget_behind_three_paths", "wget") else { return };
    let line = "from=$(date +%s%N); wget -q -O \"$0\" http://server/16k || exit 1; echo $(( ($(date +%s%N) - from) / 1000 ))";
    for path in &PATHS {
        fetches(&wan, path, &["sh", "-c", line, &got], |ended| number(&ended.stdout) / 1e3);
    }
}

#[test]
fn python_behind_three_paths() {
    let Some((wan, got)) = wan("python_behind_three_paths", "python3") else { return };
    let program = "import sys, time, urllib.request\nfrom_ = time.monotonic()\n\
        data = urllib.request.urlopen('http://server/16k').read()\n\
        print((time.monotonic() - from_) * 1e3)\nopen(sys.argv[1], 'wb').write(data)";
    for path in &PATHS {
        fetches(&wan, path, &["python3", "-c", program, &got], |ended| number(&ended.stdout));
    }
}

/// Milliseconds, by Chromium, from when it began to fetch a page until all of it was there.
fn load_ms(ended: &Ended) -> f64 {
    let (_, rest) = ended.stdout.split_once("data-load-ms=\"").unwrap_or_else(|| panic!("{ended:?}"));
    number(rest.split('"').next().unwrap_or_default())
}

fn chromium(wan: &Wan, path: &Path) -> Ended {
    let profile = tempfile::tempdir().expect("a temporary folder");
    let profile_flag = format!("--user-data-dir={}", profile.path().display());
    let mut command = vec!["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"];
    command.extend(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
    command.extend(["--disable-sync", "--disable-dev-shm-usage", &profile_flag, "--timeout=120000"]);
    command.extend(["--dump-dom", "http://server/page.html"]);
    behind(wan, path, &command)
}

/// A user of farfield's own that loads the page once, as browsers do, with as many bytes in its requests.
fn user_ms(wan: &Wan, path: &Path) -> f64 {
    let scenario = format!(
        "[load]\nmodel = 'closed'\nusers = 1
        [session]\npage-load = 'browser'
        [[session.state]]\nname = 'page'\npath = '/page.html'
        headers = {{ User-Agent = '{USER_AGENT}', Accept = '{ACCEPT}', Accept-Language = 'en-US,en;q=0.9' }}
        [connections]\nparallel = 6
        [run]\nsessions = 1\nduration = '100s'\nfinish-sessions = '60s'
        [network]\naccess = '{}'\n",
        path.access
    );
    let summary = wan.run(&scenario, crate::common::wan::SHORT).exits(0).summary();
    let pages = summary.pages.expect("a session has pages");
    assert_eq!((pages.completed, pages.requests_mean), (1, 1.0 + IMAGES as f64), "{pages:?}");
    pages.response.expect("a page").mean_ns as f64 / 1e6
}

/// A page with a dozen images, in Chromium and for a user of farfield's own behind the same path: whoever
/// loads it, the page takes two round trips, and then its images at least one more; and Chromium takes as
/// long as the user and what it does itself.
#[test]
fn chromium_behind_three_paths() {
    let test = "chromium_behind_three_paths";
    let Some((wan, _)) = wan(test, "chromium") else { return };
    let images: String = (0..IMAGES).map(|nth| format!("<img src=\"/image-{nth}.gif\">\n")).collect();
    let page = format!(
        "<!doctype html><html><head><link rel=\"icon\" href=\"data:,\">\n\
         <script>onload = () => document.body.setAttribute('data-load-ms',\n\
         performance.timing.loadEventStart - performance.timing.fetchStart)</script>\n\
         </head><body>\n{images}</body></html>\n"
    );
    wan.place.write("www/page.html", &page);
    for nth in 0..IMAGES {
        // Bytes after the end of an image are not looked at.
        let mut image = PIXEL.to_vec();
        image.resize(IMAGE, 0);
        wan.place.write(&format!("www/image-{nth}.gif"), image);
    }
    println!("path | Chromium, ms | user, ms | apart");
    for path in &PATHS {
        let ended = chromium(&wan, path);
        let chromium_ms = load_ms(&ended);
        let asked = wan.take_log();
        let images = asked.iter().filter(|asked| asked.request.contains("GET /image-")).count();
        assert_eq!(images, IMAGES, "{asked:?}");
        // What holds one of them up on a busy machine is no slowness of the user's.
        let tries = (0..3).map(|_| user_ms(&wan, path)).scan(false, |is_near, ms| {
            let goes_on = !std::mem::replace(is_near, chromium_ms / ms - 1.0 >= -APART);
            goes_on.then_some(ms)
        });
        let user_ms = tries.fold(f64::INFINITY, f64::min);
        println!(
            "{} bytes asked by Chromium, {} by the user",
            bytes_asked(&asked),
            bytes_asked(&wan.take_log())
        );
        let apart = chromium_ms / user_ms - 1.0;
        println!("{} | {chromium_ms:.0} | {user_ms:.0} | {:+.1} %", path.access, 100.0 * apart);
        let bytes = page.len() + IMAGES * IMAGE;
        let least = path.least_ms(bytes) + path.rtt_ms;
        for ms in [chromium_ms, user_ms] {
            assert!(ms >= least, "{ms} ms, where {} takes {least} at least: {ended:?}", path.access);
        }
        assert!(apart >= -APART, "Chromium took {chromium_ms} ms, the user {user_ms}: {}", path.access);
    }
}

/// Bytes of the requests in a log.
fn bytes_asked(asked: &[LoggedRequest]) -> u64 {
    let bytes = asked.iter().filter_map(|asked| asked.request.split(' ').next()?.parse::<u64>().ok());
    bytes.sum()
}
