//! References in pages and heads, made into what is asked of the one server that users talk to (RFC 3986 section 5).

/// What to ask for when the page at `base` (path and query) names `reference`, on the server called `host`; nothing if
/// that is another server's, or no matter of HTTP.
pub(crate) fn resolve(base: &str, reference: &str, host: &str) -> Option<String> {
    let reference = reference.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
    let reference = reference.split('#').next().unwrap_or_default();
    let reference = match scheme(reference) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return None,
        None => reference,
    };
    if let Some(rest) = reference.strip_prefix("//") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if !without_usual_port(authority).eq_ignore_ascii_case(without_usual_port(host)) {
            return None;
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        return Some(cleaned(&path));
    }
    let base_path = base.split('?').next().unwrap_or_default();
    Some(match reference.chars().next() {
        None => base.to_owned(),
        Some('/') => cleaned(reference),
        Some('?') => cleaned(&format!("{base_path}{reference}")),
        Some(_) => {
            let folder = base_path.rfind('/').map_or("/", |at| &base_path[..=at]);
            cleaned(&format!("{folder}{reference}"))
        }
    })
}

/// An authority without the port that is understood, which some servers write out (RFC 3986 section 6.2.3).
fn without_usual_port(authority: &str) -> &str {
    let bare = authority.strip_suffix(":80").or_else(|| authority.strip_suffix(':'));
    bare.unwrap_or(authority)
}

/// A scheme and what follows its colon, if there is one.
fn scheme(reference: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = reference.split_once(':')?;
    let first = scheme.chars().next()?.is_ascii_alphabetic();
    let fits = scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (first && fits).then_some((scheme, rest))
}

/// A path without dot segments (section 5.2.4), in which what cannot be sent is percent-encoded.
fn cleaned(target: &str) -> String {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let mut kept: Vec<&str> = Vec::new();
    let last = path.split('/').count() - 1;
    for (place, segment) in path.split('/').enumerate().skip(1) {
        match segment {
            ".." => {
                kept.pop();
                if place == last {
                    kept.push("");
                }
            }
            "." if place == last => kept.push(""),
            "." => {}
            _ => kept.push(segment),
        }
    }
    let mut clean = String::with_capacity(target.len());
    for segment in kept {
        clean.push('/');
        push_sendable(&mut clean, segment);
    }
    if clean.is_empty() {
        clean.push('/');
    }
    if let Some(query) = query {
        clean.push('?');
        push_sendable(&mut clean, query);
    }
    clean
}

fn push_sendable(clean: &mut String, text: &str) {
    for byte in text.bytes() {
        match is_sendable(byte) {
            true => clean.push(char::from(byte)),
            false => {
                let digit = |value: u8| char::from(HEX[usize::from(value)]);
                clean.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

pub(crate) const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Whether a byte may stand in a request's target: what RFC 3986 allows, and what servers are known to be sent besides.
pub(crate) fn is_sendable(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolved(reference: &str) -> Option<String> {
        resolve("/b/c/d?q", reference, "shop:8080")
    }

    /// The examples of RFC 3986 section 5.4, as far as they are of one server.
    #[test]
    fn references_are_resolved_as_in_the_rfc() {
        let check = |reference: &str, expected: &str| {
            assert_eq!(resolved(reference).as_deref(), Some(expected), "{reference}");
        };
        for (reference, expected) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d?y"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d?q"),
            ("g#s", "/b/c/g"),
            (";x", "/b/c/;x"),
            ("", "/b/c/d?q"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            ("./g/.", "/b/c/g/"),
            ("g/../h", "/b/c/h"),
            ("g?y/../x", "/b/c/g?y/../x"),
            ("//shop:8080", "/"),
            ("http://SHOP:8080/x", "/x"),
            ("http://shop:8080?x", "/?x"),
            (" a b\n", "/b/c/a%20b"),
            ("é", "/b/c/%C3%A9"),
            ("a:b/../c".trim_start_matches("a:"), "/b/c/c"),
        ] {
            check(reference, expected);
        }
    }

    #[test]
    fn the_usual_port_may_be_written() {
        for host in ["shop", "shop:80", "[::1]"] {
            for written in [host.to_owned(), format!("{}:80", host.trim_end_matches(":80"))] {
                assert_eq!(
                    resolve("/", &format!("http://{written}/x"), host).as_deref(),
                    Some("/x"),
                    "{written}"
                );
            }
        }
        assert_eq!(resolve("/", "http://shop:8080/", "shop"), None);
    }

    #[test]
    fn what_is_another_servers_is_not_asked_for() {
        for reference in
            ["http://other/", "//other/x", "https://shop:8080/", "data:text/plain,x", "mailto:a@b"]
        {
            assert_eq!(resolved(reference), None, "{reference}");
        }
    }

    proptest! {
        #[test]
        fn what_comes_out_can_be_asked_for(base in "/[a-z/?.]{0,12}", reference in "\\PC{0,20}") {
            if let Some(target) = resolve(&base, &reference, "shop") {
                prop_assert!(target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{}", target);
            }
        }
    }
}
