//! Documents whose parts lie between modules: which server is asked, which files are read, what is counted.

use crate::{DocumentKind, ImportError, ImportSource, Imported, Wishes, import, import_words};
use std::io;
use std::path::Path;

pub(crate) fn of(kind: DocumentKind, text: &str, wishes: &Wishes) -> Result<Imported, ImportError> {
    let mut load = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"CONTENT".to_vec()) };
    import(kind, ImportSource { name: "a", bytes: text.as_bytes(), load: &mut load }, wishes)
}

fn curl(text: &str) -> Imported {
    of(DocumentKind::Curl, text, &Wishes::default()).expect(text)
}

fn left_out(imported: &Imported) -> Vec<&'static str> {
    imported.reading.left_out.iter().map(|remark| remark.what).collect()
}

#[test]
fn a_document_names_no_file_elsewhere() {
    let imported =
        curl("curl http://a/1 -d @/etc/shadow\ncurl http://a/2 -d @../x\ncurl http://a/3 -d @b.txt");
    assert_eq!(left_out(&imported), [crate::files::OUTSIDE]);
    assert_eq!((imported.reading.taken, imported.files), (1, vec!["b.txt".to_owned()]));
    let item = r#"{"name": "a", "request": {"method": "POST", "url": "http://a/",
        "body": {"mode": "file", "file": {"src": "/proc/self/environ"}}}}"#;
    let text = format!(r#"{{"item": [{item}]}}"#);
    let error = of(DocumentKind::Postman, &text, &Wishes::default()).expect_err("nothing is left");
    assert!(error.to_string().contains(crate::files::OUTSIDE), "{error}");
    let words = ["http://a/", "-d", "@/etc/motd"].map(str::to_owned);
    let mut load = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"CONTENT".to_vec()) };
    let by_hand = import_words(&words, &mut load, &Wishes::default()).expect("by hand");
    assert!(by_hand.scenario.contains("CONTENT") && by_hand.files == ["/etc/motd"]);
}

#[test]
fn what_a_variable_names_goes_to_no_other_server() {
    let text = "curl http://a.example/1\ncurl \"$AUTH_URL/token\" -d secret=1";
    let imported = curl(text);
    assert!(!imported.scenario.contains("secret"), "{}", imported.scenario);
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (1, 1));
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    let text = "curl $A/1\ncurl $A/2\ncurl $B/3\ncurl http://a.example/4";
    let imported = of(DocumentKind::Curl, text, &wishes).expect("the target's");
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (2, 2));
}

#[test]
fn what_was_asked_for_by_tls_is_not_asked_for_in_clear() {
    let imported = curl("curl http://h/1\ncurl http://h/2\ncurl https://h/3");
    assert_eq!((imported.target.as_str(), left_out(&imported)), ("http://h/", vec!["of another server"]));
}

#[test]
fn variables_of_a_query_are_sent() {
    let imported = curl("curl -G -d \"a=$X\" -d 'b=$5' http://h/\ncurl --url-query \"a=$X\" http://h/c");
    assert!(imported.scenario.contains("/?a=${env.X}&b=$$5\""), "{}", imported.scenario);
    assert!(imported.scenario.contains("/c?a=${env.X|form}"), "{}", imported.scenario);
}

#[test]
fn entries_and_their_text_are_bounded() {
    let text = format!("A={}\n{}", "x".repeat(1 << 20), "curl http://h/ -d \"$A\"\n".repeat(70));
    assert!(of(DocumentKind::Curl, &text, &Wishes::default()).is_err(), "variables of a script");
    let example = format!(r#"{{"example": "{}"}}"#, "x".repeat(1 << 20));
    let body = r##"{"content": {"application/json": {"schema": {"$ref": "#/x-a"}}}}"##;
    let paths: Vec<String> =
        (0..70).map(|at| format!(r#""/{at}": {{"post": {{"requestBody": {body}}}}}"#)).collect();
    let paths = paths.join(", ");
    let text = format!(r#"{{"openapi": "3.0.0", "x-a": {example}, "paths": {{{paths}}}}}"#);
    let target = "http://127.0.0.1/".parse().ok();
    let imported =
        of(DocumentKind::OpenApi, &text, &Wishes { target, all_methods: true, ..Wishes::default() });
    assert_eq!(imported.expect("some").reading.taken, 63);
}

#[test]
fn elements_that_are_not_known_are_counted() {
    let sampler = r#"<HTTPSamplerProxy testname="a"><stringProp name="HTTPSampler.domain">h</stringProp></HTTPSamplerProxy>
        <hashTree><HeaderManager><collectionProp name="HeaderManager.headers"><elementProp name="">
        <stringProp name="Header.name">Host</stringProp></elementProp></collectionProp></HeaderManager><hashTree/></hashTree>"#;
    let others = "<InterleaveControl/><hashTree/><RunTime/><hashTree/><IncludeController/><hashTree/><TestAction/><hashTree/>
        <ResultCollector/><hashTree/>";
    let text = format!(
        "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup/><hashTree>{sampler}{others}</hashTree></hashTree></hashTree></jmeterTestPlan>"
    );
    let imported = of(DocumentKind::JMeter, &text, &Wishes::default()).expect("a sampler");
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (1, 4));
    assert!(imported.reading.differing[0].what.contains("`Host`"), "{:?}", imported.reading);
}

/// A plan of these elements, in a thread group.
fn plan(elements: &str) -> Imported {
    let text = format!(
        "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup><stringProp name=\"ThreadGroup.num_threads\">1</stringProp></ThreadGroup>\
         <hashTree>{elements}</hashTree></hashTree></hashTree></jmeterTestPlan>"
    );
    of(DocumentKind::JMeter, &text, &Wishes::default()).expect(&text)
}

fn sampler(name: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname=\"{name}\"><stringProp name=\"HTTPSampler.domain\">h</stringProp>\
         <stringProp name=\"HTTPSampler.path\">/{name}</stringProp></HTTPSamplerProxy><hashTree/>"
    )
}

fn action(action: u8, duration: &str, below: &str) -> String {
    format!(
        "<TestAction testname=\"think\"><intProp name=\"ActionProcessor.action\">{action}</intProp>\
         <stringProp name=\"ActionProcessor.duration\">{duration}</stringProp></TestAction><hashTree>{below}</hashTree>"
    )
}

/// The think time behind each state, by name.
fn thinks(imported: &Imported) -> Vec<(String, String)> {
    let scenario: toml::Table = imported.scenario.parse().expect("a scenario");
    let states = scenario["session"]["state"].as_array().expect("states");
    let of = |state: &toml::Value| {
        (state["name"].as_str().expect("a name").to_owned(), state["think"].to_string().replace('"', ""))
    };
    states.iter().map(of).collect()
}

#[test]
fn an_action_that_pauses_is_a_think_time() {
    let random = "<UniformRandomTimer><stringProp name=\"ConstantTimer.delay\">1000</stringProp>\
         <stringProp name=\"RandomTimer.range\">100.0</stringProp></UniformRandomTimer><hashTree/>";
    let imported =
        plan(&[sampler("a"), action(1, "500", random), sampler("b"), action(1, "200", "")].concat());
    let of = |name: &str, think: &str| (name.to_owned(), think.to_owned());
    let uniform = "{ distribution = uniform, max = 1.6s, min = 1.5s }";
    assert_eq!(thinks(&imported), [of("a", uniform), of("b", "200ms")]);
    assert_eq!((imported.reading.taken, left_out(&imported)), (2, vec![]));
    // Two of them, and one of a time that nobody knows.
    let imported = plan(&[sampler("a"), action(1, "1", ""), action(1, "2", ""), sampler("b")].concat());
    assert_eq!(thinks(&imported), [of("a", "3ms"), of("b", "0s")]);
    let imported = plan(&[sampler("a"), action(1, "${x}", ""), sampler("b")].concat());
    assert_eq!(imported.reading.differing[0].what, "without a timer that has no equivalent");
    assert!(imported.reading.differing[0].first.contains("sampler 2, b"), "{:?}", imported.reading);
    // An action that stops the thread is none.
    let imported = plan(&[sampler("a"), action(0, "0", ""), sampler("b")].concat());
    assert_eq!(left_out(&imported), ["in an element that import does not know"]);
}

#[test]
fn a_server_without_a_scheme_is_asked_by_http() {
    let of = |server: &str, wishes: &Wishes| {
        let text = format!("openapi: 3.0.0\nservers: [{{url: '{server}'}}]\npaths: {{/a: {{get: {{}}}}}}\n");
        super::tests::of(DocumentKind::OpenApi, &text, wishes)
    };
    for (server, target, path) in [
        ("localhost:9000", "http://localhost:9000/", "/a"),
        ("localhost/api", "http://localhost/", "/api/a"),
        ("api.example.com/v1/", "http://api.example.com/", "/v1/a"),
    ] {
        let imported = of(server, &Wishes::default()).expect(server);
        assert_eq!(imported.target, target);
        assert!(imported.scenario.contains(&format!("path = \"{path}\"")), "{}", imported.scenario);
        let differing = &imported.reading.differing;
        assert_eq!(differing[0].what, "of a server whose URL has no scheme, by HTTP", "{server}");
    }
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    for (server, path) in [("v2", "/v2/a"), ("./v3", "/v3/a"), ("/", "/a")] {
        let imported = of(server, &wishes).expect(server);
        assert!(imported.scenario.contains(&format!("path = \"{path}\"")), "{}", imported.scenario);
        assert_eq!(imported.reading.differing, []);
        assert_eq!(of(server, &Wishes::default()), Err(ImportError::NoServer), "{server}");
    }
    for server in ["ftp://h/", "mailto:somebody"] {
        assert!(of(server, &wishes).is_err(), "{server}");
    }
}

/// A collection as Postman writes it, of a document that names no server.
#[test]
fn a_url_that_is_a_path_goes_to_the_target() {
    let text = r#"{"item": [{"name": "a", "request": {"url": {"host": ["{{baseUrl}}"], "path": ["a", "b"]}}},
        {"name": "c", "request": "/c?d=1"}], "variable": [{"key": "baseUrl", "value": "/"}]}"#;
    assert_eq!(of(DocumentKind::Postman, text, &Wishes::default()), Err(ImportError::NoServer));
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    let imported = of(DocumentKind::Postman, text, &wishes).expect("the target's");
    for path in ["path = \"/a/b\"", "path = \"/c?d=1\""] {
        assert!(imported.scenario.contains(path), "{}", imported.scenario);
    }
}

/// An archive whose entries, or some of them, have no instants is one in the order of its entries; one in
/// which nothing is to be asked for is an archive all the same.
#[test]
fn entries_without_instants_are_asked_for_in_their_order() {
    let entry = |path: &str, more: &str| {
        format!(r#"{{"request": {{"method": "GET", "url": "http://h/{path}"}}{more}}}"#)
    };
    let at = |second: u32| format!(r#", "startedDateTime": "2026-01-01T00:00:0{second}Z""#);
    let archive = |entries: &[String]| format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(", "));
    let text = archive(&[entry("b", ""), entry("a", r#", "startedDateTime": "yesterday""#)]);
    let imported = of(DocumentKind::Har, &text, &Wishes::default()).expect("an archive");
    assert_eq!(thinks(&imported).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!((imported.reading.taken, imported.reading.differing[0].count), (2, 2));
    let text = archive(&[entry("c", &at(5)), entry("d", ""), entry("e", &at(1))]);
    let imported = of(DocumentKind::Har, &text, &Wishes::default()).expect("an archive");
    let seconds: Vec<String> =
        thinks(&imported).into_iter().map(|(name, think)| name + " " + &think).collect();
    assert_eq!(seconds, ["e 4s", "c 0s", "d 0s"]);
    assert_eq!(imported.reading.differing[0].first, "entry 2, http://h/d");
    let text = archive(&[entry("a", "").replace("http", "ws")]);
    let error = of(DocumentKind::Har, &text, &Wishes::default()).expect_err("nothing");
    assert!(error.to_string().starts_with("has nothing that could be asked for: 1 of 1"), "{error}");
    let text = archive(&[entry("a", "").replace("http://", "ws://user:word@\\nforged: ")]);
    let error = of(DocumentKind::Har, &text, &Wishes::default()).expect_err("nothing").to_string();
    assert!(!error.contains(['\n', '\u{1b}']) && !error.contains("word@"), "{error}");
    let error = of(DocumentKind::Har, "{\"log\": {}}", &Wishes::default()).expect_err("no archive");
    assert!(error.to_string().starts_with("is no HTTP Archive: missing field"), "{error}");
}

/// A variable and more before the path is no server that a target could stand for.
#[test]
fn a_server_in_parts_is_left_out() {
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    for url in ["$HOST:8080/health", "${SUB}.example.com/users", "$A$B/x"] {
        let error = of(DocumentKind::Curl, &format!("curl \"{url}\""), &wishes).expect_err(url);
        assert!(error.to_string().contains(crate::text::SERVER_IN_PARTS), "{url}: {error}");
    }
    for url in ["{{sub}}.example.com/users", "{{scheme}}://127.0.0.1:8080/b", "{{host}}:80/"] {
        let text = format!(r#"{{"item": [{{"name": "a", "request": "{url}"}}]}}"#);
        let error = of(DocumentKind::Postman, &text, &wishes).expect_err(url);
        assert!(error.to_string().contains(crate::text::SERVER_IN_PARTS), "{url}: {error}");
    }
    for text in ["curl \"$HOST\"", "curl \"$HOST/a\"", "curl \"$HOST?a\""] {
        assert_eq!(of(DocumentKind::Curl, text, &wishes).expect(text).reading.taken, 1, "{text}");
    }
    // Braces within braces end where they do.
    let error = of(DocumentKind::Curl, "curl \"http://h/${A:-${B}}\"", &wishes)
        .expect_err("a default with a variable");
    assert!(error.to_string().contains("with a parameter of a shell's script"), "{error}");
}

/// Messages are a line of their own each, and short, whatever stands in a document.
#[test]
fn what_is_said_is_short_and_on_one_line() {
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    let text = "curl 'http://h/?password%0Awarning:%20forged=1'";
    let imported = of(DocumentKind::Curl, text, &Wishes::default()).expect(text);
    assert_eq!(imported.secrets[0].0, "password warning: forged");
    let name = "x".repeat(100_000);
    let text = format!(r#"{{"item": [{{"name": "a", "request": "{{{{{name}}}}}/a"}}]}}"#);
    let imported = of(DocumentKind::Postman, &text, &wishes).expect("the target's");
    assert!(imported.notes.iter().all(|note| note.len() < 600), "{:?}", imported.notes);
    let error = of(DocumentKind::Curl, &format!("curl --{name} http://h/"), &wishes).expect_err("no option");
    assert!(error.to_string().len() < 600, "{}", error.to_string().len());
    assert_eq!(curl("curl --max-time 0 http://h/").reading.taken, 1);
}

/// Lists as long as a document can have are read at once: nothing is searched, or written anew, for each.
#[test]
fn long_lists_are_read_at_once() {
    const MANY: usize = 50_000;
    let list =
        |of: &dyn Fn(usize) -> String, between: &str| (0..MANY).map(of).collect::<Vec<_>>().join(between);
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    let segments = list(&|at| format!("/:p{at}"), "");
    let values = list(&|at| format!(r#"{{"key": "p{at}", "value": "{at}"}}"#), ",");
    let text = format!(
        r#"{{"item": [{{"name": "a", "request": {{"url": {{"raw": "http://h{segments}", "variable": [{values}]}}}}}}]}}"#
    );
    let imported = of(DocumentKind::Postman, &text, &wishes).expect("a path of many parts");
    assert!(imported.scenario.contains("/49998/49999\""), "{}", imported.scenario.len());

    let names = list(&|at| format!("\"p{at}\""), ",");
    let properties = list(&|at| format!("\"p{at}\": {{\"readOnly\": true}}"), ",");
    let schema = format!(
        r#"{{"type": "object", "required": ["a", {names}], "properties": {{{properties}, "a": {{"example": 1}}}}}}"#
    );
    let text = format!(
        r#"{{"openapi": "3.0.0", "paths": {{"/": {{"post": {{"requestBody": {{"content": {{"application/json": {{"schema": {schema}}}}}}}}}}}}}}}"#
    );
    let wishes = Wishes { all_methods: true, ..wishes };
    let imported = of(DocumentKind::OpenApi, &text, &wishes).expect("an object of many members");
    assert!(imported.scenario.contains(r#"body = '{"a":1}'"#), "{}", imported.scenario);
}

#[test]
fn a_server_has_the_values_of_its_variables() {
    let of = |server: &str, given: Option<&str>| {
        let text =
            format!("openapi: 3.0.0\nservers: [{server}]\npaths: {{/a: {{get: {{}}, get: {{x: 1}}}}}}\n");
        let values = given.map(|own| ("b".to_owned(), own.to_owned())).into_iter().collect();
        let imported =
            super::tests::of(DocumentKind::OpenApi, &text, &Wishes { values, ..Wishes::default() });
        imported.map(|own| (own.target, own.reading.taken))
    };
    let server = "{url: 'http://{a}.{b}/', variables: {a: {default: x}, b: {default: z}}}";
    assert_eq!(of(server, None), Ok(("http://x.z/".to_owned(), 1)));
    assert_eq!(of(server, Some("y")), Ok(("http://x.y/".to_owned(), 1)));
    for server in ["{url: 'http://{a}/'}", "{url: 'http://a{/'}"] {
        assert!(of(server, None).is_err(), "{server}");
    }
}

/// A user of the plan waits before a request that is left out, too: the pauses are one.
#[test]
fn a_pause_before_a_request_that_is_left_out_is_not_lost() {
    let of = |name: &str, think: &str| (name.to_owned(), think.to_owned());
    let elsewhere = sampler("x").replace(">h<", ">other<");
    let unknown = sampler("x").replace("/x", "/${none}");
    let debug = "<DebugSampler testname=\"x\"/><hashTree/>".to_owned();
    for left_out in [elsewhere, unknown, debug] {
        let timer = "<ConstantTimer><stringProp name=\"ConstantTimer.delay\">20</stringProp></ConstantTimer><hashTree/>";
        let elements = [
            timer.to_owned(),
            sampler("a"),
            action(1, "500", ""),
            left_out.clone(),
            action(1, "200", ""),
            sampler("b"),
            sampler("c"),
        ];
        let imported = plan(&elements.concat());
        // Each of the timer, that of the actions among them.
        assert_eq!(
            thinks(&imported),
            [of("a", "780ms"), of("b", "20ms"), of("c", "20ms")],
            "{left_out}: {:?}",
            imported.reading
        );
        // Behind the last, too.
        let elements = [sampler("a"), sampler("b"), action(1, "500", ""), left_out.clone()];
        assert_eq!(thinks(&plan(&elements.concat())), [of("a", "0s"), of("b", "500ms")], "{left_out}");
    }
    // An archive's gaps, around a body that is no text.
    let entry = |page: u32, more: &str| {
        format!(
            r#"{{"pageref": "{page}", "startedDateTime": "2026-01-01T00:00:0{page}Z", "time": 500,
                "request": {{"method": "POST", "url": "http://h/p{page}"{more}}}}}"#
        )
    };
    let bytes = r#", "postData": {"mimeType": "a/b", "text": "/w==", "encoding": "base64"}"#;
    let text =
        format!(r#"{{"log": {{"entries": [{}, {}, {}]}}}}"#, entry(0, ""), entry(2, bytes), entry(5, ""));
    let imported = super::tests::of(DocumentKind::Har, &text, &Wishes::default()).expect("an archive");
    assert_eq!(left_out(&imported), ["whose body is no text in UTF-8"]);
    assert_eq!(thinks(&imported), [of("post-p0", "4s"), of("post-p5", "0s")]);
}

/// Differences of an entry that is left out are nobody's concern.
#[test]
fn remarks_are_of_requests_that_are_taken() {
    let imported = curl("curl --socks5 p http://other/\ncurl http://h/1\ncurl --socks5 p http://h/2");
    let differing = |imported: &Imported| {
        imported.reading.differing.iter().map(|own| (own.count, own.first.clone())).collect::<Vec<_>>()
    };
    assert_eq!(differing(&imported).first(), Some(&(1, "request 3, http://h/2".to_owned())), "{imported:?}");
    let parser = "<boolProp name=\"HTTPSampler.image_parser\">true</boolProp></HTTPSamplerProxy>";
    let parsing = |name: &str| sampler(name).replace("</HTTPSamplerProxy>", parser);
    let imported = plan(&[parsing("x").replace(">h<", ">other<"), parsing("a"), sampler("b")].concat());
    assert_eq!(differing(&imported), [(1, "sampler 2, a".to_owned())]);
    let text = "swagger: '2.0'\nhost: h\nsecurity: [{key: []}]\npaths: {/a: {get: {}, put: {}}}\n";
    let imported = of(DocumentKind::OpenApi, text, &Wishes::default()).expect("a GET");
    assert_eq!(differing(&imported), [(1, "GET /a, scheme `key`".to_owned())]);
    // In an archive that has a field that cannot be sent, and no body.
    let text = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://h/a"}}, {"request": {"method": "POST",
        "url": "http://h/b", "headers": [{"name": "no name", "value": ""}], "bodySize": 5}}]}}"#;
    let imported = of(DocumentKind::Har, text, &Wishes::default()).expect("a GET");
    assert_eq!(left_out(&imported), ["whose body the archive does not have"]);
    assert_eq!(differing(&imported), [(1, "entry 1, http://h/a".to_owned())]);
}

/// A scenario in another folder than the document names its files all the same.
#[test]
fn files_are_named_from_where_the_scenario_stands() {
    let wishes = Wishes { folder: Some("/d".into()), ..Wishes::default() };
    let text = "curl https://h/ --cacert ca.pem --key /k.pem --cert c.pem -T b.bin --unix-socket s";
    let mut load = |_: &Path| -> io::Result<Vec<u8>> { Ok(vec![0xff]) };
    let source = ImportSource { name: "a", bytes: text.as_bytes(), load: &mut load };
    let imported = import(DocumentKind::Curl, source, &wishes).expect(text);
    for line in [
        "body = { file = \"/d/b.bin\" }",
        "ca = \"/d/ca.pem\"",
        "certificate = \"/d/c.pem\"",
        "key = \"/k.pem\"",
        "unix-socket = \"/d/s\"",
    ] {
        assert!(imported.scenario.contains(line), "{line}: {}", imported.scenario);
    }
}

/// curl sends cookies again only where a command keeps them.
#[test]
fn cookies_are_kept_as_curl_keeps_them() {
    let of = |text: &str| {
        let imported = curl(text);
        let mixed = imported.notes.iter().any(|note| note.contains("also those of commands without `-b`"));
        (imported.reading.taken, !imported.scenario.contains("cookies = false"), mixed)
    };
    assert_eq!(of("curl http://h/1\ncurl http://h/2"), (2, false, false));
    assert_eq!(of("curl -b a=b http://h/1"), (1, false, false));
    assert_eq!(of("curl -b '' -L http://h/1"), (1, true, false));
    assert_eq!(of("curl -c jar http://h/1\ncurl -b jar http://h/2"), (2, true, false));
    assert_eq!(of("curl -b $J -c $J http://h/1\ncurl http://h/2"), (2, true, true));
    // A jar that nothing has written is not known.
    assert_eq!(of("curl -b jar http://h/1\ncurl -c jar http://h/2"), (1, true, false));
}

#[test]
fn a_unix_socket_is_asked_as_curl_asks_it() {
    let imported = curl("curl --unix-socket /run/a.sock --resolve h:80:127.0.0.1 -x p http://h/1");
    for (part, is_there) in
        [("unix-socket = \"/run/a.sock\"", true), ("proxy", false), ("connect-to", false), ("sockets", false)]
    {
        assert_eq!(imported.scenario.contains(part), is_there, "{part}: {}", imported.scenario);
    }
    assert!(imported.notes.iter().any(|note| note.contains("`/run/a.sock`")), "{:?}", imported.notes);
    let imported = curl("curl --abstract-unix-socket a http://h/1");
    assert!(imported.scenario.contains("unix-socket = \"@a\""), "{}", imported.scenario);
    let error = of(DocumentKind::Curl, "curl --unix-socket $S http://h/", &Wishes::default())
        .expect_err("a variable");
    assert!(error.to_string().contains("to a Unix socket whose name is a variable"), "{error}");
}

/// Over plain HTTP a browser's `fetch` has the fields of an image: only Chromium's note tells them apart.
#[test]
fn what_chromium_says_a_script_asked_for_is_no_object() {
    let entry = |second: u8, method: &str, path: &str, kind: &str, more: &str| {
        format!(
            r#"{{"startedDateTime": "2026-11-26T10:00:0{second}.000Z", "time": 5, "pageref": "p", "_resourceType": "{kind}",
               "request": {{"method": "{method}", "url": "http://h{path}", "headers": [{{"name": "Accept", "value": "*/*"}}{more}]}},
               "response": {{"status": 200}}}}"#
        )
    };
    let cookie = r#", {"name": "Cookie", "value": "s=1"}"#;
    let of_archive = |entries: &[String]| {
        let text = format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(","));
        of(DocumentKind::Har, &text, &Wishes::default()).expect("a page")
    };
    let page = entry(0, "GET", "/", "document", "");
    let image = entry(1, "GET", "/i.png?v=1", "image", cookie);
    let login = entry(2, "POST", "/login", "xhr", "");
    let own = entry(3, "GET", "/me?a", "fetch", cookie);
    let imported = of_archive(&[page.clone(), image.clone(), login, own]);
    let at =
        |text: &str| imported.scenario.find(text).unwrap_or_else(|| panic!("{text}: {}", imported.scenario));
    assert!(imported.scenario.contains("embedded = [\"/i.png?v=1\"]"), "{}", imported.scenario);
    assert!(at("path = \"/login\"") < at("path = \"/me?a\""), "in the order of the archive");
    assert!(at("path = \"/me?a\"") < at("headers.cookie = \"s=1\""), "with its fields");
    let says_cookie =
        |imported: &Imported| imported.notes.iter().any(|note| note.contains("fields `Cookie`"));
    assert!(says_cookie(&imported), "{:?}", imported.notes);
    assert!(!says_cookie(&of_archive(&[page, image])), "no state has one");
}

/// Settings that a scenario has once are those of the first command that is in it, whoever is left out
/// before.
#[test]
fn what_is_once_is_of_the_first_command_taken() {
    let others = "curl -k -m 3 -x p -c jar http://other/\n";
    let text = format!("{others}curl -m 7 http://h/1\ncurl -m 7 http://h/2\ncurl -m 9 http://h/3");
    let imported = curl(&text);
    let has = |imported: &Imported, part: &str| imported.scenario.contains(part);
    assert!(has(&imported, "request-timeout = \"7000ms\""), "{}", imported.scenario);
    assert!(!has(&imported, "proxy") && has(&imported, "cookies = false"), "{}", imported.scenario);
    let differing = &imported.reading.differing;
    assert_eq!((differing.len(), differing[0].count), (1, 1), "{differing:?}");
    assert!(differing[0].first.contains("http://h/3"), "{differing:?}");
    // The target of `--target` has the word, and not the order of commands.
    let target = "http://other/".parse().ok();
    let imported =
        of(DocumentKind::Curl, &text, &Wishes { target, ..Wishes::default() }).expect("one of two");
    assert!(
        has(&imported, "proxy = \"http://p:1080\"") && !has(&imported, "cookies"),
        "{}",
        imported.scenario
    );
    assert!(has(&imported, "request-timeout = \"3000ms\""), "{}", imported.scenario);
    // One that cannot be sent.
    let imported = curl("curl -m 3 -X 'NO METHOD' http://h/1\ncurl -L http://h/2");
    assert!(has(&imported, "redirects = 50") && !has(&imported, "request-timeout"), "{}", imported.scenario);
}

/// A proxy of a request is not taken, and that is said; operations on no path are nobody's remarks.
#[test]
fn proxies_and_parameters_are_said_of_what_is_asked() {
    let said = |imported: &Imported| -> Vec<(&'static str, u64)> {
        imported.reading.differing.iter().map(|own| (own.what, own.count)).collect()
    };
    let request = |proxy: &str| {
        format!(r#"{{"name": "a", "request": {{"method": "GET", "url": "http://h/a"{proxy}}}}}"#)
    };
    let proxied = request(r#", "proxy": {"host": "p", "port": 3128}"#);
    let disabled = request(r#", "proxy": {"host": "p", "disabled": true}"#);
    let schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
    let text =
        format!(r#"{{"info": {{"name": "c", "schema": "{schema}"}}, "item": [{proxied}, {disabled}]}}"#);
    let imported = of(DocumentKind::Postman, &text, &Wishes::default()).expect("a collection");
    assert!(said(&imported)[0].0.starts_with("without their proxy") && said(&imported)[0].1 == 1);
    let named = sampler("a").replace(
        "<stringProp name=\"HTTPSampler.path\">",
        "<stringProp name=\"HTTPSampler.proxyHost\">p</stringProp><stringProp name=\"HTTPSampler.path\">",
    );
    let imported = plan(&(named + &sampler("b")));
    assert!(
        said(&imported).iter().any(|(what, count)| what.starts_with("without their proxy") && *count == 1)
    );
    let parameter =
        r#""parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}], "responses": {}"#;
    let text = |methods: &str| {
        format!(
            r#"{{"openapi": "3.0.0", "servers": [{{"url": "http://h/"}}], "paths": {{"/a": {{{methods}}}}}}}"#
        )
    };
    let both = text(&format!(r#""get": {{"responses": {{}}}}, "delete": {{{parameter}}}"#));
    let imported = of(DocumentKind::OpenApi, &both, &Wishes::default()).expect("a document");
    assert_eq!((said(&imported), imported.notes.len()), (Vec::new(), 0));
    let imported =
        of(DocumentKind::OpenApi, &both, &Wishes { all_methods: true, ..Wishes::default() }).expect("both");
    assert!(said(&imported)[0].0.starts_with("without their optional parameters"), "{:?}", said(&imported));
}

/// Requests of servers that the user names are taken along, and lead there.
#[test]
fn named_hosts_are_taken_along() {
    let text = "curl http://shop/1\ncurl http://shop/2\ncurl https://api:8443/v1?a=b\ncurl http://ads/3";
    let hosts = vec!["https://api:8443/".parse().expect("a URL")];
    let imported =
        of(DocumentKind::Curl, text, &Wishes { hosts, ..Wishes::default() }).expect("three of four");
    assert_eq!((imported.reading.taken, left_out(&imported)), (3, vec!["of another server"]));
    assert!(imported.scenario.contains("[[host]]\nurl = \"https://api:8443/\"\n"), "{}", imported.scenario);
    assert!(imported.scenario.contains("path = \"https://api:8443/v1?a=b\""), "{}", imported.scenario);
    assert_eq!(imported.target, "http://shop/");
}
