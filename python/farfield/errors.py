"""Exceptions, by the exit code with which farfield ended.

======  =====================================================================================
 code   what is raised
======  =====================================================================================
   1    `FarfieldError`; `ProgramMissing` where there is no farfield to run
   2    `ScenarioError`: the scenario, a keyword or a flag is wrong
   3    nothing: the run is returned and its verdict is invalid; `InvalidRun` with ``check=True``
  99    nothing: the run is returned; `ThresholdFailed` with ``check=True``
 105    `Aborted`
 130    `Interrupted`; `KeyboardInterrupted` where Ctrl-C was pressed in this process
======  =====================================================================================

Where something was measured, ``error.run`` is the run with what there is of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run

__all__ = [
    "Aborted",
    "FarfieldError",
    "Interrupted",
    "InvalidRun",
    "KeyboardInterrupted",
    "ProgramMissing",
    "ScenarioError",
    "ThresholdFailed",
]


class FarfieldError(Exception):
    """farfield, or the machine, could not do it; the message says what and why."""

    #: The exit code of the program.
    code: int = 1
    #: What was measured before; None if nothing was.
    run: Run | None

    def __init__(self, message: str, *, run: Run | None = None, code: int | None = None) -> None:
        super().__init__(message)
        self.run = run
        if code is not None:
            self.code = code


class ProgramMissing(FarfieldError, FileNotFoundError):
    """There is no farfield to run."""

    def __str__(self) -> str:
        return str(self.args[0])


class ScenarioError(FarfieldError, ValueError):
    """The scenario, a keyword or a flag is wrong; nothing was run."""

    code = 2


class InvalidRun(FarfieldError):
    """The run was measured, and its figures may not be believed."""

    code = 3


class ThresholdFailed(FarfieldError):
    """The run is valid, and the server did not keep a threshold."""

    code = 99


class Aborted(FarfieldError):
    """A threshold that aborts ended the run."""

    code = 105


class Interrupted(FarfieldError):
    """A signal from elsewhere ended the command; what was measured until then is kept."""

    code = 130


class KeyboardInterrupted(KeyboardInterrupt):
    """Ctrl-C ended the command; what was measured until then is kept.

    It is no `FarfieldError`, nor an `Exception`: as any `KeyboardInterrupt` it ends loops that catch errors.
    """

    code = 130

    def __init__(self, message: str, *, run: Run | None = None) -> None:
        super().__init__(message)
        self.run = run


#: The class for each exit code.
BY_CODE: dict[int, type[FarfieldError]] = {
    2: ScenarioError,
    3: InvalidRun,
    99: ThresholdFailed,
    105: Aborted,
    130: Interrupted,
}
