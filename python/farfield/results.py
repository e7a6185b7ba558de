"""Results of many runs: searches for capacity, sweeps, and fits."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._tables import Table
from .errors import InvalidRun
from .runs import Run, read_document
from .schema.capacity import Answer, AnswerAtLeast, AnswerFound, AnswerLessThan, AnswerUndecided, CapacityReport
from .schema.sweep import PointReport, RunRecord, SweepReport

__all__ = ["Capacity", "Fit", "Sweep"]


@dataclass(frozen=True)
class Capacity:
    """What a server can take, and the trials that say so."""

    #: The folder of the trials.
    directory: Path
    #: The result.
    report: CapacityReport
    #: The result as farfield printed it.
    document: Any

    @property
    def answer(self) -> Answer:
        """The answer: found, at least, less than, or undecided."""
        return self.report.answer

    @property
    def value(self) -> float | None:
        """The capacity, in ``report.unit``; None unless it was found."""
        return self.answer.value if isinstance(self.answer, AnswerFound) else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the capacity; None unless it was found."""
        return (self.answer.low, self.answer.high) if isinstance(self.answer, AnswerFound) else None

    def __str__(self) -> str:
        answer, unit = self.answer, self.report.unit
        if isinstance(answer, AnswerFound):
            return f"{answer.value:g} {unit} ({answer.low:g} to {answer.high:g})"
        if isinstance(answer, AnswerAtLeast):
            return f"at least {answer.value:g} {unit}: {answer.because}"
        if isinstance(answer, AnswerLessThan):
            return f"less than {answer.value:g} {unit}"
        assert isinstance(answer, AnswerUndecided)
        return f"undecided: {answer.because}"

    def _repr_html_(self) -> str:
        from ._html import capacity_html

        return capacity_html(self)


@dataclass(frozen=True)
class Sweep:
    """Runs at many points, and what moves the result."""

    #: The folder of the runs.
    directory: Path
    #: The result, as `sweep.json` has it.
    report: SweepReport
    #: The same as farfield printed it.
    document: Any

    @property
    def points(self) -> list[PointReport]:
        """The points, with the means of their metrics."""
        return self.report.points

    @property
    def records(self) -> list[RunRecord]:
        """A record of each run."""
        return self.report.runs

    @functools.cached_property
    def runs(self) -> list[Run]:
        """The runs, in the order of ``records``."""
        return [Run(self.directory / record.directory) for record in self.records]

    def raise_if_invalid(self) -> Sweep:
        """Return the sweep if each point has a run that counts. Raises InvalidRun, with the checks that failed."""
        for point in self.points:
            if point.runs == 0:
                where = ", ".join(f"{setting.key} = {setting.value}" for setting in point.settings) or "the point"
                causes = ", ".join(point.causes) or "none was made"
                raise InvalidRun(f"no run counts at {where}: {causes}; the runs are in {self.directory}")
        return self

    @property
    def table(self) -> Table:
        """`table.parquet`: a row for each run, with its settings and all numbers of its summary."""
        return Table(self.directory / "table.parquet")

    @property
    def page(self) -> Path:
        """`sweep.html`."""
        return self.directory / "sweep.html"

    def _repr_html_(self) -> str:
        from ._html import sweep_html

        return sweep_html(self)


@dataclass(frozen=True)
class Fit:
    """Models fitted to a log."""

    #: The folder of the fit.
    directory: Path
    #: What `farfield fit` printed.
    text: str

    @property
    def scenario(self) -> Path:
        """`scenario.toml`: a scenario with similar traffic, for `farfield.run`."""
        return self.directory / "scenario.toml"

    @property
    def report(self) -> Path:
        """`report.html`: how well the models fit."""
        return self.directory / "report.html"

    @functools.cached_property
    def document(self) -> Any:
        """`fit.json`: the models and their parameters."""
        return read_document(self.directory / "fit.json")

    def __str__(self) -> str:
        return self.text
