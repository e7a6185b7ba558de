//! A uniform sample of fixed size from a stream of unknown length (Vitter 1985, algorithm R).

use farfield_base::random::Stream;
use rand::RngExt;

/// At most `limit` of the values that came, each as likely as any other.
#[derive(Debug, Clone, PartialEq)]
pub struct Reservoir {
    values: Vec<f64>,
    limit: usize,
    seen: u64,
}

impl Reservoir {
    /// Empty.
    pub fn new(limit: usize) -> Reservoir {
        Reservoir { values: Vec::new(), limit, seen: 0 }
    }

    /// Offers a value.
    pub fn push(&mut self, value: f64, rng: &mut Stream) {
        self.seen += 1;
        if self.values.len() < self.limit {
            self.values.push(value);
        } else {
            let at = rng.random_range(0..self.seen) as usize;
            if let Some(place) = self.values.get_mut(at) {
                *place = value;
            }
        }
    }

    /// Number of values offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The values kept so far.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values that were kept.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    #[test]
    fn every_value_is_as_likely() {
        let mut rng = Seed(1).stream(Purpose::User, 0);
        let mut firsts = 0u32;
        for _ in 0..2_000 {
            let mut reservoir = Reservoir::new(10);
            (0..40).for_each(|value| reservoir.push(f64::from(value), &mut rng));
            assert_eq!(reservoir.seen(), 40);
            firsts += reservoir.into_values().iter().filter(|value| **value < 20.0).count() as u32;
        }
        let limit = 5.0 * (20_000.0f64 * 0.25).sqrt();
        assert!((f64::from(firsts) - 10_000.0).abs() < limit, "{firsts}");
    }
}
