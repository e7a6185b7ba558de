"""The classes of docs/summary.schema.json.

Written by python/generate.py: change that, or the schema, and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "AddressStats",
    "AlternativesSummary",
    "ArrivalsSummary",
    "AttachedStats",
    "Bottleneck",
    "BrokenOffIn",
    "CaptureStats",
    "Cause",
    "ChangedLimit",
    "Check",
    "CheckState",
    "ClassSummary",
    "ConnectionsSummary",
    "ContentSummary",
    "CrossTrafficStats",
    "Disturbed",
    "EarlySummary",
    "EstimateSummary",
    "EstimatedQuantile",
    "EstimatedTime",
    "EventsSummary",
    "Exhausted",
    "FailureSummary",
    "FlowSummary",
    "GeneratorSummary",
    "HandshakeCpu",
    "HandshakesSummary",
    "Heading",
    "HostSummary",
    "Http2Summary",
    "HttpSummary",
    "LinkStats",
    "LoadKind",
    "NetworkDrops",
    "NetworkSummary",
    "NoInterval",
    "NoIntervalReason",
    "OutcomeCount",
    "PagesSummary",
    "PartOfRun",
    "PartSummary",
    "PathSummary",
    "Phases",
    "ProgramSummary",
    "QuantileSummary",
    "Rates",
    "ReuseClass",
    "RunClock",
    "SecondAside",
    "ServerLimits",
    "SessionsSummary",
    "SetAsideSummary",
    "SettlingSummary",
    "StageSummary",
    "StallsSummary",
    "StateSummary",
    "StatusCount",
    "ThresholdResult",
    "TimingSummary",
    "Timings",
    "Timings2",
    "TopologyStats",
    "Unit",
    "Verdict",
    "VersionSummary",
    "WebSocketsSummary",
    "Summary",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressStats:
    """An address of the server's name that connections went to."""

    address: str
    """The address and the port; `others` for all beyond the first 256."""

    connections: int
    """Connections begun."""

    established: int
    """Connections that were established."""

    failed: int
    """Requests that failed; one that the end of the run cut is none."""

    requests: int
    """Requests that ended on connections to the address, whenever they were due."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlternativesSummary:
    """Attempts at HTTP/3 that a server's Alt-Svc led to (RFC 7838), and how they ended."""

    elsewhere: int
    """Times that a server named HTTP/3 on other hosts alone, which is not taken."""

    failed: int
    """Attempts that failed in another way: a handshake, a version, an error of the server's."""

    overtaken: int
    """Slow attempts, beside which a connection of TCP was opened that had what was asked. Such a one may
    be secured later.
    """

    refused: int
    """Attempts that failed because nothing listened on the port, or there was no way there."""

    secured: int
    """Connections of QUIC whose handshake came to its end."""

    tried: int
    """Connections of QUIC that were begun."""

    unanswered: int
    """Attempts that were given up because nothing came in answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivalsSummary:
    """Arrivals of an open load: requests in an open loop, sessions in a hybrid one, attempts in
    overload.
    """

    begun: int
    """Number of those that were begun, at any time."""

    dropped: int
    """Number of those that were dropped because of the bound on users."""

    expected: float | None = None
    """Expected number in the steady part, if the arrival process has one."""

    scheduled: int
    """Number due in the steady part of this run, whether or not the engine handled them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttachedStats:
    """Clients of one class whose own links end at one node."""

    class_: str
    """The class."""

    clients: int
    """Clients."""

    node: str
    """The node."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bottleneck:
    """The resources that gave out in a run."""

    exhausted: list[Exhausted]
    """All that gave out, the first one first."""

    first: Cause | None = None
    """The resource that gave out first; null if none did."""

    in_words: str
    """The result in one sentence."""

    notes: list[str]
    """Numbers that could not be read, and other remarks, one sentence each."""

    seconds: int
    """The number of seconds with readings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenOffIn:
    """Sessions that were broken off in one state."""

    count: int
    """Number of sessions."""

    state: str
    """The state's name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureStats:
    """A capture of packets."""

    cpu_ns: int
    """Processor time of the thread that wrote the file."""

    file: str
    """The file in the run directory."""

    interface: str | None = None
    """The interface by name; null for packets of emulated clients, whose interfaces the file lists."""

    lost: int
    """Packets that the capture lost, for want of room in memory or on the disk."""

    packets: int
    """Packets in the file."""


#: A resource that can give out, in the order of explanation.
Cause = Literal[
    "generator",
    "cpu",
    "machine-cpu",
    "memory",
    "swap",
    "descriptors",
    "disk",
    "network",
    "workers",
    "accept-queue",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedLimit:
    """A limit that is not the default."""

    default: str
    """The default value."""

    key: str
    """Key in the scenario's `[verdict]`."""

    value: str
    """The scenario's value, in a scenario's notation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check of a verdict."""

    advice: str | None = None
    """The remedy for a failure, with this run's numbers."""

    follows_from: str | None = None
    """The check whose failure this failure follows from; null for a first cause, and where nothing
    failed.
    """

    limit: float
    """The largest number that passes, or the smallest where the sentence says "at least"."""

    measured: float | None = None
    """The number found; absent where there is none."""

    name: str
    """Name of the check, stable between versions."""

    note: str | None = None
    """The reason why it was skipped, or details of a failure."""

    state: CheckState
    """The result."""

    unit: Unit
    """The unit of both."""

    what: str
    """The condition, in one sentence."""


#: Result of a check.
CheckState = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassSummary:
    """The steady part of one class of clients."""

    name: str
    """Name of the class."""

    pages: PagesSummary | None = None
    """Pages of the class in the measured part; null if pages are not tracked."""

    share: float | None = None
    """Share of the class in all requests that were due; null if none was."""

    steady: PartSummary
    """Measurements of the class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionsSummary:
    """The connections of the whole run."""

    addresses: list[AddressStats] = field(default_factory=list)
    """Counts for each address of the server's, over the whole run, where connections go to several
    (`connections.addresses`); empty elsewhere.
    """

    attempts: int
    """Attempts, in the warm-up and steady parts."""

    established: int
    """Connections established, in the warm-up and steady parts."""

    open_max: int | None = None
    """The most open in any second, if the engine counts them."""

    requests_max: int
    """Requests on the busiest."""

    requests_mean: float | None = None
    """Requests on each of those, on average; null if there were none."""

    requests_per_connection: list[ReuseClass]
    """Distribution of requests per connection, from few to many."""

    resent_requests: int
    """Requests sent again because their connection closed without a word about them."""

    used: int
    """Connections that carried at least one request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentSummary:
    """Content that came in a coding such as gzip and was looked at, over the whole run. Codings are
    taken off for checks, extractions and embedded objects alone, so nothing is known of the rest.
    """

    coded_bytes: int
    """Bytes as they came."""

    decoded_bytes: int
    """Bytes that they stood for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CrossTrafficStats:
    """A flow of cross traffic on a link, over the whole run: packets of nobody's, counted apart from
    those of clients.
    """

    bits_per_second: int
    """Bits a second that the scenario asks for."""

    dropped: int
    """Packets that the link's queue dropped."""

    link: str
    """The link, as the scenario names it."""

    lost: int
    """Packets that the wire lost."""

    packet_bytes: int
    """Bytes of each packet."""

    packets: int
    """Packets that came to the link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbed:
    """Possible effects of workers' stalls, and of time that the host took, on a run."""

    longest_ns: int
    """The longest time for which a worker was away from its events."""

    lost_ns: int
    """All such times of 20 ms at least, of the worker that had the most; 0 if none is longer than the
    limit.
    """

    mean_moved_ns_max: int
    """The most by which they can have moved the mean of a time."""

    measured_ns: int
    """Length of the measured part."""

    moved: list[str]
    """Figures of times that they can have moved: percentiles by name, and `max`. All others hold."""

    requests_share_max: float
    """The largest share of the requests that can have been late for them."""

    seconds: list[tuple[float, float]]
    """Seconds of the run, from and to, in which a worker was stopped or kept from its processor: at most
    a hundred stretches.
    """

    stolen_ns: int = 0
    """Time that the machine's host took from the processors of a worker, at most; 0 if that is within
    the error of the kernel's count.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlySummary:
    """Handshakes with which a request was sent (early data, RFC 8446 section 2.3)."""

    accepted_share: float
    """The part of the handshakes in which a request went and the server took it."""

    rejected_share: float
    """The part of the handshakes in which a request went that the server passed over, so that it was
    sent again.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimateSummary:
    """The product-limit estimate of one of the five times (Kaplan and Meier 1958), from the times of
    successful requests and the ages of those that were given up (timed out) or still open at the end
    of the run.
    """

    censored: int
    """Requests of which only an age is known."""

    mean: EstimatedTime
    """The mean; a lower bound is the mean restricted to the largest age."""

    quantiles: list[EstimatedQuantile]
    """The percentiles that every timing has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimatedQuantile:
    """A percentile of an estimate."""

    is_lower_bound: bool
    """True if the number is only known to be more than that."""

    name: str
    """Name, such as "p99.9"."""

    value_ns: int
    """The time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimatedTime:
    """A number of an estimate."""

    is_lower_bound: bool
    """True if the number is only known to be more than that."""

    value_ns: int
    """The time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventsSummary:
    """Streams of events in a part of the run."""

    events: int
    """Events that came in this part."""

    events_per_s: float | None = None
    """Events a second; null for a part that took no time."""

    left: int
    """Streams that their users left while they went on: their events count, and their length is no
    response time.
    """

    streams: int
    """Replies that are streams of events, of requests that were on their way at some time in this part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhausted:
    """Something that gave out."""

    cause: Cause
    """The resource that gave out."""

    in_words: str
    """All of this in words."""

    limit: float | None = None
    """Limit in the unit of the value; null if there is none."""

    name: str
    """The process, thread, listener, disk or interface; empty if it was the tier or the machine as a
    whole.
    """

    readings: int
    """The number of readings in which it held."""

    second: int
    """The second from which it held, since the start of the run, as in `monitors.parquet`."""

    tier: str
    """The tier of the resource, or empty."""

    value: float
    """The value read meanwhile: the mean of shares and processors, the largest of counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureSummary:
    """Requests that failed in one way: of sessions, and others of which more is known than the outcome."""

    cause: str | None = None
    """The cause: a rule that what came does not keep to, or a code and who sent it; null where no more
    is known than the outcome.
    """

    count: int
    """Requests due in the measured part."""

    first_ns: int | None = None
    """Instant at which the first of these failed, from the beginning of the run."""

    instead: str | None = None
    """The unexpected value at the first failure, or the peer's words, in one line."""

    last_ns: int | None = None
    """Instant at which the last of them failed."""

    outcome: str
    """Outcome of the requests."""

    state: str
    """The state that the user was in; empty where users are in no states."""

    what: str | None = None
    """The subject of the failure: a check or an extraction as the scenario writes it, or the path of an
    embedded object; null where the outcome says all.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowSummary:
    """The measured part of one flow of users."""

    first_request: int
    """The number of the first of its requests in samples."""

    name: str
    """Name of the flow."""

    requests: int
    """The number of its requests that are distinguished."""

    share: float | None = None
    """Share of the flow in all requests that were due; null if none was."""

    steady: PartSummary
    """Measurements of the flow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratorSummary:
    """The generator itself."""

    arrivals: ArrivalsSummary | None = None
    """The arrivals of an open load; null in a closed loop."""

    cpu_ns: int
    """Processor time of all workers in the steady part."""

    datagrams_lost: int = 0
    """Datagrams that found no room in the receive buffers of the generator's sockets, over the whole
    run: to QUIC they are lost as on a path.
    """

    in_system_mean: float | None = None
    """Requests in the system on average over the steady part, counted while running: Little's L."""

    lateness: TimingSummary | None = None
    """Lateness of scheduled wakes."""

    loop_lag: TimingSummary | None = None
    """Durations of turns of the event loops."""

    placement: str | None = None
    """The placement on processors and its reason, in words; null if none was chosen."""

    plane: str
    """The plane that carried the bytes."""

    processors: list[int]
    """Processors the workers were bound to."""

    samples_lost: int
    """Samples lost."""

    worker_busy: list[float]
    """The share of its time that each worker computed."""

    writer_stalls: int
    """Number of times that a worker waited for the collector of samples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandshakeCpu:
    """Processor time that handshakes took the generator."""

    each_ns: int
    """The time of all, those that failed included, for each that was over, in nanoseconds."""

    worker_share: float
    """The largest share of a worker's time that handshakes took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandshakesSummary:
    """Handshakes of TLS that were over in the measured part, whatever became of the requests that began
    them.
    """

    cpu: HandshakeCpu | None = None
    """The processor time that they took the generator; absent in virtual time, where they take none."""

    early: EarlySummary | None = None
    """Early data; absent if none was sent."""

    per_s: float
    """Handshakes a second."""

    resumed_share: float
    """The part of them that resumed an earlier session of the user's."""

    time: TimingSummary
    """From the connection's end of its own handshake to the end of this one."""

    tls13_share: float
    """The part of them of TLS 1.3; the others are of TLS 1.2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """Description of the run."""

    farfield: str
    """The version of farfield."""

    load: LoadKind
    """The model of users."""

    load_words: str
    """The model with its parameters: "open loop, Poisson, 5000/s"."""

    note: str | None = None
    """The user's note on the run; absent without one."""

    path: str | None = None
    """The path between clients and the server and the congestion control of TCP at its ends, in words;
    absent in runs of older versions.
    """

    scenario: str
    """The scenario's name."""

    seed: int
    """Seed of all random streams."""

    started_at: str
    """The wall-clock time of the start, in RFC 3339."""

    target: str
    """The target: a URL, or several in a few words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSummary:
    """The measured part of one host that users ask."""

    name: str
    """Name of the host."""

    share: float | None = None
    """Share of the host in all requests that were due; null if none was."""

    steady: PartSummary
    """Measurements of the host."""

    url: str
    """Scheme, name or address, and port."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Http2Summary:
    """Requests over HTTP/2."""

    refused: int
    """Times that the server refused a request without processing it and it was sent again, over the
    whole run; over HTTP/3 as well.
    """

    requests: int
    """Requests that ended in the measured part."""

    stalled_mean_ns: float | None = None
    """The time that these waited on average, in nanoseconds; null if there were none."""

    stalled_requests: int
    """Requests whose body waited for the server to allow more of it (flow control)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSummary:
    """The versions of HTTP in the measured part."""

    alternatives: AlternativesSummary | None = None
    """Attempts at HTTP/3 that a server's Alt-Svc led to, over the whole run; null where there were none."""

    unknown: int
    """Requests that ended in the measured part before a version was agreed on: most of them had no
    connection.
    """

    versions: list[VersionSummary]
    """Requests that ended in the measured part, for each version that was spoken, the oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkStats:
    """A link that clients share, in one direction. Its packets are those of clients and of cross
    traffic.
    """

    bits_per_second: float | None = None
    """Bits a second that it can carry, in the mean of its trace if it has one; null if nothing limits
    it.
    """

    bytes: int
    """Bytes that it carried, with what it adds to each packet."""

    delay_ns: int
    """Propagation delay."""

    dropped: int
    """Packets that its queue dropped."""

    from_: str
    """The node where it begins. Where a scenario draws no topology, `clients` is behind clients' own
    links, and `network` is where the first server is.
    """

    load: float | None = None
    """The share of what it can carry that it did carry, over the whole run with its warm-up and its
    drain; null if nothing limits it.
    """

    lost: int
    """Packets that the wire lost."""

    marked: int = 0
    """Packets of these that its queue marked with congestion (RFC 3168)."""

    packets: int
    """Packets that it carried."""

    refused: int
    """Packets that it did not take: too big for it, or it was closed."""

    to: str
    """The node where it ends."""


#: The model of load.
LoadKind = Literal["closed", "open", "hybrid", "overload", "flows"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkDrops:
    """Packets that a network did not deliver, by cause: the network's doing, as the scenario asks."""

    damaged: int
    """Damaged on the way and refused by the client."""

    delayed: int
    """Dropped by CoDel or FQ-CoDel for their delay."""

    early: int
    """Dropped early by RED, PIE or FQ-PIE."""

    expired: int
    """Ran out of hops."""

    lost: int
    """Lost on the wire."""

    nobody: int
    """For an address that no client has."""

    queue_full: int
    """Found a queue full."""

    too_big: int
    """Too big for a link."""

    unreachable: int = 0
    """Before a link that took no packets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkSummary:
    """The emulated network."""

    arrival_lateness: TimingSummary | None = None
    """Lateness of packets delivered to clients."""

    capture_drops: int
    """Packets that capturing lost."""

    clients: int
    """Clients."""

    connections_broken_by_moves: int = 0
    """Connections that ended when their client moved: those of TCP, and of QUIC in their handshake."""

    cross_traffic: list[CrossTrafficStats] = field(default_factory=list)
    """Flows of cross traffic on the links that clients share, which are nobody's requests."""

    crossing_lateness: TimingSummary | None = None
    """Lateness of packets taken over from other shards; null if shards share no links."""

    delivery_lateness: TimingSummary | None = None
    """Wait of packets before the server's kernel received them, by probes; null if it had none."""

    departure_lateness: TimingSummary | None = None
    """Lateness of packets sent to the server."""

    drops: NetworkDrops
    """Packets that the network did not deliver: the scenario's doing."""

    gateway: str | None = None
    """The gateway's device; null if the server is a model."""

    gateway_overruns: int
    """Packets that the gateway lost: the emulator's fault."""

    migrated_connections: int = 0
    """Connections of QUIC that went on when their client moved to another access network."""

    packets_down: int
    """Packets taken from it."""

    packets_up: int
    """Packets handed to the server."""

    pickup_lateness: TimingSummary | None = None
    """Wait of packets from the server's kernel until their shard read them, at most; null if there were
    none.
    """

    programs: list[ProgramSummary] = field(default_factory=list)
    """Real programs beside the users."""

    refused_by_server: int = 0
    """Packets that the server's kernel refused, since its receive work was behind: the doing of a
    server's machine that is full.
    """

    round_trip_ns_largest: int
    """The round trip of the farthest client."""

    round_trip_ns_least: int
    """The unloaded round trip of the nearest client."""

    shards: int
    """Shards that they were dealt out over."""

    topology: TopologyStats = field(default_factory=lambda: TopologyStats(attached=[], clients_left_out=0, links=[], links_left_out=0, servers=[]))
    """Links that clients share, and what is at their ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoInterval:
    """The reason why a number has no interval, and what it would take."""

    needs_ns: int | None = None
    """About how long a measured part would need to be for an interval, to two digits; null if that is
    not known.
    """

    reason: NoIntervalReason
    """Why."""


#: Why a number has no interval.
NoIntervalReason = Literal[
    "too-few",
    "too-correlated",
    "too-few-sessions",
    "too-short",
    "not-kept",
    "not-ended",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeCount:
    """Number of requests with one outcome."""

    count: int
    """Number of requests."""

    fault: str
    """Party at fault: "none", "server", "network", "client" or "protocol"."""

    name: str
    """The outcome's name: "timed-out"."""

    share_interval: tuple[float, float] | None = None
    """The 95 % confidence interval of its share of the requests; null if there is none, as of paths, and
    where the error share has none.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PagesSummary:
    """The pages that were due in the measured part and are over: what users asked for, with all that it
    led to.
    """

    completed: int
    """Pages without a failure."""

    failed: int
    """Pages with a request that failed."""

    html_latency: TimingSummary | None = None
    """From when a page was due to the first byte of the last object that came; null if none was
    completed.
    """

    requests_mean: float
    """Requests a page that is over, on average."""

    response: TimingSummary | None = None
    """From when a page was due to the end of its last request; null if none was completed."""

    unfinished: int = 0
    """Pages that were not over at the end of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartOfRun:
    """One part, in the summary of the whole."""

    cause: str | None = None
    """The check that made it invalid, of several the first cause; null if it was valid."""

    clock_error_ns: int | None = None
    """Nanoseconds by which that may be wrong."""

    clock_offset_ns: int | None = None
    """Nanoseconds by which its machine's wall clock was ahead of the gatherer's, and was corrected for;
    null where clocks were not compared.
    """

    directory: str
    """Run directory of the part."""

    part: str
    """The part: `2/3`, or `3..5/16`."""

    requests: int
    """Requests that were due in its measured part."""

    skew_ns: int | None = None
    """Nanoseconds by which it started after the first, by the machines' wall clocks as far as these were
    compared, and by which its own clock was set meanwhile; null in virtual time.
    """

    valid: bool
    """True if its own verdict was that it is valid."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartSummary:
    """The warm-up or the steady part."""

    begun: int
    """Requests due for which the client acted at all."""

    error_share: float | None = None
    """Share of requests that went wrong, those among them that were unfinished at the end of the run;
    null without requests. Where the scenario says so (`run.unfinished`), unfinished ones are left
    out.
    """

    error_share_interval: tuple[float, float] | None = None
    """The 95 % confidence interval of the error share; null if there is none."""

    estimates: Timings2 = field(default_factory=lambda: Timings2(connect=None, event_gap=None, first_event=None, reply=None, response=None, service=None, transfer=None))
    """The times, estimated with the requests that were given up or still open at the end of the run
    (Kaplan and Meier 1958); null for a time without censored values.
    """

    events: EventsSummary | None = None
    """Replies that are streams of events; null if there were none."""

    no_error_share_interval: NoInterval | None = None
    """Why the error share has no interval; null if it has one, and in a summary by an older farfield."""

    outcomes: list[OutcomeCount]
    """Outcomes of the requests; only those that occurred."""

    rates: Rates | None = None
    """Rates; null for a part that took no time."""

    requests: int
    """Requests due in this part."""

    stalls: StallsSummary | None = None
    """Replies in the midst of which nothing came for long; null if there were none."""

    statuses: list[StatusCount] = field(default_factory=list)
    """Status codes of replies to them, in order; only those that occurred."""

    times: Timings
    """The times of successful requests, and of all connections; null where none was measured."""

    unfinished: TimingSummary | None = None
    """Ages, from due to the end of the run, of the requests that were still open then; null if there
    were none.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PathSummary:
    """The requests of the measured part for one path, without its query."""

    error_share: float | None = None
    """Share of requests that went wrong, as in the whole of the part; null without requests."""

    numbers: list[int] = field(default_factory=list)
    """Numbers of its requests in the request set, as the column `request` of the samples has them: at
    most the first twenty. Empty of the further paths, and in a summary by an older farfield.
    """

    outcomes: list[OutcomeCount]
    """Outcomes of the requests; only those that occurred."""

    path: str
    """The path; "(further paths)" stands for all that have no row of their own."""

    requests: int
    """Requests due."""

    statuses: list[StatusCount]
    """Status codes of replies to them, in order; only those that occurred."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phases:
    """The length of each phase."""

    drain_ns: int
    """From the end of the measured part until the last worker had nothing more to wait for."""

    ended_early: bool = False
    """True if the run was over before the end that was asked for, by count or since it was stopped: the
    measured part is closed then, with the last instant in it, and otherwise half open.
    """

    steady_ns: int
    """The measured part, as far as it went."""

    warm_up_ns: int
    """From the start to the measured part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramSummary:
    """A real program in the place of a client, beside the users. Its requests are in no other figure of
    the summary.
    """

    address: str
    """The client's address."""

    class_: str
    """The client's class."""

    code: int | None = None
    """Exit code of the program, or 128 and the number of the signal that ended it; null if it ran until
    the run was over, and was ended then.
    """

    command: str | None = None
    """The command; null for the user's shell."""

    cut_off: bool
    """True if the program's interface vanished during the run."""

    ended_ns: int | None = None
    """End of the program, since the start of the run; null if it ran until the run was over."""

    lateness: TimingSummary | None = None
    """Lateness of the packets that came to it; null if none did."""

    log: str | None = None
    """The file in the run directory with what it printed; null where that is not kept."""

    packets_down: int
    """Packets that came to it."""

    packets_up: int
    """Packets that its kernel sent."""

    refused: int
    """Packets that its kernel did not take, or that were malformed or from an address not its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileSummary:
    """A percentile."""

    interval_ns: tuple[int, int] | None = None
    """The 95 % confidence interval, which allows for correlated requests; null if there is none."""

    name: str
    """Name, such as "p99.9"."""

    no_interval: NoInterval | None = None
    """Why there is no interval; null if there is one, and in a summary by an older farfield, whose
    intervals took requests for independent.
    """

    value_ns: int
    """Value of the percentile, above the true one by less than 0.1 %."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """Events a second, each counted in the part in which it happened."""

    body_bytes_per_s: float
    """Bytes of bodies."""

    completed_interval_per_s: tuple[float, float] | None = None
    """The 95 % confidence interval of the rate of whole replies; null if there is none, as in a summary
    by an older farfield.
    """

    completed_per_s: float | None = None
    """Replies that came as a whole, whatever their status; null in a summary by an older farfield, which
    counted those with success alone.
    """

    connects_per_s: float
    """Attempts to connect."""

    ended_per_s: float
    """Requests that ended in any way."""

    no_succeeded_interval: NoInterval | None = None
    """Why that rate has no interval; null if it has one, and in a summary by an older farfield."""

    offered_interval_per_s: tuple[float, float] | None = None
    """The 95 % confidence interval of the rate of requests due; null if there is none, as in a summary
    by an older farfield.
    """

    offered_per_s: float
    """Requests due."""

    reply_bytes_per_s: float
    """All bytes of replies."""

    sent_per_s: float
    """Requests sent."""

    succeeded_interval_per_s: tuple[float, float] | None = None
    """The 95 % confidence interval of the rate of success; null if there is none."""

    succeeded_per_s: float
    """Whole replies with success."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReuseClass:
    """Connections that carried `from` to `to` requests."""

    connections: int
    """Connections in it."""

    from_: int
    """The fewest requests of this class."""

    to: int
    """The most requests of this class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunClock:
    """The run's clock beside the wall clock (`CLOCK_REALTIME`) of the same machine: an instant of the
    run is `start_unix_ns` later since 1970.
    """

    drift_ns: int
    """Nanoseconds by which the wall clock has advanced more than the run's clock from the start to the
    end: other than about zero only if somebody set it.
    """

    start_unix_ns: int
    """Wall-clock time of the start of the run, in nanoseconds since 1970, to a tenth of a microsecond."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondAside:
    """A second of the measured part that is set aside."""

    disturbances: list[str]
    """The disturbances of the machine: `stopped`, `held`, `stolen`."""

    from_ns: int
    """Beginning of the second, in nanoseconds since the start of the run."""

    to_ns: int
    """End of the second, or of the measured part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerLimits:
    """Limits of a server and their effects, over the whole run."""

    cpu: float | None = None
    """Processor time a second, in processors; null if it was not limited."""

    memory_bytes: int | None = None
    """Bytes of memory; null if it was not limited."""

    memory_bytes_max: int | None = None
    """The most that it held at once; null if the kernel does not say."""

    oom_kills: int
    """Processes of the server that the kernel killed because its memory was used up."""

    period_ns: int | None = None
    """The period over which that is counted."""

    periods: int
    """Periods in which the server had something to do."""

    throttled_ns: int
    """Time for which it was throttled, added up over processors."""

    throttled_periods: int
    """Periods in which it used up its time and was kept from running (throttled)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionsSummary:
    """The sessions that began in the measured part, each counted by what became of it."""

    begun: int
    """Sessions whose first page was due in the measured part."""

    broken_off: int
    """Number of those that a failure ended."""

    broken_off_in: list[BrokenOffIn]
    """The states that sessions were broken off in, in order; only those where one was."""

    completed: int
    """Number of those that were completed."""

    duration: TimingSummary | None = None
    """From when the first page of a completed session was due to the end of its last; null if none was
    completed.
    """

    mean_length_ns: int | None = None
    """Mean length of a session, those that were open at the end of the run included; null if there are
    none, and in a summary by an older farfield. Where sessions arrive by themselves, a run must be 50
    times as long for intervals of times and rates.
    """

    unfinished: int
    """Number of those that were open at the end of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SetAsideSummary:
    """Seconds of the measured part that were set aside, by choice (`run.set-aside`)."""

    asked_ns: int
    """The undisturbed time that was asked for: `run.duration`."""

    failed: int
    """Requests set aside that ended otherwise than well."""

    left_ns: int
    """The time that is left, of which the figures are."""

    requests: int
    """Requests that were due in them, which no figure has."""

    requests_share: float | None = None
    """Share of the requests set aside in all that were due in the measured part; null if none was."""

    response: TimingSummary | None = None
    """Response times of those that went well; null if there are none."""

    seconds: list[SecondAside]
    """The seconds that are set aside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SettlingSummary:
    """Where response times settle and end, and what they do between."""

    end_ns: int
    """Before the end of the load, the stretch at whose beginning they began to differ again; 0 if they
    did not.
    """

    first_half_ns: int | None = None
    """The mean response time of the successful requests that were due in the first half of the measured
    part; null if there were none.
    """

    second_half_ns: int | None = None
    """And in the second half."""

    settled_ns: int | None = None
    """From the start of the load until response times had settled, by the marginal standard error rule;
    null if they had not by its middle.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StageSummary:
    """A stage of the load, as far as it lies in the measured part."""

    course: str
    """The course of the load in it, in words: "0 to 100 users"."""

    from_ns: int
    """Begin of the stage, on the run's clock."""

    name: str
    """Name of the stage."""

    steady: PartSummary
    """Measurements of the stage."""

    to_ns: int
    """End of the stage, on the run's clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StallsSummary:
    """Replies in the midst of which nothing came for long: no event of a stream of events, no byte of
    another.
    """

    limit_ns: int
    """The longest gap that is no stall: `events.stall`."""

    longest_ns: int
    """The longest gap."""

    replies: int
    """Replies that stalled: of requests due in this part, and of streams from before it that stalled in
    it.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StateSummary:
    """A state of sessions: its own requests that were due in the measured part, and the redirects that
    these led to.
    """

    error_share: float | None = None
    """Share of requests that went wrong, as in the whole of the part; null without requests."""

    error_share_interval: tuple[float, float] | None = None
    """The 95 % confidence interval of the error share; null if there is none."""

    name: str
    """Name of the state."""

    no_error_share_interval: NoInterval | None = None
    """Why the error share has no interval; null if it has one, and in a summary by an older farfield."""

    outcomes: list[OutcomeCount]
    """Outcomes of the requests; only those that occurred."""

    requests: int
    """Requests due."""

    requests_interval_per_s: tuple[float, float] | None = None
    """The 95 % confidence interval of that rate; null if there is none."""

    requests_per_s: float | None = None
    """Requests due a second; null in a summary by an older farfield, and of a part that took no time."""

    response: TimingSummary | None = None
    """Response times of those that went well; null if there are none."""

    statuses: list[StatusCount] = field(default_factory=list)
    """Status codes of replies to them, in order; only those that occurred."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusCount:
    """A status code, and how many replies had it."""

    count: int
    """Number of replies."""

    status: int
    """The code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdResult:
    """The result of a threshold."""

    beyond_share: float | None = None
    """The share of times beyond the limit, of a percentile; null of any other metric, and where there
    was nothing to measure. Unlike the percentile it is right on average however short a run is.
    """

    interval: tuple[float, float] | None = None
    """The 95 % confidence interval of the number found; null if there is none, as in a run that goes on."""

    is_lower_bound: bool = False
    """True if the number is only known to be more than that."""

    limit: float
    """The number it was compared with."""

    measured: float | None = None
    """The number found; absent where there was nothing to measure."""

    passed: bool
    """True if the threshold was kept."""

    requests: int | None = None
    """The requests that it is of: all, or those of its class; null in runs by earlier farfields."""

    text: str
    """The threshold, as it was written."""

    unit: Unit
    """The unit of all these numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimingSummary:
    """Statistics of one of the five times, or of one of the generator's own."""

    clamped: int
    """Number of values above 24 hours, which count as 24 hours."""

    count: int
    """Number of values."""

    max_ns: int
    """The longest."""

    mean_interval_ns: tuple[int, int] | None = None
    """The 95 % confidence interval of the mean; null if there is none."""

    mean_ns: int
    """The mean."""

    min_ns: int
    """The shortest."""

    no_mean_interval: NoInterval | None = None
    """Why the mean has no interval; null if it has one, and in a summary by an older farfield."""

    quantiles: list[QuantileSummary]
    """The percentiles p50, p90, p95, p99, p99.9 and p99.99, by nearest rank."""

    sd_ns: int | None = None
    """The sample standard deviation; null for one value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """One `T` for each of the times."""

    connect: TimingSummary | None = None
    """From begun to established."""

    event_gap: TimingSummary | None = None
    """From one event of a stream to the next."""

    first_event: TimingSummary | None = None
    """From due to the first event, of streams of events."""

    reply: TimingSummary | None = None
    """From sent to the first byte of the reply."""

    response: TimingSummary | None = None
    """From due to done."""

    service: TimingSummary | None = None
    """From sent to done."""

    transfer: TimingSummary | None = None
    """From the first byte of the reply to its last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings2:
    """One `T` for each of the times."""

    connect: EstimateSummary | None = None
    """From begun to established."""

    event_gap: EstimateSummary | None = None
    """From one event of a stream to the next."""

    first_event: EstimateSummary | None = None
    """From due to the first event, of streams of events."""

    reply: EstimateSummary | None = None
    """From sent to the first byte of the reply."""

    response: EstimateSummary | None = None
    """From due to done."""

    service: EstimateSummary | None = None
    """From sent to done."""

    transfer: EstimateSummary | None = None
    """From the first byte of the reply to its last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopologyStats:
    """The links that clients share, over the whole run, and what is at their ends."""

    attached: list[AttachedStats]
    """Nodes at which clients' own links end: at most 256 groups of clients, the largest."""

    clients_left_out: int
    """Clients of further groups."""

    links: list[LinkStats]
    """Links, each in one direction: those that carried the most, at most 256, in the scenario's order."""

    links_left_out: int
    """Further links, which are not among them."""

    servers: list[str]
    """Nodes at which servers are."""


#: Unit of a measured number and its limit.
Unit = Literal["ns", "share", "count", "per_second"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """All checks of a run."""

    changed_limits: list[ChangedLimit] = field(default_factory=list)
    """Limits that the scenario changed: what the verdict was compared with instead of the defaults."""

    checks: list[Check]
    """The checks, in a fixed order: what may be the cause of another's failure stands before it."""

    disturbed: Disturbed | None = None
    """Effects of workers' stalls and of the machine's host on the run, and the figures that they can
    have moved; null if there were no long stalls, and too little was taken to move a percentile.
    """

    valid: bool
    """True if no check failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionSummary:
    """Requests over one version of HTTP."""

    requests: int
    """Requests that ended in the measured part."""

    stalled_mean_ns: float | None = None
    """The time that these waited on average, in nanoseconds; null if there were none."""

    stalled_requests: int
    """Requests whose body waited for the server to allow more of it (flow control); of versions without
    streams 0.
    """

    version: str
    """The version: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebSocketsSummary:
    """WebSockets of users (RFC 6455) and the messages on them, over the whole run."""

    closed: int = 0
    """WebSockets that the server closed ahead of their user."""

    lost: int = 0
    """Messages that came while nothing was awaited, and were forgotten for others that came later."""

    opened: int = 0
    """WebSockets that were opened."""

    passed_over: int = 0
    """Messages that came and were not what a state awaited."""

    received: int = 0
    """Messages that came."""

    sent: int = 0
    """Messages that users sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A whole run."""

    bottleneck: Bottleneck | None = None
    """The first resource to give out, as far as the server was monitored; null if nothing was read of
    it.
    """

    captures: list[CaptureStats] = field(default_factory=list)
    """Captures of packets; empty if none was asked for."""

    classes: list[ClassSummary] = field(default_factory=list)
    """The measured part of each class of clients; empty where there are no classes."""

    clock: RunClock | None = None
    """The run's clock beside the wall clock, by which packets are assigned to samples; null in virtual
    time, and as long as the run goes on.
    """

    complete: bool
    """False for a run in progress, and for one that was interrupted or killed."""

    conditions: list[StageSummary] = field(default_factory=list)
    """The parts of the run between changes of its network, as far as they lie in the measured part;
    empty where it does not change. `course` is what begins with each.
    """

    connections: ConnectionsSummary
    """The connections."""

    content: ContentSummary | None = None
    """Content that was decoded; null if none was."""

    drained_requests: int
    """Requests due after the measured part."""

    failures: list[FailureSummary] = field(default_factory=list)
    """Failures in sessions, and causes of other failed requests where more is known than their outcome,
    the most frequent first: at most a hundred kinds of failures.
    """

    failures_file: str | None = None
    """The file in the run directory with the first of these failures, in sessions each with its request
    and reply; null if there is none.
    """

    flows: list[FlowSummary] = field(default_factory=list)
    """The measured part of each flow of users; empty where there are no several."""

    generator: GeneratorSummary
    """The generator itself."""

    handshakes: HandshakesSummary | None = None
    """Handshakes of TLS in the measured part; null if there were none."""

    heading: Heading
    """Description of the run."""

    hosts: list[HostSummary] = field(default_factory=list)
    """The measured part of each host, by its number in samples; empty where users ask one alone."""

    http: HttpSummary | None = None
    """The versions of HTTP that were spoken; null if none was."""

    http2: Http2Summary | None = None
    """Requests over HTTP/2; null if there were none."""

    incomplete_reason: str | None = None
    """The reason why it is not complete."""

    network: NetworkSummary | None = None
    """The emulated network; null on a plane that has none."""

    pages: PagesSummary | None = None
    """The pages of the measured part; null if pages are not tracked."""

    parts: list[PartOfRun] = field(default_factory=list)
    """The parts of a run that several processes made; empty for one that was made by one."""

    paths: list[PathSummary] = field(default_factory=list)
    """The paths that requests of the measured part were for, without queries: the hundred with most
    requests, and the others together; empty where all were for one, and where users are in sessions
    with states.
    """

    phases: Phases
    """Lengths of the phases."""

    schema_version: int
    """The version of this schema."""

    series_file: str | None = None
    """The file in the run directory with a row for each second; null if there is none."""

    server_limits: ServerLimits | None = None
    """Limits of the server's processor time and memory, and their effects; null if it has none."""

    sessions: SessionsSummary | None = None
    """The sessions that began in the measured part; null where there were none in the whole run."""

    set_aside: SetAsideSummary | None = None
    """The seconds set aside of the measured part; absent where none were to be (`run.set-aside`)."""

    settling: SettlingSummary | None = None
    """When response times settled after the start of the load, and what they did then; null where there
    were too few requests to say, and in a summary by an older farfield.
    """

    stages: list[StageSummary] = field(default_factory=list)
    """The stages of the load, as far as they lie in the measured part; empty where it has none."""

    states: list[StateSummary] = field(default_factory=list)
    """The states of sessions in the measured part, in order; empty where users are in no sessions with
    states.
    """

    steady: PartSummary
    """The measured part."""

    thresholds: list[ThresholdResult]
    """The thresholds, and whether the server kept them."""

    verdict: Verdict
    """The verdict: whether the results are valid."""

    warm_up: PartSummary
    """The part before it."""

    warnings: list[str]
    """Warnings for the reader, one sentence each."""

    websockets: WebSocketsSummary | None = None
    """WebSockets and the messages on them; null if none was opened."""
