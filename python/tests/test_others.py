"""What every Python is to do that is new enough: a run, a server, programs that end, and what is imported."""

from __future__ import annotations

import unittest

from . import test_ends, test_runs

#: Tests of other modules, by their names there: all of them are about the program, or about one Python, too.
NAMES = [
    "test_ends.Servers",
    "test_runs.Imports",
    "test_runs.Programs",
    "test_runs.Runs.test_a_dict_is_run_and_leaves_nothing_beside_its_directory",
    "test_runs.Runs.test_html_of_a_run_is_escaped",
]


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Return these tests."""
    assert test_ends and test_runs
    return loader.loadTestsFromNames([f"tests.{name}" for name in NAMES])
