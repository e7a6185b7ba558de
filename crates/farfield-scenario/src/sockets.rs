//! `[sockets]`: where connections of the sockets plane come from and go to, and the threads that make them.

use crate::ScenarioError;
use crate::elsewhere::ConnectTo;
use crate::values::Url;
use farfield_engine::SourceAddresses;
use farfield_os::processors;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::num::NonZeroU32;

/// `[sockets]`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SocketsSpec {
    /// Addresses that clients connect from, in turn. Absent: the whole of 127.0.0.0/8 if the target is
    /// there, and else the kernel's choice. An empty list is the kernel's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceAddresses>,
    /// Ends that connections go to instead of the target's host and port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_to: Vec<ConnectTo>,
    /// Worker threads. Absent: one for every processor, or half of them if the server is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<NonZeroU32>,
    /// The processors that farfield keeps to; all it may use if empty.
    pub processors: Vec<usize>,
}

impl SocketsSpec {
    /// The sentence about rules of `connect-to` of which none is about `target`, so that none does anything.
    pub(crate) fn unmatched(&self, target: &Url) -> Option<String> {
        let (host, port) = (target.host(), target.port());
        let rules = &self.connect_to;
        (!rules.is_empty() && !ConnectTo::is_about(rules, host, port)).then(|| {
            format!(
                "no rule of sockets.connect-to (`--connect-to`, `--resolve`) is about {host}:{port}, where the target is: \
                 connections go there as without them"
            )
        })
    }

    /// Addresses that clients connect from to a server at `address`, which are filled in where they were left
    /// open.
    pub(crate) fn fill_in_sources(&mut self, address: IpAddr) -> SourceAddresses {
        let usual = || match address {
            IpAddr::V4(v4) if v4.is_loopback() => SourceAddresses::loopback(),
            _ => SourceAddresses::default(),
        };
        self.sources.get_or_insert_with(usual).clone()
    }

    /// Checks that clients have addresses of this machine.
    pub(crate) fn check_sources(&self) -> Result<(), ScenarioError> {
        match self.sources.as_ref().and_then(SourceAddresses::foreign) {
            None => Ok(()),
            Some(foreign) => Err(ScenarioError::unavailable(format!(
                "sockets.sources (--source): {foreign} is no address of this machine; name one that `ip address` shows, or \
                 add it there (`ip address add`)"
            ))),
        }
    }

    /// Workers and processors before a server at `address`; the workers are filled in where they were left
    /// open.
    pub(crate) fn fill_in_workers(
        &mut self,
        address: IpAddr,
    ) -> Result<(NonZeroU32, Vec<usize>), ScenarioError> {
        let workers = match self.workers {
            Some(workers) => workers,
            None => default_workers(&self.processors, address.is_loopback())?,
        };
        self.workers = Some(workers);
        Ok((workers, self.processors.clone()))
    }
}

/// Half of the processors for a server on this machine, which needs the others; else all of them.
fn default_workers(processors: &[usize], local: bool) -> Result<NonZeroU32, ScenarioError> {
    let unknown =
        |error| ScenarioError::unavailable(format!("cannot read which processors there are: {error}"));
    let own = match processors.len() {
        0 => processors::allowed().map_err(unknown)?.len() / if local { 2 } else { 1 },
        own => own,
    };
    Ok(NonZeroU32::new(own as u32).unwrap_or(NonZeroU32::MIN))
}
