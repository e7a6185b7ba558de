//! Fields that are in several tables of a scenario: those of its flows, and the lists of tables themselves.
//!
//! A flow has a load, requests and a session of its own, with the same keys as the scenario around it.

use super::{ACCESS, ALWAYS, Field, FieldKind, RowLayout, Rows, RowsWritten, field};

/// Users of a closed load.
pub const USERS: Field =
    field("load.users", "Users", FieldKind::Number, "10", ("load.model", &["", "closed"]));
/// Arrivals of an open or a hybrid load.
pub const ARRIVALS: Field =
    field("load.arrivals", "Arrivals", FieldKind::Toml, "500/s", ("load.model", &["open", "hybrid"]));
/// Stages of any of them.
pub const STAGES: Field = field(
    "load.stages",
    "Stages, instead of one level",
    FieldKind::Rows(STAGE_ROWS),
    "",
    ("load.model", &["", "closed", "open", "hybrid"]),
);
/// Pages of a session.
pub const PAGES: Field =
    field("load.requests", "Pages of a session", FieldKind::Distribution, "", ("load.model", &["hybrid"]));
/// Think time of the load's users.
pub const THINK: Field = field(
    "load.think",
    "Think time",
    FieldKind::Distribution,
    "0s",
    ("load.model", &["", "closed", "hybrid"]),
);
/// Requests of a set.
pub const REQUESTS: Field = field("requests.request", "Paths", FieldKind::Paths, "/index.html", ALWAYS);
/// States of a session.
pub const STEPS: Field = field("session.state", "Steps", FieldKind::Rows(STEP_ROWS), "", ALWAYS);
/// The path through them.
pub const PATH: Field =
    field("session.path", "Order of the steps", FieldKind::Toml, "one after the other", ALWAYS);
/// Think time of the session's users.
pub const SESSION_THINK: Field =
    field("session.think", "Think time between steps", FieldKind::Distribution, "the load's", ALWAYS);
/// Reaction to a step that failed.
pub const ON_FAILURE: Field =
    field("session.on-failure", "After a step that failed", FieldKind::Text, "end-session", ALWAYS);

/// `load.stages`
const STAGE_ROWS: &Rows = &Rows {
    one: "stage",
    layout: RowLayout::Line,
    written: RowsWritten::Stages,
    is_drawn: true,
    takes: "",
    fields: &[
        field("for", "Time", FieldKind::Text, "1m", ALWAYS),
        field("to", "Level at its end", FieldKind::Toml, "100 or 50/s", ALWAYS),
        field("name", "Name", FieldKind::Text, "", ALWAYS),
    ],
};

/// `[[network.class]]`
pub const CLASSES: &Rows = &Rows {
    one: "class",
    layout: RowLayout::Line,
    written: RowsWritten::List,
    is_drawn: false,
    takes: "",
    fields: &[
        field("name", "Name", FieldKind::Text, "", ALWAYS),
        field("share", "Share", FieldKind::Toml, "1", ALWAYS),
        field("access", "Access link", FieldKind::Choice(ACCESS), "", ALWAYS),
        field("core.rtt", "Round-trip time", FieldKind::Toml, "", ALWAYS),
    ],
};

/// `[[host]]`
pub const HOSTS: &Rows = &Rows {
    one: "host",
    layout: RowLayout::Line,
    written: RowsWritten::List,
    is_drawn: false,
    takes: "",
    fields: &[
        field("url", "URL", FieldKind::Text, "https://api.shop.test/", ALWAYS),
        field("name", "Name", FieldKind::Text, "", ALWAYS),
        field("server", "Server", FieldKind::Text, "", ("plane", &["emulated"])),
    ],
};

/// `[[flow]]`
pub const FLOWS: &Rows = &Rows {
    one: "flow",
    layout: RowLayout::Box,
    written: RowsWritten::List,
    is_drawn: false,
    takes: "load.",
    fields: &[
        field("name", "Name", FieldKind::Text, "browse", ALWAYS),
        field("load.model", "Model", FieldKind::Choice(&["closed", "open", "hybrid"]), "closed", ALWAYS),
        USERS,
        ARRIVALS,
        STAGES,
        PAGES,
        THINK,
        REQUESTS,
        STEPS,
        PATH,
        SESSION_THINK,
        ON_FAILURE,
        field("thresholds", "Thresholds", FieldKind::Lines, "p99<200ms", ALWAYS),
    ],
};

/// `[[session.state]]`
const STEP_ROWS: &Rows = &Rows {
    one: "step",
    layout: RowLayout::Box,
    written: RowsWritten::List,
    is_drawn: false,
    takes: "",
    fields: &[
        field("name", "Name", FieldKind::Text, "search", ALWAYS),
        field("method", "Method", FieldKind::Choice(METHODS), "", ALWAYS),
        field("path", "Path", FieldKind::Text, "/search?q=${word}", ALWAYS),
        field("body", "Body", FieldKind::Area, "", ALWAYS),
        field("think", "Think time after it", FieldKind::Distribution, "the session's", ALWAYS),
        field("check.status", "Expected status", FieldKind::Toml, "below 400", ALWAYS),
        field("check.contains", "Texts that the reply has", FieldKind::Lines, "", ALWAYS),
        field("check.lacks", "Texts that it has not", FieldKind::Lines, "", ALWAYS),
        field("extract", "Values from the reply", FieldKind::Rows(EXTRACT_ROWS), "", ALWAYS),
        field("on-failure", "If it fails", FieldKind::Text, "as the session", ALWAYS),
    ],
};

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// `extract`
const EXTRACT_ROWS: &Rows = &Rows {
    one: "value",
    layout: RowLayout::Line,
    written: RowsWritten::Extracts,
    is_drawn: false,
    takes: "",
    fields: &[
        field("name", "Name", FieldKind::Text, "item", ALWAYS),
        field("by", "Found by", FieldKind::Choice(SOURCES), "", ALWAYS),
        field("what", "Selector, pointer, expression or name", FieldKind::Text, "", ALWAYS),
        field("attribute", "Attribute, with css", FieldKind::Text, "", ALWAYS),
    ],
};

/// Keys of which a value from a reply has one.
pub const SOURCES: &[&str] = &["css", "json", "regex", "header", "cookie"];

/// Summaries of what docs/scenario.md says in whole paragraphs, by key.
pub const HELP: [(&str, &str); 44] = [
    (
        "load.model",
        "closed: users who come back when they are answered; open: pages are requested when they arrive, whatever \
         the server does; hybrid: sessions arrive openly, within a session each page waits for the one before; \
         overload: descriptors keep trying to connect",
    ),
    (
        "flow.load.model",
        "closed: users who come back when they are answered; open: pages are requested when they arrive, whatever \
         the server does; hybrid: sessions arrive openly, within a session each page waits for the one before",
    ),
    (
        "load.users",
        "number of users of a closed load; each requests a page, waits for it, thinks, and requests the next. With \
         stages, their number at the beginning, none by default",
    ),
    (
        "load.arrivals",
        "the rate of a Poisson process, such as 500/s, or a table { process = \"constant\", rate = \"500/s\" }",
    ),
    (
        "load.stages",
        "each stage is a time and the level at its end: users of a closed load (100), a rate of arrivals elsewhere \
         (50/s). From stage to stage the level goes along a straight line; a stage of 0s is a step",
    ),
    ("load.stages.for", "the time that the stage takes; 0s is a step"),
    ("load.stages.to", "the level at its end: 100 users of a closed load, 50/s elsewhere"),
    ("load.stages.name", "in results and thresholds, stage-1, stage-2 and so on by default"),
    ("load.requests", "pages of a session, a distribution of counts"),
    ("load.think", "time from the end of a page to the start of the user's next, a distribution of times"),
    ("load.descriptors", "D descriptors keep trying to connect; the attempt rate is D/T"),
    ("load.timeout", "an attempt that is not answered within T is dropped without notice to the server"),
    (
        "thresholds",
        "conditions that the result is compared with, one a line: p99<200ms, errors<0.1%; a class or a state in \
         braces, p99{dsl}<800ms",
    ),
    ("flow.thresholds", "conditions on the flow's part of the result, one a line: p99<200ms, errors<0.1%"),
    (
        "requests.request",
        "one [METHOD] PATH a line, with a weight after it if requests are not equally frequent: /index.html 9. One \
         for another host has its URL in place of the path",
    ),
    (
        "network.class",
        "clients of several kinds: a name, its part of all clients relative to the other classes, its access link, \
         and the round-trip time beyond that",
    ),
    ("network.class.name", "the name of the class in results"),
    ("network.class.share", "its part of all clients, relative to the other classes"),
    ("network.class.access", "the access link, for each direction that has none of its own"),
    ("network.class.core.rtt", "the round-trip time beyond the access link"),
    ("host", "hosts that users ask beside the target: requests whose URL begins with one's are for it"),
    ("host.url", "scheme, name and port: http:// and https:// are two hosts"),
    ("host.name", "the name of the host in results; that of the URL by default"),
    ("host.server", "the server of the network that answers for it, or server, that of the target"),
    (
        "flow",
        "users of several kinds, each with a load of its own, and with requests or a session of its own or those \
         that all share; the load above is then left out",
    ),
    ("flow.name", "of the flow in results: letters, digits, -, _ and ."),
    (
        "session.state",
        "the requests of a session, each with what its reply must have and the values that later requests take from \
         it, as ${name}; with a closed or a hybrid load, in place of requests",
    ),
    (
        "session.path",
        "all steps in order, unless it is a list of names, [\"home\", \"search\", \"search\"], or weights, \
         { home = 1, search = 3 }",
    ),
    ("session.think", "think time between the steps, a distribution of times; the load's by default"),
    ("session.on-failure", "end-session, go-on, or retry 3, which requests the page again up to 3 times"),
    ("session.state.name", "letters, digits, - and _; not back or end"),
    ("session.state.method", "GET by default, or POST with a body"),
    (
        "session.state.path",
        "a path, with values as ${name}; one that begins with a value may be any link of the page before, and one \
         for another host is its URL",
    ),
    ("session.state.body", "the text that is sent, with values as ${name} or ${name|json}"),
    ("session.state.think", "think time after this step, a distribution of times"),
    ("session.state.check.status", "200, a range 300-399, a class 2xx, or a list [200, \"300-399\"]"),
    ("session.state.check.contains", "texts that the reply must have in it, one a line"),
    ("session.state.check.lacks", "texts that the reply must not have in it, one a line"),
    ("session.state.extract", "values that later steps have as ${name}; a reply without one has failed"),
    ("session.state.extract.name", "letters, digits, -, _ and ."),
    (
        "session.state.extract.by",
        "a selector of an element, a JSON pointer, an expression, a field or a cookie",
    ),
    ("session.state.extract.what", "the selector, pointer or expression, or the name of the field or cookie"),
    ("session.state.extract.attribute", "the attribute of the element that css finds; its text if empty"),
    ("session.state.on-failure", "end-session, go-on, or retry 3; as the session by default"),
];
