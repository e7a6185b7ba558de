//! Replies as they come: what is kept of one, what it is held against, what is taken from it, and what it leads to.

use super::cache::{self, Ask, Kept};
use super::coding::{Coding, Decoder};
use super::form::Form;
use super::jar::Setter;
use super::page::{Named, Scanner};
use super::request::{Derived, Own, Written};
use super::text::{Filling, Place};
use super::{Errand, Kind, Sessions, find};
use crate::connection::Job;
use crate::user::User;
use bytes::BytesMut;
use farfield_base::random::Stream;
use farfield_base::{Instant, Outcome};
use farfield_http::http1::{Fields, Head};
use farfield_traffic::session::extract::{Source, Wanted};
use farfield_traffic::session::{PageLoad, State};
use http::Method;
use smallvec::SmallVec;
use std::sync::Arc;

/// Bodies whose memory is kept, and the bytes of the largest: a megabyte in all.
const BODIES_KEPT: usize = 64;
const BODY_KEPT_BYTES: usize = 16 << 10;

/// What of a state's reply is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    head: bool,
    body: bool,
}

/// What is kept of a reply while it comes.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Where the reply sends the user instead.
    onward: Option<Onward>,
    body: Vec<u8>,
    /// A header does not hold.
    unwell: bool,
    /// Values of headers, by the place of their extraction.
    headers: Vec<(usize, Option<Box<[u8]>>)>,
    /// Takes the content's coding off.
    decoder: Option<Box<Decoder>>,
    /// The content is in a coding that is not known.
    undecodable: bool,
    /// Finds what the page embeds.
    scanner: Option<Box<Scanner>>,
    /// What a cache may keep of an object.
    kept: Option<Kept>,
}

/// Where a redirect leads.
#[derive(Debug)]
enum Onward {
    /// There: path and query.
    To(String),
    /// To where it is not followed, for this reason.
    Nowhere(Outcome),
}

impl Onward {
    /// Whether the user goes on there, so that this reply is of no more interest.
    fn is_followed(onward: &Option<Onward>) -> bool {
        matches!(onward, Some(Onward::To(_)))
    }
}

/// Bytes of a page that are decoded at most, where no more are kept.
const SCANNED_BYTES_MAX: usize = 16 << 20;
/// Objects that are fetched for one page.
const OBJECTS_MAX: usize = 4096;

impl Sessions {
    /// The head of the reply to `job` has come.
    pub(crate) fn head(&mut self, user: &mut User, job: Job, now: Instant, head: Head, fields: Fields<'_>) {
        let Errand { written, kind, intake, .. } = &mut self.errands[job.errand as usize];
        let visit = user.visit.as_mut().expect("the user is in a session");
        if self.session.cookies && head.sets_cookie {
            let (cookies, date) = cookies(fields);
            let setter = Setter { target: written.target_bytes(), host: &self.writer.host, now, date };
            cookies.iter().for_each(|field| visit.jar.set(field, setter));
        }
        let Kind::Main { redirects } = *kind else {
            if self.session.cache {
                intake.kept = Kept::of(fields, now);
            }
            return;
        };
        if self.session.redirects > 0
            && matches!(head.status, 301 | 302 | 303 | 307 | 308)
            && let Some(location) = fields.named("location").last()
        {
            let server = &self.writer.server;
            let target = server.resolve(&server.page(written.target()), &String::from_utf8_lossy(location));
            intake.onward = Some(match target {
                None => Onward::Nowhere(Outcome::RedirectElsewhere),
                Some(_) if redirects == 0 => Onward::Nowhere(Outcome::RedirectLoop),
                Some(target) => Onward::To(target),
            });
        }
        if Onward::is_followed(&intake.onward) {
            return;
        }
        let state = usize::from(visit.state);
        if self.needs[state].head {
            intake.take_head(&self.session.states[state], fields, &mut user.chance);
        }
        if self.session.page_load == PageLoad::Browser
            && head.status < 400
            && fields.named("content-type").last().is_some_and(is_html)
        {
            intake.scanner = Some(Box::new(Scanner::new(&self.embedding)));
        }
        if intake.scanner.is_some() || self.needs[state].body {
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
    pub(crate) fn body(&mut self, user: &mut User, job: Job, now: Instant, bytes: &[u8]) {
        let Errand { kind, intake, .. } = &mut self.errands[job.errand as usize];
        let visit = user.visit.as_mut().expect("the user is in a session");
        let main = matches!(kind, Kind::Main { .. }) && !Onward::is_followed(&intake.onward);
        let decoded;
        let bytes = match &mut intake.decoder {
            Some(decoder) => {
                decoded = decoder.read(bytes);
                &decoded
            }
            None => bytes,
        };
        if main && self.needs[usize::from(visit.state)].body {
            if intake.body.capacity() == 0 {
                intake.body = self.bodies.pop().unwrap_or_default();
            }
            let room = self.session.body_limit.saturating_sub(intake.body.len());
            intake.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let Some(scanner) = &mut intake.scanner else { return };
        let named = scanner.read(bytes);
        if named.is_empty() {
            return;
        }
        let request = self.session.found(visit.state);
        let mut base =
            visit.base.take().unwrap_or_else(|| Box::new(self.writer.server.page(&visit.location)));
        for named in named {
            match named {
                Named::Base(href) => {
                    if let Ok(url) = base.join(&href) {
                        *base = url;
                    }
                }
                Named::Object(reference) => {
                    if let Some(target) = self.writer.server.resolve(&base, &reference) {
                        self.object(user, job, now, request, &target);
                    }
                }
            }
        }
        user.visit.as_mut().expect("the user is in a session").base = Some(base);
    }

    /// An errand is over, with a reply of this `status` or, without one, with `outcome`: what became of it, and what it
    /// led to, which is queued.
    pub(crate) fn over(
        &mut self,
        user: &mut User,
        job: Job,
        now: Instant,
        status: Option<u16>,
        outcome: Outcome,
    ) -> Outcome {
        let Errand { written, kind, mut intake, .. } = self.errands.remove(job.errand as usize);
        if let Some(decoder) = &mut intake.decoder {
            self.counts.coded_bytes += decoder.coded_bytes;
            self.counts.decoded_bytes += decoder.decoded_bytes;
            intake.undecodable |= decoder.finish().is_err();
        }
        let session = Arc::clone(&self.session);
        let visit = user.visit.as_mut().expect("the user is in a session");
        let Kind::Main { redirects } = kind else {
            if let (Some(status @ (200 | 304)), Some(kept)) = (status, intake.kept) {
                visit.cache.keep(cache::key(written.target()), kept, status == 304);
            }
            return outcome;
        };
        let Some(status) = status else {
            visit.failed = true;
            return outcome;
        };
        let state = &session.states[usize::from(visit.state)];
        let expected = state.check.spec.status.as_ref().is_some_and(|statuses| statuses.have(status));
        let outcome = match &intake.onward {
            Some(Onward::To(target)) => {
                self.redirect(user, job, now, &written, Redirect { status, target, left: redirects });
                return outcome;
            }
            _ if outcome == Outcome::Unasked => outcome,
            // Who asks for such a status has it.
            Some(Onward::Nowhere(reason)) if !expected => *reason,
            _ => self.judge(user, state, status, &intake, now),
        };
        self.recycle(intake.body);
        let visit = user.visit.as_mut().expect("the user is in a session");
        visit.failed = outcome != Outcome::Ok;
        if outcome == Outcome::Ok {
            for (place, target) in state.embedded.iter().enumerate() {
                let request = state.embedded_first + place as u32;
                self.object(user, job, now, request, target);
            }
        }
        outcome
    }

    /// Asks where the reply said (RFC 9110 section 15.4): with GET, but for 307 and 308, which keep the request.
    fn redirect(
        &mut self,
        user: &mut User,
        job: Job,
        now: Instant,
        written: &Written,
        Redirect { status, target, left }: Redirect<'_>,
    ) {
        let visit = user.visit.as_mut().expect("the user is in a session");
        let jar = self.session.cookies.then_some((&visit.jar, now));
        let lines = written.body_lines();
        let (referer, own) = (visit.referer.as_str(), Own::default());
        let get = Derived { method: &Method::GET, target, lines: b"", referer, own, body: None };
        let derived = match matches!(status, 307 | 308) {
            true => Derived { method: &written.method, lines: &lines, body: written.body(), ..get },
            false => get,
        };
        let next = self.writer.derived(derived, jar);
        visit.location.clear();
        visit.location.push_str(target);
        let errand = self.errand(next, Kind::Main { redirects: left - 1 });
        user.queue(job.led_to(job.request, errand, now));
    }

    /// Asks for what is embedded in the page, once, and not if the user has it fresh.
    fn object(&mut self, user: &mut User, job: Job, now: Instant, request: u32, target: &str) {
        let visit = user.visit.as_mut().expect("the user is in a session");
        let key = cache::key(target);
        if visit.seen.len() >= OBJECTS_MAX {
            self.counts.objects_left_out += u64::from(!visit.seen.contains(&key));
            return;
        }
        if !visit.seen.insert(key) {
            return;
        }
        let lines = match self.session.cache {
            true => visit.cache.ask(key, now),
            false => Ask::With(Vec::new()),
        };
        let Ask::With(lines) = lines else { return };
        let jar = self.session.cookies.then_some((&visit.jar, now));
        let (referer, own) = (visit.location.as_str(), Own::default());
        let derived = Derived { method: &Method::GET, target, lines: &lines, referer, own, body: None };
        let written = self.writer.derived(derived, jar);
        let errand = self.errand(written, Kind::Object);
        user.embed(job.led_to(request, errand, now));
    }

    /// Keeps the memory of a body that was looked at for the next one.
    fn recycle(&mut self, mut body: Vec<u8>) {
        if (1..=BODY_KEPT_BYTES).contains(&body.capacity()) && self.bodies.len() < BODIES_KEPT {
            body.clear();
            self.bodies.push(body);
        }
    }

    /// Holds a reply against what the state asks for, and takes from it what the state wants.
    fn judge(
        &mut self,
        user: &mut User,
        state: &State,
        status: u16,
        intake: &Intake,
        now: Instant,
    ) -> Outcome {
        let User { visit, chance, number, .. } = user;
        let visit = visit.as_mut().expect("the user is in a session");
        let well = match &state.check.spec.status {
            None => Outcome::of_status(status),
            Some(statuses) if statuses.have(status) => Outcome::Ok,
            Some(_) if status < 400 => Outcome::CheckFailed,
            Some(_) => Outcome::of_status(status),
        };
        if well != Outcome::Ok {
            return well;
        }
        if intake.undecodable {
            return Outcome::BadCoding;
        }
        let mut holds =
            !intake.unwell && state.check.spec.regex.iter().all(|regex| regex.regex().is_match(&intake.body));
        let mut filled = BytesMut::new();
        let texts = state.check.contains.iter().map(|text| (text, true));
        for (text, there) in texts.chain(state.check.lacks.iter().map(|text| (text, false))) {
            let wanted = match text.constant() {
                Some(plain) => plain.as_bytes(),
                None => {
                    filled.clear();
                    let mut filling = Filling { visit, data: &self.session.data, user: *number, chance };
                    filling.write(text, Place::Body, &mut filled);
                    &filled
                }
            };
            holds &= memchr::memmem::find(&intake.body, wanted).is_some() == there;
        }
        if !holds {
            return Outcome::CheckFailed;
        }
        let mut all = true;
        for (place, (variable, spec)) in state.extract.iter().enumerate() {
            let found = match &spec.from {
                Source::Header(_) => {
                    intake.headers.iter().find(|(own, _)| *own == place).and_then(|(_, value)| value.clone())
                }
                Source::Cookie(name) => visit.jar.value(name, now).map(Box::from),
                _ => find::in_body(spec, &intake.body, chance),
            };
            match found.or_else(|| spec.default.as_ref().map(|text| text.as_bytes().into())) {
                Some(value) => visit.set(*variable, value),
                None => all = false,
            }
        }
        let form = |number: &u16| {
            Form::first(&intake.body, &self.form_parts[usize::from(*number)]).map(|form| (*number, form))
        };
        visit.keep_forms(state.forms_kept.iter().filter_map(form).collect());
        if all { Outcome::Ok } else { Outcome::ExtractFailed }
    }
}

impl Intake {
    /// Holds the fields of a head against what the state asks for, and takes what it wants of them.
    fn take_head(&mut self, state: &State, fields: Fields<'_>, chance: &mut Stream) {
        for (name, wanted) in &state.check.spec.header {
            let mut values = fields.named(name.as_str());
            let holds = match wanted {
                Wanted::Present(there) => values.next().is_some() == *there,
                Wanted::Value(value) => values.any(|own| own == value.as_bytes()),
            };
            self.unwell |= !holds;
        }
        for (place, (_, spec)) in state.extract.iter().enumerate() {
            if let Source::Header(name) = &spec.from {
                self.headers.push((place, find::picked(fields.named(name), spec.pick, chance)));
            }
        }
    }
}

/// Where a reply sends the user instead, which may happen so often yet.
struct Redirect<'a> {
    status: u16,
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

fn is_html(media_type: &[u8]) -> bool {
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"text/html") || essence.eq_ignore_ascii_case(b"application/xhtml+xml")
}

impl Needs {
    /// What a state looks at.
    pub fn of(state: &State) -> Needs {
        let takes = |wanted: fn(&Source) -> bool| state.extract.iter().any(|(_, spec)| wanted(&spec.from));
        Needs {
            head: !state.check.spec.header.is_empty() || takes(|from| matches!(from, Source::Header(_))),
            body: state.check.spec.reads_body()
                || !state.forms_kept.is_empty()
                || takes(|from| !matches!(from, Source::Header(_) | Source::Cookie(_))),
        }
    }
}
