"""The classes of docs/sweep.schema.json.

Written by python/generate.py: change that, or the schema, and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

__all__ = [
    "Claim",
    "ClaimReport",
    "ColumnInfo",
    "Course",
    "Design",
    "Doubt",
    "EachValue",
    "EarlierClaim",
    "EffectChange",
    "EndedDisturbed",
    "EndedFailed",
    "Ended",
    "Factor",
    "Layout",
    "LengthChange",
    "LengthReport",
    "MetricEffects",
    "Need",
    "OriginFactor",
    "OriginInteraction",
    "Origin",
    "PairedChange",
    "PointEstimate",
    "PointReport",
    "Reading",
    "RunRecord",
    "Scale",
    "Setting",
    "Side",
    "Unit",
    "ValidityValid",
    "ValidityOverwhelmed",
    "ValidityInvalid",
    "ValidityTooShort",
    "ValidityStillRising",
    "Validity",
    "Variation",
    "Verdict",
    "SweepReport",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim about a metric."""

    against: list[Setting] | None = None
    """The settings of the points that they are held against; null if the claim is about the number
    itself.
    """

    at: list[Setting]
    """The settings of the points that it is about; of several such points the mean is meant."""

    each: EachValue | None = None
    """The values of a further key, each of which it is about, on both sides; null if it is about one
    number.
    """

    limit: float
    """The limit: in the metric's unit, or as a change: a ratio less 1, or a difference."""

    metric: str
    """The metric."""

    says: str
    """The claim in words."""

    side: Side
    """The side of the limit on which the number or the change is."""

    was: list[EarlierClaim] = field(default_factory=list)
    """The claim as it was before, the latest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimReport:
    """A claim with what was found."""

    blocks: int
    """Blocks that it follows from."""

    claim: Claim
    """The claim."""

    decided_at: Setting | None = None
    """The value that decides, of a claim about each of several: the one at which it fails, or the one
    whose interval is nearest to its limit.
    """

    found: float | None = None
    """The number or the change, at the value that decides; null if nothing is known."""

    interval: tuple[float, float] | None = None
    """The ends of its interval."""

    level: float
    """Probability with which such an interval contains the true number."""

    scale: Scale
    """The scale on which the metric's numbers are compared."""

    verdict: Verdict
    """The verdict on it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnInfo:
    """A number that each run is read for."""

    expression: str
    """The expression that it is computed by."""

    head: str
    """The head of its column in tables, and its name on axes."""

    name: str
    """The name, by which claims and charts ask for it."""

    scale: Scale
    """The scale on which its numbers are compared and averaged."""

    unit: Unit
    """The unit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """The course of response times of a run from its beginning to its end."""

    end_ns: int = 0
    """Before the end of the load, the length of the end at which they differ from the rest; 0 if they do
    not.
    """

    halves_ratio: float | None = None
    """The mean response time of the second half of the measured part over that of the first."""

    settled_ns: int | None = None
    """From the start of the load until they had settled; null if they had not by the middle of the run."""


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


#: Doubt about the interval of a mean.
Doubt = Literal["dependent", "not-normal", "survivors"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EachValue:
    """The values of a key, each of which a claim is about."""

    key: str
    """The key."""

    values: list[str]
    """The key's values, as the points have them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierClaim:
    """A claim as it was before, and what came of it then."""

    says: str | None = None
    """The claim in words; null if the words are the same."""

    seen: str
    """The finding, in words."""

    verdict: str
    """The verdict, in words."""

    why: str = ''
    """Why the claim was changed, or what has changed since; may be empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectChange:
    """A change of a metric with its interval."""

    against: list[Setting]
    """The values that they are held against."""

    by: float
    """A ratio less 1, or a difference; of two values, that beyond what each does alone."""

    differs: bool
    """The change is significant, with all other changes of the metric considered (Holm 1979)."""

    high: float
    """The upper end."""

    low: float
    """The lower end of its interval."""

    p_value: float
    """The probability of a change of at least this size, if there were none."""

    settings: list[Setting]
    """The value, or two values together."""


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
class Factor:
    """A key of the scenario with the values that it takes, each once."""

    key: str
    """The key, such as `network.rtt`."""

    levels: list[str]
    """The factor's values, as they are written; effects are against the first."""


#: Combinations of the factors' values that are points.
Layout = Literal["full", "one-at-a-time", "listed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LengthChange:
    """A change of the runs' lengths."""

    measured_from_ns: int
    """The measured part before, in nanoseconds."""

    measured_to_ns: int
    """The measured part after, in nanoseconds."""

    point: str
    """The point that needed it, in words; empty where there is one point."""

    warm_up_from_ns: int
    """The warm-up before."""

    warm_up_to_ns: int
    """The warm-up after, in nanoseconds."""

    why: str
    """Why, as a clause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LengthReport:
    """Lengths of a sweep's runs."""

    changes: list[LengthChange]
    """Changes of these lengths, in order; empty where the scenario's own lengths do."""

    measured_ns: int
    """The measured part of the runs that count."""

    refused: str | None = None
    """Why the interval that was asked for cannot be had; null if nothing speaks against it."""

    warm_up_ns: int
    """The warm-up of the runs that count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricEffects:
    """Effects of the factors on a metric."""

    blocks: int
    """Blocks that have a run of every point that counts."""

    changes: list[EffectChange]
    """Each value against its factor's first, and each two values together against each alone."""

    metric: str
    """The metric."""

    unknown: str | None = None
    """Why there is nothing."""

    variation: list[Variation]
    """The sources of the metric's variation; empty if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """The need of a metric of a run for an interval of its own."""

    lacks: str
    """The shortfall, as a clause: "p99 of 3 independent requests a run beyond it, of 20"."""

    length_ns: int | None = None
    """About how long the measured part would need to be; null if that is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OriginFactor:
    """One factor."""

    factor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OriginInteraction:
    """Two factors together, beyond what each does alone."""

    interaction: tuple[str, str]

#: Source of variation.
Origin = Union[OriginFactor, OriginInteraction, Literal["higher-interactions", "blocks", "error"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedChange:
    """A metric against the first point."""

    by: float
    """A ratio less 1, or a difference."""

    differs: bool
    """True if there is a change, with all other points of the metric considered (Holm 1979)."""

    interval: tuple[float, float]
    """The ends of its interval (Student's t, of the pairs' differences)."""

    metric: str
    """The metric."""

    p_value: float
    """The probability of a change of at least this size, if there were none."""

    pairs: int
    """Pairs of runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PointEstimate:
    """A mean over the runs of a point, with its interval."""

    doubts: list[Doubt]
    """Reasons to doubt the interval."""

    interval: tuple[float, float] | None = None
    """The ends of its interval; null with fewer than two runs."""

    mean: float | None = None
    """The mean, geometric for ratios; null if no run has the metric."""

    metric: str
    """The metric."""

    narrow: bool | None = None
    """True if the interval is as narrow as was asked; null if that was not asked."""

    scale: Scale
    """The scale on which its numbers are averaged."""

    unknown: str | None = None
    """Why there is no mean, or no interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PointReport:
    """A point with its numbers."""

    against_first: list[PairedChange]
    """Each metric against the first point, by pairs of runs with the same seed; empty for the first."""

    causes: list[str]
    """The checks that they failed, each once."""

    estimates: list[PointEstimate]
    """Each metric's mean over the runs that count."""

    invalid: int
    """Runs that do not."""

    relaxed: list[str] = field(default_factory=list)
    """Checks that runs that count have failed, and that the experiment does without; each once."""

    runs: int
    """Runs that count."""

    settings: list[Setting]
    """The point's settings."""

    warned: int = 0
    """Runs that count and have warnings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The number of a metric in a run."""

    metric: str
    """The metric's name."""

    need: Need | None = None
    """The run's need for an interval of the number of its own; null if it has one."""

    requests: int | None = None
    """Requests that a share of errors is one of; null of other numbers."""

    scale: Scale
    """The scale on which its numbers are compared."""

    unknown: str | None = None
    """Why there is none."""

    value: float | None = None
    """The number, in nanoseconds, a second, or as a share; null if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """A run of a sweep."""

    attempt: int
    """Number of attempts before, which were disturbed."""

    course: Course | None = None
    """The course of its response times; null if that is not known."""

    design: Design
    """The run's place in the experiment."""

    directory: str
    """The run directory, from the folder of the sweep."""

    missed: list[str]
    """Thresholds of the scenario that it did not meet."""

    point: int
    """The number of its point, from 0."""

    readings: list[Reading]
    """A reading for each metric."""

    relaxed: list[str] = field(default_factory=list)
    """Checks that failed, and that the experiment does without."""

    took_s: float
    """Seconds that it took, with start and end."""

    validity: Validity
    """The validity: the run counts only if it is valid."""

    warnings: int = 0
    """Warnings of the run."""


#: Scale on which numbers of a metric are compared.
Scale = Literal["ratio", "difference"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A key with its value at a point."""

    key: str
    """The key."""

    value: str
    """The value, as it is written."""


#: The side of a limit on which a number is claimed to be.
Side = Literal["above", "below", "within"]


#: The unit of a number.
Unit = Literal["time", "rate", "share", "bytes", "byte-rate", "number"]


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
class Variation:
    """The part of the variation that comes from a factor, or from factors together."""

    degrees: int
    """Degrees of freedom."""

    from_: Origin
    """Source of the part."""

    p_value: float | None = None
    """The probability of at least as much of it, if it were error (F test); null for the error."""

    share: float
    """The source's share of the sum of squares."""


#: The verdict on a claim.
Verdict = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepReport:
    """All of a sweep."""

    claims: list[ClaimReport]
    """The claims, each with its verdict."""

    columns: list[ColumnInfo] = field(default_factory=list)
    """The columns that the runs were read for."""

    earlier_runs: list[RunRecord] = field(default_factory=list)
    """Runs of lengths that turned out too short: they decided the length, and count for nothing else."""

    effects: list[MetricEffects]
    """The effects on each metric, of a full design with at least one factor."""

    ended: Ended
    """The way in which it ended."""

    experiment: str
    """The experiment's name."""

    factors: list[Factor]
    """The keys that were varied."""

    layout: Layout
    """The combinations of their values that are points."""

    lengths: LengthReport | None = None
    """The length of the runs that count, and how it was found; null where they are as long as their
    scenario says.
    """

    level: float
    """The probability with which intervals contain the true value."""

    points: list[PointReport]
    """The points, in their order."""

    runs: list[RunRecord]
    """Every run, in the order in which they were planned."""

    schema_version: int
    """The version of this schema."""

    spent_s: float
    """Seconds that all runs took, added up."""

    until: str | None = None
    """The width that intervals were to reach, in words; null if that was not asked."""
