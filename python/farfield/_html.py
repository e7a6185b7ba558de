"""Results as HTML for notebooks: small tables, without scripts, with everything from outside escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Iterable

from .errors import FarfieldError
from .runs import Run, amount_text, measured_text, time_text

if TYPE_CHECKING:
    from .comparison import Comparison
    from .results import Capacity, Sweep

#: Units of a sweep, by the names that a summary has for them.
_UNITS = {"time": "ns", "rate": "per_second"}
_GOOD, _BAD = "#1a7f37", "#cf222e"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def row(cells: Iterable[str], name: str) -> str:
        return "<tr>" + "".join(f"<{name}>{escape(cell)}</{name}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _badge(text: str, good: bool) -> str:
    return f'<strong style="color:{_GOOD if good else _BAD}">{escape(text)}</strong>'


def run_html(run: Run) -> str:
    """Return the run as a heading, its verdict, times and thresholds."""
    try:
        summary = run.summary
    except FarfieldError as error:
        return f"<p>{escape(str(error))}</p>"
    heading, steady = summary.heading, summary.steady
    parts = [f"<p><b>{escape(heading.scenario)}</b>: {escape(heading.load_words)}, {escape(heading.target)}</p>"]
    if run.valid:
        parts.append(f"<p>{_badge('VALID', True)}</p>")
    else:
        parts.append(f"<p>{_badge('INVALID', False)} {escape(run.cause or '')}</p>")
    failed = "" if steady.error_share is None else f", {steady.error_share:.3%} failed"
    rate = "" if run.rate is None else f", {run.rate:.4g} succeeded a second"
    parts.append(f"<p>{steady.requests} requests{rate}{failed}</p>")
    rows = []
    for name in ("response", "service", "connect"):
        times = getattr(steady.times, name)
        if times is not None:
            own = {quantile.name: quantile.value_ns for quantile in times.quantiles}
            rows.append([name, time_text(times.mean_ns), *(time_text(own[one]) for one in _shown(own))])
    if rows:
        parts.append(_table(["time", "mean", *_shown(_names(steady))], rows))
    for threshold in run.thresholds:
        word = _badge("kept" if threshold.passed else "missed", threshold.passed)
        parts.append(f"<p>{word} {escape(threshold.text)}: {escape(measured_text(threshold))}</p>")
    parts += [f"<p>{escape(warning)}</p>" for warning in summary.warnings]
    parts.append(f"<p><code>{escape(str(run.directory))}</code></p>")
    return "".join(parts)


def _names(steady: Any) -> dict[str, int]:
    times = steady.times.response or steady.times.service or steady.times.connect
    return {quantile.name: quantile.value_ns for quantile in times.quantiles}


def _shown(quantiles: dict[str, int]) -> list[str]:
    return [name for name in ("p50", "p90", "p99", "p99.9") if name in quantiles]


def capacity_html(capacity: Capacity) -> str:
    """Return the answer and the curve of a search."""
    rows = [
        [
            f"{point.load:g}",
            "" if point.achieved_per_s is None else f"{point.achieved_per_s:.4g}/s",
            "" if point.p99_ns is None else time_text(point.p99_ns),
            f"{point.kept} of {point.trials}",
        ]
        for point in capacity.report.curve
    ]
    goals = ", ".join(capacity.report.goals) or "highest throughput"
    return (
        f"<p><b>{escape(goals)}</b>: {escape(str(capacity))}</p>"
        + _table([capacity.report.key, "succeeded", "p99", "goals kept"], rows)
        + f"<p><code>{escape(str(capacity.directory))}</code></p>"
    )


def sweep_html(sweep: Sweep) -> str:
    """Return the points of a sweep with their metrics."""
    # A point of a list may lack some of them.
    keys = list(dict.fromkeys(setting.key for point in sweep.points for setting in point.settings))
    metrics = list(dict.fromkeys(one.metric for point in sweep.points for one in point.estimates))
    # Metrics that are not named here are times.
    units: dict[str, str] = {"rate": "per_second", "errors": "share"}
    units.update((column.name, _UNITS.get(column.unit, column.unit)) for column in sweep.report.columns)
    rows = []
    for point in sweep.points:
        found = {one.metric: one.mean for one in point.estimates if one.mean is not None}
        cells = [amount_text(found[name], units.get(name, "ns")) if name in found else "" for name in metrics]
        values = {setting.key: setting.value for setting in point.settings}
        rows.append([*(values.get(key, "") for key in keys), *cells, f"{point.runs}"])
    invalid = sum(point.invalid for point in sweep.points)
    doubt = "" if not invalid else f"<p>{_badge(f'{invalid} runs were invalid', False)}</p>"
    return _table([*keys, *metrics, "runs"], rows) + doubt + f"<p><code>{escape(str(sweep.directory))}</code></p>"


def comparison_html(comparison: Comparison) -> str:
    """Return the rows of a comparison."""
    parts = []
    for against in comparison.others:
        rows = []
        for row in against.rows:
            change = row.change
            words = row.unknown or ""
            if change is not None:
                words = f"{change.by:+.1%} ({change.low:+.1%} to {change.high:+.1%})"
            rows.append([row.metric, words, "differs" if change and change.differs else "no difference shown"])
        parts.append(f"<p><b>{escape(against.side.name)}</b> against <b>{escape(comparison.base.name)}</b></p>")
        parts.append(_table(["metric", "change", ""], rows))
    return "".join(parts)
