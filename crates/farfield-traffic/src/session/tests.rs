//! Sessions as a scenario writes them, and the errors of wrong ones.

use super::path::Transition;
use super::*;
use farfield_base::random::{Purpose, Seed};
use std::path::Path;

fn spec(toml: &str) -> SessionSpec {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"))
}

fn resolved(toml: &str) -> Result<Session, SessionError> {
    let mut load = |path: &Path| match path.to_str() {
        Some("users.csv") => Ok(b"name,pass\nann,x\nbob,y\n".to_vec()),
        _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
    };
    spec(toml).resolve(&mut load, Seed(1))
}

const SHOP: &str = r#"
path = ["home", "login", "buy"]
think = "2s"
[[data]]
file = "users.csv"
order = "unique"
[[state]]
name = "home"
path = "/"
extract = { token = { css = "input[name=csrf]", attribute = "value" } }
[[state]]
name = "login"
path = "/login?n=${random(1,9)}"
body = "user=${name|form}&token=${token}"
headers = { x-user = "${user}" }
check = { status = [200, "300-399"], contains = "hello ${name}", header = { x-ok = true } }
extract.item = { regex = 'item/(\d+)', random = true }
[[state]]
name = "buy"
method = "POST"
form = { select = "form#cart", fields = { item = "${item}" } }
embedded = ["/a.png"]
on-failure = "retry 2"
"#;

#[test]
fn a_session_reads_back_as_it_was() {
    let written = spec(SHOP);
    let text = toml::to_string(&written).expect("TOML");
    assert_eq!(spec(&text), written, "{text}");
}

#[test]
fn names_become_numbers() {
    let session = resolved(SHOP).expect("a session");
    assert_eq!(session.variables, ["item", "token"]);
    let login = &session.states[1];
    assert_eq!(login.method, Method::POST);
    let plain = |text: &str| TextPiece::Plain(text.into());
    let body = [
        plain("user="),
        TextPiece::Value(Value::Column { data: 0, column: 0 }, Escape::Form),
        plain("&token="),
        TextPiece::Value(Value::Variable(1), Escape::Plain),
    ];
    assert_eq!(*login.body.as_ref().expect("a body").0, body);
    assert_eq!((session.states[1].forms_kept.as_slice(), session.states[0].forms_kept.len()), (&[0][..], 0));
    assert_eq!((session.states[2].embedded_first, session.found(0), session.requests()), (3, 4, 7));
    assert!(session.warnings.is_empty());
}

#[test]
fn invalid_values_are_refused() {
    let error_of = |toml: &str| resolved(toml).expect_err(toml).to_string();
    let two = |first: &str, second: &str| {
        format!("[[state]]\nname='a'\npath='/a'\n{first}\n[[state]]\nname='b'\npath='/b'\n{second}")
    };
    assert!(error_of("state = []").starts_with("state: there is no state"));
    assert!(error_of(&two("", "body = '${x}'")).starts_with("state[1].body: nothing defines `${x}`"));
    assert_eq!(
        error_of(&two("body = '${x}'", "extract = { x = { regex = 'x' } }")),
        "state[0].body: no state before `a` defines `${x}`"
    );
    assert!(
        error_of(&format!("path = ['a', 'c']\n{}", two("", ""))).starts_with("path: there is no state `c`")
    );
    assert!(error_of(&two("", "name='a'").replace("name='b'\n", "")).starts_with("state[1].name: "));
    assert!(error_of("[[state]]\nname='a'").starts_with("state[0].path: there is nothing to ask for"));
    assert!(error_of("[[state]]\nname='a'\npath='x'").starts_with("state[0].path: `x` is not a path"));
    assert!(
        error_of(&two("headers = { connection = 'x' }", "")).starts_with("state[0].headers.connection: ")
    );
    assert!(
        error_of(&format!("data = [{{ file = 'no.csv' }}]\n{}", two("", "")))
            .starts_with("data[0].file: no.csv: ")
    );
    let taken = two("extract = { name = { cookie = 'x' } }", "");
    assert!(
        error_of(&format!("data = [{{ file = 'users.csv' }}]\n{taken}"))
            .starts_with("state[0].extract.name: ")
    );
}

/// Holes are looked at wherever they may stand: in queries, in files of bodies, in checks.
#[test]
fn placeholders_are_defined_before_wherever_they_stand() {
    let result_of = |second: &str| {
        let first = "[[state]]\nname='a'\npath='/a'\nextract.early = { cookie = 'c' }\n";
        let text =
            format!("{first}[[state]]\nname='b'\npath='/b'\nextract.late = {{ cookie = 'd' }}\n{second}");
        resolved(&text).map(drop).map_err(|error| error.to_string())
    };
    for well in [
        "extract.x = { regex = '${early}=(.*)$' }",
        "extract.x = { json = '/${late}/y' }",
        "extract.x = { css = '#${late} a' }",
        "check.regex = 'a${early}$'",
        "check.json = { '/${early}/x' = 1 }",
        "check.css = '#${early}'",
    ] {
        assert_eq!(result_of(well), Ok(()), "{well}");
    }
    for (wrong, parts) in [
        ("extract.x = { regex = '${no}=(.*)' }", ["state[1].extract.x.regex: ", "nothing defines `${no}`"]),
        ("extract.x = { json = '/${no}' }", ["state[1].extract.x.json: ", "nothing defines `${no}`"]),
        (
            "extract.x = { json = '/${x}' }",
            ["state[1].extract.x.json: ", "no state before `b` defines `${x}`"],
        ),
        ("check.regex = '${no}'", ["state[1].check.regex: ", "nothing defines `${no}`"]),
        ("check.json = '/${no}'", ["state[1].check.json: ", "nothing defines `${no}`"]),
        ("check.css = '#${no}'", ["state[1].check.css: ", "nothing defines `${no}`"]),
        (
            "check.contains = '${late}'",
            ["state[1].check.contains: ", "extracted by this state, after its checks"],
        ),
        ("check.json = { '/a' = '${late}' }", ["state[1].check.json: ", "would be the value from before"]),
        ("check.css = '#${late}'", ["state[1].check.css: ", "would be the value from before"]),
        (
            "extract.x = { json = '/${y}' }\nextract.y = { json = '/${x}' }",
            ["state[1].extract: ", "`x`, `y` need each other's values"],
        ),
    ] {
        let sentence = result_of(wrong).expect_err(wrong);
        assert!(parts.iter().all(|part| sentence.contains(part)), "{wrong}: {sentence}");
    }
    let early = "[[state]]\nname='a'\npath='/a'\nbody = { file = 'order.json' }\n\
                 [[state]]\nname='b'\npath='/b'\nextract.x = { cookie = 'c' }\n";
    let spec: SessionSpec = toml::from_str(early).expect("a spec");
    let file = spec.resolve(&mut |_| Ok(b"{\"x\": \"${x}\"}".to_vec()), Seed(1));
    assert_eq!(
        file.expect_err("nothing is before it").to_string(),
        "state[0].body: no state before `a` defines `${x}`"
    );
}

#[test]
fn rows_sum_to_one() {
    let table = |rows: &str| {
        format!("[transitions]\n{rows}\n[[state]]\nname='a'\npath='/a'\n[[state]]\nname='b'\npath='/b'")
    };
    let error_of = |rows: &str| resolved(&table(rows)).expect_err(rows).to_string();
    assert!(error_of("a = { b = 1 }").starts_with("transitions: there is no row for `b`"));
    assert!(
        error_of("a = { b = 0.5, end = 0.4 }\nb = { end = 1 }")
            .starts_with("transitions.a: the probabilities sum to 0.9")
    );
    assert!(error_of("a = { c = 1 }\nb = { end = 1 }").starts_with("transitions.a: there is no state `c`"));
    assert!(error_of("a = { b = 1.5, end = -0.5 }\nb = { end = 1 }").starts_with("transitions.a.b: is 1.5"));
    assert!(resolved(&table("a = { b = 0.9, back = 0.1 }\nb = { end = 1 }")).is_ok());
}

/// States that stand in a scenario and are never asked for are named.
#[test]
fn states_that_no_session_comes_to_are_named() {
    let warnings = |keys: &str, states: usize| {
        let states: String = (0..states).map(|at| format!("[[state]]\nname='s{at}'\npath='/'\n")).collect();
        resolved(&format!("{keys}\n{states}")).expect(keys).warnings
    };
    let one = "session: no path leads to the state `s1`, which is never asked for";
    assert_eq!(warnings("path = ['s0', 's2']", 3), [one]);
    assert_eq!(warnings("[transitions]\ns0 = { end = 1 }\ns1 = { s0 = 1 }", 2), [one]);
    let many =
        "session: no path leads to 7 states, which are never asked for: `s1`, `s2`, `s3`, `s4`, `s5`, …";
    assert_eq!(warnings("path = { s0 = 1 }", 8), [many]);
    for keys in ["first = ['s1']\npath = ['s0']", "", "[transitions]\ns0 = { s1 = 1 }\ns1 = { back = 1 }"] {
        assert_eq!(warnings(keys, 2), [""; 0], "{keys}");
    }
}

#[test]
fn what_need_not_be_defined_is_warned_of() {
    let session = resolved(
        "[transitions]\na = { b = 0.5, c = 0.5 }\nb = { c = 1 }\nc = { end = 1 }\n\
         [[state]]\nname='a'\npath='/a'\n[[state]]\nname='b'\npath='/b'\nextract = { x = { regex = 'x' } }\n\
         [[state]]\nname='c'\npath='/c?${x}'",
    );
    let warnings = session.expect("a session").warnings;
    assert_eq!(warnings, ["session.state[2].path: `${x}` is empty where no state before has defined it"]);
}

#[test]
fn extractions_say_one_place() {
    let error_of = |text: &str| {
        let written = format!("[[state]]\nname='a'\npath='/'\nextract.x = {text}");
        toml::from_str::<SessionSpec>(&written).expect_err(text).to_string()
    };
    assert!(error_of("{}").contains("this has 0"));
    assert!(error_of("{ regex = 'a', cookie = 'b' }").contains("this has 2"));
    assert!(error_of("{ regex = '(' }").contains("is no regular expression"));
    assert!(error_of("{ regex = 'a', group = 1 }").contains("has 0 groups"));
    assert!(error_of("{ css = 'a >' }").contains("is no selector"));
    assert!(error_of("{ json = 'a' }").contains("is no JSON pointer"));
    assert!(error_of("{ cookie = 'a', attribute = 'b' }").contains("`attribute` is about `css`"));
    assert!(error_of("{ cookie = 'a', index = 1, random = true }").contains("not both"));
}

/// A chain without end whose stationary distribution is known by hand: from a to b always; from b to a, b and
/// c alike; from c to a. π = (4, 6, 2) / 12: π_b = π_a + π_b / 3 and π_c = π_b / 3.
#[test]
fn a_table_is_visited_by_its_stationary_distribution() {
    const STEPS: u32 = 120_000;
    let third = 1.0 / 3.0;
    let toml = format!(
        "[transitions]\na = {{ b = 1 }}\nb = {{ a = {third}, b = {third}, c = {third} }}\nc = {{ a = 1 }}\n\
         [[state]]\nname='a'\npath='/a'\n[[state]]\nname='b'\npath='/b'\n[[state]]\nname='c'\npath='/c'"
    );
    let route = resolved(&toml).expect("a session").route;
    let mut rng = Seed(3).stream(Purpose::User, 0);
    let (mut progress, first) = route.begin(&mut rng);
    let mut visits = [0u32; 3];
    visits[usize::from(first)] += 1;
    for _ in 1..STEPS {
        visits[usize::from(route.next(&mut progress, &mut rng).expect("no end"))] += 1;
    }
    for (visits, weight) in visits.iter().zip([4.0, 6.0, 2.0]) {
        let (share, expected) = (f64::from(*visits) / f64::from(STEPS), weight / 12.0);
        // The variance of a share is that of independent draws times a factor of a few.
        let sigma = (expected * (1.0 - expected) / f64::from(STEPS)).sqrt();
        assert!((share - expected).abs() < 8.0 * sigma, "{share} for {expected}");
    }
}

/// The clicks until the end follow the geometric distribution of a row that ends with probability 1/4, mean
/// 4.
#[test]
fn sessions_end_and_go_back_as_the_table_says() {
    const SESSIONS: u32 = 20_000;
    let toml = "[transitions]\na = { b = 0.75, end = 0.25 }\nb = { back = 0.75, end = 0.25 }\n\
                [[state]]\nname='a'\npath='/a'\n[[state]]\nname='b'\npath='/b'";
    let route = resolved(toml).expect("a session").route;
    let StatePath::Markov { rows, .. } = &route else { panic!("a table") };
    assert!(rows[1].transitions().any(|transition| transition == (Transition::Back, 0.75)));
    let mut rng = Seed(3).stream(Purpose::User, 0);
    let mut clicks = 0;
    for _ in 0..SESSIONS {
        let (mut progress, mut at) = route.begin(&mut rng);
        assert_eq!(at, 0);
        clicks += 1;
        while let Some(next) = route.next(&mut progress, &mut rng) {
            assert_ne!(next, at, "from a to b, and back");
            at = next;
            clicks += 1;
        }
    }
    let mean = f64::from(clicks) / f64::from(SESSIONS);
    let sigma = (0.75f64 / 0.0625 / f64::from(SESSIONS)).sqrt();
    assert!((mean - 4.0).abs() < 5.0 * sigma, "{mean}");
}

/// Invalid conditions, loops and environment variables.
#[test]
fn conditions_need_what_a_state_before_extracts() {
    let check = |toml: &str, parts: &[&str]| {
        let spec: SessionSpec = toml::from_str(toml).expect(toml);
        let error = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect_err(toml).to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    let two =
        "[[state]]\nname = 'a'\npath = '/'\nextract.x = { css = 'a' }\n[[state]]\nname = 'b'\npath = '/'\n";
    check(&format!("{two}if-found = 'y'"), &["state[1].if-found: ", "no state extracts `y`; there are `x`"]);
    check(
        "[[state]]\nname = 'a'\npath = '/'\nunless-found = 'x'\nextract.x = { css = 'a' }",
        &["state[0].unless-found: "],
    );
    check(
        "[[state]]\nname = 'a'\npath = '/${env.NOT_SET_BY_ANYBODY}'",
        &["state[0].path: ", "the environment has no `NOT_SET_BY_ANYBODY`"],
    );
    assert!(toml::from_str::<SessionSpec>(&format!("{two}repeat = 0")).is_err());
}

/// States that stand around the way: each in one place, with what the set-up extracted known to all.
#[test]
fn states_stand_around_the_way() {
    let states = |more: &str| {
        let state =
            |name: &str, rest: &str| format!("[[state]]\nname = '{name}'\npath = '/{name}'\n{rest}\n");
        [
            more,
            "\n",
            &state("make", "extract.key = { cookie = 'k' }"),
            &state("in", "body = '${key}'\nextract.id = { cookie = 'i' }"),
            &state("way", "body = '${id}${key}'"),
            &state("out", "body = '${id}${key}'"),
            &state("unmake", "body = '${key}'"),
        ]
        .concat()
    };
    const ALL: &str = "set-up = ['make']\nfirst = ['in']\nlast = ['out']\ntear-down = ['unmake']";
    let session = resolved(&states(ALL)).expect("a session");
    assert_eq!(session.route, StatePath::List([2].into()));
    assert_eq!(
        session.warnings,
        ["session.state[3].body: `${id}` is empty where no state before has defined it"],
        "a session may be broken off before"
    );
    let quiet = states(ALL).replace("name = 'out'", "name = 'out'\nif-found = 'id'");
    assert_eq!(resolved(&quiet).expect("a session").warnings, [""; 0]);
    let error_of = |toml: &str| resolved(toml).expect_err(toml).to_string();
    assert!(error_of(&states("set-up = ['mke']")).starts_with("set-up: there is no state `mke`"));
    assert!(
        error_of(&states("first = ['in']\nlast = ['in']"))
            .starts_with("last: `in` stands in `first` already")
    );
    assert!(
        error_of(&states(&format!("path = ['in', 'way']\n{ALL}")))
            .starts_with("path: `in` stands in `first`")
    );
    assert!(
        error_of(&states("first = ['make', 'in', 'way', 'out', 'unmake']"))
            .starts_with("state: all states stand")
    );
    // Variables that a session extracts neither the tear-down nor the set-up knows.
    let late = states(ALL).replace("'/unmake'\nbody = '${key}'", "'/unmake'\nbody = '${id}'");
    assert_eq!(error_of(&late), "state[4].body: no state before `unmake` defines `${id}`");
    let data =
        format!("data = [{{ file = 'users.csv' }}]\n{}", states(ALL).replace("'/make'", "'/make?${name}'"));
    assert!(
        error_of(&data).starts_with("state[0].path: `${name}` is a column of the data"),
        "{}",
        error_of(&data)
    );
}
