//! Tests of the transport over sockets.

use super::*;
use farfield_base::Duration;
use farfield_user::FlowNumber;

/// Between replies the clock is read for wakes only if one may be due, and no wake that is scheduled
/// meanwhile is missed.
#[test]
fn a_wake_may_be_due_from_when_it_was_asked_for() {
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    let mut transport = transport();
    assert!(transport.may_be_due(at(0)), "it has not looked yet");
    assert_eq!(transport.look_ahead(), Instant::MAX);
    assert!(!transport.may_be_due(at(1_000_000)));
    transport.wake_at(at(9), Wake::Deadline(FlowNumber::default()));
    transport.wake_at(at(5), Wake::Load { item: 0, turn: 0 });
    transport.wake_at(at(7), Wake::Load { item: 0, turn: 0 });
    assert!(!transport.may_be_due(at(4)) && transport.may_be_due(at(5)));
    assert_eq!(transport.look_ahead(), at(5));
    assert_eq!(transport.pop_due(at(6)), Some((at(5), Wake::Load { item: 0, turn: 0 })));
    assert_eq!(transport.look_ahead(), at(7));
    assert!(!transport.may_be_due(at(6)));
}

/// A wake that was asked for behind the wheel's last event is late by all of it.
#[test]
fn a_wake_in_the_past_keeps_its_instant() {
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    let mut transport = transport();
    transport.wake_at(at(9), Wake::Deadline(FlowNumber::default()));
    assert_eq!(transport.pop_due(at(10)), Some((at(9), Wake::Deadline(FlowNumber::default()))));
    transport.wake_at(at(4), Wake::Idle(FlowNumber::default()));
    assert_eq!(transport.pop_due(at(10)), Some((at(4), Wake::Idle(FlowNumber::default()))));
}

fn transport() -> SocketsTransport {
    let (out, _parcels) = SampleSender::channel(1);
    let (samples, _returns) = SampleSender::new(0, out);
    let target = SocketAddr::from(([127, 0, 0, 1], 80));
    let clock = Clock::starting_in(Duration::ZERO);
    SocketsTransport::new(clock, target, SourceAddresses::default(), true, 1, samples).unwrap()
}
