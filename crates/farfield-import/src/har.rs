//! HTTP Archives, by the reader that replays them: what it takes and leaves out is the account. Its pages
//! become states that one can edit.
//!
//! An object that a browser fetches by itself (a GET without a body and without signs of a script, in its
//! fields or in what Chromium notes) is embedded in its page; any other request of a page is a state behind
//! it. Think times are those between the pages.

use crate::bindings;
use crate::draft::{Draft, DraftEntry};
use crate::pause::{Pause, Spread};
use crate::state::{Body, DraftState};
use crate::text::{brief, literal, name_of_request};
use crate::{ImportError, ImportSource, Wishes};
use farfield_base::credentials::{without_userinfo, words_without_credentials};
use farfield_traffic::file::FileError;
use farfield_traffic::request::{Request, RequestTarget};
use farfield_traffic::session::replay::{
    MissingBodies, ReplayFormat, ReplaySpec, ReplayTiming, Speed, recorded_server, scripted_paths,
};
use http::Method;
use std::collections::BTreeSet;
use std::path::PathBuf;
use url::{Position, Url};

/// Reads an archive.
pub fn read(source: ImportSource<'_>, wishes: &Wishes, draft: &mut Draft) -> Result<(), ImportError> {
    let unreadable = |reason: String| ImportError::Unreadable { kind: "HTTP Archive", reason };
    let spec = ReplaySpec {
        file: PathBuf::from(source.name),
        format: Some(ReplayFormat::Har),
        timing: ReplayTiming::Gaps,
        speed: Speed::try_from(1.0).map_err(unreadable)?,
        in_turn: None,
        missing_bodies: MissingBodies::LeaveOut,
        layout: None,
        fields: None,
    };
    let authority =
        wishes.target.as_ref().map(|url| url[Position::BeforeHost..Position::AfterPort].to_owned());
    let bytes = source.bytes;
    let beside: Vec<String> = wishes.hosts.iter().map(Url::to_string).collect();
    let replay = spec.resolve(&mut |_| Ok(bytes.to_vec()), authority.as_deref(), &beside).map_err(
        |error| match error {
            // Its places are as they stand in the archive.
            FileError::Nothing { why, .. } => {
                let shown = |why: &String| {
                    words_without_credentials(&without_userinfo(&brief(why, 1_000))).into_owned()
                };
                ImportError::nothing(why.iter().map(shown).collect())
            }
            FileError::Whole { problem, .. } => {
                let why = problem.strip_prefix("is no HTTP Archive: ").map(str::to_owned);
                unreadable(why.unwrap_or(problem))
            }
            error => unreadable(error.to_string()),
        },
    )?;
    let server = recorded_server(bytes, authority.as_deref(), &beside).and_then(|url| Url::parse(&url).ok());
    draft.reading = replay.reading.clone();
    // Counted anew with the states: some of what a recording has no state can have.
    draft.reading.taken = 0;
    draft.settings.thinks = true;
    let scripted = scripted_paths(bytes);
    let mut pages = Pages { draft, server, scripted, page: 0, waited: Pause::default() };
    for page in replay.sessions.iter().flat_map(|session| &session.pages) {
        let requests = &replay.requests.pages()[page.page as usize];
        let embedded = requests.embedded.iter().map(|id| replay.requests.request(*id));
        pages.page(replay.requests.request(requests.main), embedded.collect());
        pages.waited.join(Pause::of(page.think, Spread::None));
    }
    let Pages { waited, draft, .. } = pages;
    let mut steps = steps(draft, wishes);
    let mut replies = bindings::replies_of(bytes, draft, &steps);
    if wishes.binds {
        replies = bindings::fold_redirects(draft, &steps, replies);
        steps = self::steps(draft, wishes);
    }
    bindings::bind(draft, &steps, replies, !wishes.binds);
    let has_cookies = draft.entries().iter().any(|entry| entry.state.has_header("cookie"));
    let is_recorded = |(name, value): &(String, String)| name == "authorization" && !value.contains("${");
    let has_credentials = draft.entries().iter().any(|entry| entry.state.headers.iter().any(is_recorded));
    draft.come_round(draft.steps().first().copied(), waited);
    if has_cookies {
        draft.note(
            "fields `Cookie` are those of the recording; where they are deleted, users keep the cookies that the server sets",
        );
    }
    if has_credentials {
        draft.note("fields `Authorization` are those of the recording: to the server all users are the one who was recorded");
    }
    Ok(())
}

/// The entries of the scenario, in the order in which they are asked for.
fn steps(draft: &Draft, wishes: &Wishes) -> Vec<usize> {
    let kept: BTreeSet<usize> = draft.kept(wishes).into_iter().collect();
    draft.steps().into_iter().filter(|number| kept.contains(number)).collect()
}

struct Pages<'a> {
    draft: &'a mut Draft,
    server: Option<Url>,
    /// Paths that a script asked for.
    scripted: BTreeSet<String>,
    page: usize,
    /// The time since the last request that was taken.
    waited: Pause,
}

impl Pages<'_> {
    fn page(&mut self, main: &Request, others: Vec<&Request>) {
        self.page += 1;
        let (objects, scripted): (Vec<&Request>, Vec<&Request>) = others
            .into_iter()
            .partition(|other| is_object(other) && !self.scripted.contains(located(&other.path).1));
        match self.entry(main) {
            Ok(mut entry) => {
                for object in &objects {
                    entry.state.embedded.push(object.path.clone());
                    if !object.headers.is_empty() {
                        let what = "as an object of its page, without the header fields that it had";
                        entry.remarks.differs(what, self.place(object));
                    }
                }
                entry.entries += objects.len() as u64;
                self.take(entry);
            }
            Err((why, place)) => {
                self.draft.reading.leave_out_all(why, 1 + objects.len() as u64, place);
            }
        }
        for request in scripted {
            match self.entry(request) {
                Ok(entry) => {
                    self.take(entry.with(["behind the page that they were a part of, one after the other"]));
                }
                Err((why, place)) => self.draft.reading.leave_out(why, place),
            }
        }
    }

    fn place(&self, request: &Request) -> String {
        format!("page {}, {} {}", self.page, request.method, request.path)
    }

    /// The entry of a request; why there is none, and its place.
    fn entry(&self, request: &Request) -> Result<DraftEntry, (&'static str, String)> {
        let place = self.place(request);
        let (host, path) = located(&request.path);
        match state(request, path) {
            Some(state) => Ok(DraftEntry::new(place, host.or_else(|| self.server.clone()), state)),
            None => Err(("whose body is no text in UTF-8", place)),
        }
    }

    fn take(&mut self, entry: DraftEntry) {
        if self.draft.take(DraftEntry { pause: self.waited, ..entry }).is_some() {
            self.waited = Pause::default();
        }
    }
}

/// True if a browser would ask for it by itself.
fn is_object(request: &Request) -> bool {
    let of_script = |(name, value): &(http::HeaderName, http::HeaderValue)| {
        let value = value.to_str().unwrap_or_default();
        match name.as_str() {
            "authorization" | "x-requested-with" | "content-type" => true,
            "sec-fetch-dest" => value == "empty",
            "accept" => value.contains("json"),
            _ => false,
        }
    };
    request.method == Method::GET
        && request.body.is_empty()
        && !request.headers.iter().any(of_script)
        && RequestTarget::try_from(request.path.clone()).is_ok()
}

/// The host of a request that is not the server's, and the path there.
fn located(path: &str) -> (Option<Url>, &str) {
    let Some(url) = Url::parse(path).ok().filter(|_| !path.starts_with('/')) else { return (None, path) };
    let origin = url.origin().ascii_serialization();
    (Some(url), path.strip_prefix(&origin).unwrap_or(path))
}

/// The state of a request for `path`; none if its body is no text.
fn state(request: &Request, path: &str) -> Option<DraftState> {
    let name = name_of_request(request.method.as_str(), path);
    let mut state = DraftState::new(name, request.method.as_str(), &literal(path));
    for (name, value) in &request.headers {
        state.add_header(name.as_str(), &literal(&String::from_utf8_lossy(value.as_bytes())));
    }
    if !request.body.is_empty() {
        state.body = Some(Body::Text(literal(std::str::from_utf8(&request.body).ok()?)));
    }
    Some(state)
}
