//! Connections of which only TIME-WAIT is left: clients that close first have many of them for each one open,
//! and all they do is to answer a FIN that comes again.

use crate::slots::ClientSlot;
use farfield_base::{Duration, Instant};
use farfield_tcp::time_wait::TimeWaitReply;
use farfield_tcp::{Segment, TimeWait};
use std::collections::{BTreeMap, VecDeque};

/// Connections in TIME-WAIT, by client and port.
#[derive(Debug, Default)]
pub(crate) struct TimeWaits {
    waits: BTreeMap<(ClientSlot, u16), TimeWait>,
    /// In the order of their beginning; looked at again when their time has come.
    order: VecDeque<(Instant, ClientSlot, u16)>,
}

impl TimeWaits {
    /// Takes a connection over, and lets those go whose time is over at `now`.
    pub fn take(&mut self, now: Instant, client: ClientSlot, port: u16, wait: TimeWait) {
        while let Some((_, client, port)) = self.order.pop_front_if(|(until, ..)| *until <= now) {
            match self.waits.get(&(client, port)).map(TimeWait::until) {
                Some(until) if until > now => self.order.push_back((until, client, port)),
                _ => drop(self.waits.remove(&(client, port))),
            }
        }
        self.order.push_back((wait.until(), client, port));
        self.waits.insert((client, port), wait);
    }

    /// Takes a segment for a port on which no connection is: the answer, if it is one of a connection here.
    /// `None` if it belongs to nobody.
    pub fn answer(
        &mut self,
        now: Instant,
        client: ClientSlot,
        port: u16,
        segment: &Segment,
        time_wait: Duration,
    ) -> Option<Option<Segment>> {
        let wait = self.waits.get_mut(&(client, port)).filter(|wait| wait.until() > now)?;
        match wait.handle_segment(now, segment, time_wait) {
            TimeWaitReply::Acknowledge(segment) => Some(Some(segment)),
            TimeWaitReply::Nothing => Some(None),
            TimeWaitReply::Over => {
                self.waits.remove(&(client, port));
                Some(None)
            }
            // Clients do not listen.
            TimeWaitReply::Reopen(_) => None,
        }
    }
}
