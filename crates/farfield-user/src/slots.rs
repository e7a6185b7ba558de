//! The slots of a population's tables. Slots are used again once what they held is gone.

use farfield_base::index_type;

index_type! {
    /// A connection in a population's table, dense from 0.
    pub struct ConnectionSlot;
}

index_type! {
    /// A user in a population's table, dense from 0.
    pub struct UserSlot;
}

index_type! {
    /// A descriptor of an S-Client among those of its worker, dense from 0.
    pub(crate) struct DescriptorSlot;
}

index_type! {
    /// A pending request in the table of a worker's sessions.
    pub(crate) struct PendingSlot;
}

/// The number of a flow of users, from 0; that of the first until the flow's transport says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowNumber(pub(crate) u8);
