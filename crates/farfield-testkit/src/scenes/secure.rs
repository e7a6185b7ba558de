//! Certificates of a test's own CA, and nginx over TLS with what it logs of sessions.
use super::wan::find;
use super::{Place, Process, poll};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

/// A CA of the test's own, whose certificate is in `ca.pem`.
pub struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// Makes it, and writes its certificate into `place`.
    pub fn new(place: &Place) -> Authority {
        let (key, mut params) = (KeyPair::generate().expect("a key"), params_for("authority.test"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        place.write("ca.pem", params.self_signed(&key).expect("a certificate").pem());
        Authority(Issuer::new(params, key))
    }

    /// A certificate for `name`, valid in these years, in `name.pem` and `name.key`.
    pub fn certify(&self, place: &Place, name: &str, years: (i32, i32)) {
        let (key, mut params) = (KeyPair::generate().expect("a key"), params_for(name));
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        place.write(&format!("{name}.pem"), certificate.pem());
        place.write(&format!("{name}.key"), key.serialize_pem());
    }
}

fn params_for(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Longer than this test is likely to be run.
pub const VALID: (i32, i32) = (2020, 4000);

/// A line of nginx's log.
#[derive(Debug, PartialEq, Eq)]
pub struct HandshakeLog {
    /// True if the session was resumed.
    pub resumed: bool,
    /// The version of TLS, by nginx's name.
    pub version: String,
    /// The name that was asked for.
    pub name: String,
    /// The group of the key exchange, by nginx's name.
    pub group: String,
    /// The subject of the client's certificate.
    pub client: String,
    /// The request's first line.
    pub request: String,
}

/// Versions of TLS, in nginx's words.
pub const BOTH: &str = "TLSv1.2 TLSv1.3";

/// nginx over TLS on a port of its own, with the certificate `certificate`.
pub struct SecureNginx {
    _process: Process,
    /// The address at which it listens.
    pub address: SocketAddr,
}

const LOG: &str = "log_format early '$ssl_early_data $ssl_session_reused $request'; log_format tls '$ssl_session_reused $ssl_protocol $ssl_server_name $ssl_curve $ssl_client_s_dn $request';";

impl SecureNginx {
    /// Starts nginx, which speaks `versions`.
    pub fn start(test: &str, place: &Place, certificate: &str, versions: &str) -> Option<SecureNginx> {
        SecureNginx::start_with(test, place, certificate, &format!("ssl_protocols {versions};"))
    }

    /// Starts nginx with these directives of its server, in which HOME stands for the place's path.
    pub fn start_with(test: &str, place: &Place, certificate: &str, directives: &str) -> Option<SecureNginx> {
        let program = find(test, "nginx")?;
        place.write("www/4k", vec![b'x'; 4096]);
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        let (address, directives) = (free_address(), directives.replace("HOME", home));
        let config = format!(
            "daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
            events {{ worker_connections 512; }}
            http {{
                {LOG} access_log {home}/access.log tls; keepalive_requests 1000000;
                client_body_temp_path {home}/t; proxy_temp_path {home}/t; fastcgi_temp_path {home}/t;
                uwsgi_temp_path {home}/t; scgi_temp_path {home}/t;
                server {{
                    listen {address} ssl; root {home}/www;
                    ssl_certificate {home}/{certificate}.pem; ssl_certificate_key {home}/{certificate}.key;
                    {directives}
                }}
            }}"
        );
        place.write("server.conf", config);
        let mut command = Command::new(program);
        command.args(["-p", home, "-c", &format!("{home}/server.conf"), "-e", "stderr"]);
        let mut process = Process::start(&mut command, place);
        poll("nginx to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(()),
            Err(_) => process.ended().map(|ended| panic!("nginx ended: {ended}")),
        });
        Some(SecureNginx { _process: process, address })
    }

    /// The words of a run that fetches a file of 4 KB, where the certificate is for `name`.
    pub fn url(&self, name: &str) -> String {
        // Nothing but the name in the certificate differs from the address.
        format!("https://{}/4k --set tls.server-name={name}", self.address)
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port")
}

/// Lines of nginx's log since this was called last, once they are `expected`.
pub fn take_log(place: &Place, expected: usize) -> Vec<HandshakeLog> {
    let path = place.path("access.log");
    let lines = || fs::read_to_string(&path).unwrap_or_default();
    poll("the server to log all requests", || (lines().lines().count() >= expected).then_some(()));
    let text = lines();
    // nginx goes on writing where it was.
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0)).expect("own file");
    let read = |line: &str| {
        let mut words = line.trim_start_matches('\0').splitn(6, ' ').map(str::to_owned);
        let mut word = || words.next().expect("a word");
        HandshakeLog {
            resumed: word() == "r",
            version: word(),
            name: word(),
            group: word(),
            client: word(),
            request: word(),
        }
    };
    text.lines().map(read).collect()
}
