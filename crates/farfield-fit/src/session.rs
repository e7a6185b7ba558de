//! Sessions, clicks and pages from the requests of one visitor.
//!
//! The log has requests; a user has clicks. As in Liu et al. 1999, section 2.2, two thresholds decide: a
//! request that comes within T_min of the one before belongs to the page before it, and after T_max of quiet
//! a new session begins. In between the object's type decides: an image or a style sheet belongs to the page
//! however late it comes (a modem's images come seconds after their page), anything else is a click.
//!
//! A think time is therefore never below T_min nor above T_max, whatever users do.

use crate::visits::Visit;
use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Kind of a requested object, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// HTML, or what makes it.
    Page,
    /// Embedded in pages: images, style sheets, scripts, fonts.
    Embedded,
    /// Anything else: documents, archives, films, interfaces.
    Other,
}

/// File extensions by kind, in lower case and without the point. A path without an extension is a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestKinds {
    /// Endings of pages.
    pub pages: Vec<String>,
    /// Endings of embedded objects.
    pub embedded: Vec<String>,
}

impl Default for RequestKinds {
    fn default() -> RequestKinds {
        let list = |names: &str| names.split(' ').map(str::to_owned).collect();
        RequestKinds {
            pages: list("html htm shtml xhtml php php3 asp aspx jsp do cfm cgi pl"),
            embedded: list(
                "gif jpg jpeg png webp avif svg ico bmp xbm css js mjs woff woff2 ttf otf eot map",
            ),
        }
    }
}

impl RequestKinds {
    /// The kind of the object at `path`.
    pub fn of(&self, path: &[u8]) -> RequestKind {
        let path = &path[..memchr::memchr2(b'?', b'#', path).unwrap_or(path.len())];
        let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
        let Some(point) = memchr::memrchr(b'.', name) else { return RequestKind::Page };
        let ending = &name[point + 1..];
        let among = |list: &[String]| list.iter().any(|known| ending.eq_ignore_ascii_case(known.as_bytes()));
        if among(&self.pages) {
            RequestKind::Page
        } else if among(&self.embedded) {
            RequestKind::Embedded
        } else {
            RequestKind::Other
        }
    }
}

/// The two thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// A request sooner after the one before is no click.
    pub t_min: Duration,
    /// A request later after the one before begins a session.
    pub t_max: Duration,
}

impl Default for Thresholds {
    /// The paper's: 2 s and 10 min.
    fn default() -> Thresholds {
        Thresholds { t_min: Duration::from_secs(2), t_max: Duration::from_secs(600) }
    }
}

/// Event in a visitor's session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SessionEvent {
    /// A session begins, with a click on `page`.
    Start {
        /// Instant of the click.
        at: Instant,
        /// The path's number.
        page: u32,
        /// Silence of the visitor before it; none for the first session.
        silence: Option<Duration>,
    },
    /// A further click.
    Click {
        /// The page before.
        from: u32,
        /// The page that was clicked.
        page: u32,
        /// Quiet time before it: from the end of the page before, as far as the log has ends.
        think: Duration,
    },
    /// An object of a page.
    Embedded {
        /// The page.
        page: u32,
        /// The object.
        object: u32,
    },
    /// A page is complete.
    PageEnd {
        /// Objects that came with the page, beside itself.
        embedded: u32,
    },
    /// A session is over.
    End {
        /// Last page of the session.
        page: u32,
        /// Clicks of the session, the first among them.
        clicks: u32,
    },
}

/// State of a walk along one visitor's requests, in the order of their times.
#[derive(Debug, Clone)]
pub struct Walker {
    thresholds: Thresholds,
    open: Option<OpenSession>,
}

/// A session that is not over.
#[derive(Debug, Clone, Copy)]
struct OpenSession {
    page: u32,
    clicks: u32,
    embedded: u32,
    quiet_since: Instant,
}

impl Walker {
    /// A walk before the first request.
    pub fn new(thresholds: Thresholds) -> Walker {
        Walker { thresholds, open: None }
    }

    /// Takes the visitor's next request and passes the events that it makes to `to`. Refused requests make
    /// none.
    pub fn take(&mut self, visit: &Visit, to: &mut impl FnMut(SessionEvent)) {
        if !visit.served {
            return;
        }
        let end = visit.at + visit.transfer.unwrap_or_default();
        let silence = self.open.as_ref().map(|open| visit.at.since(open.quiet_since));
        if silence.is_some_and(|silence| silence > self.thresholds.t_max) {
            self.finish(to);
        }
        let Some(open) = &mut self.open else {
            self.open = Some(OpenSession { page: visit.path, clicks: 1, embedded: 0, quiet_since: end });
            return to(SessionEvent::Start { at: visit.at, page: visit.path, silence });
        };
        let think = visit.at.since(open.quiet_since);
        if visit.kind == RequestKind::Embedded || think < self.thresholds.t_min {
            open.embedded += 1;
            to(SessionEvent::Embedded { page: open.page, object: visit.path });
        } else {
            to(SessionEvent::PageEnd { embedded: open.embedded });
            to(SessionEvent::Click { from: open.page, page: visit.path, think });
            (open.page, open.embedded) = (visit.path, 0);
            open.clicks += 1;
        }
        open.quiet_since = open.quiet_since.max(end);
    }

    /// Ends the visitor's last session.
    pub fn finish(&mut self, to: &mut impl FnMut(SessionEvent)) {
        if let Some(open) = self.open.take() {
            to(SessionEvent::PageEnd { embedded: open.embedded });
            to(SessionEvent::End { page: open.page, clicks: open.clicks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(thresholds: Thresholds, requests: &[(u64, RequestKind)]) -> Vec<SessionEvent> {
        let mut walker = Walker::new(thresholds);
        let mut steps = Vec::new();
        for (path, (secs, kind)) in requests.iter().enumerate() {
            let at = Instant::ZERO + Duration::from_secs(*secs);
            let (path, kind) = (path as u32, *kind);
            let visit =
                Visit { at, visitor: 0, path, kind, served: true, get: true, bytes: None, transfer: None };
            walker.take(&visit, &mut |step| steps.push(step));
        }
        walker.finish(&mut |step| steps.push(step));
        steps
    }

    #[test]
    fn thresholds_and_types_make_pages_and_sessions() {
        use RequestKind::{Embedded, Other, Page};
        let requests = [(0, Page), (1, Page), (9, Embedded), (11, Other), (611, Page), (1212, Embedded)];
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let expected = [
            SessionEvent::Start { at: at(0), page: 0, silence: None },
            SessionEvent::Embedded { page: 0, object: 1 }, // a frame: too soon for a click
            SessionEvent::Embedded { page: 0, object: 2 }, // a late image
            SessionEvent::PageEnd { embedded: 2 },
            SessionEvent::Click { from: 0, page: 3, think: Duration::from_secs(2) },
            SessionEvent::PageEnd { embedded: 0 },
            SessionEvent::Click { from: 3, page: 4, think: Duration::from_secs(600) },
            SessionEvent::PageEnd { embedded: 0 },
            SessionEvent::End { page: 4, clicks: 3 },
            SessionEvent::Start { at: at(1212), page: 5, silence: Some(Duration::from_secs(601)) },
            SessionEvent::PageEnd { embedded: 0 },
            SessionEvent::End { page: 5, clicks: 1 },
        ];
        assert_eq!(steps(Thresholds::default(), &requests), expected);
    }

    #[test]
    fn endings_make_kinds() {
        let kind = |path: &str| RequestKinds::default().of(path.as_bytes());
        assert_eq!(kind("/"), RequestKind::Page);
        assert_eq!(kind("/v1.2/about"), RequestKind::Page);
        assert_eq!(kind("/a.HTML?x=1.gif"), RequestKind::Page);
        assert_eq!(kind("/img/logo.GIF"), RequestKind::Embedded);
        assert_eq!(kind("/paper.ps.gz"), RequestKind::Other);
    }
}
