//! Attacks by strangers: on a terminal by what they are called and say, on passwords, and on the machine by a
//! scenario.

use crate::common::wan::may_build;
use crate::common::{Ended, Place};
use farfield_measure::Summary;
use std::fs;
use std::net::TcpListener;

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
