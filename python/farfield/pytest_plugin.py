"""A plugin of pytest: the fixture ``farfield``, which starts a server, loads it, and holds it to thresholds.

::

    def test_index(farfield):
        server = farfield.start("python3 app.py", "http://127.0.0.1:8000/")
        farfield.load(server, rate="200/s", duration="5s", threshold=["p99<50ms", "errors<0.1%"])

A run that missed a threshold fails the test. A run that is *invalid* says nothing about the server: the test is
skipped with the cause, and is neither passed nor failed. A run that a threshold of its scenario aborted fails the
test. Servers end with the test; run directories are kept in pytest's temporary folders.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import pytest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import RunKeywords, ServeKeywords
    from ._server import Server
    from .runs import Run

#: Invalid runs of a session, for the lines at its end.
_INVALID = pytest.StashKey["list[tuple[str, str]]"]()


class Farfield:
    """The fixture: servers and runs of one test."""

    def __init__(self, folder: Path, name: str, invalid: list[tuple[str, str]]) -> None:
        self._folder = folder
        self._name = name
        self._invalid = invalid
        self._servers: list[Server] = []
        #: The runs of this test, in order.
        self.runs: list[Run] = []

    def serve(self, **keywords: Unpack[ServeKeywords]) -> Server:
        """Start the built-in server on a free port, with flags of `farfield serve`."""
        from ._server import serve

        return self._kept(serve(**keywords))

    def start(self, command: str | Sequence[str], url: str, *, ready_s: float = 30.0, **streams: Any) -> Server:
        """Start a server by a command, and wait until it takes connections at ``url``.

        ``streams`` go to `subprocess.Popen`: ``env``, ``cwd``.
        """
        from ._server import start_server

        return self._kept(start_server(command, url, ready_s=ready_s, **streams))

    def _kept(self, server: Server) -> Server:
        self._servers.append(server)
        return server

    def run(
        self,
        scenario: Server | str | os.PathLike[str] | Mapping[str, Any] | None = None,
        **keywords: Unpack[RunKeywords],
    ) -> Run:
        """Make a run as `farfield.run` does, and return it, valid or not."""
        from ._commands import run
        from ._server import Server
        from .errors import Aborted, FarfieldError, Interrupted

        what = scenario.url if isinstance(scenario, Server) else scenario
        place = self._folder / f"run-{len(self.runs) + 1}"
        stopped: FarfieldError | None = None
        try:
            made = run(what, out=place, **keywords)
        except (Aborted, Interrupted) as error:
            if error.run is None:
                raise
            made, stopped = error.run, error
        self.runs.append(made)
        ended = [server for server in self._servers if not server.running and not server.stopped]
        if ended:
            written = ended[0].messages().strip() or "it wrote nothing"
            raise FarfieldError(f"the server at {ended[0].url} ended by itself: {written}", run=made)
        if stopped is not None:
            raise stopped
        return made

    def load(
        self,
        scenario: Server | str | os.PathLike[str] | Mapping[str, Any] | None = None,
        **keywords: Unpack[RunKeywords],
    ) -> Run:
        """Make a run and hold it to its thresholds.

        Returns a run that is valid and kept them. Fails the test if the server missed one, and skips it, with the
        cause, if the run is invalid.
        """
        __tracebackhide__ = True
        from .errors import Aborted, Interrupted

        try:
            made = self.run(scenario, **keywords)
        except (Aborted, Interrupted) as error:
            if error.run is None:
                raise
            self._skip_if_doubtful(error.run, ended_early=True)
            pytest.fail(f"{error}\n\n{error.run.text()}", pytrace=False)
        return self.judge(made)

    def judge(self, run: Run) -> Run:
        """Return a run that is valid and kept its thresholds; fail or skip the test otherwise."""
        __tracebackhide__ = True
        from .errors import ThresholdFailed

        self._skip_if_doubtful(run)
        try:
            return run.raise_if_failed()
        except ThresholdFailed as error:
            pytest.fail(f"{error}\n\n{run.text()}", pytrace=False)

    def _skip_if_doubtful(self, run: Run, ended_early: bool = False) -> None:
        """Skip the test if the run is invalid, by another check than that it went to its end if it did not."""
        __tracebackhide__ = True
        cause = run.cause
        if ended_early:
            others = [check for check in run.failed_checks if check.name != "completed"]
            cause = f"{others[0].name}: {others[0].what}" if others else None
        if cause is not None:
            self._invalid.append((self._name, cause))
            pytest.skip(f"farfield: the run is invalid, so nothing is known of the server: {cause} ({run.directory})")

    def end(self) -> None:
        """End the servers."""
        while self._servers:
            self._servers.pop().stop()


@pytest.fixture
def farfield(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farfield]:
    """Load servers, and hold them to thresholds; an invalid run skips the test."""
    invalid = request.config.stash.setdefault(_INVALID, [])
    loads = Farfield(tmp_path_factory.mktemp("farfield"), request.node.nodeid, invalid)
    try:
        yield loads
    finally:
        loads.end()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests whose runs were invalid: a session of skipped tests is not to look like a passed one."""
    invalid = config.stash.get(_INVALID, [])
    if invalid:
        terminalreporter.section("farfield: invalid runs, which say nothing about the server")
        for name, cause in invalid:
            terminalreporter.write_line(f"{name}: {cause}")
