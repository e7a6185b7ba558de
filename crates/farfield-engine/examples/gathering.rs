//! Cost of a gatherer, before synthetic parts in another process: the time from the first connection until
//! all are ready, its processor time and its memory; then while they report, and while they hand files over.
//!
//! `cargo run --release -p farfield-engine --example gathering -- 1000 5 1000000`: parts, seconds of a run,
//! bytes of samples of each part.

use farfield_base::{Duration, Part};
use farfield_engine::rendezvous::{
    GatherKey, GatherSettings, Gatherer, HandoutFile, JoinSettings, Member, News, PartFigures,
};
use farfield_engine::{StartSource, descriptors};
use farfield_measure::Histogram;
use farfield_os::clock::{monotonic_ns, process_cpu};
use std::io::{BufRead, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    descriptors::raise();
    match words.first().map(String::as_str) {
        Some("parts") => parts(&words[1..]),
        _ => gather(&words),
    }
}

fn number(words: &[String], at: usize, otherwise: u64) -> u64 {
    words.get(at).map_or(otherwise, |word| word.parse().expect("a number"))
}

fn gather(words: &[String]) {
    let [count, seconds, bytes] =
        [(0, 1_000), (1, 5), (2, 0)].map(|(at, otherwise)| number(words, at, otherwise));
    let home = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let key = GatherKey::generate();
    let ticket = key.ticket().to_string();
    let settings = GatherSettings {
        parts: (1..=count as u32).map(|number| Part::new(number, count as u32).expect("a part")).collect(),
        files: vec![HandoutFile { name: "scenario.toml".to_owned(), content: vec![b'#'; 4_000] }],
        bytes_max: 1 << 30,
        farfield: String::new(),
        scenario: String::new(),
        wait_ns: 120_000_000_000,
        quiet_ns: 60_000_000_000,
    };
    let gatherer = Gatherer::begin(listener, key, settings, &home.path().join("parts")).expect("a thread");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args([
        "parts",
        &count.to_string(),
        &seconds.to_string(),
        &bytes.to_string(),
        &address.to_string(),
        &ticket,
    ]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it is ready");
    let (began, cpu) = (monotonic_ns(), process_cpu());
    writeln!(child.stdin.as_mut().expect("a pipe"), "go").expect("it listens");
    let mut at = (began, cpu, "rendezvous");
    let mut say = |next: &'static str| {
        let (now, cpu) = (monotonic_ns(), process_cpu());
        let took = (now - at.0) as f64 / 1e9;
        let used = (cpu - at.1).as_secs_f64();
        println!(
            "{}: {took:.2} s, {used:.2} s of processor time ({:.2} processors), {} MB at most",
            at.2,
            used / took,
            memory()
        );
        at = (now, cpu, next);
    };
    let (mut sums, mut back) = (0, 0);
    let gathered = gatherer.gather(&AtomicBool::new(false), |news| match news {
        News::Starting { error_ns, .. } => {
            say("run");
            println!("clocks are known to {:.3} ms at worst", error_ns as f64 / 1e6);
        }
        News::Sum(_, parts) if parts > 0 => sums += 1,
        News::Returned(_) => {
            back += 1;
            if back == 1 {
                say("files");
            }
        }
        News::Lost(why) | News::Refused(why) | News::Left(why) => println!("{why}"),
        _ => {}
    });
    say("");
    let gathered = gathered.expect("a run");
    println!("{} parts are back, {} are lost, {sums} sums", gathered.returned.len(), gathered.lost.len());
    child.wait().expect("its end");
}

/// The most memory of this process, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    most.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1_000
}

fn parts(words: &[String]) {
    let [count, seconds, bytes] = [0, 1, 2].map(|at| number(words, at, 0));
    let (address, ticket) =
        (&words[3], words[4].parse::<farfield_engine::rendezvous::Ticket>().expect("a ticket"));
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("samples.parquet"), vec![7; bytes as usize]).expect("a file");
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new()).expect("a word");
    // As many bins as response times between 1 ms and 1 s take.
    let mut response = Histogram::new();
    (1..3_000).for_each(|n| response.record_many(Duration::from_us(n * 333), n));
    thread::scope(|scope| {
        for _ in 0..count {
            let joining = JoinSettings {
                address: address.clone(),
                ticket: ticket.clone(),
                part: None,
                rank: None,
                farfield: String::new(),
                host: String::new(),
                wait_ns: 60_000_000_000,
            };
            let (response, home) = (&response, home.path());
            let work = move || {
                let member = Member::join(&joining).expect("admitted");
                member.await_start(None, &AtomicBool::new(false)).expect("a start");
                for second in 0..seconds {
                    thread::park_timeout(std::time::Duration::from_secs(1));
                    member.report(PartFigures {
                        now_ns: second * 1_000_000_000,
                        measured_ns: (0, seconds * 1_000_000_000),
                        ended: second * 1_000,
                        failed: 0,
                        connections: 10,
                        in_system: 1,
                        response: response.clone(),
                    });
                }
                member.hand_over(home).expect("kept");
            };
            thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, work).expect("a thread");
        }
    });
}
