//! Clients' part in a handshake, against nginx: certificates of their own, and groups of key exchange.

use crate::common::secure::{Authority, BOTH, SecureNginx, VALID, take_log};
use crate::common::{Ended, Place, count};
use farfield_base::Outcome;
use std::fs;

/// Certificates and keys of these users, in files of these names.
fn gather(place: &Place, users: &[&str], certificates: &str, keys: &str) {
    let read = |end: &str| {
        let of = |user: &&str| fs::read_to_string(place.path(&format!("{user}.{end}"))).expect("own file");
        users.iter().map(of).collect::<String>()
    };
    place.write(certificates, read("pem"));
    place.write(keys, read("key"));
}

const USERS: [&str; 4] = ["user-0.test", "user-1.test", "user-2.test", "user-3.test"];

#[track_caller]
fn fails(ended: Ended, outcome: Outcome) {
    let ended = ended.exits(3);
    let summary = ended.summary();
    assert_eq!(count(&summary.steady, outcome), summary.steady.requests, "{:?}", summary.steady.outcomes);
}

/// Each user proves who it is, in new sessions and in those that it resumes; one certificate does for all;
/// and who has none, or a stranger's, is turned away.
#[test]
fn nginx_sees_each_users_certificate() {
    let test = "nginx_sees_each_users_certificate";
    let (place, strangers) = (Place::new(), Place::new());
    let authority = Authority::new(&place);
    for name in USERS.iter().chain(&["shop.test"]) {
        authority.certify(&place, name, VALID);
    }
    Authority::new(&strangers).certify(&strangers, USERS[0], VALID);
    gather(&place, &USERS, "users.pem", "users.key");
    for version in BOTH.split(' ') {
        let asks =
            format!("ssl_protocols {version}; ssl_verify_client on; ssl_client_certificate HOME/ca.pem;");
        let Some(nginx) = SecureNginx::start_with(test, &place, "shop.test", &asks) else { return };
        let url = format!("{} --cacert ca.pem --policy one-request", nginx.url("shop.test"));
        let run = |words: &str| place.run(&format!("{url} -n 40 -c 4 {words}"));

        let ended = run("--cert users.pem --key users.key").exits(0);
        let (samples, log) = (ended.samples(), take_log(&place, 40));
        assert!(log.iter().any(|line| line.resumed) && log.iter().all(|line| line.version == version));
        for (user, name) in USERS.iter().enumerate() {
            let logged = log.iter().filter(|line| line.client == format!("CN={name}")).count();
            let sampled = samples.iter().filter(|sample| sample.user == user as u32).count();
            assert!(logged == sampled && sampled > 0, "{name}: {logged} of {sampled}");
        }
        // A run directory may be passed on: it has no private key, and repeats the run where that still is.
        let copies = fs::read_dir(ended.directory.join("inputs")).expect("copies of files");
        let names: Vec<_> = copies.map(|entry| entry.expect("a file").file_name()).collect();
        assert!(names.contains(&"users.pem".into()) && !names.contains(&"users.key".into()), "{names:?}");
        place.farfield(&format!("run {} -o again-{version}", ended.directory.display())).exits(0);
        take_log(&place, 40);

        // Both in one file, which is not copied then.
        gather(&place, &USERS[..1], "one.pem", "one.key");
        let both = ["one.pem", "one.key"].map(|name| fs::read(place.path(name)).expect("own file"));
        place.write("one.pem", both.concat());
        let ended = run("--cert one.pem").exits(0);
        assert!(!ended.directory.join("inputs/one.pem").exists());
        assert!(take_log(&place, 40).iter().all(|line| line.client == "CN=user-0.test"));

        place.write(
            "visit.toml",
            "load = { model = 'closed' }\n[[session.state]]\nname = 'a'\npath = '/4k'\n",
        );
        let tried = nginx.url("shop.test").replacen("/4k", "/", 1);
        let tried =
            format!("try visit.toml --target {tried} --cacert ca.pem --cert users.pem --key users.key");
        place.farfield(&tried).exits(0);
        assert!(take_log(&place, 1).iter().all(|line| line.client == "CN=user-0.test"));

        fails(run(""), Outcome::Status4xx);
        let stranger = |end: &str| strangers.path(&format!("user-0.test.{end}")).display().to_string();
        let words = format!("--set tls.certificate={} --set tls.key={}", stranger("pem"), stranger("key"));
        fails(run(&words), Outcome::Status4xx);
        fs::remove_file(place.path("access.log")).expect("own file");
    }
}

/// The groups that are asked for are those that are used, with a round trip more where the server insists on
/// another than the first.
#[test]
fn groups_are_those_that_are_asked_for() {
    let test = "groups_are_those_that_are_asked_for";
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let takes = format!("ssl_protocols {BOTH}; ssl_ecdh_curve secp384r1:prime256v1;");
    let Some(nginx) = SecureNginx::start_with(test, &place, "shop.test", &takes) else { return };
    let url = format!("{} --cacert ca.pem -c 2 --policy one-request", nginx.url("shop.test"));
    let run = |words: &str| place.run(&format!("{url} -n 12 --set tls.resumption=false {words}"));
    // In TLS 1.2 the certificate's own curve, P-256, must be offered as well (RFC 8422 section 5.1.1).
    let older = [("['secp256r1']", "prime256v1"), ("['secp384r1','secp256r1']", "secp384r1")];
    let newer = [("['secp256r1']", "prime256v1"), ("['secp384r1']", "secp384r1")];
    let asked = ("['x25519','secp384r1']", "secp384r1");
    for (versions, cases) in [("['1.2']", older.to_vec()), ("['1.3']", [&newer[..], &[asked]].concat())] {
        for (groups, used) in cases {
            run(&format!("--set tls.versions={versions} --set tls.groups={groups}")).exits(0);
            let log = take_log(&place, 12);
            assert!(log.iter().all(|line| line.group == used), "{versions} {groups}: {log:?}");
        }
        let none = run(&format!("--set tls.versions={versions} --set tls.groups=['x25519']"));
        none.exits(1).says(&["in common", "offer more groups in tls.groups"]);
        let _ = fs::write(place.path("access.log"), "");
    }
    // The post-quantum hybrid, first and only.
    let served = place.serve("--tls");
    for groups in ["['X25519MLKEM768']", "['X25519MLKEM768','x25519']"] {
        let ended = place.run(&format!("{}/ -k -n 12 --set tls.groups={groups}", served.url)).exits(0);
        assert!(ended.samples().iter().any(|sample| sample.tls.is_some()));
    }
}

#[test]
fn files_and_groups_that_make_no_sense_are_refused() {
    let place = Place::new();
    let authority = Authority::new(&place);
    USERS.iter().for_each(|name| authority.certify(&place, name, VALID));
    gather(&place, &USERS, "users.pem", "users.key");
    gather(&place, &[USERS[1], USERS[0]], "other.pem", "other.key");
    place.write("empty.pem", "nothing");
    let https = "run https://127.0.0.1:1/ -k --set";
    for (words, parts) in [
        ("tls.certificate=none.pem", &["tls.certificate", "none.pem"][..]),
        ("tls.certificate=empty.pem", &["tls.certificate", "PEM"]),
        ("tls.certificate=users.pem", &["tls.certificate", "private key"]),
        ("tls.certificate=users.pem --set tls.key=none.key", &["tls.key", "none.key"]),
        ("tls.certificate=users.pem --set tls.key=users.pem", &["tls.key", "private key"]),
        ("tls.certificate=users.pem --set tls.key=other.key", &["tls.certificate", "first"]),
        ("tls.certificate=user-0.test.pem --set tls.key=users.key", &["tls.certificate", "key 2"]),
        ("tls.key=users.key", &["tls.key", "tls.certificate"]),
        ("tls.groups=[]", &["tls.groups", "x25519"]),
        ("tls.groups=['x25519','x25519']", &["tls.groups", "twice"]),
        ("tls.groups=['p256']", &["tls.groups", "secp256r1"]),
        ("tls.groups=['X25519MLKEM768'] --set tls.versions=['1.2']", &["tls.groups", "1.2"]),
    ] {
        place.farfield(&format!("{https} {words}")).exits(2).says(parts);
    }
    // The flags are named where they are at fault.
    for (words, parts) in [
        ("--cert none.pem", &["--cert", "none.pem"][..]),
        ("--cert users.pem --key other.key", &["--cert", "first"]),
        ("--cert users.pem --key none.key", &["--key", "none.key"]),
        ("--key users.key", &["--key", "certificate"]),
    ] {
        place.farfield(&format!("run https://127.0.0.1:1/ -k {words}")).exits(2).says(parts);
        place.write("visit.toml", "load = { model = 'closed' }\n[[session.state]]\nname = 'a'\npath = '/'\n");
        let try_out = format!("try visit.toml --target https://127.0.0.1:1/ -k {words}");
        place.farfield(&try_out).exits(2).says(parts);
    }
    let simulated = "run --plane simulated --set simulated.tls={} --set tls.certificate=users.pem";
    place.farfield(simulated).exits(2).says(&["tls.certificate", "no cryptography"]);
}
