//! Replies as they come: what is kept of one, what it is compared with, what is taken from it, and what it
//! leads to.

use super::cache::{self, CacheEntry, Revalidation};
use super::charset::{Charset, is_html};
use super::check::{self, Unmet};
use super::coding::{Coding, Decoder};
use super::failure::{self, Failed};
use super::filling::Filling;
use super::find::{self, BodyQuery};
use super::form::{Form, FormParts};
use super::jar::Setter;
use super::names::{self, CheckNames};
use super::page::{PageReference, Scanner};
use super::request::RequestBytes;
use super::trace::{TraceEvent, Tracer};
use super::user::SessionUser;
use super::visit::Visit;
use super::{PendingRequest, RequestRole, Sessions};
use crate::exchange::Job;
use farfield_base::random::Stream;
use farfield_base::{Ending, HostNumber, Instant, KeptExchange, Outcome};
use farfield_http::Head;
use farfield_http::http1::Fields;
use farfield_traffic::session::extract::HeaderCheck;
use farfield_traffic::session::{Extraction, PageLoad, SessionState, ValueSource, websocket::SocketStep};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Bodies whose memory is kept, and the bytes of the largest: a megabyte in all.
const BODIES_KEPT: usize = 64;
const BODY_KEPT_BYTES: usize = 16 << 10;

/// The parts of a state's reply that are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    head: bool,
    body: bool,
    /// A reply with a status below 400 may fail.
    may_fail: bool,
}

/// The parts of a reply that are kept while it comes.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Redirect of the user to another place.
    onward: Option<Onward>,
    body: Vec<u8>,
    /// The head, where the reply would be kept if it failed.
    head: Vec<u8>,
    /// The body is kept for that alone.
    body_on_failure: bool,
    /// More of the body came than is kept for checks and extractions.
    is_cut: bool,
    /// Checks of the head that do not hold, and the value of the first of these fields.
    unmet: Vec<Unmet>,
    unmet_value: Option<Box<[u8]>>,
    /// In which characters the body is.
    charset: Charset,
    /// Values of headers, by the place of their extraction.
    headers: Vec<(usize, Option<Box<[u8]>>)>,
    /// Takes the content's coding off.
    decoder: Option<Box<Decoder>>,
    /// The content is in a coding that is not known.
    undecodable: bool,
    /// Finds what the page embeds.
    scanner: Option<Box<Scanner>>,
    /// The entry of an object that a cache may keep.
    kept: Option<CacheEntry>,
    /// The head has the connection upgraded to a WebSocket.
    upgraded: bool,
}

impl Intake {
    /// True if the head has the connection upgraded to a WebSocket.
    pub fn is_upgraded(&self) -> bool {
        self.upgraded
    }

    /// Keeps a message that was awaited, in memory that was used before if there is some.
    pub fn keep_message(&mut self, message: &[u8], memory: Option<Vec<u8>>) {
        self.body = memory.unwrap_or_default();
        self.body.extend_from_slice(message);
    }

    /// Holds the fields of a head against what the state asks for, and takes what it wants of them.
    fn take_head(&mut self, state: &SessionState, fields: Fields<'_>, rng: &mut Stream) {
        for (place, (name, wanted)) in state.check.spec.header.iter().enumerate() {
            let mut values = fields.named(name.as_str());
            let holds = match wanted {
                HeaderCheck::Present(there) => values.next().is_some() == *there,
                HeaderCheck::Value(value) => values.any(|own| own == value.as_bytes()),
            };
            if !holds {
                if self.unmet.is_empty() {
                    self.unmet_value = fields.named(name.as_str()).next().map(Box::from);
                }
                self.unmet.push(Unmet { key: "header", place });
            }
        }
        for (place, Extraction { from, pick, .. }) in state.extract.iter().enumerate() {
            if let ValueSource::Header(name) = from {
                self.headers.push((place, find::picked(fields.named(name), *pick, rng)));
            }
        }
    }
}

/// Target of a redirect.
#[derive(Debug)]
enum Onward {
    /// There: a host, and path and query.
    To(HostNumber, String),
    /// To where it is not followed, for this reason.
    Nowhere(Outcome),
}

impl Onward {
    /// True if the user goes on there, so that this reply is of no more interest.
    fn is_followed(onward: &Option<Onward>) -> bool {
        matches!(onward, Some(Onward::To(..)))
    }
}

/// Bytes of a page that are decoded at most, where no more are kept.
const SCANNED_BYTES_MAX: usize = 16 << 20;
/// Objects that are fetched for one page.
const OBJECTS_MAX: usize = 4096;

impl Sessions {
    /// The head of the reply to `job` has come.
    pub(crate) fn head(
        &mut self,
        user: &mut SessionUser<'_>,
        job: Job,
        now: Instant,
        head: Head,
        fields: Fields<'_>,
    ) {
        let PendingRequest { written, kind, intake, traced, .. } = &mut self.pending[job.written().index()];
        if let Some(traced) = traced {
            traced.head(head, fields);
        }
        intake.upgraded = head.status == 101
            && written.part().is_some_and(|part| part.is_accepted(&written.subprotocols(), fields));
        if self.session.cookies && head.sets_cookie {
            let (cookies, date) = cookies(fields);
            let host = self.writer.servers.at(written.host).cookie_host();
            let setter = Setter { target: written.target_bytes(), host, now, date };
            keep(&cookies, setter, user.visit, self.tracer.as_ref());
        }
        let state = usize::from(user.visit.state);
        let (needs, main) = (self.needs[state], matches!(kind, RequestRole::Main { .. }));
        if self.failures.keep() && (head.status >= 400 || main && needs.may_fail) {
            intake.head = self.bodies.pop().unwrap_or_default();
            failure::write_head(head, fields, &mut intake.head);
            intake.body_on_failure = head.status >= 400 && !(main && needs.body);
        }
        let RequestRole::Main { redirects } = *kind else {
            if self.session.cache {
                intake.kept = CacheEntry::of(fields, now);
            }
            return;
        };
        // A state that asks for such a status has it.
        let expected = &self.session.states[state].check.spec.status;
        if self.session.redirects > 0
            && written.part().is_none()
            && !expected.as_ref().is_some_and(|statuses| statuses.have(head.status))
            && matches!(head.status, 301 | 302 | 303 | 307 | 308)
            && let Some(location) = fields.named("location").last()
        {
            let servers = &self.writer.servers;
            let base = servers.at(written.host).page(written.target());
            let target = servers.resolve(&base, &String::from_utf8_lossy(location));
            intake.onward = Some(match target {
                None => Onward::Nowhere(Outcome::RedirectElsewhere),
                Some(_) if redirects == 0 => Onward::Nowhere(Outcome::RedirectLoop),
                Some((host, target)) => Onward::To(host, target),
            });
        }
        if Onward::is_followed(&intake.onward) {
            return;
        }
        if needs.head {
            intake.take_head(&self.session.states[state], fields, user.rng);
        }
        if needs.body {
            intake.charset = fields.named("content-type").last().map(Charset::of).unwrap_or_default();
        }
        if self.session.page_load == PageLoad::Browser
            && head.status < 400
            && fields.named("content-type").last().is_some_and(is_html)
        {
            intake.scanner = Some(Box::new(Scanner::new(&self.embedding)));
        }
        if intake.scanner.is_some() || needs.body || intake.body_on_failure {
            match Coding::of(fields) {
                Ok(coding) => {
                    let most = self.session.body_limit.max(SCANNED_BYTES_MAX);
                    intake.decoder = coding.map(|coding| Box::new(Decoder::new(coding, most)));
                }
                Err(_) => intake.undecodable = true,
            }
        }
    }

    /// Bytes of the body of the reply to `job` have come. What they embed is queued.
    pub(crate) fn body(&mut self, user: &mut SessionUser<'_>, job: Job, now: Instant, bytes: &[u8]) {
        let PendingRequest { kind, intake, traced, .. } = &mut self.pending[job.written().index()];
        if let Some(traced) = traced {
            traced.body(bytes);
        }
        let visit = &mut *user.visit;
        let main = matches!(kind, RequestRole::Main { .. }) && !Onward::is_followed(&intake.onward);
        let decoded;
        let bytes = match &mut intake.decoder {
            Some(decoder) => {
                decoded = decoder.read(bytes);
                &decoded
            }
            None => bytes,
        };
        if intake.body_on_failure || main && self.needs[usize::from(visit.state)].body {
            if intake.body.capacity() == 0 {
                intake.body = self.bodies.pop().unwrap_or_default();
            }
            let most = if intake.body_on_failure { KeptExchange::BYTES } else { self.session.body_limit };
            let room = most.saturating_sub(intake.body.len());
            intake.is_cut |= !intake.body_on_failure && bytes.len() > room;
            intake.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let Some(scanner) = &mut intake.scanner else { return };
        let named = scanner.read(bytes);
        if named.is_empty() {
            return;
        }
        let request = self.session.found(visit.state);
        let page = || Box::new(self.writer.servers.at(visit.host).page(&visit.location));
        let mut base = visit.base.take().unwrap_or_else(page);
        for named in named {
            match named {
                PageReference::Base(href) => {
                    if let Ok(url) = base.join(&href) {
                        *base = url;
                    }
                }
                PageReference::Object(reference) => {
                    if let Some((host, target)) = self.writer.servers.resolve(&base, &reference) {
                        self.object(user, job, now, request, (host, &target));
                    }
                }
            }
        }
        user.visit.base = Some(base);
    }

    /// A request is over, with a reply of this `status` or, without one, with `outcome`: what became of it,
    /// and what it led to, which is queued.
    pub(crate) fn over(
        &mut self,
        user: &mut SessionUser<'_>,
        job: Job,
        now: Instant,
        status: Option<u16>,
        ending: &Ending,
    ) -> Outcome {
        let outcome = ending.outcome;
        let PendingRequest { written, kind, mut intake, traced, .. } =
            self.pending.remove(job.written().index());
        if let Some(traced) = traced {
            self.traced(|_| traced.over(now, status, ending));
        }
        self.count_decoded(&mut intake);
        self.counts.bodies_cut += u64::from(intake.is_cut);
        let session = Arc::clone(&self.session);
        let about = Failed {
            at: now,
            due: job.due,
            user: user.number,
            session: user.visit.number,
            state: user.visit.state,
            outcome,
            status,
            detail: ending.detail.as_ref(),
            request: Some(&written),
            head: &[],
            body: &[],
        };
        let RequestRole::Main { redirects } = kind else {
            return self.object_over(user, about, &written, intake);
        };
        let names = Arc::clone(&self.check_names);
        let names = &names[usize::from(user.visit.state)];
        let Some(status) = status else {
            user.visit.failed = true;
            self.traced(|_| TraceEvent::Failed(outcome));
            self.note_failed(about, &intake, Arc::clone(&names.none), None);
            self.recycle(intake);
            return outcome;
        };
        let state = &session.states[usize::from(user.visit.state)];
        let judged = match &intake.onward {
            Some(Onward::To(host, target)) => {
                let redirect = Redirect { status, host: *host, target, left: redirects };
                self.redirect(user, job, now, &written, redirect);
                self.recycle(intake);
                return outcome;
            }
            _ if outcome == Outcome::Unasked => ReplyJudgement::plain(outcome, names),
            Some(Onward::Nowhere(reason)) => ReplyJudgement::plain(*reason, names),
            _ => {
                if let Cow::Owned(text) = intake.charset.decode(&intake.body) {
                    intake.body = text;
                }
                self.judge(user, names, state, status, &intake, now)
            }
        };
        let ReplyJudgement { outcome, what, instead } = judged;
        if outcome != Outcome::Ok {
            self.traced(|_| TraceEvent::Failed(outcome));
            self.note_failed(Failed { outcome, ..about }, &intake, what, instead);
        }
        self.recycle(intake);
        user.visit.failed = outcome != Outcome::Ok;
        if outcome == Outcome::Ok {
            self.objects_of(state, user, job, now);
        }
        outcome
    }

    /// Asks for the objects that a state embeds whatever its page says.
    fn objects_of(&mut self, state: &SessionState, user: &mut SessionUser<'_>, job: Job, now: Instant) {
        let (recipes, number) = (Arc::clone(&self.recipes), usize::from(user.visit.state));
        for (place, (host, target)) in recipes[number].embedded.iter().enumerate() {
            self.object(user, job, now, state.embedded_first + place as u32, (*host, target));
        }
    }

    /// The request for an embedded object is over.
    fn object_over(
        &mut self,
        user: &mut SessionUser<'_>,
        about: Failed<'_>,
        written: &RequestBytes,
        intake: Intake,
    ) -> Outcome {
        if let (Some(status @ (200 | 304)), Some(kept)) = (about.status, &intake.kept) {
            let key = cache::key(written.host, written.target());
            user.visit.cache.keep(key, kept.clone(), status == 304);
        }
        if about.outcome != Outcome::Ok {
            self.note_failed(about, &intake, written.target().into(), None);
        }
        self.recycle(intake);
        about.outcome
    }

    /// Counts the bytes that a content coding was taken off, and notes whether they were in that coding.
    fn count_decoded(&mut self, intake: &mut Intake) {
        if let Some(decoder) = &mut intake.decoder {
            self.counts.content.coded_bytes += decoder.coded_bytes;
            self.counts.content.decoded_bytes += decoder.decoded_bytes;
            intake.undecodable |= decoder.finish().is_err();
        }
    }

    /// Notes that a request failed for `what`, and what came `instead` if that is less than the whole reply.
    fn note_failed(&mut self, about: Failed<'_>, intake: &Intake, what: Arc<str>, instead: Option<String>) {
        let failed = Failed { head: &intake.head, body: &intake.body, ..about };
        self.failures.note(failed, what, || instead.unwrap_or_else(|| failed.reply_line()));
    }

    /// Asks where the reply said (RFC 9110 section 15.4).
    fn redirect(
        &mut self,
        user: &mut SessionUser<'_>,
        job: Job,
        now: Instant,
        written: &RequestBytes,
        Redirect { status, host, target, left }: Redirect<'_>,
    ) {
        let visit = &mut *user.visit;
        let jar = self.session.cookies.then_some((&visit.jar, now));
        let recipe = &self.recipes[usize::from(visit.state)];
        let next = self.writer.redirected(written, recipe, (status, host, target), visit, jar);
        visit.host = host;
        visit.location.clear();
        visit.location.push_str(target);
        let slot = self.pend(next, RequestRole::Main { redirects: left - 1 }, now);
        user.wanted.queue(job.led_to(job.request, host, Some(slot), now));
    }

    /// Asks for what is embedded in the page, once, and not if the user has it fresh.
    fn object(
        &mut self,
        user: &mut SessionUser<'_>,
        job: Job,
        now: Instant,
        request: u32,
        (host, target): (HostNumber, &str),
    ) {
        let visit = &mut *user.visit;
        let key = cache::key(host, target);
        if visit.seen.len() >= OBJECTS_MAX {
            self.counts.objects_left_out += u64::from(!visit.seen.contains(&key));
            return;
        }
        if !visit.seen.insert(key) {
            return;
        }
        let lines = match self.session.cache {
            true => visit.cache.ask(key, now),
            false => Revalidation::With(Vec::new()),
        };
        let Revalidation::With(lines) = lines else { return };
        let jar = self.session.cookies.then_some((&visit.jar, now));
        let written = self.writer.object((host, target), &lines, visit, jar);
        let slot = self.pend(written, RequestRole::Object, now);
        user.wanted.embed(job.led_to(request, host, Some(slot), now));
    }

    /// Keeps the memory of a head and a body that were looked at for the next ones.
    fn recycle(&mut self, intake: Intake) {
        for mut bytes in [intake.head, intake.body] {
            if (1..=BODY_KEPT_BYTES).contains(&bytes.capacity()) && self.bodies.len() < BODIES_KEPT {
                bytes.clear();
                self.bodies.push(bytes);
            }
        }
    }

    /// Holds a reply against what the state asks for, and takes from it what the state wants.
    fn judge(
        &mut self,
        user: &mut SessionUser<'_>,
        names: &CheckNames,
        state: &SessionState,
        status: u16,
        intake: &Intake,
        now: Instant,
    ) -> ReplyJudgement {
        let (visit, rng, number) = (&mut *user.visit, &mut *user.rng, user.number);
        let well = match &state.check.spec.status {
            None => Outcome::of_status(status),
            Some(statuses) if statuses.have(status) => Outcome::Ok,
            Some(_) => {
                let outcome = if status < 400 { Outcome::CheckFailed } else { Outcome::of_status(status) };
                return ReplyJudgement {
                    what: Arc::clone(&names.status),
                    ..ReplyJudgement::plain(outcome, names)
                };
            }
        };
        if well != Outcome::Ok {
            return ReplyJudgement::plain(well, names);
        }
        if state.websocket == Some(SocketStep::Open) && !intake.upgraded {
            let instead = match status {
                101 => "the reply does not answer the request: its key, its subprotocols, and no extension"
                    .to_owned(),
                _ => format!("the server answers {status} and does not upgrade the connection"),
            };
            let refused = ReplyJudgement::plain(Outcome::WebSocketRefused, names);
            return ReplyJudgement { instead: Some(instead), ..refused };
        }
        if intake.undecodable {
            return ReplyJudgement::plain(Outcome::BadCoding, names);
        }
        let before = rng.clone();
        let mut filling = Filling { visit, session: &self.session, user: number, rng };
        let mut unmet = intake.unmet.clone();
        unmet.extend(check::unmet(&state.check, &intake.body, &mut filling));
        if let Some(first) = unmet.first() {
            let words = |unmet: &Unmet| unmet.in_words(&state.check, &intake.body, &mut filling);
            self.trace_unmet(unmet.iter().map(words));
            let (outcome, what) = (Outcome::CheckFailed, names.check(first));
            let instead = self.failures.is_new(visit.state, outcome, &what).then(|| {
                // This draws equal numbers again, and none of the user's.
                let filling = Filling { rng: &mut { before }, visit, session: &self.session, user: number };
                names::instead(first, &state.check, intake.unmet_value.as_deref(), &intake.body, filling)
            });
            return ReplyJudgement { outcome, what, instead: instead.flatten() };
        }
        let missing = self.take_values((&mut *visit, &mut *rng, number), state, intake, now);
        let mut kept = Vec::new();
        for form_number in &state.forms_kept {
            let form = &self.session.forms[usize::from(*form_number)];
            let mut filling = Filling { visit, session: &self.session, user: number, rng };
            let found = match &self.form_parts[usize::from(*form_number)] {
                Some(parts) => Form::find(&intake.body, parts, form.pick, rng),
                None => filling
                    .query(&form.select)
                    .and_then(|css| Form::find(&intake.body, &FormParts::of(&css), form.pick, rng)),
            };
            kept.extend(found.map(|found| (*form_number, found)));
        }
        visit.keep_forms(kept);
        let Some(place) = missing else { return ReplyJudgement::plain(Outcome::Ok, names) };
        let instead = names::missing(&state.extract[place].from);
        ReplyJudgement { outcome: Outcome::ExtractFailed, what: Arc::clone(&names.extract[place]), instead }
    }

    /// Takes the values that the state wants from a reply; returns the first that is missing.
    fn take_values(
        &self,
        (visit, rng, user): (&mut Visit, &mut Stream, u32),
        state: &SessionState,
        intake: &Intake,
        now: Instant,
    ) -> Option<usize> {
        let mut missing = None;
        for (place, Extraction { variable, from, pick, default }) in state.extract.iter().enumerate() {
            let found = match from {
                ValueSource::Header(_) => {
                    intake.headers.iter().find(|(own, _)| *own == place).and_then(|(_, value)| value.clone())
                }
                ValueSource::Cookie(name) => visit.jar.value(name, now).map(Box::from),
                _ => {
                    let mut filling = Filling { visit, session: &self.session, user, rng };
                    BodyQuery::of(from, &mut filling)
                        .and_then(|finding| finding.find(&intake.body, *pick, rng))
                }
            };
            let by_default = found.is_none();
            let value = found.or_else(|| default.as_ref().map(|text| text.as_bytes().into()));
            self.trace_extracted(*variable, value.as_deref(), by_default);
            match value {
                Some(value) => visit.set(*variable, value),
                None => missing = missing.or(Some(place)),
            }
        }
        missing
    }
}

/// The judgement of a page's own reply: its outcome and, if it failed, what failed of it and what came
/// instead.
struct ReplyJudgement {
    outcome: Outcome,
    what: Arc<str>,
    /// Nothing where the reply as a whole is all there is to say.
    instead: Option<String>,
}

impl ReplyJudgement {
    /// An outcome that says all.
    fn plain(outcome: Outcome, names: &CheckNames) -> ReplyJudgement {
        ReplyJudgement { outcome, what: Arc::clone(&names.none), instead: None }
    }
}

/// A reply's redirect of the user, with the number of redirects that are left.
struct Redirect<'a> {
    status: u16,
    host: HostNumber,
    target: &'a str,
    left: u8,
}

/// The values of Set-Cookie, and that of Date.
fn cookies(fields: Fields<'_>) -> (SmallVec<[&[u8]; 4]>, Option<&[u8]>) {
    let (mut cookies, mut date) = (SmallVec::new(), None);
    for (name, value) in fields {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"date") => date = Some(value),
            10 if name.eq_ignore_ascii_case(b"set-cookie") => cookies.push(value),
            _ => {}
        }
    }
    (cookies, date)
}

/// Keeps the cookies that a reply sets, as far as they may be set.
fn keep(cookies: &[&[u8]], setter: Setter<'_>, visit: &mut Visit, tracer: Option<&Tracer>) {
    for field in cookies {
        if let (Err(refusal), Some(tracer)) = (visit.jar.set(field, setter), tracer) {
            let name = field.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            tracer.send(TraceEvent::Warning(format!("the cookie `{name}` is not kept: {refusal}")));
        }
    }
}

impl Needs {
    /// The parts that a state looks at.
    pub fn of(state: &SessionState) -> Needs {
        let takes = |wanted: fn(&ValueSource) -> bool| state.extract.iter().any(|own| wanted(&own.from));
        let (check, has_forms) = (&state.check.spec, !state.forms_kept.is_empty());
        Needs {
            head: !check.header.is_empty() || takes(|from| matches!(from, ValueSource::Header(_))),
            body: check.reads_body()
                || has_forms
                || takes(|from| !matches!(from, ValueSource::Header(_) | ValueSource::Cookie(_))),
            may_fail: !check.is_empty() || !state.extract.is_empty() || has_forms,
        }
    }
}
