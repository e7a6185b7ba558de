//! Sockets by the keys that users have for their connections.

use crate::slots::SocketSlot;
use farfield_user::ConnectionKey;

/// For each slot of the population's connections, the socket that is bound to it.
#[derive(Debug, Default)]
pub(crate) struct SocketBindings {
    slots: Vec<Option<SocketSlot>>,
}

impl SocketBindings {
    pub fn bind(&mut self, key: ConnectionKey, socket: SocketSlot) {
        let index = key.slot.index();
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        self.slots[index] = Some(socket);
    }

    /// The socket at the key's slot, which may be that of another key by now.
    pub fn find(&self, key: ConnectionKey) -> Option<SocketSlot> {
        self.slots.get(key.slot.index()).copied().flatten()
    }

    pub fn unbind(&mut self, key: ConnectionKey) {
        self.slots[key.slot.index()] = None;
    }

    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}
