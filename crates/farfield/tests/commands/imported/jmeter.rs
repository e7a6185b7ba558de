//! Plans of JMeter.

use super::server::Arrived;
use super::{Run, says};
use std::collections::BTreeMap;

fn property(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

/// An HTTP sampler with its parameters, and what is below it.
fn sampler(
    name: &str,
    method: &str,
    path: &str,
    arguments: &[(&str, &str)],
    more: &str,
    below: &str,
) -> String {
    let arguments: String = arguments
        .iter()
        .map(|(name, value)| {
            format!(
                "<elementProp name=\"{name}\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">true</boolProp>{}{}</elementProp>",
                property("Argument.name", name),
                property("Argument.value", value)
            )
        })
        .collect();
    format!(
        "<HTTPSamplerProxy guiclass=\"HttpTestSampleGui\" testclass=\"HTTPSamplerProxy\" testname=\"{name}\" enabled=\"true\">\
           <elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">{arguments}</collectionProp></elementProp>\
           {}{}<boolProp name=\"HTTPSampler.follow_redirects\">true</boolProp>{more}</HTTPSamplerProxy><hashTree>{below}</hashTree>",
        property("HTTPSampler.method", method),
        property("HTTPSampler.path", path)
    )
}

fn group(class: &str, threads: u32, loops: u32, below: &str) -> String {
    format!(
        "<{class} testname=\"{class}\" enabled=\"true\">{}{}{}<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\">\
           <boolProp name=\"LoopController.continue_forever\">false</boolProp>{}</elementProp></{class}><hashTree>{below}</hashTree>",
        property("ThreadGroup.on_sample_error", "continue"),
        property("ThreadGroup.num_threads", &format!("${{__P(threads,{threads})}}")),
        property("ThreadGroup.ramp_time", "0"),
        property("LoopController.loops", &loops.to_string())
    )
}

fn plan(variables: &[(&str, &str)], below: &str) -> String {
    let variables: String = variables
        .iter()
        .map(|(name, value)| {
            format!(
                "<elementProp name=\"{name}\" elementType=\"Argument\">{}{}</elementProp>",
                property("Argument.name", name),
                property("Argument.value", value)
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\" properties=\"5.0\" jmeter=\"5.6.3\"><hashTree>\
           <TestPlan testname=\"Plan\"><elementProp name=\"TestPlan.user_defined_variables\" elementType=\"Arguments\">\
           <collectionProp name=\"Arguments.arguments\">{variables}</collectionProp></elementProp></TestPlan><hashTree>{below}</hashTree></hashTree></jmeterTestPlan>"
    )
}

const DEFAULTS: &str = "<ConfigTestElement guiclass=\"HttpDefaultsGui\" testname=\"Defaults\"><stringProp name=\"HTTPSampler.domain\">${host}</stringProp>\
    <stringProp name=\"HTTPSampler.port\">${port}</stringProp><stringProp name=\"HTTPSampler.protocol\">http</stringProp></ConfigTestElement><hashTree/>";

fn headers(fields: &[(&str, &str)]) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, value)| {
            format!(
                "<elementProp name=\"\" elementType=\"Header\">{}{}</elementProp>",
                property("Header.name", name),
                property("Header.value", value)
            )
        })
        .collect();
    format!(
        "<HeaderManager testname=\"H\"><collectionProp name=\"HeaderManager.headers\">{fields}</collectionProp></HeaderManager><hashTree/>"
    )
}

fn assertion(field: &str, kind: u32, text: &str) -> String {
    format!(
        "<ResponseAssertion testname=\"A\"><collectionProp name=\"Asserion.test_strings\">{}</collectionProp>{}<intProp name=\"Assertion.test_type\">{kind}</intProp></ResponseAssertion><hashTree/>",
        property("1", text),
        property("Assertion.test_field", field)
    )
}

fn csv(file: &str, names: &str, skips: bool) -> String {
    format!(
        "<CSVDataSet testname=\"Users\">{}{}{}<boolProp name=\"ignoreFirstLine\">{skips}</boolProp><boolProp name=\"recycle\">true</boolProp></CSVDataSet><hashTree/>",
        property("filename", file),
        property("variableNames", names),
        property("delimiter", ",")
    )
}

/// Users of a CSV file log in, keep the token, and look at an item three times; two threads, three rounds.
fn shop(host: &str, port: &str) -> String {
    let token = "<JSONPostProcessor testname=\"token\"><stringProp name=\"JSONPostProcessor.referenceNames\">token;id</stringProp>\
        <stringProp name=\"JSONPostProcessor.jsonPathExprs\">$.token;$['user'].id</stringProp><stringProp name=\"JSONPostProcessor.match_numbers\">1;1</stringProp></JSONPostProcessor><hashTree/>";
    let csrf = "<RegexExtractor testname=\"csrf\"><stringProp name=\"RegexExtractor.useHeaders\">false</stringProp><stringProp name=\"RegexExtractor.refname\">csrf</stringProp>\
        <stringProp name=\"RegexExtractor.regex\">name=&apos;csrf&apos; value=&apos;(\\w+)&apos;</stringProp><stringProp name=\"RegexExtractor.template\">$1$</stringProp>\
        <stringProp name=\"RegexExtractor.match_number\">1</stringProp></RegexExtractor><hashTree/>";
    let login = sampler(
        "Log in",
        "POST",
        "/login",
        &[("user", "${name}"), ("pass", "${pass}")],
        "",
        &format!("{}{token}", assertion("Assertion.response_code", 8, "200")),
    );
    let page = sampler(
        "Page",
        "GET",
        "/page",
        &[("q", "a &amp; ${id}")],
        "",
        &format!("{}{csrf}", assertion("Assertion.response_data", 16, "hello")),
    );
    let item =
        sampler("Item", "GET", "/item/${csrf}", &[], "", &headers(&[("Authorization", "Bearer ${token}")]));
    let looped = format!(
        "<LoopController testname=\"Loop\"><stringProp name=\"LoopController.loops\">3</stringProp></LoopController><hashTree>{item}</hashTree>"
    );
    let timer = "<ConstantTimer testname=\"T\"><stringProp name=\"ConstantTimer.delay\">5</stringProp></ConstantTimer><hashTree/>";
    let off = sampler("Off", "GET", "/off", &[], "", "").replace("enabled=\"true\"", "enabled=\"false\"");
    let chosen = format!(
        "<IfController testname=\"If\"><stringProp name=\"IfController.condition\">1</stringProp></IfController><hashTree>{}</hashTree>",
        sampler("Chosen", "GET", "/chosen", &[], "", "")
    );
    let jdbc = "<JDBCSampler testname=\"Rows\"/><hashTree/>";
    let main = group(
        "ThreadGroup",
        2,
        3,
        &format!(
            "{}{timer}{login}<TransactionController testname=\"Buy\"/><hashTree>{page}{looped}</hashTree>{off}{chosen}{jdbc}",
            csv("users.csv", "name,pass", true)
        ),
    );
    let other = group("ThreadGroup", 5, 1, &sampler("Beside", "GET", "/beside", &[], "", ""));
    plan(
        &[("host", host), ("port", port)],
        &format!(
            "{DEFAULTS}{}<CookieManager testname=\"C\"/><hashTree/>{main}{other}",
            headers(&[("X-A", "${host}")])
        ),
    )
}

#[test]
fn a_plan_with_data_and_assertions_is_run() {
    let run = Run::new();
    let (host, port) = run.server.address.split_once(':').expect("a port");
    run.place.write("users.csv", "name,pass\nann,GEHEIM1\n\"bob,b\",b & c\n");
    run.place.write("plan.jmx", shop(host, port));
    let ended = run.import(&["plan.jmx"]).exits(0);
    says(
        &ended,
        &[
            "3 of 7 entries taken",
            "1 that are disabled, or in what is (first: sampler 4, Off)",
            "1 in a controller that chooses",
            "1 of another protocol than HTTP",
            "1 of another thread group than the first",
        ],
    );
    // Passwords and tokens are in the data and in replies, and not in the scenario.
    assert!(!ended.stderr.contains("credentials") && !run.scenario().contains("GEHEIM"), "{}", ended.stderr);
    for line in [
        "users = 2",
        "sessions = 6",
        "check.status = [200]",
        "check.contains = [\"hello\"]",
        "file = \"users.csv\"",
        "think = \"5ms\"",
    ] {
        assert!(run.scenario().contains(line), "`{line}` is not in: {}", run.scenario());
    }
    let of_two = counted(&run.run(""), host);
    let all = |count: &BTreeMap<String, usize>, begin: &str| {
        count.iter().filter(|(line, _)| line.starts_with(begin)).map(|(_, count)| count).sum::<usize>()
    };
    assert_eq!(
        (all(&of_two, "GET /item/c0ffee"), all(&of_two, "GET /page"), all(&of_two, "POST /login")),
        (18, 6, 6)
    );
    // One thread takes the rows in their order.
    run.import(&["plan.jmx", "--value", "threads=1"]).exits(0);
    let expected = [
        ("GET /item/c0ffee", 9),
        ("GET /page?q=a+%26+7", 3),
        ("POST /login user=ann&pass=GEHEIM1", 2),
        ("POST /login user=bob%2Cb&pass=b+%26+c", 1),
    ];
    let expected: BTreeMap<String, usize> =
        expected.into_iter().map(|(line, count)| (line.to_owned(), count)).collect();
    assert_eq!(counted(&run.run(""), host), expected);
}

/// Number of arrivals of each request, all of them with the plan's header fields.
fn counted(arrived: &[Arrived], host: &str) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for own in arrived {
        *count.entry(own.line()).or_default() += 1;
        assert_eq!(own.field("x-a"), host);
        let token = if own.target.starts_with("/item") { "Bearer abc/1" } else { "" };
        assert_eq!(own.field("authorization"), token);
    }
    count
}

/// A raw body, a form with a file, credentials of a manager, groups before and behind, statuses that are
/// ignored.
#[test]
fn a_plan_with_bodies_and_groups_is_run() {
    let run = Run::new();
    run.place.write("note.txt", "hello");
    let raw = sampler(
        "Raw",
        "PUT",
        "/raw",
        &[("", "{&quot;a&quot;: &quot;${__Random(5,5)}$&quot;}")],
        "<boolProp name=\"HTTPSampler.postBodyRaw\">true</boolProp>",
        &headers(&[("Content-Type", "application/json")]),
    );
    let file = "<elementProp name=\"HTTPsampler.Files\" elementType=\"HTTPFileArgs\"><collectionProp name=\"HTTPFileArgs.files\"><elementProp name=\"note.txt\" elementType=\"HTTPFileArg\">\
        <stringProp name=\"File.path\">note.txt</stringProp><stringProp name=\"File.paramname\">f</stringProp><stringProp name=\"File.mimetype\">text/plain</stringProp></elementProp></collectionProp></elementProp>";
    let upload = sampler("Upload", "POST", "/upload", &[("a", "1")], file, "");
    let ignored = "<ResponseAssertion testname=\"A\"><boolProp name=\"Assertion.assume_success\">true</boolProp>\
        <stringProp name=\"Assertion.test_field\">Assertion.response_code</stringProp><intProp name=\"Assertion.test_type\">8</intProp></ResponseAssertion><hashTree/>";
    let gone = sampler("Gone", "GET", "http://SERVER/missing", &[], "", ignored);
    let direct = sampler("Redirect", "GET", "/redirect", &[], "", "")
        .replace("follow_redirects\">true", "follow_redirects\">false");
    let followed =
        sampler("Followed", "GET", "/redirect", &[], "", "<DurationAssertion testname=\"D\"/><hashTree/>");
    let credentials = "<AuthManager testname=\"Auth\"><collectionProp name=\"AuthManager.auth_list\"><elementProp name=\"\" elementType=\"Authorization\">\
        <stringProp name=\"Authorization.url\">http://SERVER/raw</stringProp><stringProp name=\"Authorization.username\">ann</stringProp>\
        <stringProp name=\"Authorization.password\">GEHEIM</stringProp></elementProp></collectionProp></AuthManager><hashTree/>";
    let main = group("ThreadGroup", 1, 1, &format!("{raw}{upload}{gone}{direct}{followed}"));
    let before = group("SetupThreadGroup", 1, 1, &sampler("Before", "POST", "/before", &[], "", ""));
    let behind = group("PostThreadGroup", 1, 1, &sampler("Behind", "POST", "/behind", &[], "", ""));
    let (host, port) = run.server.address.split_once(':').expect("a port");
    let text =
        plan(&[("host", host), ("port", port)], &format!("{DEFAULTS}{credentials}{main}{before}{behind}"));
    run.place.write("plan.jmx", text.replace("SERVER", &run.server.address));
    let ended = run.import(&["plan.jmx"]).exits(0);
    says(
        &ended,
        &[
            "7 of 7 entries taken",
            "1 without an assertion that has no equivalent (first: sampler 5, Followed)",
            "1 whose redirects are followed, since those of others are (first: sampler 4, Redirect)",
            "`authorization`",
        ],
    );
    assert!(!ended.stderr.contains("GEHEIM"), "{}", ended.stderr);
    let arrived = run.run("");
    let lines: Vec<String> =
        arrived.iter().filter(|own| own.target != "/upload").map(Arrived::line).collect();
    assert_eq!(
        lines,
        [
            "POST /before",
            "PUT /raw {\"a\": \"5$\"}",
            "GET /missing",
            "GET /redirect",
            "GET /landed",
            "GET /redirect",
            "GET /landed",
            "POST /behind",
        ]
    );
    assert_eq!(arrived[1].field("authorization"), "Basic YW5uOkdFSEVJTQ==");
    assert_eq!(
        (arrived[2].field("authorization"), arrived[1].field("content-type")),
        ("", "application/json")
    );
    assert!(
        arrived[2]
            .body
            .contains("name=\"f\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n"),
        "{arrived:?}"
    );
}

/// A data set that cannot be one of farfield's, and what needs its columns, is left out with the reason.
#[test]
fn what_a_plan_lacks_is_said() {
    let run = Run::new();
    run.place.write("users.csv", "a;b\n1;2\n");
    let set = csv("users.csv", "a,b", false).replace("name=\"delimiter\">,", "name=\"delimiter\">;");
    let main = group(
        "ThreadGroup",
        1,
        1,
        &format!(
            "{set}{}{}",
            sampler("Needs", "GET", "http://SERVER/${a}", &[], "", ""),
            sampler("Plain", "GET", "http://SERVER/x", &[], "", "")
        ),
    );
    let (ended, lines) = run.lines("plan.jmx", &plan(&[], &main), &[]);
    assert_eq!(lines, ["GET /x"]);
    says(
        &ended,
        &[
            "1 of 2 entries taken",
            "the data set `users.csv` is left out: its values are not separated by commas",
            "variable that has no value",
            "`a`",
        ],
    );
}
