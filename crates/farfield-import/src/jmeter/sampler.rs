//! An HTTP sampler as a state, with the defaults, header fields and credentials in whose scope it is.

use super::Scope;
use super::values::Dollar;
use super::xml::Element;
use crate::holes::{TextPart, Variables, constant, template};
use crate::multipart;
use crate::state::{Body, DraftState};
use crate::text::{form_encoded, literal, name_of_request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_traffic::file::Load;
use std::collections::BTreeSet;
use std::path::Path;
use url::Url;

/// Header fields, cookies and credentials in scope of a sampler at most, and parameters of one.
const FIELDS_MAX: usize = 1_000;
const PARAMETERS_MAX: usize = 10_000;

/// Why there is no state, and what is named beside.
pub type SamplerRefusal = (&'static str, String);

/// Methods whose parameters are in the target.
const WITHOUT_BODY: [&str; 5] = ["GET", "HEAD", "OPTIONS", "DELETE", "TRACE"];

/// A state, and what is to be said of it.
pub struct SamplerState {
    pub server: Option<Url>,
    pub state: DraftState,
    pub differs: Vec<&'static str>,
    /// The sampler follows redirects.
    pub follows: bool,
}

/// The state of a sampler, or why there is none.
pub fn of(
    sampler: &Element,
    scope: &Scope<'_>,
    variables: &Variables,
    load: &mut Load<'_>,
) -> Result<SamplerState, SamplerRefusal> {
    let mut reader = SamplerReader { sampler, scope, variables, load, state: DraftState::default() };
    let method = reader.constant(reader.property("HTTPSampler.method"))?;
    let method = if method.trim().is_empty() { "GET".to_owned() } else { method.trim().to_ascii_uppercase() };
    if reader.arguments().len() > PARAMETERS_MAX {
        return Err(("with more than 10,000 parameters", String::new()));
    }
    let (server, mut path) = reader.located()?;
    let is_raw = reader.is_raw();
    let in_target = WITHOUT_BODY.contains(&method.as_str()) && !is_raw;
    if in_target {
        let query = reader.pairs()?.join("&");
        if !query.is_empty() {
            path = format!("{path}{}{query}", if path.contains('?') { '&' } else { '?' });
        }
    }
    reader.state = DraftState::new(name_of_request(&method, &path), &method, &path);
    let has_host = reader.headers()?;
    reader.credentials(server.as_ref())?;
    if !in_target {
        reader.body(is_raw)?;
    }
    let mut differs = Vec::new();
    if has_host {
        differs.push("with the name of their server in the field `Host`");
    }
    if sampler.is_true("HTTPSampler.image_parser") {
        differs.push(
            "without the objects that JMeter would find in its page; `page-load = \"browser\"` asks for them",
        );
    }
    if !reader.property("HTTPSampler.proxyHost").trim().is_empty() {
        differs.push("without their proxy; `connections.proxy` of the scenario names one for all");
    }
    let follows =
        sampler.is_true("HTTPSampler.follow_redirects") || sampler.is_true("HTTPSampler.auto_redirects");
    Ok(SamplerState { server, state: reader.state, differs, follows })
}

struct SamplerReader<'a, 'l> {
    sampler: &'a Element,
    scope: &'a Scope<'a>,
    variables: &'a Variables,
    load: &'a mut Load<'l>,
    state: DraftState,
}

impl<'a> SamplerReader<'a, '_> {
    fn parts(&self, text: &str) -> Result<Vec<TextPart>, SamplerRefusal> {
        self.variables.parts(text, &Dollar).map_err(|unknown| unknown.reason())
    }

    fn filled(&self, text: &str) -> Result<String, SamplerRefusal> {
        Ok(template(&self.parts(text)?, literal, ""))
    }

    fn constant(&self, text: &str) -> Result<String, SamplerRefusal> {
        let known = constant(&self.parts(text)?);
        known.ok_or(("of a server or a method that is not known before", String::new()))
    }

    /// A property of the sampler, or of the nearest defaults that have it.
    fn property(&self, name: &str) -> &'a str {
        let own = self.sampler.text_of(name);
        let defaults = self.scope.defaults.iter().rev().map(|defaults| defaults.text_of(name));
        std::iter::once(own).chain(defaults).find(|text| !text.trim().is_empty()).unwrap_or_default()
    }

    /// The server, and the path as a template.
    fn located(&self) -> Result<(Option<Url>, String), SamplerRefusal> {
        let path = self.filled(self.property("HTTPSampler.path").trim())?;
        let unreadable = || ("whose URL cannot be read", String::new());
        if let Some((scheme, rest)) =
            path.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?']))
        {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            let server = Url::parse(&format!("{scheme}://{host}/")).map_err(|_| unreadable())?;
            return Ok((Some(of_http(server)?), rooted(path)));
        }
        let host = self.constant(self.property("HTTPSampler.domain"))?;
        let host = host.trim();
        if host.is_empty() {
            return Ok((None, rooted(&path)));
        }
        let scheme = self.constant(self.property("HTTPSampler.protocol"))?;
        let scheme = if scheme.trim().is_empty() { "http" } else { scheme.trim().trim_end_matches("://") };
        let port = self.constant(self.property("HTTPSampler.port"))?;
        let port = if port.trim().is_empty() { String::new() } else { format!(":{}", port.trim()) };
        let host =
            if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let server = Url::parse(&format!("{scheme}://{host}{port}/")).map_err(|_| unreadable())?;
        Ok((Some(of_http(server)?), rooted(&path)))
    }

    /// Adds header fields and cookies; whether a field `Host` is among them, which is the server's.
    fn headers(&mut self) -> Result<bool, SamplerRefusal> {
        let Scope { headers, cookies, credentials, .. } = self.scope;
        let of = |list: &[&Element], name: &str| list.iter().map(|own| own.items(name).len()).sum::<usize>();
        let count = of(headers, "HeaderManager.headers") + of(cookies, "CookieManager.cookies");
        if count + of(credentials, "AuthManager.auth_list") > FIELDS_MAX {
            return Err(("with more than 1,000 header fields, cookies and credentials", String::new()));
        }
        let mut has_host = false;
        // The nearest of a name counts.
        let mut fields: Vec<(&str, &str)> = Vec::new();
        let mut known = BTreeSet::new();
        for manager in self.scope.headers.iter().rev() {
            for header in manager.items("HeaderManager.headers") {
                let (name, value) = (header.text_of("Header.name"), header.text_of("Header.value"));
                if known.insert(name.to_ascii_lowercase()) {
                    fields.push((name, value));
                }
            }
        }
        for (name, value) in fields {
            let name = constant(&self.parts(name)?).unwrap_or_default();
            let value = self.filled(value)?;
            let is_host = name.trim().eq_ignore_ascii_case("host");
            has_host |= is_host;
            if !name.trim().is_empty() && !is_host {
                self.state.add_header(&name, &value);
            }
        }
        for manager in &self.scope.cookies {
            for cookie in manager.items("CookieManager.cookies") {
                let value = self.filled(cookie.text_of("Cookie.value"))?;
                let value = format!("{}={value}", literal(cookie.attribute("name")));
                self.state.add_header("cookie", &value);
            }
        }
        Ok(has_host)
    }

    /// Basic authentication, where a manager names it for the URL.
    fn credentials(&mut self, server: Option<&Url>) -> Result<(), SamplerRefusal> {
        let url =
            server.map(|server| format!("{}{}", server.as_str().trim_end_matches('/'), self.state.path));
        for own in
            self.scope.credentials.iter().rev().flat_map(|manager| manager.items("AuthManager.auth_list"))
        {
            let base = constant(&self.parts(own.text_of("Authorization.url"))?).unwrap_or_default();
            let is_within = base.is_empty() || url.as_ref().is_some_and(|url| url.starts_with(base.trim()));
            if !is_within {
                continue;
            }
            if !["", "BASIC", "BASIC_DIGEST"].contains(&own.text_of("Authorization.mechanism").trim()) {
                return Err(("that answers a challenge (digest, Kerberos)", String::new()));
            }
            let user = format!(
                "{}:{}",
                own.text_of("Authorization.username"),
                own.text_of("Authorization.password")
            );
            let user = constant(&self.parts(&user)?).ok_or((
                "whose user or password is not known before, which basic authentication encodes together",
                String::new(),
            ))?;
            self.state.set_default("authorization", &format!("Basic {}", STANDARD.encode(user)));
            return Ok(());
        }
        Ok(())
    }

    /// Parameters, with those of the nearest defaults if it has none.
    fn arguments(&self) -> &'a [Element] {
        let of = |element: &'a Element| {
            element.property("HTTPsampler.Arguments").map_or(&[][..], |own| own.items("Arguments.arguments"))
        };
        let own = of(self.sampler);
        match own.is_empty() {
            true => {
                self.scope.defaults.iter().rev().map(|own| of(own)).find(|own| !own.is_empty()).unwrap_or(&[])
            }
            false => own,
        }
    }

    /// True if the body is a text, and not parameters.
    fn is_raw(&self) -> bool {
        let arguments = self.arguments();
        let is_nameless = arguments.iter().all(|own| own.text_of("Argument.name").is_empty());
        self.sampler.is_true("HTTPSampler.postBodyRaw") || !arguments.is_empty() && is_nameless
    }

    /// Parameters as pairs, encoded where they say so.
    fn pairs(&self) -> Result<Vec<String>, SamplerRefusal> {
        let mut pairs = Vec::new();
        for own in self.arguments() {
            let encodes = own.is_true("HTTPArgument.always_encode");
            let written = |text: &str| -> Result<String, SamplerRefusal> {
                let parts = self.parts(text)?;
                Ok(match encodes {
                    true => template(&parts, form_encoded, "|form"),
                    false => template(&parts, literal, ""),
                })
            };
            let (name, value) =
                (written(own.text_of("Argument.name"))?, written(own.text_of("Argument.value"))?);
            let equals =
                if value.is_empty() && own.text_of("HTTPArgument.use_equals") == "false" { "" } else { "=" };
            pairs.push(format!("{name}{equals}{value}"));
        }
        Ok(pairs)
    }

    fn files(&self) -> &'a [Element] {
        self.sampler.property("HTTPsampler.Files").map_or(&[], |own| own.items("HTTPFileArgs.files"))
    }

    fn body(&mut self, is_raw: bool) -> Result<(), SamplerRefusal> {
        let files = self.files();
        let is_form = self.sampler.is_true("HTTPSampler.DO_MULTIPART_POST")
            || files.iter().any(|own| !own.text_of("File.paramname").is_empty());
        if is_form {
            let (media_type, text) = self.form(files)?;
            // The boundary is that of this body, whatever a field says.
            self.state.headers.retain(|(name, _)| name != "content-type");
            self.state.add_header("content-type", &media_type);
            self.state.body = Some(Body::Text(text));
            return Ok(());
        }
        if let Some(file) = files.first() {
            let path = known_path(constant(&self.parts(file.text_of("File.path"))?))?;
            if !file.text_of("File.mimetype").is_empty() {
                self.state.set_default("content-type", &self.filled(file.text_of("File.mimetype"))?);
            }
            self.state.body =
                Some(crate::curl::body::of_file(&path, self.load).map_err(|why| (why, String::new()))?);
            return Ok(());
        }
        if is_raw {
            let texts: Result<Vec<_>, _> =
                self.arguments().iter().map(|own| self.filled(own.text_of("Argument.value"))).collect();
            let text = texts?.concat();
            if !text.is_empty() {
                self.state.body = Some(Body::Text(text));
            }
            return Ok(());
        }
        let pairs = self.pairs()?;
        if !pairs.is_empty() {
            self.state.set_default("content-type", "application/x-www-form-urlencoded");
            self.state.body = Some(Body::Text(pairs.join("&")));
        }
        Ok(())
    }

    fn form(&mut self, files: &[Element]) -> Result<(String, String), SamplerRefusal> {
        let mut parts = Vec::new();
        for own in self.arguments() {
            let name = known_path(constant(&self.parts(own.text_of("Argument.name"))?))?;
            let content = self.filled(own.text_of("Argument.value"))?;
            parts.push(multipart::FormPart { name, content, ..multipart::FormPart::default() });
        }
        for file in files {
            let path = known_path(constant(&self.parts(file.text_of("File.path"))?))?;
            let text = crate::curl::body::text_of(&path, self.load).map_err(|why| (why, String::new()))?;
            let base = Path::new(&path).file_name().map(|own| own.to_string_lossy().into_owned());
            let media_type =
                Some(file.text_of("File.mimetype").trim().to_owned()).filter(|own| !own.is_empty());
            let name = known_path(constant(&self.parts(file.text_of("File.paramname"))?))?;
            parts.push(multipart::FormPart { name, file_name: base, media_type, content: literal(&text) });
        }
        Ok(multipart::written(&parts))
    }
}

fn known_path(text: Option<String>) -> Result<String, SamplerRefusal> {
    text.ok_or(("with a file or a field of a form whose name is not known before", String::new()))
}

fn of_http(server: Url) -> Result<Url, SamplerRefusal> {
    match server.scheme() {
        "http" | "https" => Ok(server),
        _ => Err(("of another protocol than HTTP", String::new())),
    }
}

fn rooted(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}
