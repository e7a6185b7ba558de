//! What strangers can do: to a terminal by what they are called and say, to passwords, and to the machine by
//! a scenario.

use crate::common::wan::may_build;
use crate::common::{CALM, Ended, Place, poll};
use farfield_measure::Summary;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// Colour, a title, the control sequence introducer of eight bits, a backspace, and writing from right to
/// left.
const HOSTILE: &str = "\x1b[31m\x1b]0;owned\x07\u{9b}5A\u{8}\u{202e}";

/// That nothing which farfield printed is a control character, and that it did say the words.
#[track_caller]
fn is_clean(ended: &Ended, says: &str) {
    for text in [&ended.stdout, &ended.stderr] {
        let hostile = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c) || *c == '\u{202e}');
        assert_eq!(hostile, None, "{text:?}");
    }
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains(says), "`{says}` is not in: {all}");
}

/// Names of files, flags, keys, values and URLs, on every command that quotes them.
#[test]
fn what_is_quoted_is_clean() {
    let place = Place::new();
    let name = format!("no{HOSTILE}such");
    for words in [
        vec!["run", &name],
        vec!["run", &format!("http://{name}/")],
        vec!["run", &format!("--{name}")],
        vec!["run", "--set", &format!("{name}=1")],
        vec!["run", "--threshold", &name],
        vec!["run", "--server", "true", "--rtt", &name],
        vec!["report", &name],
        vec!["serve", &name],
        vec!["site", "make", &name, "www"],
        vec!["site", "show", &name],
        vec!["site", "read", &name],
        vec!["site", "crawl", &name],
        vec!["fit", &name],
        vec!["advise", "keepalive", &name],
        vec![&name],
    ] {
        let ended = place.farfield_with(&words);
        assert_ne!(ended.code, Some(0), "{words:?}");
        is_clean(&ended, "such");
    }
    for (text, says) in [
        (format!("'\\u001b' = 1\n\"{}\" = 2\n", "\\u001b[31mkey"), "key"),
        ("name = 'x'\n[load]\nmodel = \"\\u009b31mmodel\"\n".to_owned(), "model"),
        ("target = \"http://\\u001b[2J/\"\n".to_owned(), "[2J"),
        (format!("{HOSTILE} = here{HOSTILE}\n"), "s.toml:1"),
    ] {
        place.write("s.toml", text);
        let ended = place.farfield("run s.toml").exits(2);
        is_clean(&ended, says);
    }
}

#[test]
fn a_servers_last_words_are_clean() {
    if !may_build("a_servers_last_words_are_clean") {
        return;
    }
    let place = Place::new();
    let words = "printf 'last \\033]0;owned\\007\\033[31mwords\\r\\n'; exit 4";
    let ended = place.farfield_with(&["run", "--server", words, "-q", "-d", "1s"]).exits(1);
    is_clean(&ended, "words\n");
}

/// A run directory from elsewhere: names, warnings and the directory's own name, as text and as the document.
#[test]
fn a_strangers_summary_is_clean() {
    let place = Place::new();
    place.run("-n 20 -c 1").exits(0);
    let path = place.path("run-1/summary.json");
    let mut summary: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for at in ["/heading/scenario", "/heading/target", "/heading/load_words", "/generator/plane"] {
        *summary.pointer_mut(at).expect(at) = HOSTILE.into();
    }
    summary["warnings"] = vec![format!("beware {HOSTILE}")].into();
    // Raw where JSON allows it: eight-bit controls and DEL need no escape.
    fs::write(&path, serde_json::to_string(&summary).unwrap()).unwrap();
    let stranger = format!("run{HOSTILE}");
    fs::rename(place.path("run-1"), place.path(&stranger)).unwrap();
    is_clean(&place.farfield_with(&["report", &stranger]).exits(0), "beware");
    let document = place.farfield_with(&["report", &stranger, "--format", "json"]).exits(0);
    is_clean(&document, "beware");
    let read: serde_json::Value = serde_json::from_str(&document.stdout).expect("JSON still");
    assert_eq!(read, summary, "and says the same");
}

/// Names that would be markup, an end of text, a cell of a table, a line or a control sequence where they are
/// not written as what they are; and a harmless one, with which the others are compared.
const NAMES: [&str; 14] = [
    "harmless",
    "<script>alert(1)</script>",
    "</script></style></title></pre><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)' x='",
    "<!-- <![CDATA[ ]]> -->",
    "&lt;script&gt; &amp;#60; &#60;img&#62;",
    "javascript:alert(1)//%3Cscript%3E",
    "\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{8}\u{7f}",
    "a\u{202e}txt.exe\u{2066}\u{200f}",
    "two\r\nlines\n\n# heading\n| cell | cell |\n",
    "nul\u{0}byte",
    "=cmd|' /C calc'!A0,\"quoted\",'x' | cell | [a](b) @all *bold* ]]>",
    concat!(
        "long ",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    ),
];

/// Puts `name` into every text of a summary that may be any text, and into those alone.
fn named(summary: &serde_json::Value, free: &[String], name: &str) -> serde_json::Value {
    let mut named = summary.clone();
    for at in free {
        *named.pointer_mut(at).expect(at) = name.into();
    }
    named
}

/// The texts of a summary, as JSON pointers, that are no word of a closed list: with another it is still one.
fn free_texts(summary: &serde_json::Value) -> Vec<String> {
    fn texts(at: &str, value: &serde_json::Value, found: &mut Vec<String>) {
        let under = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            serde_json::Value::String(_) => found.push(at.to_owned()),
            serde_json::Value::Array(all) => {
                all.iter().enumerate().for_each(|(key, one)| texts(&under(&key.to_string()), one, found));
            }
            serde_json::Value::Object(all) => {
                all.iter().for_each(|(key, one)| texts(&under(key), one, found))
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    texts("", summary, &mut all);
    let is_read = |summary: &serde_json::Value| Summary::from_json(&summary.to_string()).is_ok();
    all.retain(|at| is_read(&named(summary, std::slice::from_ref(at), "any text")));
    assert!(is_read(&named(summary, &all, "any text")), "all at once");
    all
}

/// Letters that structure a format, each with how often it stands there.
fn structure(text: &str, letters: &str) -> Vec<usize> {
    // Code of advice is marked in pages: a name with backticks may be, too.
    let text = text.replace("<code>", "").replace("</code>", "");
    letters.chars().map(|letter| text.matches(letter).count()).collect()
}

/// A summary from elsewhere with each of the names wherever a text may stand, through every output: it says
/// the same, in the same structure, and nothing of it is a control character.
#[test]
fn hostile_names_are_text_in_every_output() {
    let place = Place::new();
    place.write("s.toml", TOPOLOGY);
    place.run("s.toml").exits(99);
    let run = place.path("run-1");
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let free = free_texts(&summary);
    for needed in
        ["/heading/target", "/classes/0/name", "/network/topology/links/0/from", "/thresholds/0/text"]
    {
        assert!(free.iter().any(|at| at == needed), "{needed} is not among {free:?}");
    }
    for folder in ["base", "stranger"] {
        fs::create_dir(place.path(folder)).unwrap();
        for entry in fs::read_dir(&run).unwrap().flatten() {
            fs::copy(entry.path(), place.path(folder).join(entry.file_name())).unwrap();
        }
    }
    let outputs: [(&str, &str); 11] = [
        ("report stranger", "\n"),
        ("report stranger --format html", "<>\"\n"),
        // A text of XML may have lines.
        ("report stranger --format junit", "<>\""),
        ("report stranger --format markdown", "\n"),
        ("report stranger --format csv", ",\n"),
        ("report stranger --format jsonl", "{}\"\n"),
        ("report stranger --format hdr", ",\n"),
        ("compare base stranger", "\n"),
        ("compare base stranger --format html", "<>\"\n"),
        ("compare base stranger --format markdown", "\n"),
        ("runs .", "\n"),
    ];
    let mut harmless: Vec<Vec<usize>> = Vec::new();
    for name in NAMES {
        let planted = named(&summary, &free, name);
        fs::write(place.path("stranger/summary.json"), planted.to_string()).unwrap();
        let machine = serde_json::json!({ "kernel": name, "settings": [{ "name": name, "value": name }] });
        fs::write(place.path("stranger/environment.json"), machine.to_string()).unwrap();
        for (number, (words, letters)) in outputs.into_iter().enumerate() {
            let ended = place.farfield(words);
            let what = format!("`{words}` with {name:?}");
            for text in [&ended.stdout, &ended.stderr] {
                let control = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
                let turns = text.chars().find(|c| "\u{200f}\u{202e}\u{2066}".contains(*c));
                assert_eq!((control, turns), (None, None), "{what}");
            }
            // Texts that are wrapped, or cells that are cut, have other lines by their length.
            let is_wrapped = letters == "\n";
            let found = structure(&ended.stdout, letters);
            if name == NAMES[0] {
                assert!(ended.stdout.len() > 100, "{what}: {}{}", ended.stdout, ended.stderr);
                harmless.push(found);
            } else if !is_wrapped {
                assert_eq!(found, harmless[number], "{what}");
            }
            let raw = ["<script>alert", "<img", "<svg onload", "<!--", "</script></style>"];
            let is_markup = words.contains("html") || words.contains("junit");
            assert!(!is_markup || !raw.iter().any(|part| ended.stdout.contains(part)), "{what}");
        }
        let document = place.farfield("report stranger --format json").stdout;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&document).expect(name), planted, "{name:?}");
    }
}

/// Two classes on a topology, cross traffic, and a threshold that is not kept.
const TOPOLOGY: &str = "plane = 'simulated'\nthresholds = ['p99<1us']\n\
    run = { duration = '2s', warm-up = '200ms' }\nload = { model = 'open', arrivals = '60/s' }\n\
    [[network.class]]\nname = 'home'\nhosts = ['one']\n[[network.class]]\nname = 'office'\nhosts = ['two']\n\
    [network.topology]\nserver = 'www'\nhosts = ['www', 'one', 'two']\nrouters = ['core']\nlinks = [\n\
    { from = 'www', to = 'core', link = { rate = '1Mbit', delay = '1ms' } },\n\
    { from = 'core', to = 'one', link = { rate = '2Mbit', delay = '9ms' } },\n\
    { from = 'core', to = 'two', link = { rate = '3Mbit', delay = '3ms' } }]\n\
    [[network.cross-traffic]]\nlink = { from = 'www', to = 'core' }\nrate = '100kbit'\n";

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

/// What a file says; of one in columns, what these say without their compression.
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

/// What is sent and comes back is not in the files of figures: credentials, cookies, bodies and paths, here
/// of requests without sessions.
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

/// A scenario that would start a program, write files and send requests.
#[test]
fn showing_a_scenario_runs_nothing() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let marker = place.path("started");
    for text in [
        format!("target = 'http://{address}/'\n[output]\ndirectory = 'run'\n"),
        format!(
            "plane = 'emulated'\n[server]\ncommand = 'touch {0}; sleep 9'\n[network]\nrtt = '2ms'\n\
             [[network.program]]\nclass = 'clients'\ncommand = 'touch {0}'\n",
            marker.display()
        ),
    ] {
        place.write("s.toml", &text);
        let before = fs::read_dir(place.path("")).unwrap().count();
        let shown = place.farfield("run s.toml --show-scenario").exits(0);
        assert!(shown.stdout.contains("[load]"), "{}", shown.stdout);
        // Its own two outputs, which the test takes.
        assert_eq!(fs::read_dir(place.path("")).unwrap().count(), before + 2, "{text}");
    }
    assert!(!marker.exists());
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");
}

/// With folders of its own for temporary files and for what a user has at home.
#[test]
fn a_run_writes_into_its_directory_alone() {
    let place = Place::new();
    let planes: &[&str] = match may_build("a_run_writes_into_its_directory_alone") {
        true => &["sockets", "simulated", "emulated"],
        false => &["sockets", "simulated"],
    };
    for folder in ["tmp", "home", "here"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    place.write(
        "model.toml",
        "pages = 3\ndocuments = 1\nembedded-objects = 2\nembedded = 1\nlinks = 1\n\
        sizes = { body = { distribution = 'constant', value = 900 } }\n",
    );
    for plane in planes {
        // The built-in server gets the site as files.
        let line = format!(
            "export TMPDIR=$PWD/tmp HOME=$PWD/home; cd here && exec FARFIELD run --plane {plane} -n 20 -c 1 -q \
             --set requests.site='../model.toml' --out run-{plane} {}",
            crate::common::CALM
        );
        let ended = crate::common::shell(&place, &line);
        assert!(matches!(ended.code, Some(0 | 3)), "{plane}: {ended:?}");
        for folder in ["tmp", "home"] {
            let left: Vec<_> = fs::read_dir(place.path(folder)).unwrap().flatten().collect();
            assert!(left.is_empty(), "{plane}: {left:?}");
        }
        fs::remove_dir_all(place.path(&format!("here/run-{plane}"))).expect("the run");
        assert_eq!(fs::read_dir(place.path("here")).unwrap().count(), 0, "{plane}");
    }
}

/// As root a setting's name once reached any file below `/`.
#[test]
fn settings_are_those_of_a_network_namespace() {
    let place = Place::new();
    for name in ["vm.swappiness", "kernel.core_pattern", "net.//.kernel.core_pattern", "net..x", "net."] {
        place.write("s.toml", format!("plane = 'emulated'\n[server]\nsettings = {{ \"{name}\" = '1' }}\n"));
        let ended = place.farfield("run s.toml").exits(2);
        assert!(
            ended.stderr.contains("is not the name of a setting of a network namespace"),
            "{}",
            ended.stderr
        );
    }
}

/// `report` reads files, not pipes that nobody writes into, nor devices without an end.
#[test]
fn a_summary_that_is_no_file_is_refused() {
    let place = Place::new();
    for (name, target) in [("device", "/dev/zero"), ("terminal", "/dev/ptmx")] {
        fs::create_dir(place.path(name)).unwrap();
        std::os::unix::fs::symlink(target, place.path(name).join("summary.json")).unwrap();
        place.farfield(&format!("report {name}")).exits(2).says(&["is no regular file"]);
    }
}
