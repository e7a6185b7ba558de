"""The vocabulary of these tests: a folder to work in, and runs in virtual time that take a moment."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import farfield

#: A simulation of a second: 10 users, a server with a service time of 2 ms.
QUICK: dict[str, Any] = {
    "plane": "simulated",
    "load": {"model": "closed", "users": 10, "think": "50ms"},
    "run": {"duration": "1s", "warm-up": "200ms"},
    "simulated": {"service-time": {"distribution": "exponential", "mean": "2ms"}},
}
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

    def quick(self, **keywords: Any) -> farfield.Run:
        """A run of `QUICK`."""
        return farfield.run(QUICK, **keywords)
