"""farfield from Python: load a web server, and get a run with a verdict.

>>> import farfield
>>> run = farfield.run("http://127.0.0.1:8080/", rate="200/s", duration="30s")
>>> run.raise_if_invalid().percentile_ns(99)

Each function runs the program that the wheel installs, as a child, and reads the run directory that it leaves:
`run`, `capacity`, `sweep`, `compare`, `fit`, `merge`, `serve`, `open_run`. ``python -m farfield`` is the program
itself. Nothing but Python's standard library is needed; PyArrow, polars or pandas read samples where they are
installed, `farfield.ray` makes runs on a cluster of Ray, and pytest finds a fixture (`farfield.pytest_plugin`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._commands import capacity, fit, merge, run, sweep
    from ._program import program
    from ._server import Server, serve, start_server
    from ._tables import Table
    from ._values import scenario_text
    from .comparison import Comparison, compare
    from .errors import (
        Aborted,
        FarfieldError,
        Interrupted,
        InvalidRun,
        KeyboardInterrupted,
        ProgramMissing,
        ScenarioError,
        ThresholdFailed,
    )
    from .results import Capacity, Fit, Sweep
    from .runs import Run, open_run

__all__ = [
    "Aborted",
    "Capacity",
    "Comparison",
    "FarfieldError",
    "Fit",
    "Interrupted",
    "InvalidRun",
    "KeyboardInterrupted",
    "ProgramMissing",
    "Run",
    "ScenarioError",
    "Server",
    "Sweep",
    "Table",
    "ThresholdFailed",
    "capacity",
    "compare",
    "fit",
    "merge",
    "open_run",
    "program",
    "run",
    "scenario_text",
    "serve",
    "start_server",
    "sweep",
]

#: The module of each name. They are imported as they are asked for, so that pytest, which imports the package in every
#: session, does not wait for what it does not use.
_MODULES = {
    "Aborted": "errors",
    "Capacity": "results",
    "Comparison": "comparison",
    "FarfieldError": "errors",
    "Fit": "results",
    "Interrupted": "errors",
    "InvalidRun": "errors",
    "KeyboardInterrupted": "errors",
    "ProgramMissing": "errors",
    "Run": "runs",
    "ScenarioError": "errors",
    "Server": "_server",
    "Sweep": "results",
    "Table": "_tables",
    "ThresholdFailed": "errors",
    "capacity": "_commands",
    "compare": "comparison",
    "fit": "_commands",
    "merge": "_commands",
    "open_run": "runs",
    "program": "_program",
    "run": "_commands",
    "scenario_text": "_values",
    "serve": "_server",
    "start_server": "_server",
    "sweep": "_commands",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'farfield' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
