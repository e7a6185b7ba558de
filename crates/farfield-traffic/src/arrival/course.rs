//! A course that a random rate follows: a curve that repeats, scaled to a mean of one, by which the rate is
//! multiplied.
//!
//! Time by the course passes as fast as the course is high, so that a rate that is held makes as many
//! arrivals in a second of it at any time: the product is inverted as exactly as either factor.

use super::ArrivalError;
use super::curve::Curve;
use super::spec::SegmentSpec;
use farfield_base::Instant;

/// The curve, and what scales it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArrivalCourse {
    curve: Curve,
    /// Seconds of the course for each unit of the curve's integral.
    unit: f64,
}

impl ArrivalCourse {
    /// The course of `segments`, as a schedule that repeats has them; none without any.
    pub(super) fn of(segments: Option<&[SegmentSpec]>) -> Result<Option<ArrivalCourse>, ArrivalError> {
        let Some(segments) = segments else { return Ok(None) };
        let shapes = segments.iter().map(SegmentSpec::shape).collect::<Result<Vec<_>, _>>()?;
        let curve = Curve::schedule(&shapes, true).ok_or(ArrivalError::NoSegments)?;
        let mean = curve.mean_rate().ok_or(ArrivalError::NoSegments)?.as_per_second();
        Ok(Some(ArrivalCourse { curve, unit: 1.0 / mean }))
    }

    /// Seconds of the course up to `at`: as many as the clock has, in the mean.
    pub(super) fn seconds(&self, at: Instant) -> f64 {
        self.unit * self.curve.cumulative(at)
    }

    /// Instant at which the course has gone on for so many seconds.
    pub(super) fn instant(&self, seconds: f64) -> Option<Instant> {
        self.curve.instant_of(seconds / self.unit)
    }
}
