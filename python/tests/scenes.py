"""The vocabulary of these tests: a folder to work in, and runs in virtual time that take a moment."""

from __future__ import annotations

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import farfield

#: A simulation of a second: 10 users, a server with a service time of 2 ms.
QUICK: dict[str, Any] = {
    "plane": "simulated",
    "load": {"model": "closed", "users": 10, "think": "50ms"},
    "run": {"duration": "1s", "warm-up": "200ms"},
    "simulated": {"service-time": {"distribution": "exponential", "mean": "2ms"}},
    # Their pages are half of the time that these take.
    "output": {"report": False},
}
#: A shorter one still.
BRIEF: dict[str, Any] = {**QUICK, "run": {"duration": "300ms", "warm-up": "50ms"}}
#: Limits of the verdict that a machine busy with other tests keeps.
CALM = {
    f"verdict.{name}": limit
    for name, limit in {
        "lateness-p99": "1m",
        "loop-lag-p99": "1m",
        "worker-busy": 1,
        "rate-error": 1,
        "longest-stall": "1m",
        "host-steal": 1,
        "machine-busy": 1,
        "server-held-up": 1,
        "throttled": 1,
    }.items()
}


class InFolder(unittest.TestCase):
    """A test in a folder of its own, which is the working folder and is removed."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = Path(folder.name)

    def program(self, script: str) -> Any:
        """A shell script in the place of farfield, for as long as a block lasts."""
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        return unittest.mock.patch.dict(os.environ, {"FARFIELD_PROGRAM": str(program)})

    def quick(self, **keywords: Any) -> farfield.Run:
        """A run of `QUICK`."""
        return farfield.run(QUICK, **keywords)
