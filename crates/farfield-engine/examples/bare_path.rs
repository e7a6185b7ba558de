//! Ceiling and loads for the benches of `farfield shell`.
//!
//! `bare_path forward SERVER -- CLIENT…` runs both commands in namespaces of their own, and between them the
//! least that can stand there: a thread that reads each packet from one TUN device and writes it to the
//! other. It is the ceiling of whatever passes packets on that way.
//!
//! `bare_path serve` answers on port 80 of all addresses, and `bare_path stream|echo|packets|flows ADDRESS
//! COUNT` load it from the other end; each prints one number.

use farfield_base::Duration;
use farfield_os::clock::{monotonic_ns, thread_cpu};
use farfield_testbed::gateway::Queue;
use farfield_testbed::{Prefix, Testbed, TestbedSpec, gain_privilege};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::error::Error;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

type Done<T> = Result<T, Box<dyn Error>>;

const PORT: u16 = 80;
/// Bytes of a message that is sent there and back, and of a datagram.
const SMALL: usize = 64;
/// Sockets that send in turn.
const FLOWS: usize = 64;
/// Bytes of a write of a stream.
const LARGE: usize = 256 << 10;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["forward", server, "--", client @ ..] if !client.is_empty() => forward(server, client),
        ["serve"] => serve(),
        ["stream", address, seconds] => stream(address, seconds),
        ["echo", address, count] => echo(address, count),
        ["packets", address, seconds] => packets(address, seconds, 1),
        ["flows", address, seconds] => packets(address, seconds, FLOWS),
        _ => Err("see the source for how it is called".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare_path: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `client` before `server`, and nothing but a copy of each packet between them.
fn forward(server: &str, client: &[&str]) -> Done<()> {
    gain_privilege()?;
    let far = TestbedSpec::default();
    let near = TestbedSpec {
        server_v4: Ipv4Addr::new(198, 18, 0, 1),
        server_v6: Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1),
        clients_v4: Prefix::new(Ipv4Addr::UNSPECIFIED, 0)?,
        clients_v6: Prefix::new(Ipv6Addr::UNSPECIFIED, 0)?,
        ..far.clone()
    };
    let (far, near) = (Testbed::build(&far)?, Testbed::build(&near)?);
    // Without a shell between, which would leave it behind.
    let line = format!("exec {server}");
    let mut server = far.inside(|| Command::new("sh").args(["-c", &line]).spawn())??;
    let halt = AtomicBool::new(false);
    let (mut one, mut other) = (far.queues().remove(0), near.queues().remove(0));
    let ended = thread::scope(|scope| {
        let copying = scope.spawn(|| copy(&mut one, &mut other, &halt));
        let ended = near.inside(|| Command::new(client[0]).args(&client[1..]).status());
        halt.store(true, Ordering::Relaxed);
        let copied = copying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (ended, copied)
    });
    server.kill()?;
    server.wait()?;
    let (packets, cpu) = ended.1?;
    eprintln!("bare_path: {packets} packets in {} ns", cpu.as_ns());
    let status = ended.0??;
    if status.success() { Ok(()) } else { Err(format!("the client ended with {status}").into()) }
}

/// Copies packets both ways until `halt` is set; returns their number and the processor time.
fn copy(one: &mut Queue, other: &mut Queue, halt: &AtomicBool) -> io::Result<(u64, Duration)> {
    const A_TURN: usize = 64;
    let mut buffer = vec![0; Queue::READ_LEN];
    let mut packets = 0;
    while !halt.load(Ordering::Relaxed) {
        let before = packets;
        for back in [false, true] {
            let (from, to) = if back { (&mut *other, &mut *one) } else { (&mut *one, &mut *other) };
            for _ in 0..A_TURN {
                let Some(length) = from.read(&mut buffer)? else { break };
                // A packet that a kernel refuses is lost.
                let _ = to.write(&[IoSlice::new(&buffer[..length])]);
                packets += 1;
            }
        }
        if packets == before {
            let mut listened = [PollFd::new(&*one, PollFlags::IN), PollFd::new(&*other, PollFlags::IN)];
            // If interrupted, the loop goes on.
            let _ = poll(&mut listened, Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
        }
    }
    Ok((packets, thread_cpu()))
}

/// Serves connections, each by its first byte: `e` sends what comes back at once, `r` reads all, `n` says how
/// many datagrams have come to the same port.
fn serve() -> Done<()> {
    let datagrams = Arc::new(AtomicU64::new(0));
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let counted = Arc::clone(&datagrams);
    thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while socket.recv(&mut buffer).is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    for connection in TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?.incoming() {
        let (connection, datagrams) = (connection?, Arc::clone(&datagrams));
        thread::spawn(move || serve_one(connection, &datagrams));
    }
    Ok(())
}

fn serve_one(mut connection: TcpStream, datagrams: &AtomicU64) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut kind = [0];
    connection.read_exact(&mut kind)?;
    let mut buffer = vec![0; LARGE];
    match kind[0] {
        b'e' => loop {
            connection.read_exact(&mut buffer[..SMALL])?;
            connection.write_all(&buffer[..SMALL])?;
        },
        b'r' => {
            let mut bytes = 0u64;
            loop {
                let length = connection.read(&mut buffer)?;
                if length == 0 {
                    return connection.write_all(&bytes.to_be_bytes());
                }
                bytes += length as u64;
            }
        }
        _ => connection.write_all(&datagrams.load(Ordering::Relaxed).to_be_bytes()),
    }
}

/// A connection, once the server is there.
fn connect(address: &str, kind: u8) -> Done<TcpStream> {
    let address = server(address)?;
    for _ in 0..200 {
        if let Ok(mut connection) = TcpStream::connect(address) {
            connection.set_nodelay(true)?;
            connection.write_all(&[kind])?;
            return Ok(connection);
        }
        thread::park_timeout(std::time::Duration::from_millis(20));
    }
    Err(format!("nobody answers at {address}").into())
}

/// The server's address: one in words, or that of `farfield shell`.
fn server(address: &str) -> Done<SocketAddr> {
    Ok(if address == "shell" { std::env::var("FARFIELD_SERVER")?.parse()? } else { address.parse()? })
}

fn number(mut connection: TcpStream) -> Done<u64> {
    let mut bytes = [0; 8];
    connection.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// Prints the bits a second of one connection to the server, as far as these have arrived there.
fn stream(address: &str, seconds: &str) -> Done<()> {
    let mut connection = connect(address, b'r')?;
    let (from, piece) = (monotonic_ns(), vec![b'f'; LARGE]);
    let until = from + seconds.parse::<u64>()? * 1_000_000_000;
    while monotonic_ns() < until {
        connection.write_all(&piece)?;
    }
    connection.shutdown(std::net::Shutdown::Write)?;
    let bytes = number(connection)?;
    println!("{:.0}", bytes as f64 * 8e9 / (monotonic_ns() - from) as f64);
    Ok(())
}

/// Prints the median time there and back of a small message, in nanoseconds.
fn echo(address: &str, count: &str) -> Done<()> {
    let mut connection = connect(address, b'e')?;
    let mut message = [b'f'; SMALL];
    let mut times = Vec::new();
    for _ in 0..count.parse::<u32>()? {
        let from = monotonic_ns();
        connection.write_all(&message)?;
        connection.read_exact(&mut message)?;
        times.push(monotonic_ns() - from);
    }
    times.sort_unstable();
    println!("{}", times.get(times.len() / 2).ok_or("no message was sent")?);
    Ok(())
}

/// Sends small datagrams as fast as it can, from `flows` sockets in turn, and prints how many a second
/// arrived.
fn packets(address: &str, seconds: &str, flows: usize) -> Done<()> {
    let before = number(connect(address, b'n')?)?;
    let mut sockets = Vec::new();
    for _ in 0..flows {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(server(address)?)?;
        sockets.push(socket);
    }
    let from = monotonic_ns();
    let until = from + seconds.parse::<u64>()? * 1_000_000_000;
    while monotonic_ns() < until {
        for socket in &sockets {
            // A queue that is full is no error of this program's.
            let _ = socket.send(&[b'f'; SMALL]);
        }
    }
    let nanoseconds = monotonic_ns() - from;
    // Those under way arrive before the connection that is made behind them.
    let after = number(connect(address, b'n')?)?;
    println!("{:.0}", (after - before) as f64 * 1e9 / nanoseconds as f64);
    Ok(())
}
