//! Options that the two SYNs agree upon: MSS, window scaling, SACK, timestamps.

use crate::config::Config;
use crate::segment::{Options, Segment, Timestamps};

/// The agreement, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NegotiatedOptions {
    /// The peer's MSS, or the default before its SYN came.
    pub(crate) peer_mss: u16,
    /// Shift in bits of the windows that the peer sends; 0 if scaling is off.
    pub(crate) peer_shift: u8,
    /// Shift in bits of the windows sent here; 0 if scaling is off.
    pub(crate) own_shift: u8,
    pub(crate) scaling: bool,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
}

/// Less than this no path carries; a smaller announcement (0 among them) is a peer that lies.
const MSS_MIN: u16 = 64;
/// RFC 7323 §2.3: a larger shift is taken as 14.
const SHIFT_MAX: u8 = 14;

impl NegotiatedOptions {
    pub(crate) fn nothing(config: &Config) -> NegotiatedOptions {
        NegotiatedOptions {
            peer_mss: config.default_mss,
            peer_shift: 0,
            own_shift: 0,
            scaling: false,
            sack: false,
            timestamps: false,
        }
    }

    /// Options that follow from the peer's SYN: each holds if both sides offer it.
    pub(crate) fn with_syn(config: &Config, syn: &Options) -> NegotiatedOptions {
        let scaling = config.window_scaling && syn.window_scale.is_some();
        NegotiatedOptions {
            peer_mss: syn.mss.unwrap_or(config.default_mss).max(MSS_MIN),
            // RFC 7323 §2.2: both sides must send the option, or no window is scaled
            peer_shift: if scaling { syn.window_scale.unwrap_or(0).min(SHIFT_MAX) } else { 0 },
            own_shift: if scaling { config.window_shift() } else { 0 },
            scaling,
            // RFC 2018 §2
            sack: config.sack && syn.sack_permitted,
            // RFC 7323 §3.2
            timestamps: config.timestamps && syn.timestamps.is_some(),
        }
    }

    /// The options of our SYN (`answered: None`), or of our SYN-ACK: only what the SYN offered.
    pub(crate) fn syn_options(
        config: &Config,
        answered: Option<&NegotiatedOptions>,
        stamps: Timestamps,
    ) -> Options {
        let allows = |of: fn(&NegotiatedOptions) -> bool| answered.is_none_or(of);
        Options {
            mss: Some(config.mss.max(MSS_MIN)),
            window_scale: (config.window_scaling && allows(|a| a.scaling)).then(|| config.window_shift()),
            sack_permitted: config.sack && allows(|a| a.sack),
            timestamps: (config.timestamps && allows(|a| a.timestamps)).then_some(stamps),
            ..Options::default()
        }
    }

    /// The window that the peer offers in `segment`, in bytes. RFC 7323 §2.2: that of a SYN is never scaled.
    pub(crate) fn window_in(&self, segment: &Segment) -> u32 {
        u32::from(segment.window) << if segment.flags.syn { 0 } else { self.peer_shift }
    }

    /// SMSS of RFC 5681 §2: data in a full segment, without options but with room for timestamps (RFC 9293
    /// §3.7.1: Eff.snd.MSS).
    pub(crate) fn smss(&self, config: &Config) -> u32 {
        u32::from(self.peer_mss.min(config.mss.max(MSS_MIN))) - if self.timestamps { 12 } else { 0 }
    }

    /// Data in a full segment that comes from the peer, as far as we can know.
    pub(crate) fn rmss(&self, config: &Config) -> u32 {
        u32::from(config.mss.max(MSS_MIN)) - if self.timestamps { 12 } else { 0 }
    }
}
