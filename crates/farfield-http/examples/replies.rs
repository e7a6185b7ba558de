//! Replies on one connection of HTTP/1.1, as a reader finds them in pieces of any size: one behind an interim
//! head, one without a body, one in chunks, and one that contradicts itself.
//!
//! `cargo run -p farfield-http --example replies`

use farfield_http::http1::{Answering, Event, Limits, Malformed, ReplyReader};
use std::fmt::Write;

/// Methods of requests, each with its reply.
const EXCHANGES: [(&str, &str); 4] = [
    (
        "GET",
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ),
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\n5\r\npedia\r\n0\r\n\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
];

fn main() {
    print!("{}", conversation(7));
}

/// A line for each event but bytes of a body, where the server's bytes come in pieces of `piece_bytes`.
pub fn conversation(piece_bytes: usize) -> String {
    let (mut reader, mut lines) = (ReplyReader::new(), String::new());
    for (method, reply) in EXCHANGES {
        for piece in reply.as_bytes().chunks(piece_bytes) {
            if let Err(malformed) = read(&mut reader, method, piece, &mut lines) {
                let _ = writeln!(lines, "{method:4}  {malformed}: close the connection");
                return lines;
            }
        }
    }
    lines
}

/// Reads one piece to its end.
fn read(
    reader: &mut ReplyReader,
    method: &str,
    mut piece: &[u8],
    lines: &mut String,
) -> Result<(), Malformed> {
    loop {
        let (taken, event) = reader.read(piece, Answering::method(method), &Limits::default())?;
        piece = &piece[taken..];
        let _ = match event {
            Event::NeedMore => return Ok(()),
            Event::Interim(status) => writeln!(lines, "{method:4}  {status}, and the reply is still to come"),
            Event::Head(head) => writeln!(lines, "{method:4}  {}, {:?}", head.status, head.framing),
            Event::Body(_) => Ok(()),
            Event::Done(reply) => {
                let kept = if reply.persistent { "kept" } else { "closed" };
                let (body, all) = (reply.body_bytes, reply.reply_bytes);
                writeln!(lines, "{method:4}  {body} bytes of body in {all}, the connection is {kept}")
            }
        };
    }
}
