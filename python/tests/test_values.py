"""Scenarios and keywords as TOML and words, from hostile values too."""

from __future__ import annotations

import contextlib
import csv
import datetime
import enum
import fractions
import importlib
import pathlib
import random
import unittest
from contextlib import ExitStack
from typing import Any

import farfield
from farfield._commands import points_file, vary_words
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


#: Texts that a reader of values may take for something else.
HOSTILE = [
    *("1", "-1", "1.0", "1e5", "0x1f", "0b1", "true", "false", "inf", "nan", "+nan", "2026-11-29", "07:32:00", "1_0"),
    *("", " ", " a ", "a b", "a,b", "(", ")", "a)", "](", "{", "}", "[1,2]", "{ a = 1 }", "'", '"', "''", '""', '"1"'),
    *("it's", 'a "b", c'),
    *("\\", '\\"', "a\\", "a\nb", "\r\n", "\t", "\x00", "\x7f", "#", "a # b", "=", "a=b", "é", "🦀"),
    *("1ms", "100/s", "p99", "\u2028", "\xa0", "-", "--help", "+", ".", "_"),
]


def parted(text: str) -> list[str]:
    """The values of a factor, as crates/farfield-experiment/src/sweep/factor.rs parts them."""
    parts, begin, depth, quote = [], 0, 0, None
    for at, letter in enumerate(text):
        if quote is not None:
            quote = None if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]]]


def typed(text: str) -> Any:
    """A value of ``--set``, as crates/farfield-scenario/src/overlay.rs reads it: TOML, or else a text."""
    try:
        document = tomllib.loads(f"value = {text.strip()}")
        return document["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


@unittest.skipIf(tomllib is None, "Python 3.10 has no parser of TOML")
class Points(unittest.TestCase):
    def assert_come_back(self, values: list[Any]) -> None:
        """The values are those of runs, by ``--vary`` and by a table of points."""
        (word,) = vary_words({"note": values})
        found = parted(word.removeprefix("--vary=note="))
        self.assertEqual([typed(one) for one in found], values)
        self.assertTrue(all(found), word)
        with ExitStack() as stack:
            path = points_file([{"note": value} for value in values], stack)
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
        # Cells lose the blanks around them, and an empty one is no value.
        self.assertEqual([typed(row[0].strip()) for row in rows[1:]], values)
        self.assertTrue(all(row[0] for row in rows))

    def test_a_text_is_never_another_value(self) -> None:
        self.assert_come_back(HOSTILE)
        rng = random.Random(3)
        letters = "ab01.,:'\"\\[]{}()=# \n\té-+eTx_"
        self.assert_come_back(["".join(rng.choices(letters, k=rng.randrange(12))) for _ in range(2000)])

    def test_other_values_stay_what_they_are(self) -> None:
        self.assert_come_back([1, 1.5, True, ["a,b", 'c"d'], {"mean": "1s", "k": [1, '"']}, -3, "1"])

    def test_plain_words_have_no_quotes(self) -> None:
        self.assertEqual(vary_words({"a": ["1ms", "@nginx", "100/s"]}), ["--vary=a=1ms,@nginx,100/s"])

    def test_a_key_that_is_lacking_is_not_an_empty_text(self) -> None:
        with ExitStack() as stack:
            text = pathlib.Path(points_file([{"note": ""}, {"seed": 1}], stack)).read_text("utf-8")
        self.assertEqual(list(csv.reader(text.splitlines())), [["note", "seed"], ['""', ""], ["", "1"]])

    def test_what_is_no_key_is_refused(self) -> None:
        for key in ["a=b", "", " ", "a\nb", 3]:
            keys: Any = {key: ["x", "y"]}
            with self.assertRaises(farfield.ScenarioError, msg=key):
                vary_words(keys)
            with self.assertRaises(farfield.ScenarioError, msg=key), ExitStack() as stack:
                points_file([keys], stack)
            with self.assertRaises(farfield.ScenarioError, msg=key):
                words_of("run", {"set": keys})


class Lengths(str, enum.Enum):
    SHORT = "1s"


class Users(enum.IntEnum):
    FEW = 3


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"a b"


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
        self.assertEqual(toml_value(Lengths.SHORT, "k"), '"1s"')
        self.assertEqual([word_of(Lengths.SHORT, "k"), word_of(Users.FEW, "k")], ["1s", "3"])
        path: Any = BytesPath()
        self.assertEqual([word_of(path, "k"), toml_value(path, "k")], ["a b", '"a b"'])
        with self.assertRaisesRegex(farfield.ScenarioError, "k: .*no number"):
            toml_value(fractions.Fraction(10**400, 3), "k")
        with self.assertRaises(farfield.ScenarioError):
            toml_value(datetime.timedelta(seconds=-1), "k")


    def test_a_time_of_numpy_has_its_unit(self) -> None:
        kinds: list[Any] = [timedelta64]
        with contextlib.suppress(ImportError):
            kinds.append(importlib.import_module("numpy").timedelta64)
        times: list[tuple[Any, str]] = [((2, "s"), "2000000000ns"), ((5, "ms"), "5000000ns"), ((7, "ns"), "7ns")]
        for kind in kinds:
            for time, text in [*times, ((1, "m"), "60000000000ns"), ((20_000, "D"), f"{20_000 * 86_400}000000000ns")]:
                self.assertEqual(word_of(kind(*time), "k"), text)
                self.assertEqual(toml_value(kind(*time), "k"), f'"{text}"')
            for time in [(1, "Y"), (-1, "s"), (2, "generic")]:
                with self.assertRaises((farfield.ScenarioError, TypeError), msg=time):
                    word_of(kind(*time), "k")


class timedelta64(int):
    """As much of NumPy's type as is looked at, for where there is no NumPy: a whole number of some unit."""

    __module__ = "numpy"

    def __new__(cls, count: int, unit: str) -> timedelta64:
        made = super().__new__(cls, count)
        made.dtype = "timedelta64" if unit == "generic" else f"timedelta64[{unit}]"
        return made

    dtype: str

    def astype(self, kind: str) -> int:
        assert kind == "int64"
        return int(self)


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
