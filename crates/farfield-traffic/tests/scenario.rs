//! Keys of a scenario read back as written, and the sentences that refuse invalid ones.

use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Rate};
use farfield_testkit::draws::stream;
use farfield_testkit::keys::{holding, no_files, read, refused, round_trip};
use farfield_traffic::load::{Overload, Restart};
use farfield_traffic::request::{Order, RequestId, RequestTarget};
use farfield_traffic::*;
use http::Method;
use proptest::prelude::*;
use std::io;
use std::path::Path;

// Distributions.

fn number() -> impl Strategy<Value = String> {
    (1u32..1_000_000, 1u32..1_000).prop_map(|(over, under)| (f64::from(over) / f64::from(under)).to_string())
}

/// A positive amount as text: all numbers, all times or all sizes, so that they go together.
fn amounts() -> impl Strategy<Value = [String; 2]> {
    (1u64..1_000_000, 1u64..1_000_000, 0..3).prop_map(|(a, more, unit)| {
        [a, a + more].map(|n| match unit {
            0 => n.to_string(),
            1 => format!("'{n}us'"),
            _ => format!("'{n}kB'"),
        })
    })
}

fn any_distribution() -> impl Strategy<Value = String> {
    let simple = (number(), number(), amounts(), 1u64..1_000_000).prop_flat_map(|(x, y, [a, b], n)| {
        prop::sample::select(vec![
            x.clone(),
            a.clone(),
            format!("{{ distribution = 'constant', value = {a} }}"),
            format!("{{ distribution = 'uniform', min = {a}, max = {b} }}"),
            format!("{{ distribution = 'exponential', mean = {a} }}"),
            format!("{{ distribution = 'exponential', rate = '{x}/s' }}"),
            format!("{{ distribution = 'normal', mean = {a}, sigma = {b} }}"),
            format!("{{ distribution = 'lognormal', mu = -{x}, sigma = {y} }}"),
            format!("{{ distribution = 'weibull', shape = {x}, scale = {a} }}"),
            format!("{{ distribution = 'pareto', shape = {x}, scale = {a} }}"),
            format!("{{ distribution = 'bounded-pareto', shape = {x}, min = {a}, max = {b} }}"),
            format!("{{ distribution = 'inverse-gaussian', mean = {a}, shape = {b} }}"),
            format!("{{ distribution = 'gamma', shape = {x}, scale = {a} }}"),
            format!("{{ distribution = 'geometric', mean = {n} }}"),
            format!("{{ distribution = 'geometric', p = {} }}", 1.0 / n as f64),
            format!("{{ distribution = 'zipf', n = {n}, exponent = {x} }}"),
            format!("{{ distribution = 'empirical', values = [{a}, {b}, {a}] }}"),
            "{ distribution = 'empirical', file = 'values.txt' }".to_owned(),
        ])
    });
    simple.prop_recursive(2, 8, 3, |inner| {
        // A mixture's parts must go together too, so each part is the same distribution.
        (inner, 1u32..4).prop_map(|(part, weight)| {
            format!("{{ distribution = 'mixture', parts = [{{ weight = {weight}, of = {part} }}, {{ weight = 0, of = {part} }}] }}")
        })
    })
}

proptest! {
    #[test]
    fn distributions_read_back_as_written(text in any_distribution()) {
        round_trip::<DistributionSpec>(&text);
    }

    /// Reading gives a value or a sentence, whatever is typed.
    #[test]
    fn nothing_that_is_typed_panics(text in any::<String>(), file in "[-+0-9a-z#./ \\n]{0,40}") {
        let _ = (text.parse::<Amount>(), text.parse::<DistributionSpec>(), text.parse::<ArrivalSpec>());
        let _ = RequestTarget::try_from(text);
        for lines in [
            "{ process = 'gaps', file = 'f', loop = true }",
            "{ process = 'instants', file = 'f' }",
            "{ process = 'renewal', gaps = { distribution = 'empirical', file = 'f' } }",
        ] {
            if let Ok(process) = read::<ArrivalSpec>(lines).resolve(&mut holding(&file)) {
                prop_assert!(process.start(stream(1)).take(50).collect::<Vec<_>>().is_sorted());
            }
        }
        let _ = read::<RequestSetSpec>("{ file = 'f' }").resolve(&mut holding(&file), Seed(1));
    }
}

#[test]
fn a_constant_keeps_its_unit() {
    assert_eq!(round_trip::<DistributionSpec>("'300ms'"), "key = \"300ms\"\n");
    assert_eq!(
        round_trip::<DistributionSpec>("{ distribution = 'constant', value = '64KiB' }"),
        "key = \"64KiB\"\n"
    );
    assert_eq!(round_trip::<DistributionSpec>("5"), "key = 5.0\n");
}

#[test]
fn invalid_distributions_are_refused() {
    let refused = refused::<DistributionSpec>;
    refused("'5 parsecs'", &["`5 parsecs`", "300ms", "64KiB"]);
    refused("inf", &["inf", "neither a number"]);
    refused("true", &["boolean", "300ms"]);
    refused("{ distribution = 'cauchy' }", &["cauchy", "lognormal"]);
    refused("{ distribution = 'weibull', shape = 1 }", &["missing field `scale`"]);
    refused(
        "{ distribution = 'weibull', shape = 1, scale = 1, sigma = 1 }",
        &["unknown field `sigma`", "`shape`"],
    );
    refused(
        "{ distribution = 'weibull', shape = 0, scale = 1 }",
        &["`shape` of the weibull distribution is 0", "above 0"],
    );
    refused(
        "{ distribution = 'gamma', shape = 1, scale = -1 }",
        &["`scale` of the gamma distribution is -1", "above 0"],
    );
    refused(
        "{ distribution = 'uniform', min = 2, max = 2 }",
        &["`max` of the uniform distribution is 2", "above `min`"],
    );
    refused("{ distribution = 'bounded-pareto', shape = 1, min = 0, max = 1 }", &["`min`", "above 0"]);
    refused("{ distribution = 'lognormal', mu = nan, sigma = 1 }", &["`mu`", "finite"]);
    refused("{ distribution = 'normal', mean = 1, sigma = 0 }", &["`sigma`", "above 0"]);
    refused("{ distribution = 'exponential' }", &["either `mean` or `rate`"]);
    refused("{ distribution = 'exponential', mean = 1, rate = 1 }", &["either `mean` or `rate`"]);
    refused("{ distribution = 'exponential', rate = '-1/s' }", &["-1/s", "500/s"]);
    refused("{ distribution = 'exponential', rate = 0 }", &["`rate`", "above 0"]);
    refused(
        "{ distribution = 'geometric', mean = 0.5 }",
        &["`mean` of the geometric distribution is 0.5", "from 1"],
    );
    refused("{ distribution = 'geometric', p = 1.5 }", &["`p`", "up to 1"]);
    refused("{ distribution = 'zipf', n = 0, exponent = 1 }", &["`n`", "from 1"]);
    refused("{ distribution = 'zipf', n = 5, exponent = -1 }", &["`exponent`", "from 0"]);
    refused("{ distribution = 'empirical', values = [] }", &["`values`", "at least one"]);
    refused("{ distribution = 'empirical' }", &["either `file` or `values`"]);
    refused("{ distribution = 'mixture', parts = [] }", &["`weight`", "at least one"]);
    refused("{ distribution = 'mixture', parts = [{ weight = -1, of = 1 }] }", &["`weight` is -1"]);
    refused(
        "{ distribution = 'mixture', parts = [{ weight = 1, of = { distribution = 'pareto', shape = 0, scale = 1 } }] }",
        &["`shape`"],
    );
    refused("{ distribution = 'uniform', min = '1ms', max = '1MB' }", &["uniform", "times", "sizes"]);
}

#[test]
fn a_file_of_values_is_read_when_it_is_resolved() {
    let spec: DistributionSpec = read("{ distribution = 'empirical', file = 'v.txt' }");
    let distribution = spec.resolve(&mut holding("# seconds\n1\n3 # slow\n")).expect("a good file");
    assert_eq!((distribution.mean(), distribution.variance()), (2.0, 1.0));
    let error_of = |text: &str| spec.resolve(&mut holding(text)).expect_err(text).to_string();
    assert!(error_of("1\n\nfast\n").starts_with("v.txt:3: `fast` is not"), "{}", error_of("1\n\nfast\n"));
    assert!(error_of("1\n2ms\n").starts_with("v.txt:2: `2ms` is not"));
    assert!(error_of("\n").starts_with("v.txt: holds no entry"));
    let gone = spec.resolve(&mut |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound)));
    assert!(gone.expect_err("there is none").to_string().starts_with("v.txt: "));
    let mixed: DistributionSpec = read(
        "{ distribution = 'mixture', parts = [{ weight = 1, of = { distribution = 'empirical', file = 'v.txt' } }, { weight = 1, of = 6 }] }",
    );
    assert_eq!(mixed.resolve(&mut holding("1\n3")).expect("a good file").mean(), 4.0);
}

// Arrivals.

#[test]
fn arrivals_read_back_as_written() {
    assert_eq!(round_trip::<ArrivalSpec>("'30/min'"), "key = \"0.5/s\"\n");
    for text in [
        "500",
        "{ process = 'constant', rate = '5k/s' }",
        "{ process = 'poisson', rate = 0.1 }",
        "{ process = 'renewal', gaps = '3ms' }",
        "{ process = 'renewal', gaps = { distribution = 'empirical', file = 'g.txt' } }",
        "{ process = 'schedule', loop = true, spacing = 'even', segments = [{ for = '1s', rate = 1 }] }",
        "{ process = 'schedule', segments = [{ for = '1s', from = 1, to = 0 }, { for = '9s', mean = 2, amplitude = 2, period = '3s' }] }",
        "{ process = 'bursts', rate = '500/s', factor = 6, share = '5%' }",
        "{ process = 'gaps', file = 'g.txt', loop = true }",
        "{ process = 'instants', file = 'i.txt' }",
        "{ process = 'diurnal', rate = '500/s', profile = [1, 2.5, 0], day = '10m' }",
        "{ process = 'diurnal', rate = '500/s', profile = [1, 2.5], spacing = 'even' }",
        "{ process = 'flash-crowd', from = '10/s', to = '333/s', at = '60s', within = '4s', stay = '0s', decay = '1m' }",
        "{ process = 'fractional-noise', rate = '500/s', hurst = 0.8 }",
        "{ process = 'fractional-noise', rate = 5, hurst = 0.8, deviation = 2, marginal = 'normal', slot = '1s', for = '2h' }",
        "{ process = 'markov-modulated', rates = ['100/s', 1e3], transitions = [[0, '6/min'], [1, 0]], spacing = 'even' }",
        "{ process = 'on-off', rate = 9, sources = 3, on = { distribution = 'pareto', shape = 1.4, mean = '1s' }, off = { distribution = 'weibull', shape = 0.6, scale = '1s' } }",
        "{ process = 'on-off', rate = 9, sources = 3, on = { distribution = 'lognormal', mu = 0, sigma = 1 }, off = { distribution = 'constant', value = '1s' } }",
        "{ process = 'm-g-infinity', rate = 9, sessions = '6/min', length = { distribution = 'bounded-pareto', shape = 1, min = '1s', max = '1h' } }",
        "{ process = 'm-g-infinity', rate = 9, sessions = 1, length = { distribution = 'pareto', shape = 1.2, scale = '1s' } }",
    ] {
        round_trip::<ArrivalSpec>(text);
    }
}

#[test]
fn invalid_arrivals_are_refused() {
    let refused = refused::<ArrivalSpec>;
    refused("'-5/s'", &["-5/s", "500/s"]);
    refused("0", &["`rate` is 0", "500/s"]);
    refused("{ process = 'constant', rate = 0 }", &["`rate` is 0"]);
    refused("{ process = 'posson', rate = 1 }", &["posson", "`poisson`"]);
    refused("{ process = 'poisson', rate = 1, factor = 2 }", &["unknown field `factor`"]);
    refused("{ process = 'renewal', gaps = 0 }", &["`gaps`", "below 1ns"]);
    refused("1e300", &["a rate of 1000", "at most 1e9/s"]);
    refused("{ process = 'bursts', rate = 1e9, factor = 2, share = 0.1 }", &["a rate of 2000000000/s"]);
    refused("{ process = 'renewal', gaps = '1MB' }", &["sizes where times are wanted"]);
    refused("{ process = 'renewal', gaps = -1 }", &["negative"]);
    let segment = |keys: &str| format!("{{ process = 'schedule', segments = [{keys}] }}");
    refused(&segment(""), &["`segments`", "10s"]);
    refused(&segment("{ for = '1s', rate = 0 }"), &["`segments`", "above 0"]);
    refused(&segment("{ for = '0s', rate = 1 }"), &["`for`", "10s"]);
    refused(&segment("{ for = '1s', rate = 1, to = 2 }"), &["either `rate`, or `from` and `to`"]);
    refused(&segment("{ for = '1s', mean = 1, amplitude = 2, period = '1s' }"), &["`amplitude`", "`mean`"]);
    refused(&segment("{ for = '1s', mean = 1, amplitude = 1, period = 0 }"), &["`period` is 0"]);
    let bursts =
        |factor, share| format!("{{ process = 'bursts', rate = 9, factor = {factor}, share = {share} }}");
    refused(&bursts("0.5", "0.1"), &["`factor` is 0.5", "from 1 up"]);
    refused(&bursts("6", "1.5"), &["1.5", "from 0 to 1"]);
    refused(&bursts("6", "0"), &["`share` is 0", "5%"]);
    refused(&bursts("1", "1"), &["`share` is 1", "below 1"]);
    refused(&bursts("6", "'20%'"), &["`factor` 6", "0.2", "at most 1"]);
}

#[test]
fn invalid_structure_is_refused() {
    let refused = |process: &str, keys: &str, parts: &[&str]| {
        refused::<ArrivalSpec>(&format!("{{ process = '{process}', {keys} }}"), parts);
    };
    refused("diurnal", "rate = 1, profile = [3]", &["`profile`", "at least two"]);
    refused("diurnal", "rate = 1, profile = [3, -1]", &["`profile`", "from 0 up"]);
    refused("diurnal", "rate = 1, profile = [0, 0]", &["`profile`", "above 0"]);
    refused("diurnal", "rate = 1, profile = [1, 2], day = '1ns'", &["`day`", "24h"]);
    refused("diurnal", "rate = 1e9, profile = [1, 2]", &["1333333333", "at most 1e9/s"]);
    let crowd = |from, to| format!("from = {from}, to = {to}, at = 0, within = '4s', stay = 0, decay = '9s'");
    refused("flash-crowd", &crowd(5, 5), &["`to`", "5/s", "`from`"]);
    refused("flash-crowd", &crowd(0, 0), &["`rate` is 0"]);
    refused("fractional-noise", "rate = 1, hurst = 1", &["`hurst` is 1", "below 1"]);
    refused("fractional-noise", "rate = 1, hurst = 0.8, deviation = 0", &["`deviation` is 0"]);
    refused("fractional-noise", "rate = 1, hurst = 0.8, slot = '1us'", &["3600000000", "`slot`"]);
    refused("fractional-noise", "rate = 1, hurst = 0.8, slot = 0", &["`slot`"]);
    refused("fractional-noise", "rate = 1, hurst = 0.8, slot = '2h'", &["`slot`", "from 2"]);
    refused("fractional-noise", "rate = 1, hurst = 0.8, shape = 2", &["unknown field `shape`"]);
    refused("markov-modulated", "rates = [1], transitions = [[0]]", &["`transitions`", "1 `rates`"]);
    refused("markov-modulated", "rates = [1, 2], transitions = [[0, 1]]", &["`transitions`", "2 `rates`"]);
    refused(
        "markov-modulated",
        "rates = [1, 2], transitions = [[1, 1], [1, 0]]",
        &["from a state to itself"],
    );
    refused("markov-modulated", "rates = [1, 2], transitions = [[0, 1], [0, 0]]", &["get stuck"]);
    refused("markov-modulated", "rates = [0, 0], transitions = [[0, 1], [1, 0]]", &["`rate` is 0"]);
    let on = |distribution: &str| {
        format!(
            "rate = 1, sources = 2, off = {{ distribution = 'exponential', mean = '1s' }}, on = {distribution}"
        )
    };
    refused(
        "on-off",
        &on("{ distribution = 'pareto', shape = 1, scale = '1s' }"),
        &["`on`", "inf", "above 1"],
    );
    refused("on-off", &on("{ distribution = 'pareto', shape = 1, mean = '1s' }"), &["`on`", "above 1"]);
    refused("on-off", &on("{ distribution = 'pareto', shape = 2 }"), &["`scale` or `mean`"]);
    refused("on-off", &on("{ distribution = 'lognormal', mu = 0, sigma = -1 }"), &["`sigma`", "-1"]);
    refused("on-off", &on("{ distribution = 'zipf', n = 3, exponent = 1 }"), &["zipf", "`pareto`"]);
    refused("on-off", &on("{ distribution = 'constant', value = '1ns' }"), &["`on`", "at least 1us"]);
    refused("on-off", &on("{ distribution = 'weibull', shape = 1e-9, scale = '1s' }"), &["`on`", "inf"]);
    let sources = "rate = 1, sources = 0, on = { distribution = 'exponential', mean = '1s' }, off = { distribution = 'exponential', mean = '1s' }";
    refused("on-off", sources, &["`sources` is 0"]);
    let sessions = "rate = 1, sessions = '5k/s', length = { distribution = 'exponential', mean = '1h' }";
    refused("m-g-infinity", sessions, &["18000000 sessions", "at most 1000000"]);
}

// Requests.

const REQUESTS: &str = "{ request = [
    { path = '/', weight = 9, embedded = ['/a.css', '/b.png?v=2'], headers = { accept = 'text/html', cookie = ['a=1', 'b=2'] } },
    { method = 'POST', path = '/order', headers = { content-type = 'text/plain', x-n = '1' }, body = 'one', embedded = ['/c.js'] },
    { method = 'PUT', path = '/raw', body = { size = '1kB' } },
    { method = 'PUT', path = '/raw', body = { file = 'raw.bin' } },
] }";

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

#[test]
fn requests_read_back_as_written() {
    round_trip::<RequestSetSpec>(&one_line(REQUESTS));
    round_trip::<RequestSetSpec>("{ file = 'urls.txt' }");
    round_trip::<RequestSetSpec>("{ order = 'in-order', request = [{ path = 'http://a.example/' }] }");
}

#[test]
fn pages_and_what_is_embedded_lie_in_one_list() {
    let spec: RequestSetSpec = read(&one_line(REQUESTS));
    let set = spec.resolve(&mut holding("\u{1}raw"), Seed(1)).expect("a good file");
    let paths: Vec<&str> = set.requests().iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/", "/a.css", "/b.png?v=2", "/order", "/c.js", "/raw", "/raw"]);
    let pages: Vec<(u32, Vec<u32>)> =
        set.pages().iter().map(|p| (p.main.0, p.embedded.iter().map(|id| id.0).collect())).collect();
    assert_eq!(pages, [(0, vec![1, 2]), (3, vec![4]), (5, vec![]), (6, vec![])]);
    let order = set.request(RequestId(3));
    assert_eq!((&order.method, &order.body[..]), (&Method::POST, &b"one"[..]));
    let names =
        |id| -> Vec<&str> { set.request(RequestId(id)).headers.iter().map(|(n, _)| n.as_str()).collect() };
    assert_eq!(names(1), ["accept", "cookie", "cookie"]);
    assert_eq!(names(4), ["x-n"], "what is embedded has no body");
    assert_eq!(set.request(RequestId(5)).body.len(), 1_000);
    assert_eq!(set.request(RequestId(6)).body, "\u{1}raw");
    let again = spec.resolve(&mut holding("\u{1}raw"), Seed(1)).expect("a good file");
    assert_eq!(set, again, "a filler is its seed's");
    let other = spec.resolve(&mut holding("\u{1}raw"), Seed(2)).expect("a good file");
    assert_ne!(set.request(RequestId(5)).body, other.request(RequestId(5)).body);
}

#[test]
fn a_file_of_requests_goes_in_order() {
    let spec: RequestSetSpec = read("{ file = 'urls.txt' }");
    assert_eq!(spec.order(), Order::InOrder);
    let set = spec.resolve(&mut holding("/a # first\nHEAD /b\n\nPOST\t/c?d=e\n"), Seed(1)).expect("reads");
    let lines: Vec<String> = set.requests().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(lines, ["GET /a", "HEAD /b", "POST /c?d=e"]);
    let error_of = |text: &str| spec.resolve(&mut holding(text), Seed(1)).expect_err(text).to_string();
    assert!(error_of("/a\nb\n").starts_with("urls.txt:2: `b` is not a path"));
    assert!(error_of("get /a\n").starts_with("urls.txt:1: `get` is not a method"));
    assert!(error_of("/a b\n").starts_with("urls.txt:1: `/a` is not a method"));
}

/// As browsers and curl send it.
#[test]
fn what_is_not_ascii_in_a_path_is_percent_encoded() {
    let path = RequestTarget::try_from("/bücher?q=日".to_owned()).expect("a path");
    assert_eq!(path.as_str(), "/b%C3%BCcher?q=%E6%97%A5");
    assert_eq!(RequestTarget::try_from(path.as_str().to_owned()), Ok(path));
}

#[test]
fn one_request_makes_a_set() {
    let path = RequestTarget::try_from("/index.html".to_owned()).expect("a path");
    let set = RequestSetSpec::one(RequestSpec::get(path)).resolve(&mut no_files, Seed(1)).expect("no file");
    assert_eq!(set.page(5, 10, 3, &mut stream(1)).main, RequestId(0));
}

#[test]
fn invalid_requests_are_refused() {
    refused::<RequestSetSpec>("{}", &["no request", "[[request]]"]);
    refused::<RequestSetSpec>("{ order = 'random', file = 'f' }", &["random", "`in-order`"]);
    let request = |keys: &str, parts: &[&str]| {
        refused::<RequestSetSpec>(&format!("{{ request = [{{ {keys} }}] }}"), parts);
    };
    request("method = 'GET'", &["missing field `path`"]);
    request("path = '/', wieght = 1", &["unknown field `wieght`", "`weight`"]);
    request("path = 'index.html'", &["`index.html` is not a path", "`/`"]);
    request("path = '/a b'", &["`/a b` is not a path", "percent-encode"]);
    request("path = '/a#b'", &["`/a#b` is not a path"]);
    request("path = '/a\\r\\nx: y'", &["is not a path"]);
    request("path = '/', method = 'get'", &["`get` is not a method", "capitals"]);
    request("path = '/', method = 'CONNECT'", &["tunnel"]);
    request("path = '/', weight = -1", &["`weight` is -1", "from 0"]);
    request("path = '/', weight = 0", &["no `weight` is above 0"]);
    request("path = '/', headers = { 'a b' = '1' }", &["`a b` is not a header's name"]);
    request("path = '/', headers = { a = \"1\\n2\" }", &["header `a`", "one line"]);
    request("path = '/', headers = { a = 1 }", &["a text, or a list of texts"]);
    request("path = '/', headers = { Content-Length = '3' }", &["`content-length`", "leave it out"]);
    request("path = '/', body = { }", &["either `file` or `size`"]);
    request("path = '/', body = { file = 'f', size = 1 }", &["either `file` or `size`"]);
    request("path = '/', body = { size = '2GiB' }", &["2GiB", "at most 1GiB"]);
    refused::<RequestSetSpec>(
        "{ order = 'in-order', request = [{ path = '/', weight = 2 }] }",
        &["`weight`", "in-order"],
    );
}

// Models of load.

#[test]
fn loads_read_back_as_written() {
    for text in [
        "{ model = 'closed' }",
        "{ model = 'closed', users = 64, think = { distribution = 'pareto', shape = 1.4, scale = '1s' }, ramp = '5s' }",
        "{ model = 'closed', active-off = { distribution = 'weibull', shape = 0.382, scale = '1.46s' } }",
        "{ model = 'hybrid', arrivals = '5/s', active-off = '1s' }",
        "{ model = 'open', arrivals = '500/s' }",
        "{ model = 'open', arrivals = { process = 'gaps', file = 'g' }, users-max = 1000 }",
        "{ model = 'hybrid', arrivals = '5/s' }",
        "{ model = 'hybrid', arrivals = '5/s', requests = { distribution = 'inverse-gaussian', mean = 3, shape = 2 }, think = '7s', users-max = 9 }",
        "{ model = 'overload', descriptors = 100 }",
        "{ model = 'overload', descriptors = 100, timeout = '50ms', restart = 'at-once', established-max = 500 }",
    ] {
        round_trip::<LoadSpec>(text);
    }
}

#[test]
fn loads_have_their_defaults() {
    assert_eq!(read::<LoadSpec>("{ model = 'closed', users = 10, think = '0s' }"), LoadSpec::default());
    let hybrid =
        read::<LoadSpec>("{ model = 'hybrid', arrivals = '5/s' }").resolve(&mut no_files).expect("no file");
    let LoadModel::Hybrid { requests, think, users_max, .. } = hybrid else {
        panic!("{hybrid:?} is not hybrid")
    };
    assert_eq!((requests.mean(), think.maximum(), users_max), (5.0, 0.0, None));
    let LoadSpec::Overload(overload) = read("{ model = 'overload', descriptors = 1 }") else {
        panic!("not an overload")
    };
    assert_eq!((overload.timeout(), overload.restart), (Duration::from_ms(500), Restart::Paced));
}

#[test]
fn invalid_loads_are_refused() {
    let refused = refused::<LoadSpec>;
    refused("{ users = 10 }", &["missing field `model`"]);
    refused("{ model = 'opne' }", &["opne", "`open`", "`overload`"]);
    refused("{ model = 'closed', users = 0 }", &["`users` is 0", "from 1"]);
    refused("{ model = 'closed', users = -3 }", &["`users` is -3", "from 1"]);
    refused("{ model = 'closed', think = '64KiB' }", &["sizes where times are wanted"]);
    refused("{ model = 'closed', think = -1 }", &["negative"]);
    refused("{ model = 'closed', think = { distribution = 'normal', mean = -1, sigma = 5 } }", &["negative"]);
    refused("{ model = 'closed', active-off = -1 }", &["negative"]);
    refused("{ model = 'open', arrivals = '5/s', active-off = '1s' }", &["unknown field `active-off`"]);
    refused("{ model = 'closed', arrivals = '5/s' }", &["unknown field `arrivals`", "`users`"]);
    refused("{ model = 'open' }", &["missing field `arrivals`"]);
    refused("{ model = 'open', arrivals = '5/s', users-max = 0 }", &["`users-max` is 0"]);
    refused("{ model = 'hybrid', arrivals = '5/s', requests = '5s' }", &["times where counts are wanted"]);
    refused("{ model = 'overload' }", &["missing field `descriptors`"]);
    refused("{ model = 'overload', descriptors = 0 }", &["`descriptors` is 0"]);
    refused("{ model = 'overload', descriptors = 9, timeout = 0 }", &["`timeout` is 0", "round trip"]);
    refused("{ model = 'overload', descriptors = 9, timeout = '-1s' }", &["-1s", "300ms"]);
    refused("{ model = 'overload', descriptors = 9, restart = 'lazy' }", &["lazy", "`at-once`"]);
}

/// D / T, and each descriptor once every T.
#[test]
fn a_paced_overload_tries_at_its_rate() {
    let LoadSpec::Overload(overload) = read("{ model = 'overload', descriptors = 300, timeout = '500ms' }")
    else {
        panic!("not an overload")
    };
    let built = Overload::new(overload.descriptors, Duration::from_ms(500), Restart::Paced);
    assert_eq!(built, Some(overload));
    assert_eq!(overload.attempt_rate(), Rate::per_second(600.0).expect("a rate"));
    let attempts: Vec<Instant> = overload.attempts().start(stream(1)).take(3_000).collect();
    assert!(
        attempts
            .iter()
            .zip(&attempts[300..])
            .all(|(one, next)| { next.since(*one).as_ns().abs_diff(500_000_000) <= 1 })
    );
}

/// Questions of other crates to each model, side by side.
#[test]
fn each_model_answers_what_is_asked_of_it() {
    let window = (Instant::ZERO, Instant::from_ns(10_000_000_000));
    let table = [
        // Written; users, always connected if connections are kept; arrivals in 10 s, pages in 10 s.
        ("{ model = 'closed', users = 7, think = '1s' }", (Some(7), true), (None, None)),
        ("{ model = 'open', arrivals = '5/s', users-max = 9 }", (None, false), (Some(50.0), Some(50.0))),
        ("{ model = 'hybrid', arrivals = '5/s' }", (None, false), (Some(50.0), None)),
        ("{ model = 'overload', descriptors = 4 }", (Some(4), true), (Some(80.0), Some(80.0))),
        ("{ model = 'overload', descriptors = 4, restart = 'at-once' }", (Some(4), true), (None, None)),
    ];
    for (text, (users, connected), (arrivals, pages)) in table {
        let spec = read::<LoadSpec>(text);
        let mut model = spec.resolve(&mut no_files).expect("no file");
        assert_eq!(model.users().map(u32::from), users, "{text}");
        assert_eq!(model.holds_connections(true), connected, "{text}");
        assert_eq!(model.holds_connections(false), matches!(spec, LoadSpec::Overload(_)), "{text}");
        assert_eq!(model.expected_arrivals(window.0, window.1), arrivals, "{text}");
        assert_eq!(model.expected_pages(window.0, window.1), pages, "{text}");
        assert_eq!(model.has_arrivals(), !matches!(spec, LoadSpec::Closed(_)), "{text}");
        assert_eq!(model.attempt_timeout(), spec.attempt_timeout(), "{text}");
        assert_eq!(spec.attempt_timeout().is_some(), spec.descriptors().is_some(), "{text}");
        let max = model.users_max();
        assert_eq!(max.map(u32::from), text.contains("users-max").then_some(9), "{text}");
        assert_eq!(model.users_max_mut().map(|max| *max), text.contains("arrivals").then_some(max), "{text}");
    }
    let waits = |text| read::<LoadSpec>(text).has_users_who_wait();
    assert_eq!(table.map(|(text, ..)| waits(text)), [true, false, true, false, false]);
}

/// The key that named distributions in earlier versions, wherever a distribution is written.
#[test]
fn the_earlier_key_of_a_distribution_is_read_and_not_written() {
    let mixture = "{ law = 'mixture', parts = [{ weight = 1, of = { law = 'geometric', mean = 4 } }] }";
    let written = round_trip::<DistributionSpec>(mixture);
    assert_eq!(read::<DistributionSpec>(mixture), read(&mixture.replace("law", "distribution")));
    assert!(written.contains("distribution = \"geometric\"") && !written.contains("law"), "{written}");
    let periods = "{ process = 'on-off', sources = 3, rate = '5/s', on = { law = 'pareto', shape = 1.4, mean = '1s' }, \
                   off = { law = 'exponential', mean = '4s' } }";
    let written = round_trip::<ArrivalSpec>(periods);
    assert_eq!(read::<ArrivalSpec>(periods), read(&periods.replace("law", "distribution")));
    assert!(written.contains("distribution = \"pareto\"") && !written.contains("law"), "{written}");
    let both = "{ law = 'geometric', distribution = 'geometric', mean = 4 }";
    refused::<DistributionSpec>(both, &["duplicate field `distribution`"]);
    refused::<DistributionSpec>("{ mean = 4 }", &["missing field `distribution`"]);
    refused::<DistributionSpec>("{ law = 'geometrical', mean = 4 }", &["geometrical", "`geometric`"]);
}
