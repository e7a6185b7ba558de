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

#: Tests of somebody's: one a line of the table in `Plugin`.
TESTS = f"""
import farfield as package

CALM = {CALM!r}
SHORT = dict(users=2, think="10ms", duration=1, warm_up=0.2, set=CALM)


def test_kept(farfield):
    server = farfield.serve()
    run = farfield.load(server, threshold=["p99<10s", "errors<50%"], **SHORT)
    assert run.valid and farfield.runs == [run]


def test_missed(farfield):
    farfield.load(farfield.serve(service_time="5ms"), threshold="p99<1us", **SHORT)


def test_invalid_and_missed(farfield):
    farfield.load(farfield.serve(error_rate=1), threshold="p99<1us", **SHORT)


def test_of_a_mistake(farfield):
    farfield.load(farfield.serve(), duratoin=1)


def test_of_a_server_that_ends(farfield):
    server = farfield.start(
        ["{sys.executable}", "-c", "import socket as s; l = s.create_server(('127.0.0.1', 48721)); "
         "[l.accept() for _ in range(3)]; raise SystemExit('out of memory')"],
        "http://127.0.0.1:48721/",
    )
    farfield.load(server, **SHORT)


def test_judged_by_itself(farfield):
    run = farfield.run({{"plane": "simulated", "load": {{"users": 2, "think": "10ms"}}, "run": {{"duration": "1s"}}}})
    assert isinstance(run, package.Run)
    assert farfield.judge(run) is run
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
                "of_a_server_that_ends": "FAILED",
                "judged_by_itself": "PASSED",
            },
            text,
        )
        self.assertRegex(text, r"the server did not keep p99<1us \(measured \d")
        self.assertRegex(text, r"SKIPPED .*the run is invalid, so nothing is known of the server: .*succe")
        self.assertRegex(text, r"did you mean duration")
        self.assertRegex(text, r"ended by itself: out of memory")
        self.assertRegex(text, r"farfield: invalid runs.*\n.*test_invalid_and_missed: ")
