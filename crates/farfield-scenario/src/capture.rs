//! `[capture]`: which packets are kept, and what each plane makes of it.

use crate::mistake::Mistake;
use farfield_base::Bytes;
use farfield_emulator::capture::CapturePlan;
use farfield_engine::PlaneKind;
use farfield_engine::observe;
use farfield_engine::plane::{Capture, KernelCapture};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// `[capture]`: packets kept in `capture.pcapng`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CaptureSpec {
    /// All packets between the clients and the server: on a plane with a network at its gateway, on the
    /// sockets plane at this machine's interface towards the server, by the kernel.
    pub gateway: bool,
    /// On the emulated plane, all packets at the gateway's interface, as the server's kernel sees them, in
    /// `capture-kernel.pcapng`.
    pub kernel: bool,
    /// Clients whose packets are seen at their own interface, by number from 0.
    pub clients: Vec<u32>,
    /// Bytes kept of each packet; if absent, all of packets of emulated clients, and 2048 of those that the
    /// kernel captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snap: Option<NonZeroU32>,
    /// Size of the buffer between the kernel and the thread that writes what it captures; 32 MiB if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Packets that are kept; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterSpec>,
    /// Samples are compared with the packets when the run has ended.
    pub verify: bool,
}

impl Default for CaptureSpec {
    fn default() -> CaptureSpec {
        CaptureSpec {
            gateway: false,
            kernel: false,
            clients: Vec::new(),
            snap: None,
            buffer: None,
            filter: None,
            verify: true,
        }
    }
}

/// `[capture.filter]`: a packet is kept if it fits every key that is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FilterSpec {
    /// Clients whose packets are kept.
    pub clients: Vec<u32>,
    /// TCP port that packets come from or go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

impl CaptureSpec {
    /// The sockets plane has one capture, of all packets from and to the server.
    pub(crate) fn check_of_sockets(&self) -> Result<(), Mistake> {
        let written = [
            ("capture.clients", !self.clients.is_empty()),
            ("capture.filter", self.filter.is_some()),
            ("capture.kernel", self.kernel),
        ];
        match written.into_iter().find(|(_, written)| *written) {
            None => Ok(()),
            Some((key, _)) => Err(Mistake::at(
                key,
                "the sockets plane has one capture, of all packets from and to the server: write `gateway = true`, and \
                 remove this key",
            )),
        }
    }

    /// The capture of the sockets plane, if one is asked for, in whose records TLS is decrypted or not.
    pub(crate) fn of_sockets(&self, decrypts: bool) -> Option<KernelCapture> {
        self.gateway.then(|| self.by_kernel(decrypts))
    }

    /// The capture by the kernel of the server of a plane that has a network.
    pub(crate) fn by_server(
        &self,
        plane: PlaneKind,
        decrypts: bool,
    ) -> Result<Option<KernelCapture>, Mistake> {
        if plane == PlaneKind::Simulated {
            let model =
                "the simulated plane has a model in place of a server and its kernel; remove this key";
            let written = [("capture.kernel", self.kernel), ("capture.buffer", self.buffer.is_some())];
            if let Some((key, _)) = written.into_iter().find(|(_, written)| *written) {
                return Err(Mistake::at(key, model));
            }
            if !self.clients.is_empty() {
                return Err(Mistake::at(
                    "capture.clients",
                    "the simulated plane captures packets at the gateway alone: write `gateway = true`, and remove this \
                     key; `filter = { clients = [...] }` keeps those of some clients",
                ));
            }
        }
        Ok(self.kernel.then(|| self.by_kernel(decrypts)))
    }

    /// The capture of a kernel. Records of TLS are decrypted whole or not at all.
    fn by_kernel(&self, decrypts: bool) -> KernelCapture {
        let snap = if decrypts { observe::SNAP_WHOLE } else { observe::SNAP };
        KernelCapture { snap: self.snap.unwrap_or(snap), buffer: self.buffer.unwrap_or(observe::BUFFER) }
    }

    /// The capture of a network of so many `clients`, if it is asked for.
    pub(crate) fn of_network(&self, clients: u32) -> Result<Option<Capture>, Mistake> {
        let filter = self.filter.clone().unwrap_or_default();
        for (key, list) in [("capture.clients", &self.clients), ("capture.filter.clients", &filter.clients)] {
            if let Some(none) = list.iter().find(|&&client| client >= clients) {
                let last = clients - 1;
                return Err(Mistake::at(key, format!("there is no client {none}; they are 0 to {last}")));
            }
        }
        let plan = CapturePlan {
            gateway: self.gateway,
            clients: self.clients.clone(),
            of_clients: filter.clients,
            port: filter.port,
        };
        let nothing = !plan.gateway && plan.clients.is_empty();
        Ok((!nothing).then(|| Capture { plan, snap: self.snap.map(NonZeroU32::get) }))
    }
}
