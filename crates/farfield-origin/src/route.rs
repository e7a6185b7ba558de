//! Routes: the meaning of a request's path. Pure parsing: paths in, values out; nothing is allocated or
//! formatted.
//!
//! Files below the origin's [root](crate::root) take precedence over all of these.
//!
//! | path | reply |
//! | --- | --- |
//! | `/` | what the server offers |
//! | `/page/N.html`, `/object/N.css` (`.js`, `.png`) | the generated site |
//! | `/bytes/N` | N bytes (`1024`, `64KiB`), at most [`MAX_BODY`] |
//! | `/chunked/N` | N bytes in the chunked coding (HTTP/1.0: ended by the close) |
//! | `/delay/MS` | an empty reply after MS milliseconds (`0.5`) or any time with its unit (`20us`), at most [`MAX_DELAY`] |
//! | `/events/N/GAP` | an event stream of N events (0: without end), one each GAP, a time as of `/delay`; `/events/N/GAP/PAUSE` pauses for so much longer before the one in the middle |
//! | `/websocket` | a WebSocket whose messages come back; `/websocket/N/GAP` and `/websocket/N/GAP/PAUSE` send N messages, as `/events` does |
//! | `/status/CODE` | an empty reply with that status, 200 to 599 |
//! | `/echo-length` and all below | how many bytes the request's body had |
//!
//! The method does not matter, except that HEAD gets no body; a request's body is read on every path.

use crate::events::EventPlan;
use farfield_base::{Bytes, Duration};
use hyper::StatusCode;

/// The longest body on request: 1 GiB.
pub const MAX_BODY: Bytes = Bytes(1 << 30);

/// The longest delay on request: an hour.
pub const MAX_DELAY: Duration = Duration::from_secs(3600);

/// The meaning of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The list of what there is.
    Index,
    /// A page of the site, by number.
    Page(usize),
    /// An object of the site, by number and kind.
    Object(usize, ObjectKind),
    /// A reply of so many bytes.
    Bytes(u64),
    /// A reply of so many bytes, chunked.
    Chunked(u64),
    /// An empty reply, so much later.
    Delay(Duration),
    /// A stream of events.
    Events(EventPlan),
    /// An empty reply with this status.
    Status(StatusCode),
    /// A WebSocket, on which messages come back or, with a plan, are sent.
    WebSocket(Option<EventPlan>),
    /// The length of the request's body.
    EchoLength,
}

/// The reason why a path is invalid; the text is the reply's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRefusal {
    /// There is nothing of that name: 404.
    Unknown,
    /// The parameter is not one: 400.
    Parameter(&'static str),
}

/// Kind of an object for a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    StyleSheet,
    Script,
    Image,
}

impl Route {
    /// Reads a path, without its query.
    pub(crate) fn parse(path: &str) -> Result<Route, PathRefusal> {
        let mut parts = path.strip_prefix('/').ok_or(PathRefusal::Unknown)?.splitn(2, '/');
        let (head, parameter) = (parts.next().unwrap_or(""), parts.next());
        match (head, parameter) {
            ("", None) => Ok(Route::Index),
            ("echo-length", _) => Ok(Route::EchoLength),
            ("page", Some(name)) => page(name).ok_or(PathRefusal::Unknown),
            ("object", Some(name)) => object(name).ok_or(PathRefusal::Unknown),
            ("bytes", Some(size)) => body_length(size).map(Route::Bytes).ok_or(BAD_SIZE),
            ("chunked", Some(size)) => body_length(size).map(Route::Chunked).ok_or(BAD_SIZE),
            ("delay", Some(time)) => delay(time).map(Route::Delay).ok_or(BAD_DELAY),
            ("events", Some(plan)) => events(plan).map(Route::Events).ok_or(BAD_EVENTS),
            ("websocket", None) => Ok(Route::WebSocket(None)),
            ("websocket", Some(plan)) => {
                events(plan).map(|plan| Route::WebSocket(Some(plan))).ok_or(BAD_EVENTS)
            }
            ("status", Some(code)) => status(code).map(Route::Status).ok_or(BAD_STATUS),
            _ => Err(PathRefusal::Unknown),
        }
    }
}

const BAD_SIZE: PathRefusal =
    PathRefusal::Parameter("Not a size from 0 to 1GiB; ask for one such as /bytes/1024 or /chunked/64KiB.\n");
const BAD_DELAY: PathRefusal = PathRefusal::Parameter(
    "Not a time from 0 to 1h; ask for milliseconds such as /delay/0.5, or /delay/20us.\n",
);
const BAD_EVENTS: PathRefusal = PathRefusal::Parameter(
    "Not a stream of events; ask for a number of them and a time between two such as /events/20/50, with a pause in the \
     middle as in /events/20/50/600, or without end as in /events/0/100. Times are at most 1h.\n",
);
const BAD_STATUS: PathRefusal =
    PathRefusal::Parameter("Not a final status, 200 to 599; ask for one such as /status/404.\n");

impl PathRefusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            PathRefusal::Unknown => StatusCode::NOT_FOUND,
            PathRefusal::Parameter(_) => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            PathRefusal::Unknown => "There is nothing here; / lists what there is.\n",
            PathRefusal::Parameter(text) => text,
        }
    }
}

impl ObjectKind {
    /// The end of the name, without its dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            ObjectKind::StyleSheet => "css",
            ObjectKind::Script => "js",
            ObjectKind::Image => "png",
        }
    }

    fn from_extension(extension: &str) -> Option<ObjectKind> {
        [ObjectKind::StyleSheet, ObjectKind::Script, ObjectKind::Image]
            .into_iter()
            .find(|kind| kind.extension() == extension)
    }
}

fn page(name: &str) -> Option<Route> {
    name.strip_suffix(".html")?.parse().ok().map(Route::Page)
}

fn object(name: &str) -> Option<Route> {
    let (number, extension) = name.split_once('.')?;
    Some(Route::Object(number.parse().ok()?, ObjectKind::from_extension(extension)?))
}

fn body_length(size: &str) -> Option<u64> {
    // Digits alone are by far the most common and need no floating point.
    let length = match size.parse::<u64>() {
        Ok(length) => length,
        Err(_) => size.parse::<Bytes>().ok()?.0,
    };
    (length <= MAX_BODY.0).then_some(length)
}

fn events(plan: &str) -> Option<EventPlan> {
    let mut parts = plan.split('/');
    let count = parts.next()?.parse().ok()?;
    let gap = delay(parts.next()?)?;
    let pause = parts.next().map_or(Some(Duration::ZERO), delay)?;
    // Without any time between them, events without end would be all that the server does.
    let is_endless = count == 0 && gap < Duration::from_ms(1);
    (parts.next().is_none() && !is_endless).then_some(EventPlan { count, gap, pause })
}

fn delay(time: &str) -> Option<Duration> {
    let delay = match time.parse::<f64>() {
        Ok(ms) if ms >= 0.0 => Duration::from_secs_f64(ms / 1e3),
        Ok(_) => return None,
        Err(_) => time.parse().ok()?,
    };
    (delay <= MAX_DELAY).then_some(delay)
}

fn status(code: &str) -> Option<StatusCode> {
    let code: u16 = code.parse().ok()?;
    // 1xx are interim: none of them ends a request.
    (200..600).contains(&code).then(|| StatusCode::from_u16(code).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_path_it_lists() {
        let check = |path: &str, route| assert_eq!(Route::parse(path), Ok(route), "{path}");
        check("/", Route::Index);
        check("/page/7.html", Route::Page(7));
        check("/object/0.css", Route::Object(0, ObjectKind::StyleSheet));
        check("/object/12.png", Route::Object(12, ObjectKind::Image));
        check("/bytes/0", Route::Bytes(0));
        check("/bytes/64KiB", Route::Bytes(65_536));
        check("/bytes/1GiB", Route::Bytes(1 << 30));
        check("/chunked/1.5kB", Route::Chunked(1500));
        check("/delay/250", Route::Delay(Duration::from_ms(250)));
        check("/delay/0.05", Route::Delay(Duration::from_us(50)));
        check("/delay/20us", Route::Delay(Duration::from_us(20)));
        let [gap, pause] = [Duration::from_ms(50), Duration::from_ms(600)];
        check("/events/20/50", Route::Events(EventPlan { count: 20, gap, pause: Duration::ZERO }));
        check("/events/0/50ms/0.6s", Route::Events(EventPlan { count: 0, gap, pause }));
        check("/websocket", Route::WebSocket(None));
        check(
            "/websocket/20/50",
            Route::WebSocket(Some(EventPlan { count: 20, gap, pause: Duration::ZERO })),
        );
        check("/status/404", Route::Status(StatusCode::NOT_FOUND));
        check("/echo-length", Route::EchoLength);
        check("/echo-length/any/where", Route::EchoLength);
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        for path in
            ["", "*", "/page", "/page/1", "/page/-1.html", "/object/1.exe", "/object/css", "/bytes", "//"]
        {
            assert_eq!(Route::parse(path), Err(PathRefusal::Unknown), "{path}");
        }
        for path in [
            "/bytes/",
            "/bytes/many",
            "/bytes/-1",
            "/bytes/1025MiB",
            "/bytes/99999999999999999999",
            "/chunked/x",
            "/events/",
            "/events/20",
            "/events/-1/50",
            "/events/20/50/600/1",
            "/events/20/2h",
            "/events/0/0.5",
            "/delay/",
            "/delay/-1",
            "/delay/NaN",
            "/delay/inf",
            "/delay/2h",
            "/status/100",
            "/status/600",
            "/status/ok",
        ] {
            let refusal = Route::parse(path).expect_err(path);
            assert_eq!(refusal.status(), StatusCode::BAD_REQUEST, "{path}");
        }
    }
}
