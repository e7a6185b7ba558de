//! Which processors do the kernel's work on packets that an interface receives (receive packet steering: the
//! kernel's documentation, networking/scaling).

use crate::os::interface_sysfs::InterfaceSysfs;
use std::io;

/// Has `processors` do the work on what comes by the first `queues` queues of `interface`, an interface of the calling
/// thread's network namespace.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, or in a user namespace without a full view of sysfs; `NotFound` from a kernel
/// without receive packet steering; `EINVAL` or `EOVERFLOW` for a processor that is not there.
pub fn steer_to(interface: &str, queues: u32, processors: &[usize]) -> io::Result<()> {
    let (sysfs, mask) = (InterfaceSysfs::open()?, mask(processors));
    (0..queues).try_for_each(|queue| sysfs.write(interface, &format!("queues/rx-{queue}/rps_cpus"), &mask))
}

/// A set as the kernel reads it: words of 32 bits in hexadecimal, the highest first, apart by commas.
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
