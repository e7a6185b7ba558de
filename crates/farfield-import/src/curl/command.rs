//! A command of curl: its words become options, a set for each request (`--next` begins another).

use super::options::{self, Effect};
use super::words::MARK;

/// Options of a request, and of those beside it.
#[derive(Debug, Default, Clone)]
pub struct Options {
    pub urls: Vec<String>,
    pub url_query: Vec<String>,
    pub method: Option<String>,
    pub headers: Vec<String>,
    pub data: Vec<(Effect, String)>,
    pub forms: Vec<(Effect, String)>,
    pub get: bool,
    pub head: bool,
    pub user: Option<String>,
    pub bearer: Option<String>,
    pub cookies: Vec<String>,
    /// The file that keeps cookies.
    pub jar: Option<String>,
    pub agent: Option<String>,
    pub referer: Option<String>,
    pub range: Option<String>,
    pub compressed: bool,
    pub upload: Option<String>,
    pub glob_off: bool,
    pub path_as_is: bool,
    pub common: Common,
    /// Differences without options that are not understood.
    pub differs: Vec<&'static str>,
    /// Why there is no such request.
    pub refused: Option<&'static str>,
    /// Options that are of no matter.
    pub no_matter: Vec<String>,
}

/// Options that a scenario has once.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Common {
    pub location: bool,
    pub redirects_max: Option<String>,
    pub insecure: bool,
    pub http: Option<&'static str>,
    pub connect_to: Vec<String>,
    pub resolve: Vec<String>,
    pub proxy: Option<String>,
    pub proxy_user: Option<String>,
    /// The socket's path as a scenario has it: an abstract one begins with `@`.
    pub unix_socket: Option<String>,
    pub time_max: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
    pub ca: Option<String>,
}

/// The options in `words`, which begin behind the program's name.
///
/// # Errors
/// An option that curl does not have, or one without its value.
pub fn read(words: &[String]) -> Result<Vec<Options>, String> {
    let mut sets = vec![Options::default()];
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        let set = sets.last_mut().expect("there is one from the start");
        if only_urls || !word.starts_with('-') || word == "-" {
            set.urls.push(word.clone());
            continue;
        }
        let mut next =
            |name: &str| words.next().cloned().ok_or_else(|| format!("the option `{name}` lacks its value"));
        if let Some(name) = word.strip_prefix("--") {
            if name.is_empty() {
                only_urls = true;
                continue;
            }
            let known = options::long(name).or_else(|| {
                let negated = options::long(name.strip_prefix("no-")?)?;
                (!negated.2).then_some((negated.0, negated.1, false, Effect::NoMatter))
            });
            let (_, _, takes, effect) = known.ok_or_else(|| unknown(word))?;
            let value = if takes { next(word)? } else { String::new() };
            apply(&mut sets, effect, word, value);
            continue;
        }
        for (at, letter) in word[1..].char_indices() {
            let name = format!("-{letter}");
            let (_, _, takes, effect) = options::short(letter).ok_or_else(|| unknown(&name))?;
            if !takes {
                apply(&mut sets, effect, &name, String::new());
                continue;
            }
            let rest = &word[1 + at + letter.len_utf8()..];
            let value = if rest.is_empty() { next(&name)? } else { rest.to_owned() };
            apply(&mut sets, effect, &name, value);
            break;
        }
    }
    sets.retain(|set| !set.urls.is_empty());
    if sets.is_empty() {
        return Err("the command names no URL".to_owned());
    }
    Ok(sets)
}

/// The file of `--cert FILE[:PASSWORD]`, in which `\:` is a `:`, and whether there is a password.
fn certificate(value: &str) -> (String, bool) {
    let mut file = String::new();
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => file.push(letters.next_if(|next| [':', '\\'].contains(next)).unwrap_or(letter)),
            ':' => return (file, true),
            letter => file.push(letter),
        }
    }
    (file, false)
}

fn unknown(name: &str) -> String {
    format!("there is no option `{name}` of curl that import knows; leave it out if it does not matter")
}

fn apply(sets: &mut Vec<Options>, effect: Effect, name: &str, value: String) {
    let set = sets.last_mut().expect("there is one from the start");
    let common = &mut set.common;
    match effect {
        Effect::Next => {
            // Options about connections and not about a request stay.
            sets.push(Options::default());
        }
        Effect::Url => set.urls.push(value),
        Effect::UrlQuery => set.url_query.push(value),
        Effect::Method => set.method = Some(value),
        Effect::Header => set.headers.push(value),
        Effect::Data | Effect::DataRaw | Effect::DataBinary | Effect::DataUrlencode | Effect::Json => {
            set.data.push((effect, value));
        }
        Effect::Form | Effect::FormString => set.forms.push((effect, value)),
        Effect::Get => set.get = true,
        Effect::Head => set.head = true,
        Effect::User => set.user = Some(value),
        Effect::Bearer => set.bearer = Some(value),
        Effect::Cookie => set.cookies.push(value),
        Effect::CookieJar => set.jar = Some(value),
        Effect::Agent => set.agent = Some(value),
        Effect::Referer => set.referer = Some(value),
        Effect::Range => set.range = Some(value),
        Effect::Compressed => set.compressed = true,
        Effect::Upload => set.upload = Some(value),
        Effect::GlobOff => set.glob_off = true,
        Effect::PathAsIs => set.path_as_is = true,
        Effect::Location => common.location = true,
        Effect::MaxRedirects => common.redirects_max = Some(value),
        Effect::Insecure => common.insecure = true,
        Effect::Http(version) => common.http = Some(version),
        Effect::ConnectTo => common.connect_to.push(value),
        Effect::Resolve => common.resolve.push(value),
        Effect::Proxy => common.proxy = Some(value),
        Effect::ProxyUser => common.proxy_user = Some(value),
        Effect::UnixSocket | Effect::AbstractUnixSocket if value.contains(MARK) => {
            set.refused.get_or_insert("to a Unix socket whose name is a variable");
        }
        Effect::UnixSocket => common.unix_socket = Some(value),
        Effect::AbstractUnixSocket => common.unix_socket = Some(format!("@{value}")),
        Effect::MaxTime => common.time_max = Some(value),
        Effect::Certificate => {
            let (file, has_password) = certificate(&value);
            common.certificate = Some(file);
            if has_password {
                set.differs
                    .push("without the password of a certificate; write its key into a file without one");
            }
        }
        Effect::Key => common.key = Some(value),
        Effect::CaCertificate => common.ca = Some(value),
        Effect::NoMatter => set.no_matter.push(name.to_owned()),
        Effect::Differs(what) => set.differs.push(what),
        Effect::Refused(why) => _ = set.refused.get_or_insert(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<Vec<Options>, String> {
        read(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn letters_may_stand_together() {
        let sets = options("-sSLk -XPUT -d a -db http://a/ --max-time 3 --next --url http://b/ -- -x")
            .expect("words");
        let first = &sets[0];
        assert_eq!((first.method.as_deref(), first.data.len(), first.urls.len()), (Some("PUT"), 2, 1));
        assert!(first.common.location && first.common.insecure);
        assert_eq!(first.no_matter, ["-s", "-S"]);
        assert_eq!(sets[1].urls, ["http://b/", "-x"]);
    }

    #[test]
    fn a_password_is_no_part_of_a_files_name() {
        let sets = options("http://a/ --cert c.pem:hunter2").expect("words");
        assert_eq!((sets[0].common.certificate.as_deref(), sets[0].differs.len()), (Some("c.pem"), 1));
        assert_eq!(certificate("a\\:b"), ("a:b".to_owned(), false));
    }

    #[test]
    fn what_curl_does_not_have_is_named() {
        for (text, part) in [
            ("http://a/ --nothing", "`--nothing`"),
            ("-sY% http://a/ -%", "`-%`"),
            ("http://a/ -H", "`-H` lacks"),
            ("-s", "no URL"),
        ] {
            let error = options(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
