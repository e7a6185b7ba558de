//! The transport of a flow: that of the whole population, with the flow's numbers made the run's.

use crate::flow::Tag;
use crate::transport::{Backlog, ConnectionKey, Datagrams, Transport, Wake};
use bytes::Bytes;
use farfield_base::{HostNumber, Instant, Note, Sample, TcpStats};
use std::net::SocketAddr;

/// The population's transport, as the flow of a tag sees it.
#[derive(Debug)]
pub(crate) struct FlowTransport<'a, T> {
    pub of_all: &'a mut T,
    pub tag: Tag,
}

impl<T: Transport> Transport for FlowTransport<'_, T> {
    fn connect(&mut self, connection: ConnectionKey, user: u32, host: HostNumber) -> Instant {
        self.of_all.connect(self.tag.key(connection), self.tag.user(user), host)
    }

    fn send(&mut self, connection: ConnectionKey, bytes: &Bytes) -> Instant {
        self.of_all.send(self.tag.key(connection), bytes)
    }

    fn backlog(&self, connection: ConnectionKey) -> Backlog {
        self.of_all.backlog(self.tag.key(connection))
    }

    fn sends_after_close(&self) -> bool {
        self.of_all.sends_after_close()
    }

    fn open_datagrams(
        &mut self,
        connection: ConnectionKey,
        user: u32,
        to: (HostNumber, Option<u16>),
    ) -> Instant {
        self.of_all.open_datagrams(self.tag.key(connection), self.tag.user(user), to)
    }

    fn send_datagrams(&mut self, connection: ConnectionKey, datagrams: Datagrams<'_>) -> Instant {
        self.of_all.send_datagrams(self.tag.key(connection), datagrams)
    }

    fn close(&mut self, connection: ConnectionKey) {
        self.of_all.close(self.tag.key(connection));
    }

    fn abandon(&mut self, connection: ConnectionKey) {
        self.of_all.abandon(self.tag.key(connection));
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.of_all.wake_at(at, self.tag.wake(wake));
    }

    fn machine_of(&self, user: u32) -> u32 {
        self.of_all.machine_of(self.tag.user(user))
    }

    fn server_of(&self, connection: ConnectionKey) -> Option<SocketAddr> {
        self.of_all.server_of(self.tag.key(connection))
    }

    fn tcp_stats(&self, connection: ConnectionKey) -> Option<TcpStats> {
        self.of_all.tcp_stats(self.tag.key(connection))
    }

    fn record(&mut self, sample: Sample) {
        self.of_all.record(self.tag.sample(sample));
    }

    fn note(&mut self, note: Note) {
        self.of_all.note(self.tag.note(note));
    }
}
