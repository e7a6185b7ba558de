"""Runs held against each other."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from . import _json
from ._child import Ended
from ._program import program
from ._values import word_of
from ._words import words_of
from .errors import FarfieldError, InvalidRun, ThresholdFailed
from .runs import newest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import CompareKeywords

__all__ = ["Against", "Change", "Comparison", "Condition", "InputChange", "LeftOut", "Row", "Side", "compare"]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A run that is not compared."""

    run: str
    """The name of its directory."""

    reason: str
    """The reason."""


@dataclass(frozen=True, kw_only=True)
class InputChange:
    """A key of the scenario or of the machine that differs."""

    key: str
    """The key, with dots: ``load.users``, ``machine.kernel``."""

    base: str | None = None
    """Its value on the base's side; None if it is absent there."""

    other: str | None = None
    """Its value on the other side."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """A run, or a folder of repeats."""

    name: str
    """The path by which it was named."""

    runs: int
    """Number of valid runs, which are compared."""

    left_out: list[LeftOut]
    """Runs that are not, and the reasons."""

    load: str
    """The load, in words."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change, as a ratio less 1; of shares, a difference."""

    by: float
    """The change."""

    low: float
    """The lower end of its interval."""

    high: float
    """The upper end."""

    p_value: float
    """The probability of a change of at least this size, if there were none."""

    differs: bool
    """True if a difference is shown, also with all other metrics considered (Holm 1979)."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A metric on both sides."""

    metric: str
    """The metric, such as ``p99``."""

    base: float | None = None
    """Its value on the base's side, in the mean over the runs; None if no run has it."""

    other: float | None = None
    """Its value on the other side."""

    change: Change | None = None
    """The change; None if nothing is known of it."""

    unknown: str | None = None
    """The reason why nothing is known of the change."""


@dataclass(frozen=True, kw_only=True)
class Against:
    """A side compared with the base."""

    side: Side
    """The side."""

    evidence: str
    """The basis of the intervals: ``repeats``, ``pairs``, ``one-against-repeats`` or ``within-runs``."""

    rows: list[Row]
    """A row for each metric."""

    inputs: list[InputChange]
    """Keys of the scenario and of the machine that differ."""

    notes: list[str]
    """Doubts for the reader, one sentence each."""

    def row(self, metric: str) -> Row:
        """Return the row of a metric. Raises FarfieldError if it was not compared."""
        for row in self.rows:
            if row.metric == metric:
                return row
        had = ", ".join(row.metric for row in self.rows)
        raise FarfieldError(f"{metric} was not compared; {had} were: compare(…, metric={metric!r})")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A limit on a change (``fail_if``)."""

    condition: str
    """The condition."""

    judgements: list[str]
    """``kept``, ``exceeded`` or ``undecided``, for each other side."""


@dataclass(frozen=True, kw_only=True)
class _Compared:
    level: float
    base: Side
    others: list[Against]


@dataclass(frozen=True, kw_only=True)
class _Document:
    comparison: _Compared
    conditions: list[Condition]


class Comparison:
    """Sides compared with the first of them."""

    def __init__(self, words: list[str], document: _Document, exit_code: int) -> None:
        self._words = words
        # Names of sides may begin at the working folder of the call.
        self._folder = os.getcwd()
        #: Probability of the intervals.
        self.level = document.comparison.level
        #: The side that the others are compared with.
        self.base = document.comparison.base
        #: The other sides, in the order in which they were named.
        self.others = document.comparison.others
        #: The conditions of ``fail_if``.
        self.conditions = document.conditions
        #: 0; 99 if a condition was exceeded, 3 if one is undecided.
        self.exit_code = exit_code

    @property
    def exceeded(self) -> bool:
        """True if a condition of ``fail_if`` was exceeded."""
        return self.exit_code == 99

    @property
    def undecided(self) -> bool:
        """True if a condition is undecided, and none exceeded: more repeats would decide."""
        return self.exit_code == 3

    @property
    def sides(self) -> list[Side]:
        """The base and the others."""
        return [self.base, *(against.side for against in self.others)]

    def raise_if_invalid(self) -> Comparison:
        """Return the comparison if each side has a valid run. Raises InvalidRun, with the reasons."""
        for side in self.sides:
            if side.runs == 0:
                reasons = "; ".join(f"{one.run}: {one.reason}" for one in side.left_out) or "there is none"
                raise InvalidRun(f"{side.name} has no valid run to compare: {reasons}")
        return self

    def raise_if_failed(self) -> Comparison:
        """Return the comparison if each side has a valid run, and each condition of ``fail_if`` is kept.

        Raises InvalidRun, also for a condition that is undecided, and ThresholdFailed for one that was exceeded.
        """
        self.raise_if_invalid()
        for word, kind in (("exceeded", ThresholdFailed), ("undecided", InvalidRun)):
            names = [
                f"{condition.condition} is {word} for {against.side.name}"
                for condition in self.conditions
                for judgement, against in zip(condition.judgements, self.others)
                if judgement == word
            ]
            if names:
                more = "; more repeats would decide" if word == "undecided" else ""
                raise kind(f"{', '.join(names)}, against {self.base.name}{more}")
        return self

    def row(self, metric: str) -> Row:
        """Return the row of a metric of the first other side."""
        return self.others[0].row(metric)

    @functools.cached_property
    def markdown(self) -> str:
        """The comparison as Markdown."""
        return self._text("markdown")

    @functools.cached_property
    def page(self) -> str:
        """The comparison as a page of HTML."""
        return self._text("html")

    def __str__(self) -> str:
        return self._text("text")

    def _text(self, format: Literal["markdown", "html", "text"]) -> str:
        return _printed(self._words, format, self._folder)[0]

    def _repr_html_(self) -> str:
        from ._html import comparison_html

        return comparison_html(self)


def _printed(
    words: list[str], format: Literal["json", "markdown", "html", "text"], folder: str | None = None
) -> tuple[str, int]:
    command = [program(), "compare", f"--format={format}", *words]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    except OSError as error:
        raise FarfieldError(f"{command[0]} cannot be started in {folder or 'this folder'}: {error}") from error
    text = ended.stdout.decode("utf-8", "replace")
    if ended.returncode not in (0, 3, 99) or not text:
        raise Ended(ended.returncode, ended.stderr.decode("utf-8", "replace"), False).error()
    return text, ended.returncode


def compare(
    base: str | os.PathLike[str],
    *others: str | os.PathLike[str],
    **keywords: Unpack[CompareKeywords],
) -> Comparison:
    """Compare runs, or folders of repeats, with the first: whether they differ, by how much, and how surely.

    ``metric`` adds metrics (``"p99(connect)"``), ``fail_if`` conditions (``"p99 +5%"``): `Comparison.exceeded` and
    `Comparison.undecided` say what became of them, and `Comparison.raise_if_failed` raises it. Raises `InvalidRun` if a
    side has no valid run to compare.
    """
    words = words_of("compare", keywords)
    words += ["--", *(_place(side) for side in (base, *others))]
    text, code = _printed(words, "json")
    try:
        compared = Comparison(words, _json.read(_Document, json.loads(text)), code)
    except ValueError as error:
        raise FarfieldError(f"farfield's comparison cannot be read: {error}") from error
    return compared.raise_if_invalid()


def _place(side: str | os.PathLike[str]) -> str:
    """A text as on the command line, `last` as the run that it is now; else a path."""
    word = word_of(side, "side")
    if not isinstance(side, str):
        return os.path.join(os.curdir, word)
    return str((None if os.path.exists(word) else newest(word)) or word)
