//! Assignment of packets to the gateway's queues: a program of ten steps for the kernel, in eBPF for TUN
//! (`TUNSETSTEERINGEBPF`) and in classic BPF for packet sockets (`PACKET_FANOUT_CBPF`, packet(7)).
//!
//! The queue is the low 32 bits of the destination, without the prefix' bits, modulo the number of queues. A
//! packet that is neither IPv4 nor IPv6 is treated as IPv6 or, if it is too short, goes to queue 0.

use rustix::fd::{FromRawFd, OwnedFd};
use std::io;

/// Parameters of the assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steering {
    /// Mask of the bits of an IPv4 destination that count.
    pub host_mask_v4: u32,
    /// Mask of the low 32 bits of an IPv6 destination that count.
    pub host_mask_v6: u32,
    /// Number of queues, at least 1.
    pub queues: u32,
}

/// Loads that are relative to the IP header, wherever the packet's data begins (`SKF_NET_OFF`).
const NETWORK: i32 = libc::SKF_NET_OFF;
const VERSION_AT: i32 = NETWORK;
const DESTINATION_V4_AT: i32 = NETWORK + 16;
/// The last four of the sixteen bytes.
const DESTINATION_V6_AT: i32 = NETWORK + 36;

const LOAD_BYTE: u8 = 0x30;
const LOAD_WORD: u8 = 0x20;

/// An eBPF instruction: code, registers (source in the high half), jump, constant.
fn instruction(code: u8, registers: u8, jump: i16, constant: i32) -> [u8; 8] {
    let [j0, j1] = jump.to_ne_bytes();
    let [c0, c1, c2, c3] = constant.to_ne_bytes();
    [code, registers, j0, j1, c0, c1, c2, c3]
}

impl Steering {
    /// The queue for a packet to a client with this index.
    pub fn queue(&self, index: u32) -> u32 {
        index % self.queues
    }

    /// The program in eBPF. Loads of packet bytes need the context in register 6 and return the value in
    /// register 0, in the machine's byte order.
    fn extended(&self) -> [[u8; 8]; 11] {
        const MOVE_64: u8 = 0xbf;
        const SHIFT_RIGHT_64: u8 = 0x77;
        const JUMP_IF_NOT_EQUAL: u8 = 0x55;
        const JUMP: u8 = 0x05;
        const AND_32: u8 = 0x54;
        const MODULO_32: u8 = 0x94;
        const EXIT: u8 = 0x95;
        [
            instruction(MOVE_64, 0x16, 0, 0),
            instruction(LOAD_BYTE, 0, 0, VERSION_AT),
            instruction(SHIFT_RIGHT_64, 0, 0, 4),
            instruction(JUMP_IF_NOT_EQUAL, 0, 3, 4),
            instruction(LOAD_WORD, 0, 0, DESTINATION_V4_AT),
            instruction(AND_32, 0, 0, self.host_mask_v4 as i32),
            instruction(JUMP, 0, 2, 0),
            instruction(LOAD_WORD, 0, 0, DESTINATION_V6_AT),
            instruction(AND_32, 0, 0, self.host_mask_v6 as i32),
            instruction(MODULO_32, 0, 0, self.queues as i32),
            instruction(EXIT, 0, 0, 0),
        ]
    }

    /// The program in classic BPF.
    pub fn classic(&self) -> [libc::sock_filter; 10] {
        const SHIFT_RIGHT: u16 = 0x74;
        const JUMP_IF_EQUAL: u16 = 0x15;
        const JUMP: u16 = 0x05;
        const AND: u16 = 0x54;
        const MODULO: u16 = 0x94;
        const RETURN: u16 = 0x16;
        let step = |code: u16, k: u32| libc::sock_filter { code, jt: 0, jf: 0, k };
        [
            step(LOAD_BYTE.into(), VERSION_AT as u32),
            step(SHIFT_RIGHT, 4),
            libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: 3, k: 4 },
            step(LOAD_WORD.into(), DESTINATION_V4_AT as u32),
            step(AND, self.host_mask_v4),
            step(JUMP, 2),
            step(LOAD_WORD.into(), DESTINATION_V6_AT as u32),
            step(AND, self.host_mask_v6),
            step(MODULO, self.queues),
            step(RETURN, 0),
        ]
    }

    /// Loads the eBPF program into the kernel.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` outside user namespaces, `ENOSYS` from a kernel without it.
    #[expect(unsafe_code, reason = "the call has no safe wrapper")]
    pub fn load(&self) -> io::Result<OwnedFd> {
        const PROGRAM_LOAD: libc::c_int = 5;
        const SOCKET_FILTER: u32 = 1;
        /// The front of `union bpf_attr` as `BPF_PROG_LOAD` reads it.
        #[repr(C)]
        struct Load {
            kind: u32,
            instructions: u32,
            program: u64,
            license: u64,
            log_level: u32,
            log_size: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
        }
        let program = self.extended();
        let license = c"GPL";
        let load = Load {
            kind: SOCKET_FILTER,
            instructions: program.len() as u32,
            program: program.as_ptr().addr() as u64,
            license: license.as_ptr().addr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        };
        // SAFETY: `load`, the program and the license live until the call returns; the lengths are theirs,
        // and the kernel takes what lies past the given size as zero.
        let result =
            unsafe { libc::syscall(libc::SYS_bpf, PROGRAM_LOAD, &raw const load, size_of::<Load>()) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call returned a descriptor that nobody else knows.
        Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
    }
}
