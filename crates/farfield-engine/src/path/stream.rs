//! The goodput of one TCP connection of the kernel, as fast as it goes.

use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use rustix::net::sockopt::set_socket_linger;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes of a write or a read.
const PIECE: usize = 256 << 10;
/// The longest wait for the connection, beside its warm-up.
const CONNECT_MAX: std::time::Duration = std::time::Duration::from_secs(30);
/// The longest wait of a read or write before the stop flag is looked at.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// A socket that listens at `address`, in the calling thread's network namespace.
pub(super) fn listen(address: IpAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Bits a second that a connection from the calling thread's network namespace to `listener` carries, up or
/// down, after a warm-up and for a time.
pub(super) fn measure(
    listener: &TcpListener,
    up: bool,
    [warm_up, measured]: [Duration; 2],
    stop: &AtomicBool,
) -> io::Result<f64> {
    let client = TcpStream::connect_timeout(&listener.local_addr()?, CONNECT_MAX)?;
    let server = accept(listener)?;
    for end in [&client, &server] {
        // Bytes that are still to be sent at the end are of no use to anybody.
        set_socket_linger(end, Some(std::time::Duration::ZERO))?;
        end.set_read_timeout(Some(LOOK))?;
        end.set_write_timeout(Some(LOOK))?;
    }
    let (sender, receiver) = if up { (client, server) } else { (server, client) };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| send(sender, &done));
        let received = receive(receiver, warm_up, measured, stop);
        done.store(true, Ordering::Relaxed);
        received
    })
}

/// The connection was made by the kernels already.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let clock = Clock::starting_in(Duration::ZERO);
    loop {
        match listener.accept() {
            Ok((server, _)) => {
                server.set_nonblocking(false)?;
                return Ok(server);
            }
            // The last packet of the handshake is still under way.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if clock.now() > Instant::ZERO + Duration::from_secs(30) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::park_timeout(std::time::Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

fn send(mut connection: TcpStream, done: &AtomicBool) {
    let piece = vec![b'f'; PIECE];
    while !done.load(Ordering::Relaxed) {
        match connection.write(&piece) {
            Ok(_) => {}
            Err(error) if is_patience(&error) => {}
            // The receiver has had enough.
            Err(_) => return,
        }
    }
}

/// Bits a second between the first read after the warm-up and the last of the measured time.
fn receive(
    mut connection: TcpStream,
    warm_up: Duration,
    measured: Duration,
    stop: &AtomicBool,
) -> io::Result<f64> {
    let clock = Clock::starting_in(Duration::ZERO);
    let mut piece = vec![0; PIECE];
    let from = Instant::ZERO + warm_up;
    let mut counted: Option<(Instant, Instant, u64)> = None;
    while clock.now() < from + measured && !stop.load(Ordering::Relaxed) {
        let length = match connection.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length as u64,
            Err(error) if is_patience(&error) => continue,
            Err(error) => return Err(error),
        };
        let now = clock.now();
        match &mut counted {
            Some((_, last, bytes)) => (*last, *bytes) = (now, *bytes + length),
            None if now >= from => counted = Some((now, now, 0)),
            None => {}
        }
    }
    Ok(match counted {
        Some((first, last, bytes)) if last > first => bytes as f64 * 8.0 / last.since(first).as_secs_f64(),
        _ => 0.0,
    })
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
