"""Results read into classes, and the modules that are written from schemas."""

from __future__ import annotations

import ast
import dataclasses
import json
import subprocess
import sys
import typing
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import farfield
from farfield import _json
from farfield._keywords import FLAGS, KEYS, OF_SCENARIOS
from farfield.ray import _file_in, _ray
from farfield.runs import SCHEMA_VERSION, summary_of
from farfield.schema import capacity, summary, sweep, verify

from .scenes import InFolder

PYTHON = Path(__file__).resolve().parent.parent


def least(schema: dict[str, Any], part: dict[str, Any]) -> Any:
    """The smallest document of a part of a schema: what must be there, and nothing else."""
    if "$ref" in part:
        return least(schema, schema["$defs"][part["$ref"].rsplit("/", 1)[-1]])
    if "const" in part:
        return part["const"]
    for group in ("oneOf", "anyOf"):
        if group in part:
            return least(schema, part[group][0])
    kind = part["type"] if isinstance(part["type"], str) else part["type"][0]
    if kind == "object":
        properties = part.get("properties", {})
        return {key: least(schema, properties[key]) for key in part.get("required", [])}
    if kind == "array":
        items = part.get("prefixItems") or [part["items"]] * part.get("minItems", 1)
        return [least(schema, item) for item in items]
    return {"string": "x", "integer": 3, "number": 2, "boolean": True, "null": None}[kind]


class Documents(unittest.TestCase):
    def test_the_least_document_of_each_schema_is_read(self) -> None:
        kinds: dict[str, Any] = {"summary": summary.Summary, "capacity": capacity.CapacityReport}
        kinds.update(sweep=sweep.SweepReport, verify=verify.Verification)
        for name, kind in kinds.items():
            schema = json.loads((PYTHON.parent / f"docs/{name}.schema.json").read_text())
            document = least(schema, schema)
            read: Any = _json.read(kind, document)
            self.assertEqual(read.schema_version, 3, name)
            for key in document:
                with self.assertRaises(_json.Mismatch, msg=f"{name} without {key}"):
                    _json.read(kind, {**document, key: object()})

    def test_choices_are_distinguished_by_their_words(self) -> None:
        answers: Any = capacity.Answer
        found = {"is": "found", "value": 5, "low": 4, "high": 6, "method": "x", "at_load": 1}
        self.assertIsInstance(_json._value(answers, found, ""), capacity.AnswerFound)
        self.assertIsInstance(_json._value(answers, {"is": "less-than", "value": 5}, ""), capacity.AnswerLessThan)
        ended: Any = capacity.Ended
        self.assertEqual(_json._value(ended, "done", ""), "done")
        self.assertEqual(_json._value(ended, {"failed": "no"}, ""), capacity.EndedFailed(failed="no"))

    def test_what_is_unknown_is_passed_over_and_what_is_missing_has_its_place(self) -> None:
        document = {"name": "p99", "value_ns": 5, "of_a_later_version": {}}
        self.assertEqual(_json.read(summary.QuantileSummary, document).value_ns, 5)
        with self.assertRaisesRegex(_json.Mismatch, "times.quantiles.* has no value_ns"):
            _json.read(summary.QuantileSummary, {"name": "p99"}, "times.quantiles[0]")

    def test_no_bool_is_a_number(self) -> None:
        with self.assertRaises(_json.Mismatch):
            _json.read(summary.QuantileSummary, {"name": "p99", "value_ns": True})

    def test_modules_from_schemas_are_fresh(self) -> None:
        checked = subprocess.run(
            [sys.executable, str(PYTHON / "generate.py"), "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_types_know_each_keyword_that_a_command_takes(self) -> None:
        tree = ast.parse((PYTHON / "farfield/_keywords.py").read_text("utf-8"))
        names: dict[str, set[str]] = {"TypedDict": set()}
        for found in ast.walk(tree):
            if isinstance(found, ast.ClassDef):
                fields = [field.target for field in found.body if isinstance(field, ast.AnnAssign)]
                own = {field.id for field in fields if isinstance(field, ast.Name)}
                (base,) = found.bases
                assert isinstance(base, ast.Name)
                # A field of the base must not have another type.
                self.assertEqual(own & names[base.id], set(), found.name)
                names[found.name] = own | names[base.id]
        for command, flags in FLAGS.items():
            takes = {*flags, *(KEYS if command in OF_SCENARIOS else ())}
            self.assertEqual(names[f"{command.capitalize()}Keywords"], takes, command)

    def test_a_class_is_read_by_two_threads_at_once(self) -> None:
        @dataclasses.dataclass
        class Own:
            a: int
            b: int

        inner: list[Any] = []
        fields = dataclasses.fields

        def as_another_thread_reads(kind: Any) -> Any:
            # In the midst of the first look at the class.
            for field in fields(kind):
                yield field
                if field.name == "a" and not inner:
                    inner.append("reads")
                    inner.append(_json.read(kind, {"a": 1, "b": 2}))

        with unittest.mock.patch.object(typing, "get_type_hints", lambda kind: {"a": int, "b": int}):
            with unittest.mock.patch.object(dataclasses, "fields", as_another_thread_reads):
                self.assertEqual(_json.read(Own, {"a": 1, "b": 2}), Own(1, 2))
        self.assertEqual(inner, ["reads", Own(1, 2)])

    def test_the_package_reads_the_version_that_the_program_writes(self) -> None:
        text = (PYTHON.parent / "crates/farfield-measure/src/summary.rs").read_text()
        self.assertIn(f"SCHEMA_VERSION: u32 = {SCHEMA_VERSION};", text)


class Directories(InFolder):
    def assert_refused(self, *words: str) -> None:
        with self.assertRaises(farfield.FarfieldError) as raised:
            farfield.open_run(self.folder / "run")
        for word in words:
            self.assertIn(word, str(raised.exception))

    def write(self, text: str) -> None:
        (self.folder / "run").mkdir(exist_ok=True)
        (self.folder / "run/summary.json").write_text(text)

    def test_what_is_no_run_is_refused_with_a_reason(self) -> None:
        self.assert_refused("not there")
        (self.folder / "run").touch()
        self.assert_refused("a file")
        (self.folder / "run").unlink()
        (self.folder / "run").mkdir()
        self.assert_refused("summary.json", "No such file")
        self.write("")
        self.assert_refused("no JSON")
        self.write("[" * 100_000)
        self.assert_refused("no JSON")
        self.write("[]")
        self.assert_refused("no schema version")

    def test_a_run_of_another_version_is_refused_by_its_version(self) -> None:
        self.write('{"schema_version": 99}')
        self.assert_refused("schema version 99", "use a newer one")
        with self.assertRaisesRegex(farfield.FarfieldError, "zero byte"):
            farfield.open_run("run\0")
        self.write('{"schema_version": 1}')
        self.assert_refused("schema version 1, by an older farfield", "has no")

    def test_a_file_that_a_node_sends_stays_in_its_run_directory(self) -> None:
        for name in ["/etc/passwd", "../x", "a/../../x", "", ".", ".."]:
            with self.assertRaisesRegex(farfield.FarfieldError, "no file of a run directory", msg=name):
                _file_in(self.folder / "run", name)
        self.assertEqual(_file_in(self.folder / "run", "inputs/a.csv"), self.folder / "run/inputs/a.csv")

    def test_without_ray_it_is_named(self) -> None:
        with unittest.mock.patch.dict(sys.modules, {"ray": None}):
            with self.assertRaisesRegex(farfield.FarfieldError, "needs Ray: pip install ray$"):
                _ray()

    def test_runs_of_earlier_versions_are_opened(self) -> None:
        rates = {}
        for directory in sorted((PYTHON.parent / "crates/farfield/tests/old_runs").iterdir()):
            run = farfield.open_run(directory)
            self.assertTrue(run.valid, directory)
            written = json.loads((directory / "summary.json").read_bytes())["steady"]["rates"]
            # They counted whole replies with success, by another name.
            self.assertEqual(run.rate, written["completed_per_s"])
            assert run.summary.steady.rates is not None
            self.assertIsNone(run.summary.steady.rates.completed_per_s)
            rates[directory.name] = run.rate
        self.assertGreaterEqual(len(rates), 3)

    def test_a_run_is_valid_once_it_is_over_and_no_check_has_failed(self) -> None:
        directory = PYTHON.parent / "crates/farfield/tests/old_runs/columns-6"
        document = json.loads((directory / "summary.json").read_bytes())
        self.write(json.dumps(document))
        self.assertTrue(farfield.open_run("run").valid)
        self.write(json.dumps({**document, "complete": False, "incomplete_reason": "a signal"}))
        ended = farfield.open_run("run")
        self.assertEqual((ended.valid, ended.cause), (False, "a signal"))
        document["verdict"]["checks"][1]["state"] = "failed"
        self.write(json.dumps(document))
        self.assertFalse(farfield.open_run("run").valid)

    def test_last_is_the_newest(self) -> None:
        with self.assertRaisesRegex(farfield.FarfieldError, "farfield-runs has 0 runs"):
            farfield.open_run("last")

    def test_a_summary_of_an_older_version_that_has_all_is_read(self) -> None:
        schema = json.loads((PYTHON.parent / "docs/summary.schema.json").read_text())
        document = {**least(schema, schema), "schema_version": 2}
        self.assertEqual(summary_of(document, "x").schema_version, 2)
