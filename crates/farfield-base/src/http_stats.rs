//! HTTP in a sample: the version that its connection spoke, and the stream of the request.

/// A version of HTTP that is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SpokenVersion {
    /// HTTP/1.0.
    Http10 = 10,
    /// HTTP/1.1.
    Http11 = 11,
    /// HTTP/2.
    Http2 = 20,
    /// HTTP/3.
    Http3 = 30,
}

impl SpokenVersion {
    /// All of them, the oldest first.
    pub const ALL: [SpokenVersion; 4] =
        [SpokenVersion::Http10, SpokenVersion::Http11, SpokenVersion::Http2, SpokenVersion::Http3];

    /// The code in samples files: ten times the version.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            SpokenVersion::Http10 => "HTTP/1.0",
            SpokenVersion::Http11 => "HTTP/1.1",
            SpokenVersion::Http2 => "HTTP/2",
            SpokenVersion::Http3 => "HTTP/3",
        }
    }

    /// True if requests are on streams, so that their replies do not wait for each other.
    pub const fn has_streams(self) -> bool {
        match self {
            SpokenVersion::Http10 | SpokenVersion::Http11 => false,
            SpokenVersion::Http2 | SpokenVersion::Http3 => true,
        }
    }

    /// True if its connections are of QUIC, and not of TCP.
    pub const fn is_over_quic(self) -> bool {
        match self {
            SpokenVersion::Http10 | SpokenVersion::Http11 | SpokenVersion::Http2 => false,
            SpokenVersion::Http3 => true,
        }
    }
}

/// The version of HTTP of a request's connection, and the request's stream where the version has streams.
/// The struct is packed to keep samples small.
///
/// The number of a stream says whose it is: of a request it is odd over HTTP/2 (RFC 9113 section 5.1.1), and
/// a multiple of four over HTTP/3 (RFC 9000 section 2.1). Two bits are free, therefore, for what has no
/// stream.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct HttpStats {
    /// A stream of HTTP/2 as it is, one of HTTP/3 with [`HTTP3`](Self::HTTP3) added, and otherwise four
    /// times the version's code.
    code: u32,
    stalled_us: u32,
}

impl HttpStats {
    /// No version was agreed on.
    pub const UNKNOWN: HttpStats = HttpStats { code: 0, stalled_us: 0 };

    /// The bit of streams of HTTP/3.
    const HTTP3: u32 = 2;

    /// A request without a stream, on a connection of this version.
    pub const fn of(version: SpokenVersion) -> HttpStats {
        HttpStats { code: 4 * version.code() as u32, stalled_us: 0 }
    }

    /// A request on stream `stream` of HTTP/2 whose body waited for so long; the number is odd.
    pub const fn of_http2(stream: u32, stalled_us: u32) -> HttpStats {
        debug_assert!(stream & 1 == 1);
        HttpStats { code: stream, stalled_us }
    }

    /// A request on stream `stream` of HTTP/3 whose body waited for so long; the number is a multiple of
    /// four. Beyond 2³² - 4 it is that.
    pub const fn of_http3(stream: u64, stalled_us: u32) -> HttpStats {
        debug_assert!(stream & 3 == 0);
        let largest = !3_u32 as u64;
        let number = if stream < largest { stream } else { largest };
        HttpStats { code: number as u32 | HttpStats::HTTP3, stalled_us }
    }

    /// The version of the connection; `None` if it ended before that was known.
    pub fn version(self) -> Option<SpokenVersion> {
        match self.code & 3 {
            1 | 3 => Some(SpokenVersion::Http2),
            2 => Some(SpokenVersion::Http3),
            _ => SpokenVersion::ALL.into_iter().find(|version| 4 * u32::from(version.code()) == self.code),
        }
    }

    /// The number of the request's stream, if it has one.
    pub const fn stream(self) -> Option<u32> {
        match self.code & 3 {
            1 | 3 => Some(self.code),
            2 => Some(self.code & !3),
            _ => None,
        }
    }

    /// Microseconds for which the body of a request on a stream waited for the server to allow more of it
    /// (flow control, RFC 9113 section 5.2, RFC 9000 section 4), at most 2³² - 1.
    pub fn stalled_us(self) -> Option<u32> {
        self.stream().map(|_| self.stalled_us)
    }

    /// Contents of the columns of a samples file: the code of the version, the stream and its stall. `None`
    /// if they contradict each other.
    pub fn from_columns(
        version: Option<u8>,
        stream: Option<u32>,
        stalled_us: Option<u32>,
    ) -> Option<HttpStats> {
        let Some(code) = version else {
            return (stream.is_none() && stalled_us.is_none()).then_some(HttpStats::UNKNOWN);
        };
        let version = SpokenVersion::ALL.into_iter().find(|version| version.code() == code)?;
        match (version, stream, stalled_us) {
            (SpokenVersion::Http2, Some(stream), Some(stalled)) if stream & 1 == 1 => {
                Some(HttpStats::of_http2(stream, stalled))
            }
            (SpokenVersion::Http3, Some(stream), Some(stalled)) if stream & 3 == 0 => {
                Some(HttpStats::of_http3(stream.into(), stalled))
            }
            (version, None, None) => Some(HttpStats::of(version)),
            _ => None,
        }
    }
}

impl std::fmt::Debug for HttpStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpStats")
            .field("version", &self.version())
            .field("stream", &self.stream())
            .field("stalled_us", &self.stalled_us())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let parts = |stats: HttpStats| (stats.version(), stats.stream(), stats.stalled_us());
        assert_eq!(parts(HttpStats::UNKNOWN), (None, None, None));
        for version in SpokenVersion::ALL {
            assert_eq!(parts(HttpStats::of(version)), (Some(version), None, None));
        }
        for stream in [1, 3, 41, (1 << 31) - 1] {
            let expected = (Some(SpokenVersion::Http2), Some(stream), Some(7));
            assert_eq!(parts(HttpStats::of_http2(stream, 7)), expected);
        }
        for stream in [0, 4, 40, !3_u32] {
            let expected = (Some(SpokenVersion::Http3), Some(stream), Some(u32::MAX));
            assert_eq!(parts(HttpStats::of_http3(stream.into(), u32::MAX)), expected);
        }
        assert_eq!(HttpStats::of_http3(1 << 40, 0).stream(), Some(!3_u32));
        assert_eq!(size_of::<HttpStats>(), 8);
    }

    #[test]
    fn columns_that_contradict_each_other_are_refused() {
        let all = [HttpStats::UNKNOWN, HttpStats::of(SpokenVersion::Http3), HttpStats::of_http2(5, 6)];
        for stats in all.into_iter().chain([HttpStats::of_http3(8, 9), HttpStats::of_http3(0, 0)]) {
            let version = stats.version().map(SpokenVersion::code);
            assert_eq!(HttpStats::from_columns(version, stats.stream(), stats.stalled_us()), Some(stats));
        }
        for (version, stream, stalled) in [
            (None, Some(1), Some(0)),
            (Some(11), Some(1), Some(0)),
            (Some(20), Some(2), Some(0)),
            (Some(30), Some(2), Some(0)),
            (Some(30), Some(4), None),
            (Some(12), None, None),
        ] {
            assert_eq!(HttpStats::from_columns(version, stream, stalled), None);
        }
    }
}
