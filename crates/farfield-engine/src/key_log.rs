//! The secrets of TLS sessions in SSLKEYLOGFILE's format (RFC 9850), with which other programs decrypt a
//! capture.
//!
//! Each line is written when its secret is known, in one call, so that the file is whole lines at any time.
//! That is work of the worker's, between a handshake's cryptography: only whoever asks for the file has it.

use farfield_http::tls::KeyLog;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file's name in the run directory.
pub(crate) const KEYS: &str = "keys.log";

/// Writes secrets to `W`, until that fails.
#[derive(Debug)]
pub(crate) struct KeyLogWriter<W>(Mutex<Log<W>>);

#[derive(Debug)]
struct Log<W> {
    to: W,
    /// The line at work, kept for its memory.
    line: String,
    failure: Option<io::Error>,
}

impl<W: Write> KeyLogWriter<W> {
    /// A log without a line, to `to`.
    pub fn new(to: W) -> KeyLogWriter<W> {
        KeyLogWriter(Mutex::new(Log { to, line: String::new(), failure: None }))
    }

    /// Why the log ended before the run, if it did.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.locked().failure.take()
    }

    /// Poisoned by nothing that matters: a line is either written or not.
    fn locked(&self) -> MutexGuard<'_, Log<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Log<W> {
    fn write(&mut self, label: &str, client_random: &[u8], secret: &[u8]) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(label);
        for bytes in [client_random, secret] {
            self.line.push(' ');
            for byte in bytes {
                write!(self.line, "{byte:02x}").expect("memory");
            }
        }
        self.line.push('\n');
        self.to.write_all(self.line.as_bytes())
    }
}

impl<W: Write + Send + std::fmt::Debug> KeyLog for KeyLogWriter<W> {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut log = self.locked();
        if log.failure.is_none() {
            log.failure = log.write(label, client_random, secret).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds this many bytes.
    #[derive(Debug)]
    struct Disk(Vec<u8>, usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_secret_is_a_line_until_the_disk_is_full() {
        let keys = KeyLogWriter::new(Disk(Vec::new(), 40));
        keys.log("CLIENT_RANDOM", &[0, 0x1f], &[0xab, 9]);
        assert!(keys.take_failure().is_none());
        keys.log("SERVER_TRAFFIC_SECRET_0", &[1; 32], &[2; 32]);
        keys.log("A", &[1], &[2]);
        assert_eq!(keys.locked().to.0, b"CLIENT_RANDOM 001f ab09\n", "nothing behind what is missing");
        assert_eq!(keys.take_failure().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}
