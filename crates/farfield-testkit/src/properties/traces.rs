//! Delivery traces: a trace is refused with a message, or a link that follows it carries packets in order,
//! none before it came, and no more than the trace has opportunities for.

use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant};
use farfield_net::trace::OPPORTUNITY_BYTES;
use farfield_net::{Fate, Link, LinkModel, Packet, Trace};
use std::sync::Arc;

/// Any bytes as a trace.
pub fn of_trace(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let trace = match Trace::parse(text) {
        Ok(trace) => trace,
        Err(error) => {
            // The message quotes the line, whatever it is.
            assert!(error.to_string().contains("line") || error.to_string().contains("trace"), "{error}");
            return;
        }
    };
    assert_eq!(trace.opportunities(), text.lines().count());
    assert!(trace.mean_bits().is_finite() && trace.mean_bits() > 0.0);
    let opportunities = trace.opportunities() as u64;
    let mut link = Link::new(Arc::new(LinkModel::ideal(Duration::ZERO).trace(Arc::new(trace))));
    let mut rng = Seed(1).stream(Purpose::Link, 1);
    let (mut now, mut last, mut carried) = (Instant::ZERO, Instant::ZERO, 0);
    for number in 0..60_u64 {
        let bytes = [40, 1500, 9000, 576][number as usize % 4];
        let fate = link.offer(now, Packet::new(bytes, number), &mut rng);
        let Fate::Delivered(delivery) = fate else { panic!("nothing of this link drops: {fate:?}") };
        assert!(delivery.first.at >= last.max(now), "{delivery:?} after {last:?}");
        last = delivery.first.at;
        carried += u64::from(bytes);
        now += Duration::from_us(700 * (number % 5));
    }
    // Each round has a line that is above zero, so that this many rounds take as many milliseconds.
    let rounds = carried.div_ceil(OPPORTUNITY_BYTES).saturating_sub(1) / opportunities;
    assert!(last >= Instant::ZERO + Duration::from_ms(rounds), "{last:?} for {rounds} rounds");
}
