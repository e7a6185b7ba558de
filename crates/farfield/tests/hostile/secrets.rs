//! Secrets: what was given for a server reaches it, and no output.

use crate::common::{CALM, Place, poll};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// A user and a password go to the server, with every request, and into the scenario that repeats the run,
/// which is the owner's alone; nowhere else.
#[test]
fn a_password_is_sent_and_not_shown() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, asked) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut out = connection.try_clone().unwrap();
                let mut field = None;
                for line in BufReader::new(connection).lines().map_while(Result::ok) {
                    if let Some(value) = line.strip_prefix("Authorization: ") {
                        field = Some(value.to_owned());
                    }
                    if line.is_empty() {
                        let _ = tell.send(field.take());
                        let _ = out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                }
            });
        }
    });
    let url = format!("http://Aladdin:open%20sesame@{address}/");
    let ended = place.run(&format!("{url} -n 5 -c 1")).exits(0);
    let fields: Vec<Option<String>> = asked.try_iter().collect();
    let expected = Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned());
    assert!(fields.len() >= 5 && fields.iter().all(|field| *field == expected), "{fields:?}");
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run-1"), mode("run-1/scenario.toml")), (0o700, 0o600));
    for name in ["summary.json", "environment.json", "histograms.hlog", "samples.parquet", "series.parquet"] {
        let bytes = fs::read(ended.directory.join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sesame") && !text.contains("QWxhZGRpbj"), "{name}");
    }
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!said.contains("sesame") && !said.contains("Aladdin"), "{said}");
    place.run("run-1/scenario.toml -n 5").exits(0);
    assert!(asked.try_iter().all(|field| field == expected), "the run repeats");
    let refused = place.farfield(&format!("run ftp://Aladdin:sesame@{address}/")).exits(2);
    assert!(!refused.stderr.contains("sesame"), "{}", refused.stderr);
}

/// Credentials in headers, with a scheme and without, in forms and in the URL: they are in the scenario that
/// repeats the run, and in no output that is passed on.
#[test]
fn credentials_are_in_no_output() {
    let place = Place::new();
    let served = place.serve("");
    let address = served.url.strip_prefix("http://").expect("a URL");
    for (file, secret) in [("one.toml", "SECRET1"), ("two.toml", "SECRET2")] {
        place.write(
            file,
            format!(
                "target = 'http://Aladdin:{secret}A@{address}/'\n\
                 [[session.state]]\nname = 'fine'\npath = '/'\n\
                 [[session.state]]\nname = 'failing'\npath = '/'\ncheck.status = 299\n\
                 [session.state.headers]\nauthorization = '{secret}B'\nproxy-authorization = 'Bearer {secret}C'\n\
                 x-api-key = '{secret}D'\nx-auth-token = '{secret}E'\nprivate-token = 'my own {secret}F'\n"
            ),
        );
    }
    let runs = ["one.toml", "two.toml"].map(|file| place.run(&format!("{file} -n 20 -c 1")));
    let mut outputs: Vec<(String, String)> = Vec::new();
    for run in &runs {
        outputs.push(("run".to_owned(), format!("{}{}", run.stdout, run.stderr)));
        for entry in fs::read_dir(&run.directory).expect("a run").flatten() {
            let name = entry.file_name().into_string().expect("a name");
            // The scenario repeats the run, and the list of its files is of digests.
            if name != "scenario.toml" && entry.path().is_file() {
                let bytes = fs::read(entry.path()).expect("a file");
                outputs.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
    let failures = outputs.iter().find(|(name, _)| name == "failures.txt").expect("a failed check");
    assert!(failures.1.contains("authorization: (not shown)"), "{}", failures.1);
    assert!(failures.1.to_lowercase().contains("proxy-authorization: bearer (not shown)"), "{}", failures.1);
    for words in [
        "report run-1",
        "report run-1 --format html",
        "report run-1 --format json",
        "report run-1 --format junit",
        "report run-1 --format markdown",
        "report run-1 --format csv",
        "compare run-1 run-2",
        "compare run-1 run-2 --format html",
        "compare run-1 run-2 --format markdown",
        "compare run-1 run-2 --format json",
        "runs .",
        "try one.toml",
        "try one.toml --trace",
    ] {
        let ended = place.farfield(words);
        outputs.push((words.to_owned(), format!("{}{}", ended.stdout, ended.stderr)));
    }
    for (name, text) in &outputs {
        assert!(!text.contains("SECRET"), "{name}: {text}");
    }
    let of = |words: &str| &outputs.iter().find(|(name, _)| name == words).expect(words).1;
    assert!(of("compare run-1 run-2").contains("(not shown)"), "a secret that differs is a difference");
    assert!(of("report run-1 --format html").contains("(not shown)"), "the scenario is shown without it");
    let page = fs::read_to_string(place.path("run-1/report.html")).expect("each run leaves its page");
    assert!(!page.contains("SECRET") && page.contains("(not shown)"), "{page}");
    let kept = fs::read_to_string(place.path("run-1/scenario.toml")).expect("a scenario");
    assert!(kept.contains("SECRET1A") && kept.contains("SECRET1F"), "{kept}");
}

/// A secret in every part of what is sent, which is all sent back.
const SECRET: &str = "SECRETa+/9";

/// A server that sends back all that it is asked, with the secret where a reply has room for it: in fields,
/// in what is no field, in what is no reply.
fn echoing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || echo(stream));
        }
    });
    address
}

/// A connection may be gone at any time.
fn echo(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
            let line = head[begin..].to_ascii_lowercase();
            length =
                line.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap_or(0));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let asked = format!("{head}{}", String::from_utf8_lossy(&body));
        let reply = match asked.split(' ').nth(1).unwrap_or_default() {
            path if path.starts_with("/nothing") => format!("NOTHING {SECRET}\r\n\r\n"),
            path if path.starts_with("/line") => format!("HTTP/1.1 200 OK\r\n{SECRET} line\r\n\r\n"),
            _ => format!(
                "HTTP/1.1 200 {SECRET}\r\nSet-Cookie: a={SECRET}\r\nX-Echo: {SECRET}\r\nContent-Length: {}\r\n\r\n\
                 {asked}",
                asked.len()
            ),
        };
        stream.write_all(reply.as_bytes()).ok()?;
    }
}

/// All files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("own folder").flatten();
    entries
        .flat_map(|entry| match entry.path() {
            folder if folder.is_dir() => files_below(&folder),
            file => vec![file],
        })
        .collect()
}

/// The text of a file; of one in columns, that of its rows without their compression.
fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).expect("own file");
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if path.extension().is_some_and(|end| end == "parquet") {
        let file = SerializedFileReader::new(fs::File::open(path).expect("own file")).expect("Parquet");
        for row in file.get_row_iter(None).expect("rows") {
            text += &row.expect("a row").to_string();
        }
    }
    text
}

/// The ways in which the secret is written: as it is, in URLs and forms, in JSON, and in base64, where it
/// stands alone or behind three bytes.
fn is_in(text: &str) -> bool {
    let ways = [SECRET, "SECRETa%2B%2F9", "SECRETa%2B/9", "SECRETa+\\/9", "U0VDUkVUYSsvOQ"];
    ways.iter().any(|way| text.contains(way))
}

/// A value that the scenario takes from the environment goes to a server, which sends it back in every part
/// of its replies and in what are none. It is in no file that is left, in nothing that is printed, and in no
/// figures that others read meanwhile.
#[test]
fn a_variable_of_the_environment_is_written_nowhere() {
    let place = Place::new();
    let (address, value) = (echoing(), "${env.SECRET_OF_THE_TEST}");
    let variable = ("SECRET_OF_THE_TEST", SECRET);
    let mut searched = 0;
    for (number, path) in ["/login", "/nothing", "/line"].into_iter().enumerate() {
        place.write(
            "s.toml",
            format!(
                "target = 'http://{address}/'\n[[session.state]]\nname = 'asked'\nmethod = 'POST'\n\
                 path = '{path}?t={value}'\nbody = '{{\"a\":\"{value}\"}}'\ncheck.status = 299\n\
                 check.contains = '{value}!'\n\
                 extract.x = {{ header = 'x-echo' }}\n\
                 [session.state.headers]\nauthorization = 'Bearer {value}'\nx-plain = '{value}'\n\
                 cookie = 'a={value}'\n"
            ),
        );
        let words = format!("run s.toml -c 1 -n 6 -d 20s --out run-{number} --metrics 0 {CALM}");
        let ended = place.begin_knowing(variable, &words).ended();
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        let said = place.begin_knowing(variable, "try s.toml --trace").ended();
        let report = place.farfield(&format!("report run-{number} --format html"));
        for ended in [&ended, &said, &report] {
            assert!(!is_in(&ended.stdout) && !is_in(&ended.stderr), "{path}: {ended:?}");
        }
        assert!(said.stdout.contains(value), "by its name: {}", said.stdout);
        let files = files_below(&place.path(&format!("run-{number}")));
        for file in &files {
            let text = text_of(file);
            assert!(!is_in(&text), "{path}: {}: {text}", file.display());
            searched += 1;
        }
        let failures =
            fs::read_to_string(place.path(&format!("run-{number}/failures.txt"))).expect("failures");
        assert!(failures.contains(value), "what was sent back is there, by its name: {failures}");
    }
    assert!(searched > 20, "{searched} files");
}

/// Content that is sent and comes back is not in the files of figures: credentials, cookies, bodies and
/// paths, here of requests without sessions.
#[test]
fn files_of_figures_have_nothing_that_was_sent() {
    let place = Place::new();
    let address = echoing();
    place.write(
        "s.toml",
        format!(
            "target = 'http://us:SECRETa%2B%2F9@{address}/'\nload = {{ model = 'open', arrivals = '20/s' }}\n\
             [[requests.request]]\nmethod = 'POST'\npath = '/login?t=SECRETa%2B%2F9'\nbody = 'a={SECRET}'\n\
             [requests.request.headers]\nx-auth-token = '{SECRET}'\ncookie = 'a={SECRET}'\nx-plain = '{SECRET}'\n"
        ),
    );
    let words = format!("run s.toml -d 60s --warm-up 0s --out run --metrics 0 {CALM}");
    let running = place.begin(&words);
    let url = poll("the address of the figures", || {
        let said = running.said();
        assert!(!running.is_gone(), "it has ended: {said}");
        let (_, url) = said.split_once("metrics at http://")?;
        Some(url.split_once('/')?.0.to_owned())
    });
    let metrics = poll("the figures of replies", || {
        assert!(!running.is_gone(), "it has ended: {}", running.said());
        let mut stream = TcpStream::connect(&url).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        (text.contains("200 OK") && text.contains("outcome=\"ok\"")).then_some(text)
    });
    assert!(!is_in(&metrics) && metrics.contains(&address.to_string()), "{metrics}");
    poll("a checkpoint", || place.path("run/summary.json").exists().then_some(()));
    running.signal(crate::common::Signal::INT);
    running.ended().exits(130);
    let (mut files, mut columns) = (0, 0);
    // The page shows the scenario, of which a field that holds no credential is shown as it is.
    let shows_the_scenario = |file: &Path| file.ends_with("scenario.toml") || file.ends_with("report.html");
    for file in files_below(&place.path("run")).iter().filter(|file| !shows_the_scenario(file)) {
        let text = text_of(file);
        assert!(!is_in(&text), "{}: {text}", file.display());
        files += 1;
        columns += usize::from(text.contains("outcome: \"ok\""));
    }
    assert!(files >= 5 && columns == 1, "{files} files, {columns} with samples");
    let scenario = fs::read_to_string(place.path("run/scenario.toml")).expect("a scenario");
    assert!(is_in(&scenario), "the run can be repeated");
}
