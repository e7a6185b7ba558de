//! Limits of a server, and their effects: plain data, for control groups to enforce.

use farfield_base::{Bytes, Duration};
use serde::{Deserialize, Serialize};

/// Limits of a server's processes, all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Processor time.
    pub cpu: Option<CpuLimit>,
    /// Memory.
    pub memory: Option<MemoryLimit>,
}

impl Limits {
    /// True if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }
}

/// Processor time a second, in processors: 0.2 is a fifth of one.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct CpuLimit(f64);

/// A number of processors that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} processors cannot be a limit: write from 0.001 to 10000, such as 0.2 for a fifth of one")]
pub struct CpuLimitError(pub f64);

// It is never NaN.
impl Eq for CpuLimit {}

/// The kernel's least quota and its least period, in microseconds (`kernel/sched/core.c`,
/// `min_cfs_quota_period`).
const LEAST_US: f64 = 1_000.0;

impl TryFrom<f64> for CpuLimit {
    type Error = CpuLimitError;

    /// # Errors
    /// Outside 0.001, a quota of 1 ms in the kernel's longest period of 1 s, to 10,000.
    fn try_from(processors: f64) -> Result<CpuLimit, CpuLimitError> {
        if (0.001..=10_000.0).contains(&processors) {
            Ok(CpuLimit(processors))
        } else {
            Err(CpuLimitError(processors))
        }
    }
}

impl From<CpuLimit> for f64 {
    fn from(limit: CpuLimit) -> f64 {
        limit.0
    }
}

impl CpuLimit {
    /// The period over which the kernel counts, in microseconds: the shortest that it takes with this limit,
    /// so that one pause of the server is short. 1 ms from one processor up, 5 ms for 0.2.
    pub fn period_us(self) -> u64 {
        (LEAST_US / self.0).max(LEAST_US).ceil() as u64
    }

    /// Processor time in each period, in microseconds.
    pub fn quota_us(self) -> u64 {
        (self.0 * self.period_us() as f64).round() as u64
    }
}

/// Bytes of memory: what processes touch and what the kernel holds for them, files' pages among it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Bytes", into = "Bytes")]
pub struct MemoryLimit(Bytes);

/// A memory limit that is too small for any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} of memory hold no server: write 1MiB or more, such as \"64MiB\"")]
pub struct MemoryLimitError(pub Bytes);

impl TryFrom<Bytes> for MemoryLimit {
    type Error = MemoryLimitError;

    /// # Errors
    /// Below 1 MiB.
    fn try_from(bytes: Bytes) -> Result<MemoryLimit, MemoryLimitError> {
        if bytes.0 >= 1 << 20 { Ok(MemoryLimit(bytes)) } else { Err(MemoryLimitError(bytes)) }
    }
}

impl From<MemoryLimit> for Bytes {
    fn from(limit: MemoryLimit) -> Bytes {
        limit.0
    }
}

/// Effects of a server's limits so far, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitUse {
    /// Periods in which the server had something to do.
    pub periods: u64,
    /// Periods in which the server used up its quota.
    pub throttled_periods: u64,
    /// Time for which it was kept from running, added up over processors.
    pub throttled: Duration,
    /// Peak of its memory.
    pub memory_max: Option<Bytes>,
    /// Processes that the kernel killed because memory ran out.
    pub oom_kills: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// quota ÷ period is the limit to a thousandth, and neither is below what the kernel takes.
    #[test]
    fn the_period_is_the_shortest_that_the_kernel_takes() {
        for (processors, period_us) in
            [(0.2, 5_000), (0.5, 2_000), (1.0, 1_000), (1.5, 1_000), (0.001, 1_000_000)]
        {
            assert_eq!(CpuLimit::try_from(processors).unwrap().period_us(), period_us, "{processors}");
        }
        for thousandths in 1..4_000 {
            let processors = f64::from(thousandths) / 1e3;
            let limit = CpuLimit::try_from(processors).unwrap();
            let (quota, period) = (limit.quota_us(), limit.period_us());
            assert!(quota >= 1_000 && (1_000..=1_000_000).contains(&period), "{quota} of {period}");
            assert!((quota as f64 / period as f64 / processors - 1.0).abs() < 1e-3, "{processors}");
        }
    }

    #[test]
    fn what_cannot_be_a_limit_is_refused() {
        for processors in [0.0, -1.0, 0.0009, 1e5, f64::NAN, f64::INFINITY] {
            assert!(CpuLimit::try_from(processors).is_err(), "{processors}");
        }
        assert!(MemoryLimit::try_from(Bytes((1 << 20) - 1)).is_err());
        assert!(MemoryLimit::try_from(Bytes(1 << 20)).is_ok());
    }
}
