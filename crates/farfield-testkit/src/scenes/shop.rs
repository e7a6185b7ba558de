//! A shop that keeps count of whom it gave what, and refuses requests that do not bring it back.
//!
//! One thread a connection, the standard library alone: nothing of farfield is in it. It serves in a thread
//! of the test or, where it is to stand in a network namespace, in a process of its own that logs its
//! requests line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A whole visit: cookie, hidden field, form, redirect, token in a header, JSON, cart, order.
pub const VISIT: &str = r#"
[session]
page-load = "PAGE-LOAD"

[[session.data]]
file = "users.csv"
order = "unique"

[[session.state]]
name = "home"
path = "/"
embedded = ["/logo.png"]

[[session.state]]
name = "form"
path = "/login"
extract.note = { css = "p.note" }

[[session.state]]
name = "login"
form = { select = "form#login", fields = { user = "${name}", pass = "${pass}" }, submit = "go" }
check = { contains = ["Welcome ${name}", "${note}"], header = { x-token = true } }
extract.token = { header = "X-Token" }
extract.sid = { cookie = "sid" }

[[session.state]]
name = "search"
path = "/api/items?q=${click}"
headers = { x-token = "${token}" }
extract.item = { json = "/items", random = true }

[[session.state]]
name = "add"
method = "POST"
path = "/cart"
headers = { content-type = "application/json", x-token = "${token}" }
body = '{"user": "${name|json}", "item": ${item}, "sid": "${sid}"}'
check = { status = 201 }
extract.cart = { regex = '"cart":\s*"(\w+)"' }

[[session.state]]
name = "order"
method = "POST"
path = "/cart/${cart|url}/order"
headers = { content-type = "application/x-www-form-urlencoded" }
body = "note=${note|form}&user=${user}"
check = { status = 200, regex = "Order \\d+ for \\w+", lacks = "error" }
"#;

/// Names and passwords for so many visits.
pub fn users(count: u32) -> String {
    (0..count).fold("name,pass\n".to_owned(), |file, n| format!("{file}user{n},\"p&{n}, x\"\n"))
}

/// The shop, which serves until the test ends.
pub struct Shop {
    address: SocketAddr,
    books: Arc<Mutex<Books>>,
}

#[derive(Default)]
struct Books {
    given: u32,
    /// The hidden field that a visitor's form had.
    csrf: BTreeMap<String, String>,
    /// Users who are logged in, by the cookie.
    logged_in: BTreeMap<String, String>,
    /// The token of each who is.
    tokens: BTreeMap<String, String>,
    /// Carts that wait for their order, with whose they are.
    carts: BTreeMap<String, String>,
    orders: Vec<String>,
    refusals: Vec<String>,
    fetched: BTreeMap<String, u32>,
    fresh: BTreeSet<String>,
}

/// A request, taken apart.
struct ShopRequest {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    cookies: BTreeMap<String, String>,
    body: String,
}

struct ShopAnswer {
    status: &'static str,
    headers: String,
    body: String,
}

impl Shop {
    /// A shop on a free port of loopback, in a thread of this process.
    pub fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let books = Arc::new(Mutex::new(Books::default()));
        let shared = Arc::clone(&books);
        thread::spawn(move || serve_all(&listener, &shared, |_| {}));
        Shop { address, books }
    }

    /// Serves at `address` until the process ends, and logs its answers on standard output.
    pub fn serve(address: &str) -> ! {
        let listener = TcpListener::bind(address).expect("an address of this machine");
        println!("\nopen at {}", listener.local_addr().expect("an address"));
        serve_all(&listener, &Arc::default(), |answered| println!("{}", answered.line()))
    }

    /// The shop's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }

    /// Users who ordered, one for each order.
    pub fn orders(&self) -> Vec<String> {
        self.books().orders.clone()
    }

    /// Refused requests, each with the reason.
    pub fn refusals(&self) -> Vec<String> {
        self.books().refusals.clone()
    }

    /// Number of requests for each path.
    pub fn fetched(&self) -> BTreeMap<String, u32> {
        self.books().fetched.clone()
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that a shop in a process of its own answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The address that the request came from.
    pub client: IpAddr,
    /// The answer's status.
    pub status: u16,
    /// The request's method.
    pub method: String,
    /// The request's path, without its query.
    pub path: String,
    /// The reason why it was refused, or the order.
    pub said: String,
}

impl Answered {
    fn line(&self) -> String {
        let Answered { client, status, method, path, said } = self;
        format!("answered {client} {status} {method} {path} {said}")
    }

    /// The log of such a shop.
    pub fn read(log: &str) -> Vec<Answered> {
        let read = |line: &str| {
            let mut words = line.strip_prefix("answered ")?.splitn(5, ' ');
            Some(Answered {
                client: words.next()?.parse().ok()?,
                status: words.next()?.parse().ok()?,
                method: words.next()?.to_owned(),
                path: words.next()?.to_owned(),
                said: words.next()?.to_owned(),
            })
        };
        log.lines().filter_map(read).collect()
    }
}

fn serve_all(
    listener: &TcpListener,
    books: &Arc<Mutex<Books>>,
    tell: impl Fn(&Answered) + Copy + Send + 'static,
) -> ! {
    loop {
        let (stream, _) = listener.accept().expect("a connection");
        let books = Arc::clone(books);
        thread::spawn(move || serve(stream, &books, tell));
    }
}

fn serve(stream: TcpStream, books: &Mutex<Books>, tell: impl Fn(&Answered)) {
    let Ok(client) = stream.peer_addr() else { return };
    let mut writer = stream.try_clone().expect("a socket");
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader) {
        let answer = lock(books).answer(&asked);
        let ShopAnswer { status, headers, body } = answer;
        let said = if status.starts_with("403") || body.starts_with("Order ") { &*body } else { "" };
        tell(&Answered {
            client: client.ip(),
            status: status[..3].parse().expect("a status begins with its number"),
            method: asked.method,
            path: asked.path,
            said: said.to_owned(),
        });
        // In two pieces, so that heads and bodies are split for the client.
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n", body.len());
        let rest = format!("Server: shop\r\n\r\n{body}");
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(rest.as_bytes())).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<ShopRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let cookies = headers.get("cookie").map(|field| {
        field
            .split("; ")
            .filter_map(|pair| pair.split_once('='))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect()
    });
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(ShopRequest {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        cookies: cookies.unwrap_or_default(),
        body: String::from_utf8(body).ok()?,
    })
}

/// The value of a field of `application/x-www-form-urlencoded`.
fn field(body: &str, name: &str) -> Option<String> {
    let value = body.split('&').filter_map(|pair| pair.split_once('=')).find(|(own, _)| *own == name)?.1;
    let (mut bytes, mut rest) = (Vec::new(), value.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn page(body: impl Into<String>) -> ShopAnswer {
    ShopAnswer {
        status: "200 OK",
        headers: "Content-Type: text/html; charset=utf-8\r\n".to_owned(),
        body: body.into(),
    }
}

impl Books {
    fn answer(&mut self, asked: &ShopRequest) -> ShopAnswer {
        *self.fetched.entry(asked.path.clone()).or_default() += 1;
        let answer = match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/") => Ok(self.welcome()),
            ("GET", "/login") => self.form(asked),
            ("POST", "/login/check") => self.log_in(asked),
            ("GET", "/login/account") => self.account(asked),
            ("GET", "/api/items") => self.items(asked),
            ("POST", "/cart") => self.add(asked),
            ("POST", path) if path.starts_with("/cart/") => self.order(asked),
            ("GET", path) if path.ends_with(".png") || path.ends_with(".css") => Ok(self.object(asked)),
            _ => Err("there is no such page"),
        };
        answer.unwrap_or_else(|why| {
            self.refusals.push(format!("{} {}: {why}: {}", asked.method, asked.path, asked.body));
            ShopAnswer { status: "403 Forbidden", headers: String::new(), body: why.to_owned() }
        })
    }

    /// Something that was not given before.
    fn give(&mut self, what: &str) -> String {
        self.given += 1;
        format!("{what}{}", self.given.wrapping_mul(2_654_435_761))
    }

    fn welcome(&mut self) -> ShopAnswer {
        let visitor = self.give("v");
        self.csrf.insert(visitor.clone(), String::new());
        let mut answer = page(
            "<html><head><link rel=stylesheet href=/a.css></head><img src='/b.png'><a href=/login>log in</a></html>",
        );
        answer.headers += &format!("Set-Cookie: visitor={visitor}; Path=/; HttpOnly\r\n");
        answer
    }

    fn form(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        let visitor = asked.cookies.get("visitor").filter(|visitor| self.csrf.contains_key(*visitor));
        let visitor = visitor.ok_or("no visitor's cookie")?.clone();
        let csrf = self.give("t&<");
        self.csrf.insert(visitor, csrf.clone());
        let escaped = csrf.replace('&', "&amp;").replace('<', "&lt;");
        Ok(page(format!(
            "<form action=/search><input name=q></form><p class=note>mind &amp; buy</p>\
             <form id=login method=post action='login/check'><input type=hidden name=csrf value='{escaped}'>\
             <input name=user><input type=password name=pass><button name=go value=1>Go</button></form>"
        )))
    }

    fn log_in(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        let visitor = asked.cookies.get("visitor").ok_or("no visitor's cookie")?;
        let get = |name| field(&asked.body, name).ok_or("a field is missing");
        let csrf = self.csrf.get(visitor).filter(|csrf| !csrf.is_empty()).ok_or("no form was given")?;
        if *csrf != get("csrf")? {
            return Err("the hidden field is another");
        }
        let (user, pass) = (get("user")?, get("pass")?);
        let number = user.strip_prefix("user").ok_or("no such user")?;
        if pass != format!("p&{number}, x") || get("go")? != "1" {
            return Err("a wrong password or button");
        }
        let sid = self.give("s");
        self.logged_in.insert(sid.clone(), user);
        let headers = format!(
            "Location: account?from=login#top\r\nSet-Cookie: sid={sid}\r\nSet-Cookie: sid={sid}; Path=/\r\n"
        );
        Ok(ShopAnswer { status: "303 See Other", headers, body: String::new() })
    }

    fn account(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        let sid = asked.cookies.get("sid").ok_or("not logged in")?;
        let user = self.logged_in.get(sid).ok_or("not logged in")?.clone();
        let sid = sid.clone();
        if asked.query != "from=login" {
            return Err("not by the redirect");
        }
        let token = self.give("k");
        self.tokens.insert(token.clone(), sid);
        let mut answer = page(format!("<h1>Welcome {user}</h1> mind & buy"));
        answer.headers += &format!("X-Token: {token}\r\n");
        Ok(answer)
    }

    /// The user who sent the token of a session that is logged in.
    fn holder(&self, asked: &ShopRequest) -> Result<String, &'static str> {
        let token = asked.headers.get("x-token").ok_or("no token")?;
        let sid = self.tokens.get(token).ok_or("a token that nobody has")?;
        if asked.cookies.get("sid") != Some(sid) {
            return Err("another's token");
        }
        self.logged_in.get(sid).cloned().ok_or("not logged in")
    }

    fn items(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        self.holder(asked)?;
        if asked.query != "q=3" {
            return Err("not the fourth page");
        }
        let body = "{\"items\": [11, 22, 33]}".to_owned();
        Ok(ShopAnswer { status: "200 OK", headers: "Content-Type: application/json\r\n".to_owned(), body })
    }

    fn add(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        let user = self.holder(asked)?;
        let sid = asked.cookies.get("sid").expect("a holder has a cookie");
        let expected = |item: u32| format!("{{\"user\": \"{user}\", \"item\": {item}, \"sid\": \"{sid}\"}}");
        if ![11, 22, 33].iter().any(|item| asked.body == expected(*item)) {
            return Err("an item that was not offered");
        }
        let cart = self.give("c");
        self.carts.insert(cart.clone(), user);
        Ok(ShopAnswer {
            status: "201 Created",
            headers: String::new(),
            body: format!("{{\"cart\":  \"{cart}\"}}"),
        })
    }

    fn order(&mut self, asked: &ShopRequest) -> Result<ShopAnswer, &'static str> {
        let cart = asked.path.trim_start_matches("/cart/").trim_end_matches("/order");
        let user = self.carts.remove(cart).ok_or("no such cart")?;
        let sid = asked.cookies.get("sid").ok_or("not logged in")?;
        if self.logged_in.get(sid) != Some(&user)
            || field(&asked.body, "note").as_deref() != Some("mind & buy")
        {
            return Err("another's cart, or no note");
        }
        self.orders.push(user.clone());
        Ok(page(format!("Order {} for {user}", self.orders.len())))
    }

    /// Fresh for a minute, and known by its tag after that.
    fn object(&mut self, asked: &ShopRequest) -> ShopAnswer {
        let headers = "Cache-Control: max-age=60\r\nETag: \"one\"\r\n".to_owned();
        self.fresh.insert(asked.path.clone());
        match asked.headers.get("if-none-match") {
            Some(tag) if tag == "\"one\"" => {
                ShopAnswer { status: "304 Not Modified", headers, body: String::new() }
            }
            _ => ShopAnswer { status: "200 OK", headers, body: "x".repeat(2000) },
        }
    }
}
