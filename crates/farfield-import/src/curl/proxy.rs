//! The proxy of a command: `--proxy [http://][user:password@]host[:port]` and `--proxy-user user:password`.

use super::command::Common;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// The port of a proxy that is named without one.
const CURLS_PORT: u16 = 1080;

/// A proxy that is not taken: it differs without it.
pub const OTHER: &str = "without a proxy (over TLS, of SOCKS, or one that cannot be read)";

/// The URL of the proxy as a scenario has it, if the command names one.
///
/// # Errors
/// [`OTHER`], if a scenario has no such proxy.
pub fn of(common: &Common) -> Option<Result<String, &'static str>> {
    let given = common.proxy.as_deref().filter(|given| !given.is_empty())?;
    let text = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    Some(read(&text, common.proxy_user.as_deref()).ok_or(OTHER))
}

fn read(text: &str, user: Option<&str>) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let is_usual_port = || text.trim_end_matches('/').ends_with(":80").then_some(80);
    let port = url.port().or_else(is_usual_port).unwrap_or(CURLS_PORT);
    let encoded = |part: &str| utf8_percent_encode(part, NON_ALPHANUMERIC).to_string();
    let credentials = match user {
        Some(given) => {
            let (user, password) = given.split_once(':').unwrap_or((given, ""));
            format!("{}:{}@", encoded(user), encoded(password))
        }
        None => match (url.username(), url.password()) {
            ("", None) => String::new(),
            (user, password) => format!("{user}:{}@", password.unwrap_or_default()),
        },
    };
    Some(format!("http://{credentials}{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_those_of_curl() {
        let of = |proxy: &str, user: Option<&str>| {
            let (proxy, proxy_user) = (Some(proxy.to_owned()), user.map(str::to_owned));
            of(&Common { proxy, proxy_user, ..Common::default() })
        };
        for (proxy, user, url) in [
            ("p:81", None, "http://p:81"),
            ("p", None, "http://p:1080"),
            ("http://p:80/", None, "http://p:80"),
            ("a:b@p:81", None, "http://a:b@p:81"),
            ("http://a:b@p:81", Some("c:d@:e"), "http://c:d%40%3Ae@p:81"),
            ("[::1]:81", Some("c"), "http://c:@[::1]:81"),
        ] {
            assert_eq!(of(proxy, user), Some(Ok(url.to_owned())), "{proxy}");
        }
        for proxy in ["https://p:81", "socks5h://p:81", "http://", "p:port"] {
            assert_eq!(of(proxy, None), Some(Err(OTHER)), "{proxy}");
        }
        assert_eq!(of("", None), None);
    }
}
