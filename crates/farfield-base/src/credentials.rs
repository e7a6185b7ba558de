//! Credentials in what is shown: header fields, keys and URLs that hold them are shown without their values.

use std::borrow::Cow;

/// Text in place of a secret.
pub const NOT_SHOWN: &str = "(not shown)";

/// Schemes of authentication (IANA's registry, and others in use), after which a secret follows. Any other
/// word may be a part of the secret.
const SCHEMES: [&str; 17] = [
    "ApiKey",
    "AWS4-HMAC-SHA256",
    "Basic",
    "Bearer",
    "Digest",
    "DPoP",
    "GNAP",
    "Hawk",
    "HOBA",
    "Mutual",
    "Negotiate",
    "NTLM",
    "OAuth",
    "PrivateToken",
    "SCRAM-SHA-256",
    "Token",
    "vapid",
];

/// Parts of names whose values are secrets.
const PARTS: [&str; 9] =
    ["authorization", "api-key", "api_key", "apikey", "token", "secret", "password", "passwd", "credential"];

/// True if the header field, form field or key `name` holds credentials: `Authorization` and
/// `Proxy-Authorization` (RFC 9110 11.6.2 and 11.7.2), and all with a part such as `token`, `secret`,
/// `password` or `api-key`.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// The head of a message, its lines ended by line feeds alone, in which fields that hold
/// [credentials](is_credential) have no value but the scheme.
pub fn without_credentials(head: &str) -> String {
    let mut shown: Vec<Cow<'_, str>> = Vec::new();
    let mut in_secret = false;
    for line in head.lines() {
        // A line that begins with a blank continues the field above it (RFC 9112 5.2).
        if line.starts_with([' ', '\t']) {
            if !in_secret {
                shown.push(line.into());
            }
            continue;
        }
        let field =
            line.split_once(':').filter(|(name, _)| is_credential(name) && !name.trim_end().contains(' '));
        in_secret = field.is_some();
        shown.push(match field {
            Some((name, value)) => format!("{name}: {}", credential_shown(value)).into(),
            None => line.into(),
        });
    }
    shown.join("\n")
}

/// A peer's words in one line, without what they repeat of credentials: nothing is left behind a name that
/// holds [credentials](is_credential) or cookies with its `:` or `=`, nor the token behind `Bearer` or
/// `Basic`.
pub fn words_without_credentials(text: &str) -> Cow<'_, str> {
    let mut before = "";
    for (at, word) in words(text) {
        let end = at + word.len();
        if let Some(sign) = secret_after(word) {
            let sign = at + sign + 1;
            return match text[sign..].trim().is_empty() {
                true => Cow::Borrowed(text),
                false => Cow::Owned(format!("{} {NOT_SHOWN}", &text[..sign])),
            };
        }
        let is_scheme = ["Bearer", "Basic"]
            .iter()
            .any(|scheme| before.trim_matches(is_mark).eq_ignore_ascii_case(scheme));
        if is_scheme && is_token(word) {
            let rest = words_without_credentials(&text[end..]);
            return Cow::Owned(format!("{}{NOT_SHOWN}{rest}", &text[..at]));
        }
        before = word;
    }
    Cow::Borrowed(text)
}

/// The words of a text, each with where it begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let begin = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(move |word| (begin(word), word))
}

/// The place of the sign in `word` behind which a secret begins.
fn secret_after(word: &str) -> Option<usize> {
    let mut signs = word.char_indices().filter(|(_, letter)| matches!(letter, ':' | '='));
    let is_secret = |(at, _): &(usize, char)| {
        let name = word[..*at].trim_end_matches(is_mark);
        let name = name
            .rsplit(|letter: char| is_mark(letter) || "?&;,/".contains(letter))
            .next()
            .unwrap_or_default();
        is_credential(name) || ["cookie", "set-cookie"].iter().any(|one| name.eq_ignore_ascii_case(one))
    };
    signs.find(is_secret).map(|(at, _)| at)
}

const fn is_mark(letter: char) -> bool {
    matches!(letter, ':' | '=' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}')
}

/// True if `word` behind a scheme is a token, and not a word of a sentence.
fn is_token(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| is_mark(letter) || ".,;!".contains(letter));
    word.len() >= 6 && !word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// A credential as it is shown: its scheme, and the names of variables of the environment, `${env.TOKEN}`, in
/// place of their values.
pub fn credential_shown(value: &str) -> String {
    let value = value.trim();
    let (first, rest) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    match SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(first)) {
        _ if is_variable(value) => value.to_owned(),
        true if is_variable(rest.trim()) => value.to_owned(),
        true => format!("{first} {NOT_SHOWN}"),
        false => NOT_SHOWN.to_owned(),
    }
}

fn is_variable(value: &str) -> bool {
    let name = value.strip_prefix("${env.").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
}

/// `text` in which URLs have no user and no password (RFC 3986 3.2.1).
pub fn without_userinfo(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let ends = |letter: char| {
            matches!(letter, '/' | '?' | '#' | '"' | '\'' | '<' | '>') || letter.is_whitespace()
        };
        let authority = &after[..after.find(ends).unwrap_or(after.len())];
        // A password that was typed as it is may have an `@` itself.
        rest = &after[authority.rfind('@').map_or(0, |at| at + 1)..];
    }
    match shown.len() + rest.len() == text.len() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(shown + rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (line, shown) in [
            ("Authorization: Basic YTpi", "Authorization: Basic (not shown)"),
            ("authorization: bearer a.b.c", "authorization: bearer (not shown)"),
            (
                "Proxy-Authorization: Digest username=\"a\", response=\"b\"",
                "Proxy-Authorization: Digest (not shown)",
            ),
            // Without a scheme, or with words that are none.
            ("authorization: SECRET4", "authorization: (not shown)"),
            ("Authorization:SECRET4", "Authorization: (not shown)"),
            ("Authorization: my own secret", "Authorization: (not shown)"),
            ("Authorization:", "Authorization: (not shown)"),
            ("Authorization: Bearer ${env.TOKEN}", "Authorization: Bearer ${env.TOKEN}"),
            ("x-token: ${env.A_1}", "x-token: ${env.A_1}"),
            ("x-token: ${env.A_1}SECRET}", "x-token: (not shown)"),
            ("X-Api-Key: SECRET4", "X-Api-Key: (not shown)"),
            ("PRIVATE-TOKEN: SECRET4", "PRIVATE-TOKEN: (not shown)"),
            ("X-Amz-Security-Token: SECRET4", "X-Amz-Security-Token: (not shown)"),
            // A field in two lines, and one that is none of them.
            ("Authorization: Basic\n YTpi\n\tYTpi\nX: y", "Authorization: Basic (not shown)\nX: y"),
            ("X: y\n z", "X: y\n z"),
            ("Accept: text/html", "Accept: text/html"),
            ("GET /token:a HTTP/1.1", "GET /token:a HTTP/1.1"),
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n", line.replace('\n', "\r\n"));
            let text = without_credentials(&head);
            assert_eq!(text.trim_end(), format!("GET / HTTP/1.1\nHost: a\n{shown}"));
        }
    }

    #[test]
    fn words_of_a_peer_repeat_no_credentials() {
        for (text, shown) in [
            ("too_many_pings", "too_many_pings"),
            ("Bearer authentication is required", "Bearer authentication is required"),
            ("invalid token", "invalid token"),
            ("no token:", "no token:"),
            ("authorization: Bearer SECRET1", "authorization: (not shown)"),
            (":authorization: SECRET1", ":authorization: (not shown)"),
            ("refused {\"access_token\":\"SECRET1\",\"a\":1}", "refused {\"access_token\": (not shown)"),
            ("bad Cookie: a=SECRET1; b=SECRET2", "bad Cookie: (not shown)"),
            ("GET /?a=b&token=SECRET1 HTTP/1.1", "GET /?a=b&token= (not shown)"),
            (
                "not Bearer SECRET1, nor 'basic U0VDUkVU' here",
                "not Bearer (not shown) nor 'basic (not shown) here",
            ),
            ("é Bearer é.SECRET1", "é Bearer (not shown)"),
        ] {
            assert_eq!(words_without_credentials(text), shown);
        }
    }

    #[test]
    fn urls_have_no_user() {
        for (text, shown) in [
            ("http://a:b@host/x@y", "http://host/x@y"),
            ("target = \"https://a:p@ss@host:80\" # a@b", "target = \"https://host:80\" # a@b"),
            ("http://a@h/ and ftp://b:c@h/?u=http://d:e@i", "http://h/ and ftp://h/?u=http://i"),
            ("http://host/a@b", "http://host/a@b"),
            ("nothing @ all", "nothing @ all"),
            ("://@", "://"),
        ] {
            assert_eq!(without_userinfo(text), shown);
        }
    }
}
