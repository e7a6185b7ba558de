//! The version of HTTP that a client speaks in cleartext, by the first bytes of its connection.
//!
//! HTTP/2 by prior knowledge begins with a preface that is no request of HTTP/1 (RFC 9113 section 3.4). What
//! was read to find out is read again by whoever serves the connection; it costs no further system call where
//! the first bytes are a whole request.

use async_io::Timer;
use farfield_base::Duration;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The preface of a client of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes that are read at first: most requests fit.
const FIRST_READ: usize = 1024;

/// A connection whose first bytes have been read.
pub(crate) struct OpenedConnection {
    stream: TcpStream,
    /// Bytes that are to be read before those of the stream; without memory once they are.
    first: Vec<u8>,
    taken: usize,
}

impl OpenedConnection {
    /// Reads enough of a connection to know its version, for `timeout` at most unless it is zero. `None` if
    /// that does not come, or the connection fails.
    pub(crate) async fn read(stream: TcpStream, timeout: Option<Duration>) -> Option<OpenedConnection> {
        match timeout.filter(|timeout| !timeout.is_zero()) {
            None => read_first(stream).await.ok(),
            Some(timeout) => tokio::select! {
                opened = read_first(stream) => opened.ok(),
                _ = Timer::after(timeout.to_std()) => None,
            },
        }
    }

    /// True if the client speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.first.starts_with(PREFACE)
    }
}

/// Reads until the bytes are a preface or cannot become one.
async fn read_first(stream: TcpStream) -> io::Result<OpenedConnection> {
    let mut first = vec![0; FIRST_READ];
    let mut length = 0;
    loop {
        stream.readable().await?;
        match stream.try_read(&mut first[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        let compared = length.min(PREFACE.len());
        if compared == PREFACE.len() || first[..compared] != PREFACE[..compared] {
            break;
        }
    }
    first.truncate(length);
    Ok(OpenedConnection { stream, first, taken: 0 })
}

impl AsyncRead for OpenedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let opened = &mut *self;
        let left = &opened.first[opened.taken..];
        if left.is_empty() {
            return Pin::new(&mut opened.stream).poll_read(context, buffer);
        }
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        opened.taken += count;
        if opened.taken == opened.first.len() {
            opened.first = Vec::new();
            opened.taken = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for OpenedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
