"""Scenarios and keywords as TOML and words, from hostile values too."""

from __future__ import annotations

import datetime
import importlib
import pathlib
import random
import unittest
from typing import Any

import farfield
from farfield._values import scenario_text, toml_value, word_of
from farfield._words import words_of

try:
    tomllib: Any = importlib.import_module("tomllib")
except ImportError:
    tomllib = None


@unittest.skipIf(tomllib is None, "Python 3.10 has no parser of TOML")
class RoundTrip(unittest.TestCase):
    def assert_reads_back(self, document: dict[str, Any]) -> None:
        self.assertEqual(tomllib.loads(scenario_text(document)), document, scenario_text(document))

    def test_texts_with_quotes_lines_and_controls(self) -> None:
        for text in ['"', "'", '"""', "\\", "a\nb", "a\r\n", "\t", "\x00", "\x1f", "\x7f", "\x85", "é", "🦀", "# no"]:
            self.assert_reads_back({"name": text, text or "empty": 1, "t": {text: [text, {text: text}]}})

    def test_nested_tables_and_lists(self) -> None:
        request = {"path": "/a", "headers": {"X-Odd name.": ["1", "2"]}, "embedded": []}
        self.assert_reads_back(
            {
                "plane": "simulated",
                "requests": {"request": [request, {"path": "/b", "weight": 2}]},
                "load": {"users": 3, "think": {"distribution": "exponential", "mean": "1s"}},
                "mixed": [1, {"a": 1}],
                "empty": {},
            }
        )

    def test_random_documents(self) -> None:
        rng = random.Random(7)

        def value(depth: int) -> Any:
            kind = rng.randrange(7 if depth else 5)
            if kind == 0:
                return rng.choice([True, False])
            if kind == 1:
                return rng.randrange(-(2**63), 2**63)
            if kind == 2:
                return rng.uniform(-1e9, 1e9)
            if kind in (3, 4):
                return "".join(
                    chr(rng.choice([9, 10, 34, 39, 92, 65, 233, 0x1F980])) for _ in range(rng.randrange(6))
                )
            if kind == 5:
                return [value(depth - 1) for _ in range(rng.randrange(4))]
            return {
                f"k{at}" if rng.random() < 0.7 else f"k {at}.": value(depth - 1) for at in range(rng.randrange(4))
            }

        for _ in range(300):
            self.assert_reads_back({f"key{at}": value(3) for at in range(4)})


class Refusals(unittest.TestCase):
    def assert_refused(self, document: dict[Any, Any], *words: str) -> None:
        with self.assertRaises(farfield.ScenarioError) as raised:
            scenario_text(document)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_what_toml_has_no_value_for_is_named_with_its_key(self) -> None:
        self.assert_refused({"load": {"users": None}}, "load.users", "None", "leave the key out")
        self.assert_refused({"load": {"think": float("nan")}}, "load.think", "nan")
        self.assert_refused({"seed": float("inf")}, "seed", "inf")
        self.assert_refused({"seed": 2**63}, "seed", "64 bits")
        self.assert_refused({"requests": {"request": [{"path": b"/"}]}}, "requests.request", "path", "bytes")
        self.assert_refused({"name": "\ud800"}, "name", "Unicode")
        self.assert_refused({"load": {3: 1}}, "load", "3", "no text")
        self.assert_refused({"thresholds": {"p99<1s"}}, "thresholds", "set")

    def test_a_dict_that_contains_itself_is_refused(self) -> None:
        endless: dict[str, Any] = {}
        endless["load"] = endless
        self.assert_refused(endless, "deep")
        row: list[Any] = []
        row.append(row)
        self.assert_refused({"load": row}, "deep")

    def test_values_of_python_have_their_form(self) -> None:
        self.assertEqual(toml_value(datetime.timedelta(seconds=1.5), "k"), '"1500000us"')
        self.assertEqual(toml_value(pathlib.Path("a b"), "k"), '"a b"')
        self.assertEqual(toml_value(True, "k"), "true")
        self.assertEqual(word_of(0.25, "k"), "0.25")
        with self.assertRaises(farfield.ScenarioError):
            toml_value(datetime.timedelta(seconds=-1), "k")


class Keywords(unittest.TestCase):
    def test_flags_keys_lists_and_what_is_absent(self) -> None:
        self.assertEqual(
            words_of(
                "run",
                {
                    "rate": "200/s",
                    "warm_up": 2,
                    "threshold": ["p99<1s", "errors<1%"],
                    "connections_request_timeout": "5s",
                    "set": {"run.drain": "1s"},
                    "insecure": True,
                    "no_report": False,
                    "think": None,
                },
            ),
            [
                "--rate=200/s",
                "--warm-up=2",
                "--threshold=p99<1s",
                "--threshold=errors<1%",
                '--set=connections.request-timeout="5s"',
                '--set=run.drain="1s"',
                "--insecure",
            ],
        )

    def test_a_value_that_looks_like_a_flag_stays_a_value(self) -> None:
        self.assertEqual(words_of("run", {"note": "--help"}), ["--note=--help"])

    def assert_refused(self, command: str, keywords: dict[str, Any], *words: str) -> None:
        with self.assertRaises(farfield.ScenarioError) as raised:
            words_of(command, keywords)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_a_keyword_that_there_is_not_names_the_nearest(self) -> None:
        self.assert_refused("run", {"duratoin": "1s"}, "duratoin", "duration")
        self.assert_refused("run", {"conections_policy": "persistent"}, "connections_policy")
        self.assert_refused("capacity", {"sl0": "p99<1s"}, "slo")
        self.assert_refused("compare", {"users": 3}, "users is no keyword of farfield.compare")

    def test_keywords_of_other_functions_name_these(self) -> None:
        self.assert_refused("run", {"repeats": 3}, "farfield.sweep")
        self.assert_refused("run", {"format": "json"}, "run.text()")

    def test_values_of_another_kind_are_refused(self) -> None:
        self.assert_refused("run", {"users": float("nan")}, "users", "nan")
        self.assert_refused("run", {"users": True}, "users", "True")
        self.assert_refused("run", {"insecure": "yes"}, "insecure", "True or False")
        self.assert_refused("run", {"note": "a\0b"}, "note", "zero byte")
        self.assert_refused("run", {"note": {"a": 1}}, "note")
        self.assert_refused("run", {"set": "run.drain=1s"}, "set", "dict")
