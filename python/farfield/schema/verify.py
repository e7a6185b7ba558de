"""The classes of docs/verify.schema.json.

Written by python/generate.py: change that, or the schema, and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "AgreementLimits",
    "ArrivalStats",
    "AskedQuantity",
    "CaptureSummary",
    "ClockRelation",
    "Clocks",
    "ConnectionsAt",
    "Distribution",
    "Finding",
    "FlowLoad",
    "GapStats",
    "MatchedCounts",
    "PolicyStats",
    "ReplyCounts",
    "RequestShare",
    "RequestsPerConnection",
    "TcpCounts",
    "TimeErrors",
    "TimeKind",
    "WorstPair",
    "Verification",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementLimits:
    """The limits within which samples and packets agree."""

    compared: float = 0.9
    """The least share of the answered requests whose times must be compared."""

    constant_ns: int = 20000
    """The largest error that all requests may have in common, in nanoseconds, where run and capture have
    one clock.
    """

    error_ns: int
    """The largest mean absolute error of a time, in nanoseconds. An error below 1 % of the time's mean
    always agrees.
    """

    unmatched: float
    """The largest share of requests that are unexplained on one side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivalStats:
    """The arrivals of an open or hybrid load."""

    asked: int
    """Arrivals in the measured part, drawn again from the seed."""

    asked_gaps: GapStats | None = None
    """The gaps between the instants that were asked for, in the measured part: what the scenario's own
    process drew.
    """

    begun: int
    """Arrivals of `asked` whose first packet is in the capture."""

    due_earlier: int
    """Samples of `due_moved` that were due before the instant that was asked for."""

    due_is_begin: int
    """Samples of `due_moved` whose `due` is the instant at which they were begun."""

    due_moved: int
    """Samples of the measured part that begin an arrival, and have another `due` than was asked for."""

    due_moved_mean_ns: float | None = None
    """By how much `due` was moved in the mean of these, in nanoseconds; positive for later."""

    gaps: GapStats | None = None
    """The gaps between first packets; null where the capture lacks more than 1 % of the arrivals."""

    lateness: Distribution
    """First packets of arrivals, after the instants that were asked for, in the run's time."""

    response: Distribution
    """Response times from the instants that were asked for to the last packets of replies: what users
    waited.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuantity:
    """A quantity that was asked for as a distribution, and what was found."""

    asked_mean: float | None = None
    """The mean that was asked for; null if it is infinite."""

    count: int
    """Number of values by the packets."""

    distance: float | None = None
    """The largest distance of the distribution functions of what was found and of 5,000 draws; null
    where what was asked for is one value.
    """

    mean: float | None = None
    """The mean of the values; null without values. In nanoseconds for times."""

    standard_error: float | None = None
    """The standard error of the mean; null for fewer than two values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureSummary:
    """The contents of the capture."""

    at_gateway: bool
    """True if the packets were seen at the gateway of an emulated network, behind the clients' links:
    times then differ by the path's, and errors are not judged.
    """

    by_paths: bool = False
    """True if they were seen there in virtual time, on paths that are delays and nothing else: their
    instants are those at the clients.
    """

    connections: int
    """Connections that were rebuilt."""

    cut_short: str | None = None
    """Why the file could not be read to its end."""

    drops: int
    """Packets that the capture lost, by its own count."""

    mid_stream: int
    """Connections that had begun before the capture."""

    missing_bytes: int
    """Bytes that were sent but not captured."""

    packets: int
    """Packets in the file."""

    packets_cut: int
    """Packets of which the end was cut off."""

    packets_unknown_link: int
    """Packets of link types that are not read."""

    tls_records_unread: int = 0
    """Records of TLS that could not be decrypted."""

    tls_sessions: int = 0
    """Sessions of TLS."""

    tls_sessions_unread: int = 0
    """Sessions of TLS that could not be decrypted: their secrets are not known, or their suite is not
    read.
    """

    transactions: int
    """Transactions that were rebuilt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClockRelation:
    """The advance of a capture's clock over a run's: `offset + drift · t`."""

    bounds: int
    """Number of bounds."""

    drift_error_ppm: float | None = None
    """Half the width of the drift's 95 % confidence interval; null where it could not be estimated."""

    drift_ppm: float
    """Nanoseconds that it gains per second, divided by 1,000: parts per million. Zero where not
    estimated.
    """

    inverted: bool
    """True if replies passed after they had been read, by the estimate: the samples' instants are
    inexact.
    """

    middle_ns: float
    """The middle of the matched packets, in nanoseconds since the assumed start of the run."""

    offset_error_ns: float
    """The most by which that may be wrong: half the distance of the envelopes."""

    offset_ns: float
    """Nanoseconds ahead at the middle of the matched packets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """The clocks of run and capture."""

    estimate: ClockRelation | None = None
    """The estimate; null without matched requests."""

    reason: str | None = None
    """Why another program's capture was taken for one of another clock; null where it was not."""

    round_trip_ns: int | None = None
    """The way from the capture to the clients and back, of another program's capture: of one handshake
    in twenty less than this, in nanoseconds. Null of the run's own captures, and without a handshake.
    """

    same: bool
    """True if run and capture had one clock, so that the estimate only checks it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionsAt:
    """The connections at the beginning of a second of the run."""

    in_use: int
    """In use, by the packets."""

    in_use_samples: int
    """In use, by the samples."""

    open: int
    """Open, by the packets."""

    second: int
    """The second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """Moments and percentiles of a set of times, in nanoseconds."""

    count: int
    """Number of values."""

    max_ns: int | None = None
    """The largest."""

    mean_ns: float | None = None
    """The mean; null without values."""

    min_ns: int | None = None
    """The least."""

    p50_ns: int | None = None
    """The median."""

    p90_ns: int | None = None
    """The 90th percentile."""

    p99_9_ns: int | None = None
    """The 99.9th percentile."""

    p99_ns: int | None = None
    """The 99th percentile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A finding."""

    advice: str
    """The action to take."""

    disagrees: bool
    """True if samples and packets disagree; false for what only limits the verification."""

    evidence: str
    """The observation, with numbers."""

    name: str
    """The finding's name, stable between versions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowLoad:
    """Measurements of the load of one flow."""

    arrivals: ArrivalStats | None = None
    """Arrivals; null for loads without."""

    mix: list[RequestShare]
    """Shares of requests."""

    name: str
    """The flow's name."""

    session_lengths: AskedQuantity | None = None
    """Pages of sessions; null where they are not judged."""

    think_times: AskedQuantity | None = None
    """Think times in nanoseconds; null where they are not judged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GapStats:
    """Gaps between arrivals, in units of the mean that was asked for then."""

    anderson_darling: float | None = None
    """Anderson and Darling's A² against the exponential distribution with mean 1; null where the process
    that was asked for is not Poisson. Above 2.492 once in 20, above 6.0 once in 1,000.
    """

    autocorrelation: list[float]
    """Autocorrelation at lags 1 to 10; where a Poisson process was asked for, that of the share of
    shorter gaps.
    """

    autocorrelation_band: float
    """19 of 20 autocorrelations of independent gaps lie within plus or minus this."""

    count: int
    """Gaps that were tested: at most 2,000 in a row from the beginning of the measured part."""

    distance: float | None = None
    """The largest distance of the distribution functions; null likewise."""

    mean: float
    """The mean gap: 1 at the rate that was asked for."""

    variation: float
    """The coefficient of variation of the gaps: 1 for a Poisson process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedCounts:
    """Counts of what was matched, and of what was not, by cause."""

    ambiguous_connections: int
    """Connections that could have been matched otherwise about as well."""

    connections: int
    """Connections that both sides know."""

    requests: int
    """Requests that are a sample and a transaction."""

    samples_alone: dict[str, int]
    """Samples without a transaction, by cause."""

    transactions_alone: dict[str, int]
    """Transactions without a sample, by cause."""

    unexplained: float
    """Share of all requests of the run that are unexplained on one side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyStats:
    """Use of connections by users."""

    astray: int = 0
    """Connections that led to several hosts, or to another server than others to their host."""

    depth_max: int
    """The most requests on the way at once on one connection."""

    misaddressed: int = 0
    """Requests that name another host than that of their samples."""

    mixed_addresses: int
    """Client addresses with requests of several classes."""

    other_users: int
    """Samples of another user than the one who began the connection, by the run's list of connections."""

    overused: int
    """Connections with more requests than the policy allows."""

    parallel_max: int
    """The most connections of one user open at once, by the packets."""

    parallel_over: int
    """Users with more connections at once than the policy allows."""

    pipelined: int
    """Requests that were sent before the reply to the one before was complete."""

    requests_max: int
    """The most requests on one connection."""

    shared: int
    """Connections whose requests are of several users."""

    users_max: int
    """The most users of one connection."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyCounts:
    """Replies by both sides."""

    failed_but_complete: int
    """Matched samples of a cut, missing or late reply where packets show a complete one in time."""

    ok_but_incomplete: int
    """Matched samples that say `ok` where packets show no complete reply."""

    other_bytes: int
    """Matched samples of complete replies with another number of bytes than the packets: of the body or,
    over HTTP/1, of all.
    """

    other_events: int = 0
    """Matched samples of complete replies with another number of events than the packets, or of a stream
    that its user left with more of them.
    """

    other_status: int
    """Matched samples of complete replies with another status than the packets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestShare:
    """A request of the request set: its share by samples and by packets."""

    asked: float | None = None
    """The share that was asked for, if it is known."""

    count: int
    """Matched requests of it."""

    other_targets: int
    """Matched requests with another target."""

    request: int
    """The request's index in the scenario."""

    share: float
    """Share of the matched requests."""

    target: str
    """The target that most of its packets have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestsPerConnection:
    """Requests on connections."""

    connections: int
    """Connections with at least one request, by the packets."""

    differing: int
    """Matched connections on which samples and packets have different numbers of requests."""

    in_order_of_closing: list[int]
    """Requests on the first 10,000 connections that closed, in the order in which they did."""

    max: int
    """On the busiest."""

    mean: float | None = None
    """Requests on each, in the mean; null without connections."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TcpCounts:
    """TCP's troubles, by both sides. Counts of samples are null on planes whose samples have none."""

    client_resets: int
    """Connections that ended in a reset by the client."""

    client_retransmissions: int
    """Segments that clients sent again, by the packets."""

    client_retransmissions_samples: int | None = None
    """Segments that clients sent again, by the samples."""

    resets_samples: int
    """Samples that failed by a reset."""

    server_out_of_order: int
    """Segments of the server that came out of order, or behind a lost one."""

    server_resets: int
    """Connections that ended in a reset by the server."""

    server_retransmissions: int
    """Segments that the server sent again and that were captured twice."""

    syn_retries: int
    """SYNs beyond the first of each connection, by the packets."""

    syn_retries_samples: int | None = None
    """SYNs beyond the first of each connection, by the samples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeErrors:
    """One of the times of requests, by samples and by packets."""

    beyond_path_ns: float | None = None
    """The mean absolute difference of an error from the median one of its client, which is its path's,
    where packets were captured beyond the clients' links; null elsewhere.
    """

    compared: float | None = None
    """The share that these are of all answered samples of the measured part that have it, but for those
    of clients and of times that were not to be captured; null without such.
    """

    constant_ns: int | None = None
    """The error that all requests have: the least of the larger 19 in 20, if the samples' times are
    longer, and the median one if they are shorter, which packets do not allow for any; null without
    pairs.
    """

    distance: float | None = None
    """The largest distance of the two distribution functions, from 0 to 1; null where one has no values."""

    max_absolute_ns: int | None = None
    """The largest absolute value of an error."""

    mean_absolute_ns: float | None = None
    """Mean of the errors' absolute values, in nanoseconds; null without pairs."""

    mean_ns: float | None = None
    """Mean error: samples less packets."""

    packets: Distribution
    """The times of all complete transactions of the measured part."""

    pairs: int
    """Matched requests that have it on both sides."""

    samples: Distribution
    """The times of all answered samples of the measured part."""

    time: TimeKind
    """The time that is compared."""

    worst: WorstPair | None = None
    """The request with the largest error."""


#: One of the times of a request.
TimeKind = Literal["connect", "tls", "reply", "transfer", "service", "response", "first-event", "event-gap"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorstPair:
    """The request with the largest error."""

    connection: int
    """The request's connection, as in the samples."""

    number: int
    """The request's number on the connection."""

    packets_ns: int
    """The time by the packets, in nanoseconds."""

    sample_ns: int
    """The time by the sample, in nanoseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """Samples compared with packets."""

    agrees: bool
    """True if no finding disagrees."""

    arrivals: ArrivalStats | None = None
    """Arrivals; null for loads without."""

    capture: CaptureSummary
    """The capture."""

    clocks: Clocks
    """The clocks."""

    connections: list[ConnectionsAt]
    """Connections at the beginning of each second."""

    findings: list[Finding]
    """The findings, causes before effects."""

    flows: list[FlowLoad] = field(default_factory=list)
    """The load of each flow of users, where there are several."""

    limits: AgreementLimits
    """The limits of agreement."""

    matched: MatchedCounts
    """Counts of what was matched."""

    mix: list[RequestShare]
    """Shares of requests."""

    notes: list[str]
    """Matters that could not be judged, and why."""

    policy: PolicyStats
    """The connection policy."""

    replies: ReplyCounts
    """Replies, by both sides."""

    requests_per_connection: RequestsPerConnection
    """Requests on connections."""

    schema_version: int
    """The version of this schema."""

    session_lengths: AskedQuantity | None = None
    """Pages of sessions; null where they are not judged."""

    tcp: TcpCounts
    """TCP, by both sides."""

    think_times: AskedQuantity | None = None
    """Think times in nanoseconds; null where they are not judged."""

    times: list[TimeErrors]
    """The times, by both sides."""
