"""The classes of docs/capacity.schema.json.

Written by python/generate.py: change that, or the schema, and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

__all__ = [
    "AnswerFound",
    "AnswerAtLeast",
    "AnswerLessThan",
    "AnswerUndecided",
    "Answer",
    "CurvePoint",
    "Design",
    "EndedDisturbed",
    "EndedFailed",
    "Ended",
    "GeneratorCheck",
    "GoalBounds",
    "GoalReading",
    "Method",
    "Observed",
    "Throughput",
    "TrialRecord",
    "ValidityValid",
    "ValidityOverwhelmed",
    "ValidityInvalid",
    "ValidityTooShort",
    "ValidityStillRising",
    "Validity",
    "CapacityReport",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerFound:
    """The capacity."""

    at_load: float
    """The load at which it was found: of a peak, the one with the most throughput."""

    high: float
    """The upper end."""

    is_: Literal["found"]

    low: float
    """The lower end of its interval."""

    method: Method
    """The method by which both were found."""

    value: float
    """The capacity, in the load's unit; of a peak, successful replies or bytes of bodies a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerAtLeast:
    """No load was reached that the server did not take."""

    because: str
    """Why no more could be offered."""

    generator_full: bool
    """The generator had no more to give."""

    is_: Literal["at-least"]

    value: float
    """The highest load that was taken; of a peak, successful replies or bytes of bodies a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerLessThan:
    """No load kept the goals."""

    is_: Literal["less-than"]

    value: float
    """The lowest load that broke them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerUndecided:
    """Not known within what was asked for."""

    because: str
    """Why no more is known."""

    high: float | None = None
    """The lowest load that broke them, or the upper end; null if there is none."""

    is_: Literal["undecided"]

    low: float | None = None
    """The highest load that kept the goals, or the lower end of an interval; null if there is none."""

#: The answer of a search.
Answer = Union[AnswerFound, AnswerAtLeast, AnswerLessThan, AnswerUndecided]


@dataclass(frozen=True, kw_only=True, slots=True)
class CurvePoint:
    """A load of the curve: all trials with it that count, long and short."""

    achieved_per_s: float | None = None
    """The mean of successful replies a second; null if no trial counts."""

    body_bytes_per_s: float | None = None
    """The mean of bytes of bodies a second; null if no trial counts."""

    error_share: float | None = None
    """The mean share of requests that went wrong."""

    invalid: int
    """Trials that were invalid."""

    kept: int
    """Trials that count and kept the goals."""

    load: float
    """The load."""

    p99_ns: float | None = None
    """The mean of the 99th percentiles of the response time."""

    too_short: int = 0
    """Trials in which too few requests were due to judge by."""

    trials: int
    """Trials that count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """The place of a run in its experiment, as its directory keeps it (`design.json`). Runs with the
    same experiment and repeat number belong together.
    """

    block: int
    """The number of the block, within which the order of runs was drawn; 0 for the first ones, whose
    order follows from their results.
    """

    experiment: str
    """The experiment's name."""

    number: int
    """The run's number among all runs of the experiment, from 1, in the order in which they were made."""

    point: str
    """The point: its load, with the key that sets it."""

    repeat: int
    """The number of the run among those of its point and length, from 1."""

    seed: int
    """The seed of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedDisturbed:
    """No run was valid; the check that failed."""

    disturbed: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedFailed:
    """A run could not be made; a sentence."""

    failed: str

#: Why a search ended.
Ended = Union[EndedDisturbed, EndedFailed, Literal["done", "budget-over", "interrupted"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratorCheck:
    """A load at which one generator is held against two."""

    because: str | None = None
    """Why they do not, or why it is not known, as a clause; null where they get the same."""

    is_same: bool | None = None
    """True if two generators get the same there as one; null where that is not known."""

    load: float | None = None
    """The load; null if none was offered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoalBounds:
    """The bounds of one goal by itself."""

    goal: str
    """The goal."""

    lower: float | None = None
    """The highest load that kept it; null if there is none."""

    upper: float | None = None
    """The lowest load that broke it; null if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoalReading:
    """The result of one goal in a run."""

    allowed_share: float | None = None
    """The share that may be: of a p99, one in a hundred."""

    beyond_share: float | None = None
    """The share of times beyond the limit, of a percentile, and of requests that are of the kind that a
    goal on a share limits; null of any other goal.
    """

    goal: str
    """The goal."""

    kept: bool
    """True if it was kept."""

    margin: float
    """The limit over the number found, at most 4: above 1 where the goal is kept."""

    measured: float | None = None
    """The number found, in nanoseconds or as a share; null if there was nothing to measure."""

    requests: int | None = None
    """The requests that it is of, such as those of its class; null where they are all."""

    requests_needed: int = 0
    """Requests without which its number says nothing: a hundred for a p99."""


#: Method by which an interval was found.
Method = Literal["regression", "bounds", "repeats"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """The result of a run."""

    achieved_per_s: float
    """Successful replies a second."""

    backlog_share: float = 0.0
    """The share of requests due by which those without an answer became more in the measured part, as
    far as that is no accident: the load is more than is served. Zero of a closed load, whose users
    wait.
    """

    body_bytes_per_s: float = 0.0
    """Bytes of bodies a second, of whole replies."""

    directory: str
    """The run directory."""

    end_ns: int = 0
    """At the end of the measured part, the time in which response times differ from the rest; 0 if they
    do not.
    """

    error_share: float | None = None
    """The share of requests that went wrong; null if there were none."""

    gave_out: str | None = None
    """The resource that gave out at the server, in words; null where none did, or nothing was monitored."""

    goals: list[GoalReading]
    """The results of the goals."""

    halves_ratio: float | None = None
    """The mean response time of the second half of the measured part over that of the first; null if
    either had none.
    """

    median_ns: float | None = None
    """The median response time; null if there is none."""

    offered_per_s: float
    """Requests that were due, a second."""

    p99_ns: float | None = None
    """The 99th percentile of the response time; null if there is none."""

    requests: int = 0
    """Requests that were due in the measured part."""

    settled_ns: int | None = None
    """From the start of the load until response times had settled; null if they had not by its middle,
    or if that is not known.
    """

    took_s: float
    """Seconds that it took on the wall clock, with start and end."""

    validity: Validity
    """The validity: the run counts only if it is valid."""

    warm_up_ns: int = 0
    """Length of the warm-up."""


#: The throughput whose maximum a peak is.
Throughput = Literal["requests", "bytes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRecord:
    """One trial with its place, its load and what was observed."""

    design: Design
    """The trial's place in the experiment."""

    length_ns: int
    """Length of the measured part."""

    load: float
    """The load."""

    observed: Observed
    """Observations of the trial."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidityValid:
    """The run counts."""

    is_: Literal["valid"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidityOverwhelmed:
    """The run is invalid because the server did not cope, which is an answer: goals are broken."""

    cause: str
    """The check that failed."""

    is_: Literal["overwhelmed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidityInvalid:
    """The run is invalid because of farfield or its machine, and counts for nothing."""

    cause: str
    """The check that failed first."""

    is_: Literal["invalid"]

    is_full: bool
    """True if the generator itself had no more to give, rather than that something disturbed it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidityTooShort:
    """Too few requests were due in it for its goals: it says nothing of the server, and counts for
    nothing.
    """

    cause: str
    """The shortage, as a clause: "12 requests were due, and p99 takes 100"."""

    is_: Literal["too-short"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidityStillRising:
    """The run's load, of sessions that arrive by themselves, was still becoming more, at whatever rate
    they arrive: what it kept it need not keep in the long run, and it counts for nothing.
    """

    cause: str
    """The time that sessions last, and the way out, as a clause."""

    is_: Literal["still-rising"]

#: The validity of a run: it counts, or it does not, by whose doing.
Validity = Union[ValidityValid, ValidityOverwhelmed, ValidityInvalid, ValidityTooShort, ValidityStillRising]


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityReport:
    """All of a search."""

    answer: Answer
    """The answer."""

    conditional_per_s: float | None = None
    """Successful requests a second at the highest load that kept the goals, in the trial with the
    fewest: the conditional throughput of RFC 9971; null if there is none.
    """

    curve: list[CurvePoint]
    """The loads that were tried, from low to high."""

    ended: Ended
    """Why the search ended."""

    few_beyond: float | None = None
    """Requests that may be beyond a percentile's limit in a trial of those on both sides of the answer,
    where they are fewer than ten and single trials decided: of other trials it would be another. Null
    elsewhere.
    """

    first_budget_ns: int = 0
    """The time for all trials of the search that began, which this one may have gone on with."""

    gave_out: str | None = None
    """The resource that gave out at the server at the loads that broke the goals; null where none is
    known.
    """

    generator: GeneratorCheck | None = None
    """The generator held against two at the load of the answer; null where there is no such answer, its
    limit was known, or the load is made in virtual time.
    """

    goal_bounds: list[GoalBounds]
    """Bounds of each goal by itself."""

    goals: list[str]
    """The goals; empty for a peak."""

    key: str
    """The key that sets the load."""

    length_max_ns: int = 0
    """The length up to which trials with too few requests are lengthened."""

    length_ns: int = 0
    """Length of the measured part of a full trial. A search that goes on with more time keeps it."""

    level: float
    """The probability with which its interval contains the true value."""

    more_time: str | None = None
    """The gain from more time; null where there would be none."""

    overstated_by: float | None = None
    """The share by which the capacity may be too high because trials end before a queue that grows
    slowly has reached the goals' limits; null where that is no more than what was asked for.
    """

    peak_of: Throughput = 'requests'
    """The throughput whose maximum was searched for; without meaning where there are goals."""

    schema_version: int
    """The version of this schema."""

    spent_s: float
    """Seconds that they took."""

    trials: list[TrialRecord]
    """All trials, in the order in which they were made."""

    unit: str
    """The unit of loads: "requests/s", "users"."""
