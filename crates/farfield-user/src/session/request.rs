//! Requests of a session as bytes: all that does not change was encoded before the run, the rest is filled
//! in.

use super::encoding::{EncodedField, Encoding, FileHeader};
use super::filling::Filling;
use super::form::Form;
use super::jar::{CookieQuery, Jar};
use super::recipe::{HostForm, OwnFields, Recipe};
use super::socket_part::{MESSAGE_METHOD, SocketPart, upgrade_fields};
use super::text::TextContext;
use super::urls::{Servers, TargetHost};
use super::visit::Visit;
use crate::expect::is_expectation;
use crate::outgoing::Outgoing;
use crate::target::{HostName, Target};
use crate::version::HttpVersion;
use bytes::{Bytes, BytesMut};
use farfield_base::{HostNumber, Instant};
use farfield_http::http1::{Answering, RequestError};
use farfield_http::http2::{self, RequestBlock};
use farfield_http::http3;
use farfield_http::websocket::Key;
use farfield_traffic::session::websocket::SocketStep;
use farfield_traffic::session::{FormOf, Text, TextPiece, UploadContent};
use http::Method;
use rand::Rng;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use url::Url;

/// A request as it will be sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestBytes {
    /// Bytes of the request, without a word about whether the connection is kept.
    pub bytes: Bytes,
    /// Place of such a word: before the empty line that ends the head.
    line_at: u32,
    /// Range of its target in `bytes`.
    target: (u32, u32),
    pub method: Method,
    /// The host that it is for.
    pub host: HostNumber,
    /// True if the Cookie field is the state's own.
    own_cookies: bool,
    version: HttpVersion,
    /// The part of a WebSocket's life that it is, if it is one. The bytes of a message are its payload.
    part: Option<SocketPart>,
}

impl RequestBytes {
    /// A message for a WebSocket to `host`.
    pub(super) fn message(payload: Bytes, host: HostNumber, part: SocketPart) -> RequestBytes {
        RequestBytes {
            bytes: payload,
            line_at: 0,
            target: (0, 0),
            method: MESSAGE_METHOD,
            host,
            own_cookies: false,
            version: HttpVersion::Http11,
            part: Some(part),
        }
    }

    /// The part of a WebSocket's life that it is, if it is one.
    pub(super) fn part(&self) -> Option<&SocketPart> {
        self.part.as_ref()
    }

    /// True if it is a message, which has no head.
    pub fn is_message(&self) -> bool {
        matches!(self.part, Some(SocketPart::Message { .. }))
    }

    /// The target: path and query.
    pub fn target(&self) -> &str {
        std::str::from_utf8(self.target_bytes()).expect("targets are written in ASCII")
    }

    /// The target, as it stands in the request.
    pub fn target_bytes(&self) -> &[u8] {
        let (from, to) = self.target;
        &self.bytes[from as usize..to as usize]
    }

    pub fn answering(&self) -> Answering {
        Answering::method(self.method.as_str())
    }

    /// The bytes of its body, if it asks for the server's word before them.
    pub fn expecting_bytes(&self) -> usize {
        let (_, body) = self.parts();
        let expects = !self.is_message()
            && !body.is_empty()
            && self
                .lines()
                .any(|(name, line)| is_expectation(&name, line.get(name.len() + 1..).unwrap_or_default()));
        if expects { body.len() } else { 0 }
    }

    /// The subprotocols of a WebSocket that it offers, as a list.
    pub(super) fn subprotocols(&self) -> Vec<u8> {
        let named = self.lines().filter(|(name, _)| name == b"sec-websocket-protocol");
        named
            .flat_map(|(name, line)| [line.get(name.len() + 1..).unwrap_or_default(), b","].concat())
            .collect()
    }

    /// True if it says how long its body is.
    fn has_length(&self) -> bool {
        self.lines().any(|(name, _)| name == b"content-length")
    }

    /// The request for a stream of HTTP/2: its block, made in `scratch` and kept by `outgoing`, and its body.
    pub fn for_stream(
        &self,
        scheme: &str,
        scratch: &mut Vec<u8>,
        outgoing: &mut Outgoing,
    ) -> (RequestBlock, Bytes) {
        let body = self.bytes.slice(self.line_at as usize + 2..);
        scratch.clear();
        http2::block_of_http1(&self.bytes[..self.line_at as usize], scheme, scratch);
        (RequestBlock::of_block(outgoing.keep(scratch), self.answering(), body.len() as u64), body)
    }

    /// Bytes of a stream of HTTP/3: all before the body, made in `scratch` and kept by `outgoing`, and the
    /// body.
    pub fn for_http3(&self, scheme: &str, scratch: &mut Vec<u8>, outgoing: &mut Outgoing) -> [Bytes; 2] {
        let body = self.bytes.slice(self.line_at as usize + 2..);
        let head = &self.bytes[..self.line_at as usize];
        scratch.clear();
        http3::begin_request_of_http1(head, scheme, body.len() as u64, scratch);
        [outgoing.keep(scratch), body]
    }

    /// Head of the request, with the empty line, and body.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(if self.is_message() { 0 } else { self.line_at as usize + 2 })
    }

    /// Header lines of the request, each with its name in lower case.
    fn lines(&self) -> impl Iterator<Item = (Vec<u8>, &[u8])> {
        let head = self.bytes[..self.line_at as usize].split_inclusive(|byte| *byte == b'\n').skip(1);
        head.map(|line| {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            (name.to_ascii_lowercase(), line)
        })
    }

    /// Bytes of the request on a connection that is kept (`persistent`) or not, where RFC 9112 section 9.3
    /// wants that said.
    pub fn on(&self, persistent: bool) -> Option<Bytes> {
        if let Some(part) = &self.part {
            return part.frame(&self.bytes);
        }
        let line: &[u8] = match (self.version, persistent) {
            (HttpVersion::Http11 | HttpVersion::Auto, false) => b"Connection: close\r\n",
            (HttpVersion::Http10, true) => b"Connection: keep-alive\r\n",
            (HttpVersion::Http11 | HttpVersion::Auto, true) | (HttpVersion::Http10, false) => return None,
            // Frames say what becomes of a connection.
            (HttpVersion::Http2 | HttpVersion::Http3, _) => return None,
        };
        let (head, rest) = self.bytes.split_at(self.line_at as usize);
        Some([head, line, rest].concat().into())
    }
}

/// Writer of requests: the hosts that they are for, and the memory that they are written in.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub hosts: Arc<[HostName]>,
    pub servers: Servers,
    forms: Arc<[HostForm]>,
    /// Requests have the fields that those of browsers have.
    browser: bool,
    arena: BytesMut,
    scratch: BytesMut,
    /// The Cookie field of the request that is being written is its state's own.
    own_cookies: bool,
    /// The fields of the form that was written last, where somebody watches.
    fields: Option<Vec<(String, String)>>,
}

/// Bytes that are allocated at a time: a hundred requests or so.
const ARENA_BYTES: usize = 64 * 1024;
/// Bytes that most requests are shorter than.
const REQUEST_BYTES: usize = 1024;

/// The values that a state fills into a form.
fn given_entries<'a>(given: &'a FormOf, filling: &mut Filling<'_>) -> Vec<EncodedField<'a>> {
    let mut filled = |text: &Text| {
        let mut value = BytesMut::new();
        filling.write(text, TextContext::Body, &mut value);
        Cow::Owned(value.to_vec())
    };
    let mut entries = Vec::with_capacity(given.fields.len() + given.files.len());
    for (name, text) in &given.fields {
        entries.push(EncodedField { name, value: filled(text), file: None });
    }
    for (name, upload) in &given.files {
        let value = match &upload.content {
            UploadContent::Bytes(bytes) => Cow::Borrowed(&bytes[..]),
            UploadContent::Text(text) => filled(text),
        };
        let file = FileHeader { name: filled(&upload.name), media_type: &upload.media_type };
        entries.push(EncodedField { name, value, file: Some(file) });
    }
    entries
}

impl Writer {
    /// A writer of requests for `targets`, as a `browser` writes them or without its fields.
    pub fn new(hosts: Arc<[HostName]>, targets: &[Target], browser: bool) -> Result<Writer, RequestError> {
        let server = |target: &Target| {
            TargetHost::of(&target.host, target.secure).ok_or_else(|| RequestError::Host(target.host.clone()))
        };
        Ok(Writer {
            hosts,
            servers: Servers::of(targets.iter().map(server).collect::<Result<_, _>>()?),
            forms: targets.iter().map(HostForm::of).collect::<Result<_, _>>()?,
            browser,
            arena: BytesMut::new(),
            scratch: BytesMut::new(),
            own_cookies: false,
            fields: None,
        })
    }

    /// Keeps the fields of each form that is written, for [`take_fields`](Self::take_fields).
    pub fn keep_fields(&mut self) {
        self.fields = Some(Vec::new());
    }

    /// The fields of the form that was written since this was called last: names and values, of a file its
    /// name and size.
    pub fn take_fields(&mut self) -> Vec<(String, String)> {
        self.fields.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Writes the request of a state on the page `base`, with the user's cookies; nothing if it leads
    /// elsewhere.
    pub fn state(
        &mut self,
        recipe: &Recipe,
        base: &Url,
        mut filling: Filling<'_>,
        jar: Option<(&Jar, Instant)>,
    ) -> Option<RequestBytes> {
        let varying = recipe.path.as_ref().filter(|_| recipe.fixed_path.is_none());
        let (host, target) = match varying {
            Some(path) => {
                let (host, target) = self.target((path, recipe.host), base, &mut filling)?;
                (host, Some(target))
            }
            None => (recipe.host, None),
        };
        self.scratch.clear();
        if let Some(body) = &recipe.body {
            filling.write(body, TextContext::Body, &mut self.scratch);
        }
        let target = target.as_deref().or(recipe.fixed_path.as_deref()).unwrap_or("/");
        let at = self.recipe_head(&recipe.method, recipe, (host, target.as_bytes()), &mut filling, jar);
        let body = std::mem::take(&mut self.scratch);
        let key = (recipe.websocket == Some(SocketStep::Open)).then(|| {
            let mut random = [0; 16];
            filling.rng.fill_bytes(&mut random);
            let key = Key::of(random);
            upgrade_fields(&key, &mut self.arena);
            key
        });
        let has_body = recipe.body.is_some() || matches!(recipe.method.as_str(), "POST" | "PUT" | "PATCH");
        let mut written = self.finish(&recipe.method, (host, at), has_body.then_some(&body[..]));
        self.scratch = body;
        written.part = key.map(|key| SocketPart::Open(Box::new(key)));
        Some(written)
    }

    /// The target of a path with holes on the page `base`, and its host. One that begins with a hole is a
    /// reference, as a page has it; nothing if that leads to none of the hosts or is no matter of HTTP.
    fn target(
        &mut self,
        (path, host): (&Text, HostNumber),
        base: &Url,
        filling: &mut Filling<'_>,
    ) -> Option<(HostNumber, String)> {
        self.scratch.clear();
        if !matches!(path.0.first(), Some(TextPiece::Value(..))) {
            filling.write(path, TextContext::Target, &mut self.scratch);
            return Some((host, String::from_utf8_lossy(&self.scratch).into_owned()));
        }
        filling.write_reference(path, &mut self.scratch);
        self.servers.resolve(base, &String::from_utf8_lossy(&self.scratch))
    }

    /// Writes the request of an object that the user's page embeds, with these header `lines` and the user's
    /// cookies.
    pub fn object(
        &mut self,
        (host, target): (HostNumber, &str),
        lines: &[u8],
        visit: &Visit,
        jar: Option<(&Jar, Instant)>,
    ) -> RequestBytes {
        self.begin(&Method::GET, host);
        let start = self.arena.len();
        self.arena.extend_from_slice(target.as_bytes());
        let end = self.arena.len();
        let forms = Arc::clone(&self.forms);
        self.end_line(forms[host.index()].version, &forms[host.index()].lines);
        self.arena.extend_from_slice(lines);
        self.browser_lines(host, (visit.host, &visit.location), OwnFields::default());
        if let Some((jar, now)) = jar {
            self.cookies(jar, host, (start, end), now);
        }
        self.finish(&Method::GET, (host, (start, end)), None)
    }

    /// Writes the request that a redirect leads to (Fetch standard, section 4.4): with the state's own
    /// fields, less its credentials where it leads to another host, and with its body where it keeps its
    /// method.
    pub fn redirected(
        &mut self,
        from: &RequestBytes,
        recipe: &Recipe,
        (status, host, target): (u16, HostNumber, &str),
        visit: &Visit,
        jar: Option<(&Jar, Instant)>,
    ) -> RequestBytes {
        let becomes_get = match status {
            301 | 302 => from.method == Method::POST,
            303 => !matches!(from.method, Method::GET | Method::HEAD),
            _ => false,
        };
        let method = if becomes_get { &Method::GET } else { &from.method };
        self.begin(method, host);
        let start = self.arena.len();
        self.arena.extend_from_slice(target.as_bytes());
        let end = self.arena.len();
        let leaves = host != from.host;
        let forms = Arc::clone(&self.forms);
        self.end_line(forms[host.index()].version, if leaves { &forms[host.index()].own_lines } else { b"" });
        for (name, line) in from.lines() {
            let left_out = match &name[..] {
                b"host" | b"authorization" | b"proxy-authorization" => leaves,
                b"cookie" => leaves || !from.own_cookies,
                b"referer" => !recipe.own.referer,
                b"content-length" => true,
                name => becomes_get && (name == b"expect" || name.starts_with(b"content-")),
            };
            if !left_out {
                self.arena.extend_from_slice(line);
            }
        }
        if self.browser && !recipe.own.referer {
            self.referer_line(host, (visit.referer_host, &visit.referer));
        }
        self.own_cookies = from.own_cookies && !leaves;
        if let Some((jar, now)) = jar.filter(|_| !self.own_cookies) {
            self.cookies(jar, host, (start, end), now);
        }
        let has_body = from.has_length() && !becomes_get;
        self.finish(method, (host, (start, end)), has_body.then(|| from.parts().1))
    }

    /// Writes a form of the page `base` as it is filled in, sent where it says or where the state does;
    /// nothing if that leads elsewhere.
    pub fn form(
        &mut self,
        recipe: &Recipe,
        base: &Url,
        (form, given): (&Form, &FormOf),
        mut filling: Filling<'_>,
        jar: Option<(&Jar, Instant)>,
    ) -> Option<RequestBytes> {
        let entries = given_entries(given, &mut filling);
        let entries = form.entries(&entries, &given.left_out, given.submit.as_deref());
        if let Some(fields) = &mut self.fields {
            *fields = entries.iter().map(EncodedField::in_words).collect();
        }
        let mut body = BytesMut::new();
        let media_type = match form.post {
            true => form.encoding.write(&entries, &mut body),
            false => Encoding::Url.write(&entries, &mut body),
        };
        let (host, mut target) = match &recipe.path {
            Some(path) => self.target((path, recipe.host), base, &mut filling)?,
            // An action that is empty or absent is the page itself, whatever its base (WHATWG HTML section
            // 4.10.22.3).
            None => match form.action.as_deref().filter(|action| !action.is_empty()) {
                Some(action) => self.servers.resolve(base, action)?,
                None => (filling.visit.host, filling.visit.location.clone()),
            },
        };
        if !form.post {
            target.truncate(target.find('?').unwrap_or(target.len()));
            target.push('?');
            target.push_str(std::str::from_utf8(&body).expect("an encoded form is ASCII"));
        }
        let method = if form.post { Method::POST } else { Method::GET };
        let at = self.recipe_head(&method, recipe, (host, target.as_bytes()), &mut filling, jar);
        if form.post && !recipe.own.content_type {
            self.arena.extend_from_slice(format!("Content-Type: {media_type}\r\n").as_bytes());
        }
        Some(self.finish(&method, (host, at), form.post.then_some(&body[..])))
    }

    /// Writes the head of a state's request, with the state's own fields in place of those that it would have
    /// otherwise: where its target stands.
    fn recipe_head(
        &mut self,
        method: &Method,
        recipe: &Recipe,
        (host, target): (HostNumber, &[u8]),
        filling: &mut Filling<'_>,
        jar: Option<(&Jar, Instant)>,
    ) -> (usize, usize) {
        self.begin(method, host);
        let start = self.arena.len();
        self.arena.extend_from_slice(target);
        let end = self.arena.len();
        // Another host gets no credentials of this one's because a page leads there.
        let is_elsewhere = recipe.is_led() && host != filling.visit.host;
        let lines = if is_elsewhere { &recipe.led_lines } else { &recipe.lines };
        let version = match recipe.websocket {
            Some(SocketStep::Open) => HttpVersion::Http11,
            _ => self.forms[host.index()].version,
        };
        self.end_line(version, &lines[host.index()]);
        for (name, text, is_credential) in &recipe.fields {
            if is_elsewhere && *is_credential {
                continue;
            }
            self.arena.extend_from_slice(name);
            filling.write(text, TextContext::Field, &mut self.arena);
            self.arena.extend_from_slice(b"\r\n");
        }
        self.browser_lines(host, (filling.visit.host, &filling.visit.location), recipe.own);
        self.own_cookies = recipe.own_cookies && !is_elsewhere;
        if let Some((jar, now)) = jar.filter(|_| !self.own_cookies) {
            self.cookies(jar, host, (start, end), now);
        }
        (start, end)
    }

    /// Begins a request where the last one ended.
    fn begin(&mut self, method: &Method, host: HostNumber) {
        debug_assert!(self.arena.is_empty(), "each request is split off");
        if self.arena.capacity() < REQUEST_BYTES {
            self.arena = BytesMut::with_capacity(ARENA_BYTES);
        }
        self.arena.extend_from_slice(method.as_str().as_bytes());
        self.arena.extend_from_slice(b" ");
        self.arena.extend_from_slice(self.forms[host.index()].prefix.as_bytes());
    }

    fn end_line(&mut self, version: HttpVersion, lines: &[u8]) {
        self.arena.extend_from_slice(b" ");
        self.arena.extend_from_slice(version.name().as_bytes());
        self.arena.extend_from_slice(b"\r\n");
        self.arena.extend_from_slice(lines);
    }

    /// The fields that a browser sends beside those that all requests have, but for the state's own. The
    /// codings are those that browsers ask for over HTTP without TLS.
    fn browser_lines(&mut self, host: HostNumber, referer: (HostNumber, &str), own: OwnFields) {
        if !self.browser {
            return;
        }
        if !own.encoding {
            self.arena.extend_from_slice(b"Accept-Encoding: gzip, deflate\r\n");
        }
        if !own.language {
            self.arena.extend_from_slice(b"Accept-Language: en-US,en;q=0.5\r\n");
        }
        if !own.referer {
            self.referer_line(host, referer);
        }
    }

    /// Says that the request to `host` follows from a page, if there is one: to another host its host alone,
    /// and nothing of a secure page to one that is not (`strict-origin-when-cross-origin`, the default of
    /// browsers).
    fn referer_line(&mut self, host: HostNumber, (of, page): (HostNumber, &str)) {
        let leaves = host != of;
        let servers = &self.servers;
        if page.is_empty() || leaves && servers.at(of).is_secure() && !servers.at(host).is_secure() {
            return;
        }
        for part in ["Referer: ", servers.at(of).origin(), if leaves { "/" } else { page }, "\r\n"] {
            self.arena.extend_from_slice(part.as_bytes());
        }
    }

    fn cookies(&mut self, jar: &Jar, host: HostNumber, (from, to): (usize, usize), now: Instant) {
        if jar.is_empty() {
            return;
        }
        let asked =
            CookieQuery { host: self.servers.at(host).cookie_host(), target: &self.arena[from..to], now };
        let pairs: SmallVec<[&[u8]; 8]> = jar.pairs(asked).collect();
        let mut before: &[u8] = b"Cookie: ";
        for pair in pairs {
            self.arena.extend_from_slice(before);
            self.arena.extend_from_slice(pair);
            before = b"; ";
        }
        if before == b"; " {
            self.arena.extend_from_slice(b"\r\n");
        }
    }

    fn finish(
        &mut self,
        method: &Method,
        (host, target): (HostNumber, (usize, usize)),
        body: Option<&[u8]>,
    ) -> RequestBytes {
        if let Some(body) = body {
            self.arena.extend_from_slice(b"Content-Length: ");
            self.arena.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
            self.arena.extend_from_slice(b"\r\n");
        }
        let line_at = self.arena.len() as u32;
        self.arena.extend_from_slice(b"\r\n");
        self.arena.extend_from_slice(body.unwrap_or_default());
        RequestBytes {
            bytes: self.arena.split().freeze(),
            line_at,
            target: (target.0 as u32, target.1 as u32),
            method: method.clone(),
            host,
            own_cookies: std::mem::take(&mut self.own_cookies),
            version: self.forms[host.index()].version,
            part: None,
        }
    }
}
