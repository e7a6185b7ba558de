//! A desk that takes orders from users who log in: with the token of the form that each was given, the cookie
//! of its visit, and an identifier that a reply contained. It keeps count, and refuses what it did not give.
//! Beside this it has replies that are hard to record.
//!
//! One thread a connection, the standard library alone, and rustls where it is asked by https.

use crate::common::Place;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Bytes that its bomb stands for.
pub const BOMB_BYTES: usize = 64 << 20;

/// A page as a browser loads it: a picture, a script that asks for JSON and sends the form.
const PAGE: &str = "<!doctype html><title>desk</title><link rel=icon href='data:,'><img src=/dot.gif>\
    <form method=post action=/login><input type=hidden name=csrf value='TOKEN'><input name=user>\
    <input type=password name=pass></form>\
    <script>fetch('/news').then((r) => r.json()).then(() => { const form = document.forms[0]; \
    form.user.value = 'anna'; form.pass.value = 'geheim'; form.submit(); })</script>";
const DOT: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
/// The page that the login leads to: a script places the order, with the identifier of a reply.
const ACCOUNT: &str = "<!doctype html><title>account</title><link rel=icon href='data:,'>\
    <script>fetch('/account').then((r) => r.json()).then((a) => fetch('/order', { method: 'POST', \
    headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ id: a.order.id }) }))\
    .then(() => fetch('/done'))</script>";

#[derive(Default)]
pub struct Books {
    given: u32,
    /// The token of each visit, and the identifier of each session.
    tokens: BTreeMap<String, String>,
    orders: BTreeMap<String, String>,
    /// Identifiers that were ordered.
    pub ordered: Vec<String>,
    pub refusals: Vec<String>,
    /// Host, Origin and Referer of each request for a login.
    pub named: Vec<[String; 3]>,
    /// Bytes of the bodies of requests to `/upload`.
    pub uploaded: Vec<usize>,
    /// Requests for the page that the login leads to.
    pub homes: usize,
    /// The page has its order.
    pub done: bool,
}

/// The desk, which serves until the test ends.
pub struct Desk {
    pub address: SocketAddr,
    books: Arc<Mutex<Books>>,
}

struct Asked {
    method: String,
    path: String,
    fields: BTreeMap<String, String>,
    cookies: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Reply {
    status: &'static str,
    fields: String,
    body: Vec<u8>,
}

impl Desk {
    pub fn open() -> Desk {
        Desk::serve(None)
    }

    /// By https, with the certificate `NAME.pem` of the place.
    pub fn open_secure(place: &Place, name: &str) -> Desk {
        let read = |end: &str| std::fs::read(place.path(&format!("{name}.{end}"))).expect("own file");
        let certificate = CertificateDer::from_pem_slice(&read("pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(&read("key")).expect("a key");
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|config| config.with_no_client_auth().with_single_cert(vec![certificate], key));
        Desk::serve(Some(Arc::new(config.expect("a certificate and its key"))))
    }

    fn serve(tls: Option<Arc<ServerConfig>>) -> Desk {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let books = Arc::new(Mutex::new(Books::default()));
        let shared = Arc::clone(&books);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (books, tls) = (Arc::clone(&shared), tls.clone());
                let stream = stream.expect("a client");
                thread::spawn(move || {
                    // Clients go when they like.
                    let _ = match tls {
                        None => serve(stream, &books),
                        Some(config) => {
                            let session = ServerConnection::new(config).expect("a configuration");
                            serve(StreamOwned::new(session, stream), &books)
                        }
                    };
                });
            }
        });
        Desk { address, books }
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: impl Read + Write, books: &Mutex<Books>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream)? {
        let writer = stream.get_mut();
        match asked.path.as_str() {
            "/endless" => {
                writer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                let piece = [b"10000\r\n".as_slice(), &[b'x'; 65_536], b"\r\n"].concat();
                loop {
                    writer.write_all(&piece)?;
                }
            }
            // The rest comes once the client has the beginning, and says so.
            "/halves" => {
                writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")?;
                writer.flush()?;
                while lock(books).uploaded.is_empty() {
                    thread::yield_now();
                }
                writer.write_all(b"later")?;
            }
            "/echo" => {
                let head =
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
                writer.write_all(head.as_bytes())?;
                let mut byte = [0];
                while stream.read(&mut byte)? == 1 {
                    stream.get_mut().write_all(&byte)?;
                }
                return Ok(());
            }
            "/gone" => return Ok(()),
            _ => {
                let Reply { status, fields, body } = lock(books).reply(&asked);
                let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
                writer.write_all(head.as_bytes())?;
                writer.write_all(&body)?;
                writer.flush()?;
            }
        }
    }
    Ok(())
}

fn read(stream: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path) = (word(), word());
    let mut fields = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = fields.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let cookie = fields.get("cookie").cloned().unwrap_or_default();
    let pairs = cookie.split("; ").filter_map(|pair| pair.split_once('='));
    let cookies = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Some(Asked { method, path, fields, cookies, body }))
}

fn reply(kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status: "200 OK", fields: format!("Content-Type: {kind}\r\n"), body: body.into() }
}

impl Books {
    fn reply(&mut self, asked: &Asked) -> Reply {
        let reply = match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/") => self.form(),
            ("POST", "/login") => self.log_in(asked),
            ("GET", "/home") => {
                self.homes += 1;
                Some(reply("text/html", ACCOUNT))
            }
            ("GET", "/account") => self.account(asked),
            ("POST", "/order") => self.order(asked),
            ("GET", "/done") => {
                self.done = true;
                Some(reply("application/json", "{}"))
            }
            ("GET", "/news") => Some(reply("application/json", "{\"news\": []}")),
            ("GET", "/dot.gif") => Some(reply("image/gif", DOT)),
            ("GET", "/bomb") => Some(bomb()),
            ("GET", "/large") => Some(reply("text/plain", vec![b'x'; 5 << 20])),
            ("POST", "/upload") => {
                self.uploaded.push(asked.body.len());
                Some(reply("text/plain", "taken"))
            }
            _ => None,
        };
        reply.unwrap_or_else(|| {
            let body = String::from_utf8_lossy(&asked.body);
            self.refusals.push(format!("{} {} {:?} {body:.100}", asked.method, asked.path, asked.cookies));
            Reply { status: "403 Forbidden", fields: String::new(), body: b"no".to_vec() }
        })
    }

    /// Something that was not given before.
    fn give(&mut self, what: &str) -> String {
        self.given += 1;
        format!("{what}-{:08x}", self.given.wrapping_mul(2_654_435_761))
    }

    fn form(&mut self) -> Option<Reply> {
        let (visit, token) = (self.give("visit"), self.give("token"));
        let mut reply = reply("text/html", PAGE.replace("TOKEN", &token));
        reply.fields += &format!("Set-Cookie: visit={visit}; Path=/; HttpOnly\r\n");
        self.tokens.insert(visit, token);
        Some(reply)
    }

    fn log_in(&mut self, asked: &Asked) -> Option<Reply> {
        let of = |name: &str| asked.fields.get(name).cloned().unwrap_or_default();
        self.named.push([of("host"), of("origin"), of("referer")]);
        // A form is sent once.
        let token = self.tokens.remove(asked.cookies.get("visit")?)?;
        let expected = format!("csrf={token}&user=anna&pass=geheim");
        if asked.body != expected.as_bytes() {
            return None;
        }
        let sid = self.give("sid");
        let order = self.give("order");
        self.orders.insert(sid.clone(), order);
        let fields = format!("Location: /home\r\nSet-Cookie: sid={sid}; Path=/\r\n");
        Some(Reply { status: "303 See Other", fields, body: Vec::new() })
    }

    fn account(&mut self, asked: &Asked) -> Option<Reply> {
        let order = self.orders.get(asked.cookies.get("sid")?)?;
        Some(reply("application/json", format!("{{\"order\": {{\"id\": \"{order}\"}}}}")))
    }

    fn order(&mut self, asked: &Asked) -> Option<Reply> {
        let order = self.orders.remove(asked.cookies.get("sid")?)?;
        let body = String::from_utf8_lossy(&asked.body).replace(' ', "");
        if body != format!("{{\"id\":\"{order}\"}}") {
            return None;
        }
        self.ordered.push(order);
        Some(Reply { status: "201 Created", fields: String::new(), body: Vec::new() })
    }
}

/// A page that is a few kilobytes in gzip.
fn bomb() -> Reply {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![b' '; BOMB_BYTES]).expect("memory takes it");
    let mut reply = reply("text/html", encoder.finish().expect("memory takes it"));
    reply.fields += "Content-Encoding: gzip\r\n";
    reply
}
