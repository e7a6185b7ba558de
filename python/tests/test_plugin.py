"""The fixture of pytest: what passes, fails and is skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .scenes import CALM, InFolder

PACKAGE = str(Path(__file__).resolve().parent.parent)

#: A run that is kept in the repository.
OLD = Path(__file__).resolve().parent.parent.parent / "crates/farfield/tests/old_runs/columns-6"
#: Tests of somebody's: one a line of the table in `Plugin`.
TESTS = f"""
import pytest

import farfield as package
import farfield._commands
import farfield.runs

SIMULATED = {{"plane": "simulated", "load": {{"users": 2, "think": "10ms"}}, "run": {{"duration": "1s"}}}}
CALM = {CALM!r}
SHORT = dict(users=2, think="10ms", duration=0.3, warm_up=0.1, set=CALM, no_report=True)
#: A simulation that a threshold of its own ends.
ABORTED = {{**SIMULATED, "aborts": ["p99<1us"], "run": {{"duration": "60s"}}}}


def test_kept(farfield):
    server = farfield.serve()
    run = farfield.load(server, threshold=["p99<10s", "errors<50%"], **SHORT)
    assert run.valid and farfield.runs == [run]


def test_missed(farfield):
    farfield.load(farfield.serve(service_time="5ms"), threshold="p99<1us", **SHORT)


def test_invalid_and_missed(farfield):
    farfield.load(farfield.serve(error_rate=1), threshold="p99<1us", **SHORT)


def test_of_a_mistake(farfield):
    farfield.load("http://127.0.0.1:9/", duratoin=1)


def test_aborted(farfield):
    farfield.load(ABORTED, no_report=True)


@pytest.fixture
def aborts(monkeypatch):
    # A run of another day is what was measured.
    def run(what, **keywords):
        raise package.Aborted("the threshold p99<1us was broken", run=package.open_run({str(OLD)!r}))

    monkeypatch.setattr(farfield._commands, "run", run)


def test_aborted_and_seen(farfield, aborts):
    with pytest.raises(package.Aborted):
        farfield.run(ABORTED)
    assert [run.directory.name for run in farfield.runs] == ["columns-6"]


def test_aborted_and_invalid(farfield, aborts, monkeypatch):
    late = package.runs.Check(name="lateness-p99", what="Requests were late.", state="failed", limit=0.0, unit="ns")
    monkeypatch.setattr(package.Run, "failed_checks", [late])
    farfield.load(ABORTED, no_report=True)


def test_of_a_server_that_the_test_has_stopped(farfield):
    with farfield.serve() as server:
        pass
    run = farfield.run(SIMULATED, no_report=True)
    assert isinstance(run, package.Run) and not server.running
    assert farfield.judge(run) is run


def test_of_a_server_that_ends(farfield):
    server = farfield.start(
        ["{sys.executable}", "-c", "import socket as s; l = s.create_server(('127.0.0.1', {{port}})); "
         "[l.accept() for _ in range(3)]; raise SystemExit('out of memory')"],
        "http://127.0.0.1:{{port}}/",
    )
    farfield.load(server, **SHORT)
"""


class Plugin(InFolder):
    def setUp(self) -> None:
        super().setUp()
        if find_spec("pytest") is None:
            self.skipTest("pytest is not installed")

    def test_an_invalid_run_neither_passes_nor_fails(self) -> None:
        Path("test_load.py").write_text(TESTS)
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "farfield.pytest_plugin",
            "-p",
            "no:cacheprovider",
            "--basetemp=base",
            "-rA",
            "-v",
        ]
        ended = subprocess.run(
            [*command, "test_load.py"], capture_output=True, text=True, env=environment, check=False
        )
        text = ended.stdout + ended.stderr
        results = dict(re.findall(r"^test_load.py::test_(\w+) (PASSED|FAILED|SKIPPED|ERROR)", text, re.MULTILINE))
        self.assertEqual(
            results,
            {
                "kept": "PASSED",
                "missed": "FAILED",
                "invalid_and_missed": "SKIPPED",
                "of_a_mistake": "FAILED",
                "aborted": "FAILED",
                "aborted_and_seen": "PASSED",
                "aborted_and_invalid": "SKIPPED",
                "of_a_server_that_the_test_has_stopped": "PASSED",
                "of_a_server_that_ends": "FAILED",
            },
            text,
        )
        self.assertRegex(text, r"the server did not keep p99<1us \(measured \d")
        self.assertRegex(text, r"SKIPPED .*the run is invalid, so nothing is known of the server: .*succe")
        self.assertRegex(text, r"did you mean duration")
        self.assertRegex(text, r"ended by itself: out of memory")
        # With the summary of what was measured until then.
        self.assertRegex(text, r"p99<1us was broken; what was measured is in (?s:.*)INCOMPLETE +the threshold")
        self.assertRegex(text, r"test_aborted_and_invalid: lateness-p99: Requests were late")
        self.assertRegex(text, r"farfield: invalid runs.*\n.*test_invalid_and_missed: ")
