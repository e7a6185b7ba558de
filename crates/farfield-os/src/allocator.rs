//! The C library's allocator: its settings, so that it keeps the memory that every checkpoint allocates and
//! frees, and what happens where it has no memory left.
//!
//! An allocation that fails ends the process with a message and the exit code 1: Rust's own answer is an
//! abort, with a core and a stack trace that say nothing of the limit ([`Allocator`]).
//!
//! Once a second the collector copies some megabytes of histograms. By default glibc returns such memory to
//! the kernel at once, and the next second has a page fault for each 4 KiB of it: 900 a second, a third of
//! what checkpoints cost.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which ends the process where memory has run out.
#[derive(Debug, Clone, Copy)]
pub struct Allocator;

// SAFETY: every call is handed on to the system's allocator, which keeps the contract of the trait; a null
// pointer is not returned, since the process ends.
#[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        checked(unsafe { System.realloc(block, layout, size) }, size)
    }
}

#[inline]
fn checked(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() { out_of_memory(size) } else { block }
}

/// Ends the process with a message, for which nothing is allocated.
#[cold]
#[expect(unsafe_code, reason = "calls that allocate nothing and take no lock have no safe wrapper")]
fn out_of_memory(size: usize) -> ! {
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut rest = size;
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let parts: [&[u8]; 3] = [
        b"farfield: memory ran out: the system refused ",
        &digits[first..],
        b" bytes more. Raise the limit of this process (`ulimit -v`) or of its control group, free memory, or ask for less\n",
    ];
    // SAFETY: write(2) reads the part, which is as long as it says; a message that cannot be written is lost.
    // _exit(2) takes a number and does not return.
    unsafe {
        for part in parts {
            libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len());
        }
        libc::_exit(1)
    }
}

/// Freed memory that stays with the process.
const KEPT_BYTES: libc::c_int = 32 << 20;
/// Blocks from this size on, such as growing tables, still come from the kernel and go back to it.
const OWN_MAPPING_BYTES: libc::c_int = 1 << 20;

/// Keeps freed memory in the process. Does nothing if the allocator is not glibc's.
///
/// Where the process's addresses are limited (`ulimit -v`), its threads share one arena: by default each
/// reserves 64 MiB of addresses for its own, after which hardly any are left for what asks the C library
/// itself, and answers a refusal with a panic (zstd).
#[cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "the calls have no safe wrapper"))]
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes numbers, touches no memory of ours, and may be called at any time from any
    // thread. A value that it refuses leaves things as they were, which costs time alone. getrlimit(2) writes
    // to the limit that it is given.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        if libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Bytes that the process has allocated and not freed; `None` if the allocator is not glibc's.
#[cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "the call has no safe wrapper"))]
pub fn allocated_bytes() -> Option<u64> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: mallinfo2(3) takes nothing and returns numbers; it locks one arena after the other.
        let info = unsafe { libc::mallinfo2() };
        // `uordblks` adds up all arenas; blocks with a mapping of their own are apart.
        Some(info.uordblks as u64 + info.hblkhd as u64)
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page faults of the calling thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("a thread has its numbers");
        // The eighth field behind the name in parentheses: proc_pid_stat(5), `minflt`.
        let fields = stat.rsplit(')').next().expect("numbers behind the name");
        fields
            .split_whitespace()
            .nth(7)
            .and_then(|field| field.parse().ok())
            .expect("a number of page faults")
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn what_is_freed_is_there_again_without_a_fault() {
        keep_freed_memory();
        let checkpoint = || std::hint::black_box((0..15).map(|_| vec![1u8; 300 << 10]).collect::<Vec<_>>());
        drop(checkpoint());
        let before = faults();
        for _ in 0..10 {
            drop(checkpoint());
        }
        // It is 11,250 where all goes back to the kernel; other threads of the tests may take some of it.
        assert!(faults() - before < 4000, "{} page faults", faults() - before);
    }
}
