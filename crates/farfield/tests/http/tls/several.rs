//! Hosts of two schemes: a redirect from http to https, cookies that are secure, and a certificate of another
//! name.

use crate::common::Place;
use crate::common::nginx::Nginx;
use crate::common::secure::{self, Authority, BOTH, VALID};
use crate::common::wan::find;
use farfield_base::{HostNumber, Outcome};
use std::fs;
use std::net::SocketAddr;

/// The scenario of a shop that is asked over http first, and sends its users to https.
fn scenario(plain: SocketAddr, secure: SocketAddr) -> String {
    let (http, https) = (plain.port(), secure.port());
    format!(
        "target = 'http://shop.test:{http}/'
        sockets.connect-to = ['shop.test:{http}:{plain}', 'shop.test:{https}:{secure}']
        tls = {{ ca = 'ca.pem' }}
        [[host]]\nname = 'secure'\nurl = 'https://shop.test:{https}/'
        [load]\nmodel = 'closed'\nusers = 3\nthink = '10ms'
        [[session.state]]\nname = 'home'\npath = '/'\ncheck = {{ status = 200 }}
        [[session.state]]\nname = 'plain'\npath = '/plain'
        [[session.state]]\nname = 'own'\npath = 'https://shop.test:{https}/own'\n"
    )
}

#[test]
fn http_leads_to_https() {
    let test = "http_leads_to_https";
    let (Some(program), shop, sso) = (find(test, "nginx"), Place::new(), Place::new()) else { return };
    let authority = Authority::new(&sso);
    authority.certify(&sso, "shop.test", VALID);
    let directives = format!(
        "ssl_protocols {BOTH}; add_header Set-Cookie 's=1; Secure';
        location /own {{ if ($http_cookie != 's=1') {{ return 403; }} return 200 'ok'; }}"
    );
    let Some(secure) = secure::SecureNginx::start_with(test, &sso, "shop.test", &directives) else { return };
    let to = format!("https://shop.test:{}/4k", secure.address.port());
    let plain = Nginx::start(
        &program,
        &shop,
        "log_format own '$request_uri'; access_log HOME/access.log own;",
        &format!(
            "location = / {{ return 301 {to}; }}
            location /plain {{ if ($http_cookie) {{ return 403; }} return 200 'ok'; }}"
        ),
    );
    shop.write("ca.pem", fs::read(sso.path("ca.pem")).expect("a CA"));
    shop.write("shop.toml", scenario(plain.address, secure.address));
    let ended = shop.run("shop.toml -d 2s --warm-up 0s --capture --set tls.key-log=true").exits(0);
    let samples = ended.samples();
    assert!(samples.len() > 30 && samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{samples:?}");
    let of_host = |number: usize| samples.iter().filter(move |sample| sample.host == HostNumber::at(number));
    assert!(of_host(0).all(|sample| sample.tls.is_none()));
    assert!(
        of_host(1).filter(|sample| sample.connect_begun.instant().is_some()).all(|own| own.tls.is_some())
    );
    let log = secure::take_log(&sso, of_host(1).count());
    assert_eq!(log.len(), of_host(1).count());
    assert!(log.iter().all(|line| line.name == "shop.test"), "{log:?}");
    let redirected = samples.iter().filter(|sample| sample.status == 301).count();
    assert!(redirected > 5 && redirected.abs_diff(samples.len() / 4) <= 3, "{redirected}");
    plain.end();
    let asked = fs::read_to_string(shop.path("access.log")).expect("a log");
    assert_eq!(asked.lines().count(), of_host(0).count());
    let names: Vec<String> = ended.summary().hosts.into_iter().map(|host| host.name).collect();
    assert_eq!(names, ["target", "secure"]);
    let verified = shop.farfield(&format!("verify {}", ended.directory.display())).exits(0);
    assert!(verified.stdout.contains("AGREES"), "{}", verified.stdout);
}

/// The certificate of a host is of its own name, whatever the target's is.
#[test]
fn a_host_with_a_certificate_of_another_name_is_refused() {
    let test = "a_host_with_a_certificate_of_another_name_is_refused";
    let (Some(program), place, other) = (find(test, "nginx"), Place::new(), Place::new()) else { return };
    let authority = Authority::new(&place);
    authority.certify(&place, "other.test", VALID);
    let Some(secure) = secure::SecureNginx::start(test, &place, "other.test", BOTH) else { return };
    let plain = Nginx::start(&program, &other, "access_log off;", "location / { return 200 'ok'; }");
    place.write("shop.toml", scenario(plain.address, secure.address));
    let refused = place.farfield("run shop.toml -d 1s -q").exits(1);
    for part in ["no user could talk to the server", "certificate", "other.test"] {
        assert!(refused.stderr.contains(part), "`{part}` is not in: {}", refused.stderr);
    }
    plain.end();
}
