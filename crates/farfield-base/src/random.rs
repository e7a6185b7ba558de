//! Seeded random streams, each owned by a user, an arrival process or a link, never by a thread.
//!
//! Every user, arrival process and link draws from a stream of its own, derived from the run's seed, the
//! stream's purpose and the owner's number. So a user behaves the same on one worker or on sixteen, and
//! adding a link changes no other stream.

use rand_pcg::Pcg64Mcg;

/// A stream of random bits: 16 bytes, a multiply and a shift a draw.
pub type Stream = Pcg64Mcg;

/// The seed of a run, from which every stream follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

/// Purpose of a stream. Two streams of one owner with different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Times of arrivals.
    Arrivals = 1,
    /// Behaviour of a user: think times, choices, session lengths.
    User = 2,
    /// Behaviour of a server model: service times, errors.
    Server = 3,
    /// Contents of a generated site.
    Site = 4,
    /// Behaviour of a link: loss, jitter.
    Link = 5,
    /// Instants of a flow of cross traffic.
    CrossTraffic = 6,
    /// Instants at which clients move to another network.
    Move = 7,
}

impl Seed {
    /// The stream of the `number`-th thing, for `purpose`.
    pub fn stream(self, purpose: Purpose, number: u64) -> Stream {
        let mut mix = SplitMix(self.0);
        mix.absorb(purpose as u64);
        mix.absorb(number);
        Pcg64Mcg::new((u128::from(mix.next()) << 64) | u128::from(mix.next()))
    }

    /// The seed of a part of the run that has this name.
    pub fn of(self, name: &str) -> Seed {
        let mut mix = SplitMix(self.0);
        name.bytes().for_each(|byte| mix.absorb(byte.into()));
        Seed(mix.next())
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014, figure 15), here to spread seeds, not to draw from.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn absorb(&mut self, word: u64) {
        self.0 = self.next() ^ word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn a_stream_is_its_seed_purpose_and_number() {
        let draw = |seed, purpose, number| Seed(seed).stream(purpose, number).next_u64();
        let one = draw(1, Purpose::User, 7);
        assert_eq!(one, draw(1, Purpose::User, 7));
        assert_ne!(one, draw(2, Purpose::User, 7));
        assert_ne!(one, draw(1, Purpose::Arrivals, 7));
        assert_ne!(one, draw(1, Purpose::User, 8));
    }

    /// First draws of neighbouring streams must look like one stream: their bits average to a half within
    /// five standard deviations, and neighbours do not correlate.
    #[test]
    fn neighbouring_streams_are_independent() {
        const STREAMS: u64 = 20_000;
        let first = |number| Seed(42).stream(Purpose::User, number).next_u64();
        let ones: u32 = (0..STREAMS).map(|n| first(n).count_ones()).sum();
        let same: u32 = (0..STREAMS).map(|n| (!(first(n) ^ first(n + 1))).count_ones()).sum();
        let bits = STREAMS as f64 * 64.0;
        let limit = 5.0 * (bits * 0.25).sqrt();
        assert!((f64::from(ones) - bits / 2.0).abs() < limit, "{ones} ones in {bits} bits");
        assert!((f64::from(same) - bits / 2.0).abs() < limit, "{same} equal neighbours in {bits} bits");
    }
}
