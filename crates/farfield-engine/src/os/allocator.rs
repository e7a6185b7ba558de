//! Settings of the C library's allocator, so that it keeps the memory that every checkpoint allocates and
//! frees.
//!
//! Once a second the collector copies some megabytes of histograms. By default glibc returns such memory to
//! the kernel at once, and the next second has a page fault for each 4 KiB of it: 900 a second, a third of
//! what checkpoints cost.

/// Freed memory that stays with the process.
const KEPT_BYTES: libc::c_int = 32 << 20;
/// Blocks from this size on, such as growing tables, still come from the kernel and go back to it.
const OWN_MAPPING_BYTES: libc::c_int = 1 << 20;

/// Keeps freed memory in the process. Does nothing if the allocator is not glibc's.
#[cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "the call has no safe wrapper"))]
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes numbers, touches no memory of ours, and may be called at any time from any
    // thread. A value that it refuses leaves things as they were, which costs time alone.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
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
