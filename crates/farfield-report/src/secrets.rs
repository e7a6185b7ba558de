//! A scenario as a report shows it: reports are passed on, and the credentials that a run needs are not.
//!
//! Left out are the values of the server's environment, those of keys and header fields that hold
//! credentials or cookies, and users and passwords of URLs. What a body or a path says stays.

use farfield_base::credentials::credential_shown;
use farfield_base::{is_credential, without_userinfo};
use toml::{Table, Value};

/// The text of a scenario without its secrets: as it is where it has none, else written anew. A text that is
/// no TOML may hold them anywhere, and is left out.
pub(crate) fn shown(text: &str) -> Option<String> {
    let table: Table = text.parse().ok()?;
    let masked = masked(&table);
    Some(if masked == table { text.to_owned() } else { masked.to_string() })
}

/// `scenario` without its secrets, with the same keys.
pub(crate) fn masked(scenario: &Table) -> Table {
    let mut masked = scenario.clone();
    mask(&mut masked, "");
    masked
}

fn mask(table: &mut Table, of: &str) {
    for (name, value) in table.iter_mut() {
        let is_secret = of == "environment" || is_credential(name) || name.eq_ignore_ascii_case("cookie");
        match value {
            Value::String(text) if is_secret => *text = credential_shown(text),
            value => mask_within(value, name),
        }
    }
}

fn mask_within(value: &mut Value, of: &str) {
    match value {
        Value::String(text) => *text = without_userinfo(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(|value| mask_within(value, of)),
        Value::Table(table) => mask(table, of),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let text = "# A comment.\nname = 'a'\ntarget = \"http://host/\"\n[tls]\nkey = 'key.pem'\n";
        assert_eq!(shown(text).as_deref(), Some(text));
        assert_eq!(shown("target = http://a:SECRET@host/"), None);
    }

    #[test]
    fn secrets_are_left_out_wherever_they_stand() {
        let text = "target = \"http://a:SECRET@host/\"\nurls = ['http://SECRET@x/', 3]\n\
            [server]\nenvironment = { DB_URL = 'SECRET' }\n\
            [requests]\nheaders = { authorization = 'SECRET', X-Api-Key = 'SECRET', COOKIE = \"a=SECRET\", a = 'b' }\n\
            [[requests.request]]\npath = '/'\nheaders = { \"x-auth-token\" = \"SECRET\", authorization = 'Bearer ${env.TOKEN}' }\n\
            [[session.state]]\nform = { fields = { user = 'u', password = 'SECRET' } }\n";
        let shown = shown(text).expect("TOML");
        assert!(!shown.contains("SECRET"), "{shown}");
        let [before, after]: [Table; 2] = [text, &shown].map(|text| text.parse().expect("TOML"));
        assert_eq!(after, masked(&before), "and all else stays");
        for kept in ["Bearer ${env.TOKEN}", "http://host/", "DB_URL", "user = \"u\"", "a = \"b\""] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
    }
}
