//! A request of curl as a state: method, URL, header fields, body.

use super::body::{self, encoded, template};
use super::command::Options;
use super::options::Effect;
use super::words::MARK;
use crate::state::{Body, DraftState};
use crate::text::name_of_request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_traffic::file::Load;
use url::{Position, Url};

/// A state, and the server that it is of, where the command names it.
pub struct CurlState {
    pub server: Option<Url>,
    /// The variable without a value that names the server.
    pub base: Option<String>,
    pub state: DraftState,
}

/// The request of `url`, or why there is none.
pub fn of(set: &Options, url: &str, load: &mut Load<'_>) -> Result<CurlState, &'static str> {
    let located = located(set, url)?;
    let mut path = template(&located.path);
    let mut has_query = path.contains('?');
    let mut add_query = |query: &str| {
        path.extend([if has_query { "&" } else { "?" }, query]);
        has_query = true;
    };
    for part in &set.url_query {
        add_query(&query_part(part, load)?);
    }
    let data = body::of_data(&set.data, load)?;
    let is_json = set.data.iter().any(|(effect, _)| *effect == Effect::Json);
    let body = match (data, set.forms.is_empty(), &set.upload) {
        (Some(_), false, _) | (_, false, Some(_)) | (Some(_), _, Some(_)) => {
            return Err("with two bodies (--data, --form, --upload-file)");
        }
        (Some(Body::Text(text)), true, None) if set.get => {
            add_query(&text);
            None
        }
        (Some(_), true, None) if set.get => return Err("whose query is a file that is no text"),
        (Some(body), true, None) => {
            let media_type = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
            Some((body, Some(media_type.to_owned())))
        }
        (None, false, None) => {
            let (media_type, text) = body::of_form(&set.forms, load)?;
            Some((Body::Text(text), Some(media_type)))
        }
        (None, true, Some(file)) => Some((body::of_file(file, load)?, None)),
        (None, true, None) => None,
    };
    let method = match &set.method {
        Some(method) => method.as_str(),
        None if set.head => "HEAD",
        None if set.upload.is_some() => "PUT",
        None if body.is_some() => "POST",
        None => "GET",
    };
    let name = name_of_request(method, &located.path.replace(MARK, ""));
    let mut state = DraftState::new(name, method, &path);
    fields(set, &mut state, located.user.as_deref(), load)?;
    if let Some((body, media_type)) = body {
        if let Some(media_type) = media_type.filter(|_| !removes(set, "content-type")) {
            state.set_default("content-type", &media_type);
        }
        state.body = Some(body);
    }
    let accept = if is_json { "application/json" } else { "*/*" };
    if !removes(set, "accept") {
        state.set_default("accept", accept);
    }
    Ok(CurlState { server: located.server, base: located.base, state })
}

/// The header fields that options write. What `-H` writes stands in place of those of others.
fn fields(
    set: &Options,
    state: &mut DraftState,
    user: Option<&str>,
    load: &mut Load<'_>,
) -> Result<(), &'static str> {
    for line in &set.headers {
        let lines = match line.strip_prefix('@') {
            None => line.clone(),
            Some(file) => body::text_of(file, load)?,
        };
        for line in lines.lines() {
            match (line.split_once(':'), line.strip_suffix(';')) {
                // `Name:` takes a field away that curl would write.
                (Some((_, value)), _) if value.trim().is_empty() => {}
                (Some((name, value)), _) => state.add_header(&name.replace(MARK, ""), &template(value)),
                (None, Some(name)) => state.add_header(name, ""),
                (None, None) => {}
            }
        }
    }
    let credentials = set.user.as_deref().or(user);
    match (&set.bearer, credentials) {
        (Some(token), _) => state.set_default("authorization", &format!("Bearer {}", template(token))),
        (None, Some(user)) => state.set_default("authorization", &basic(user)?),
        (None, None) => {}
    }
    for cookie in &set.cookies {
        // Without a `=` it is the name of a file.
        if !cookie.contains('=') {
            return Err("with cookies in a file");
        }
        state.add_header("cookie", template(cookie).trim_end_matches(';'));
    }
    let agent = set.agent.as_ref().filter(|agent| !agent.is_empty());
    let range = set.range.as_ref().map(|range| format!("bytes={range}"));
    let referer = set.referer.as_ref().map(|referer| referer.trim_end_matches(";auto").to_owned());
    let others = [
        ("user-agent", agent.cloned()),
        ("range", range),
        ("referer", referer.filter(|own| !own.is_empty())),
    ];
    for (name, value) in others {
        if let Some(value) = value {
            state.set_default(name, &template(&value));
        }
    }
    if set.compressed {
        state.set_default("accept-encoding", "deflate, gzip, br, zstd");
    }
    Ok(())
}

/// True if `-H 'Name:'` takes this field away.
pub fn removes(set: &Options, name: &str) -> bool {
    set.headers.iter().any(|line| {
        line.split_once(':')
            .is_some_and(|(own, value)| own.eq_ignore_ascii_case(name) && value.trim().is_empty())
    })
}

/// Basic authentication (RFC 7617). A user that is one variable of the environment is encoded when it is
/// sent.
fn basic(user: &str) -> Result<String, &'static str> {
    if !user.contains(MARK) {
        let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
        return Ok(format!("Basic {}", STANDARD.encode(user)));
    }
    let name = user.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(MARK));
    match name.filter(|name| !name.contains(MARK)) {
        Some(name) => Ok(format!("Basic ${{env.{name}|base64}}")),
        None => {
            Err("whose user and password are several variables, which basic authentication encodes together")
        }
    }
}

/// A part of `--url-query` as a template: as `--data-urlencode`, but that `+` begins one that is encoded
/// already.
fn query_part(part: &str, load: &mut Load<'_>) -> Result<String, &'static str> {
    match part.strip_prefix('+') {
        Some(plain) => Ok(template(plain)),
        None => encoded(part, load),
    }
}

/// Target of a URL. The path still has marks.
struct UrlTarget {
    server: Option<Url>,
    base: Option<String>,
    path: String,
    user: Option<String>,
}

fn located(set: &Options, url: &str) -> Result<UrlTarget, &'static str> {
    let url = url.trim();
    if !set.glob_off && has_pattern(url) {
        return Err("whose URL is a pattern ({a,b}, [1-9]) of several; write --globoff if it is not");
    }
    // `$BASE/path`: the server is the one that the user names.
    if let Some(rest) = url.strip_prefix(MARK) {
        let (name, path) = rest.split_once(MARK).ok_or("whose URL cannot be read")?;
        if !crate::text::ends_a_server(path) {
            return Err(crate::text::SERVER_IN_PARTS);
        }
        return Ok(UrlTarget { server: None, base: Some(name.to_owned()), path: path_of(path), user: None });
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err("of another protocol than HTTP");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let user = user.map(|user| match user.contains(MARK) {
        true => user.to_owned(),
        false => percent_encoding::percent_decode_str(user).decode_utf8_lossy().into_owned(),
    });
    if host.contains(MARK) {
        return Ok(UrlTarget {
            server: None,
            base: Some(host.replace(MARK, "$")),
            path: path_of(path),
            user,
        });
    }
    let server = Url::parse(&format!("{scheme}://{host}/")).map_err(|_| "whose URL cannot be read")?;
    let has_dots = path.split(['?', '#']).next().is_some_and(|path| path.contains("/."));
    if has_dots && !set.path_as_is && !path.contains(MARK) {
        let whole = server.join(path).map_err(|_| "whose URL cannot be read")?;
        let path = whole[Position::BeforePath..Position::AfterQuery].to_owned();
        return Ok(UrlTarget { server: Some(server), base: None, path, user });
    }
    Ok(UrlTarget { server: Some(server), base: None, path: path_of(path), user })
}

/// The target of what stands behind the host, without its fragment.
fn path_of(rest: &str) -> String {
    let rest = rest.split('#').next().unwrap_or_default();
    match rest.starts_with('/') {
        true => rest.to_owned(),
        false => format!("/{rest}"),
    }
}

/// True if curl would ask for several URLs. An address of IPv6 stands in brackets, too.
fn has_pattern(url: &str) -> bool {
    let behind = url.split_once("://").map_or(url, |(_, rest)| rest);
    let behind =
        behind.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(behind, |(_, rest)| rest);
    behind.contains(['{', '['])
}
