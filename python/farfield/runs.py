"""Runs: their directories, read as objects of Python."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _json
from ._tables import Table
from .errors import FarfieldError, InvalidRun, ThresholdFailed
from .schema.summary import Check, Summary, ThresholdResult, TimingSummary, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import CompareKeywords
    from .comparison import Comparison

#: The version of `summary.json` that `farfield.schema.summary` describes.
SCHEMA_VERSION = 3
#: The folder of runs that have no directory of their own.
RUNS = "farfield-runs"
#: Bytes of a summary, at most.
SUMMARY_MAX = 64 << 20

#: The times of a request, as `summary.json` names them.
Time = Literal["response", "service", "connect", "reply", "transfer", "first_event", "event_gap"]


def read_document(path: Path) -> Any:
    """Return the JSON of a file.

    Raises FarfieldError.
    """
    try:
        if path.stat().st_size > SUMMARY_MAX:
            raise FarfieldError(f"{path} is larger than {SUMMARY_MAX >> 20} MiB, and no file of farfield's")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise FarfieldError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FarfieldError(f"{path} is no JSON: {error}") from error


def summary_of(document: Any, where: object) -> Summary:
    """Return a summary from its JSON.

    Raises FarfieldError if it is by another version of farfield than this package reads.
    """
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise FarfieldError(f"{where} has no schema version: it is not by farfield")
    if version > SCHEMA_VERSION:
        raise FarfieldError(
            f"{where} has schema version {version}, and this farfield reads up to {SCHEMA_VERSION}; use a newer one"
        )
    try:
        return _json.read(Summary, document if version == SCHEMA_VERSION else _of_now(document))
    except _json.Mismatch as error:
        older = f" (schema version {version}, by an older farfield)" if version < SCHEMA_VERSION else ""
        raise FarfieldError(f"{where} cannot be read{older}: {error}; `farfield report` may read it") from error


def _of_now(document: Any) -> Any:
    """A summary of an older farfield with the names of now.

    Up to version 2 `completed_per_s` was the rate of successful replies, and there was no other.
    """
    if isinstance(document, list):
        return [_of_now(item) for item in document]
    if not isinstance(document, dict):
        return document
    own = {key: _of_now(value) for key, value in document.items()}
    if own.get("completed_per_s") is not None and own.get("succeeded_per_s") is None:
        own["succeeded_per_s"] = own.pop("completed_per_s")
        own["succeeded_interval_per_s"] = own.pop("completed_interval_per_s", None)
    if "no_completed_interval" in own:
        own.setdefault("no_succeeded_interval", own.pop("no_completed_interval"))
    return own


class Run:
    """A run: its directory, and what is in it.

    Nothing is read before it is asked for, and the summary once.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, exit_code: int | None = None, messages: str = ""
    ) -> None:
        #: The run directory.
        self.directory = Path(os.path.abspath(directory))
        #: The exit code of the command that made it; None if it was opened.
        self.exit_code = exit_code
        #: Warnings of that command.
        self.messages = messages

    @functools.cached_property
    def summary(self) -> Summary:
        """`summary.json`; of a run that goes on or was killed, the last checkpoint."""
        path = self.directory / "summary.json"
        return summary_of(read_document(path), path)

    @property
    def verdict(self) -> Verdict:
        """The verdict: whether the figures may be believed."""
        return self.summary.verdict

    @property
    def valid(self) -> bool:
        """True if the verdict is valid, no check has failed, and the run reached its end."""
        return self.verdict.valid and self.summary.complete and not self.failed_checks

    @property
    def failed_checks(self) -> list[Check]:
        """The checks for which it is invalid, causes before what follows from them."""
        failed = [check for check in self.verdict.checks if check.state == "failed"]
        return sorted(failed, key=lambda check: check.follows_from is not None)

    @property
    def cause(self) -> str | None:
        """The first reason why it is invalid, in a sentence; None if it is valid."""
        if self.valid:
            return None
        if not self.failed_checks:
            return self.summary.incomplete_reason or "the run did not reach its end"
        check = self.failed_checks[0]
        parts = [f"{check.name}: {check.what}", check.note, check.advice]
        return "; ".join(part.rstrip(".") for part in parts if part)

    @property
    def thresholds(self) -> list[ThresholdResult]:
        """The thresholds, and whether the server kept them."""
        return self.summary.thresholds

    def raise_if_invalid(self) -> Run:
        """Return the run if it is valid. Raises InvalidRun with the cause."""
        if not self.valid:
            raise InvalidRun(f"the run in {self.directory} is invalid: {self.cause}", run=self)
        return self

    def raise_if_failed(self) -> Run:
        """Return the run if it is valid and kept its thresholds. Raises InvalidRun, ThresholdFailed."""
        self.raise_if_invalid()
        missed = [threshold for threshold in self.thresholds if not threshold.passed]
        if missed:
            words = ", ".join(f"{one.text} (measured {measured_text(one)})" for one in missed)
            raise ThresholdFailed(f"the server did not keep {words}; the run is in {self.directory}", run=self)
        return self

    @property
    def rate(self) -> float | None:
        """Successful requests a second in the measured part; None if nothing was measured."""
        rates = self.summary.steady.rates
        return None if rates is None else rates.succeeded_per_s

    @property
    def error_share(self) -> float | None:
        """Share of requests of the measured part that failed; None if there were none."""
        return self.summary.steady.error_share

    def times(self, time: Time = "response") -> TimingSummary | None:
        """Mean, extremes and percentiles of a time in the measured part, in nanoseconds; None without a request."""
        found: TimingSummary | None = getattr(self.summary.steady.times, time)
        return found

    def percentile_ns(self, percent: float, time: Time = "response") -> int | None:
        """Return a percentile that the summary has, such as 99 or 99.9, in nanoseconds; None without a request.

        Raises FarfieldError for one that it does not have: `samples` have them all.
        """
        times = self.times(time)
        if times is None:
            return None
        found = {quantile.name: quantile.value_ns for quantile in times.quantiles}
        name = f"p{percent:g}"
        if name not in found:
            raise FarfieldError(f"the summary has {', '.join(found)}, and not {name}; `run.samples` has all requests")
        return found[name]

    @property
    def samples(self) -> Table:
        """`samples.parquet`: a row for each request."""
        return self.table("samples")

    @property
    def series(self) -> Table:
        """`series.parquet`: a row for each second."""
        return self.table("series")

    @property
    def monitors(self) -> Table:
        """`monitors.parquet`: what the server, its machine and farfield needed, second by second."""
        return self.table("monitors")

    def table(self, name: str) -> Table:
        """Return another table, such as `connections` or `events`."""
        return Table(self.directory / f"{name}.parquet")

    @property
    def scenario(self) -> Path:
        """`scenario.toml`: the complete scenario, with the seed."""
        return self.directory / "scenario.toml"

    @property
    def report(self) -> Path:
        """`report.html`, the page of the run; made now if the run left it out."""
        path = self.directory / "report.html"
        if not path.exists():
            from ._commands import report

            report(self.directory, "html", path)
        return path

    def text(self, format: Literal["text", "markdown", "junit"] = "text") -> str:
        """Return the summary as `farfield report` prints it."""
        from ._commands import report

        return report(self.directory, format)

    def compare(self, *others: str | os.PathLike[str] | Run, **keywords: Unpack[CompareKeywords]) -> Comparison:
        """Compare others with this run, as `farfield.compare` does."""
        from .comparison import compare

        return compare(self, *others, **keywords)

    def __fspath__(self) -> str:
        return str(self.directory)

    def __repr__(self) -> str:
        try:
            state = "valid" if self.valid else f"INVALID: {self.cause}"
        except FarfieldError as error:
            state = str(error)
        return f"<farfield.Run {str(self.directory)!r}, {state}>"

    def _repr_html_(self) -> str:
        from ._html import run_html

        return run_html(self)


def measured_text(threshold: ThresholdResult) -> str:
    """Return the number that was held against a threshold, in its unit."""
    measured = threshold.measured
    if measured is None:
        return "nothing"
    return amount_text(measured, threshold.unit)


def amount_text(amount: float, unit: str) -> str:
    """Return a number of the summary with its unit."""
    if unit == "ns":
        return time_text(amount)
    if unit == "share":
        return f"{amount:.3%}"
    return f"{amount:g}/s" if unit == "per_second" else f"{amount:g}"


def time_text(nanoseconds: float) -> str:
    """Return a time with three digits: ``12.3ms``."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(nanoseconds) >= factor:
            return (
                f"{nanoseconds / factor:.3g}{unit}"
                if abs(nanoseconds) < 1000 * factor
                else f"{nanoseconds / factor:.0f}{unit}"
            )
    return f"{nanoseconds:.0f}ns"


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run directory; ``last`` is the newest of ``farfield-runs``, ``last~1`` the one before it.

    Raises FarfieldError if there is no run that this package reads.
    """
    if "\0" in os.fsdecode(path):
        raise FarfieldError(f"{path!r} is no run directory: it has a zero byte in it")
    directory = Path(path)
    if isinstance(path, str) and not directory.exists():
        directory = newest(path) or directory
    run = Run(directory)
    if not run.directory.is_dir():
        raise FarfieldError(
            f"{directory} is no run directory: it is {'a file' if run.directory.exists() else 'not there'}"
        )
    run.summary  # noqa: B018  Read now, so that what is no run is refused here.
    return run


def newest(text: str) -> Path | None:
    """Return the run that `last` or `last~1` stands for; None for other texts. Raises FarfieldError."""
    word, _, before = text.partition("~")
    if word != "last" or before and not before.isdecimal():
        return None
    # Their names begin with the instants of their starts.
    found = sorted(path.parent for path in Path(RUNS).glob("*/summary.json"))
    at = int(before or 0)
    if at >= len(found):
        raise FarfieldError(f"{text}: {RUNS} has {len(found)} runs; name a run directory")
    return found[-1 - at]
