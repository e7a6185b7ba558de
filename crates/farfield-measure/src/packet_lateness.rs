//! Lateness of packets of an emulated network, over the measured part. Each is defined here alone: workers
//! record it, [`Merge`] adds up workers and parts of a run, and the log of histograms and the summary have it
//! by its name.

use farfield_base::Merge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! packet_lateness {
    ($($(#[$of_one:meta])* $field:ident = $name:literal,)*) => {
        /// One `T` for each lateness of packets, against their intended instants: a [`Histogram`] of what
        /// workers record, or what a summary says of it.
        ///
        /// [`Histogram`]: crate::Histogram
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(bound = "T: JsonSchema + Default + Serialize")]
        pub struct PacketLateness<T> {
            $($(#[$of_one])* pub $field: T,)*
        }

        impl<T: Merge> Merge for PacketLateness<T> {
            fn merge(&mut self, part: &PacketLateness<T>) {
                $(self.$field.merge(&part.$field);)*
            }
        }

        impl<T> PacketLateness<T> {
            /// Each with its name.
            pub fn by_name(&self) -> impl Iterator<Item = (&'static str, &T)> {
                [$(($name, &self.$field)),*].into_iter()
            }

            /// Each as `turn` makes it.
            pub fn map<U>(&self, turn: impl Fn(&T) -> U) -> PacketLateness<U> {
                PacketLateness { $($field: turn(&self.$field),)* }
            }
        }
    };
}

packet_lateness! {
    /// Lateness of packets sent to the server.
    #[serde(rename = "departure_lateness")]
    departure = "departure-lateness",
    /// Wait of packets before the server's kernel received them, by probes; null if it had none.
    #[serde(rename = "delivery_lateness", default)]
    delivery = "delivery-lateness",
    /// Wait of packets from the server's kernel until their shard read them, at most; null if there were
    /// none.
    #[serde(rename = "pickup_lateness", default)]
    pickup = "pickup-lateness",
    /// Lateness of packets delivered to clients.
    #[serde(rename = "arrival_lateness")]
    arrival = "arrival-lateness",
    /// Lateness of packets taken over from other shards; null if shards share no links.
    #[serde(rename = "crossing_lateness", default)]
    crossing = "crossing-lateness",
}
