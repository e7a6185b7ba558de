//! Receive packet steering: the processors that do the kernel's receive work of an interface (the kernel's
//! documentation, networking/scaling).

use crate::interface_sysfs::InterfaceSysfs;
use std::io;

/// Steers the receive work of the first `queues` queues of `interface`, in the calling thread's network
/// namespace, to `processors`.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, or in a user namespace without a full view of sysfs; `NotFound` from a
/// kernel without receive packet steering; `EINVAL` or `EOVERFLOW` for a processor that is not there.
pub fn steer_to(interface: &str, queues: u32, processors: &[usize]) -> io::Result<()> {
    let (sysfs, mask) = (InterfaceSysfs::open()?, mask(processors));
    (0..queues).try_for_each(|queue| sysfs.write(interface, &format!("queues/rx-{queue}/rps_cpus"), &mask))
}

/// A processor set in the kernel's format: words of 32 bits in hexadecimal, the highest first, separated by
/// commas.
fn mask(processors: &[usize]) -> String {
    let mut words = vec![0_u32; processors.iter().max().map_or(1, |highest| highest / 32 + 1)];
    for processor in processors {
        words[processor / 32] |= 1 << (processor % 32);
    }
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0, 1, 5]), "00000023");
        assert_eq!(mask(&[0, 33]), "00000002,00000001");
    }
}
