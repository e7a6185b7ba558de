//! Files of `/proc` and `/sys` that are read again and again: kept open, and read into a buffer that all of
//! them share.

use farfield_files::system;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Longest text that is read of a file.
const BYTES_MAX: usize = 1 << 20;

/// A file whose text the kernel makes anew on every reading.
#[derive(Debug)]
pub(crate) struct ProcFile(File);

impl ProcFile {
    /// Opens the file at `path`.
    pub fn open(path: &str) -> io::Result<ProcFile> {
        system::open(path).map(ProcFile)
    }

    /// Reads the file anew into `buffer`, which grows only once.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut length = 0;
        loop {
            if buffer.len() == length {
                if length >= BYTES_MAX {
                    break;
                }
                buffer.resize((2 * length).max(4096), 0);
            }
            match self.0.read_at(&mut buffer[length..], length as u64)? {
                0 => break,
                count => length += count,
            }
        }
        Ok(&buffer[..length])
    }

    /// Reads the file anew as text. Bytes that are not UTF-8 end it.
    pub fn text<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a str> {
        let bytes = self.read(buffer)?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        })
    }
}

/// The number after `name` in lines such as `MemTotal:  8000 kB` or `oom_kill 3`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest =
            rest.strip_prefix(':').or_else(|| rest.strip_prefix(' ')).or_else(|| rest.strip_prefix('\t'))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// A count that only grows, as a rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counter(Option<u64>);

impl Counter {
    /// The rate over `elapsed` seconds since the reading before; `None` at the first, and where the count
    /// has fallen.
    pub fn rate(&mut self, count: u64, elapsed: f64) -> Option<f64> {
        let before = self.0.replace(count)?;
        (elapsed > 0.0).then_some(count.checked_sub(before)? as f64 / elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "SwapTotal:  9 kB\nSwap: 3 kB\noom_kill 4\nThreads:\t12\n";
        assert_eq!(field(text, "Swap"), Some(3));
        assert_eq!((field(text, "oom_kill"), field(text, "Threads")), (Some(4), Some(12)));
        assert_eq!(field(text, "oom"), None);
    }

    #[test]
    fn a_counter_is_a_rate_from_its_second_reading_on() {
        let mut counter = Counter::default();
        assert_eq!(counter.rate(10, 1.0), None);
        assert_eq!(counter.rate(30, 2.0), Some(10.0));
        // A device that was reset.
        assert_eq!(counter.rate(5, 1.0), None);
        assert_eq!(counter.rate(6, 1.0), Some(1.0));
    }
}
