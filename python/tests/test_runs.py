"""Runs by the program: what comes back, what is raised, and what is left."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import unittest
import unittest.mock
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import farfield
from farfield.comparison import Against, Comparison, Condition, LeftOut, Side, _Compared, _Document
from farfield.schema.capacity import AnswerFound

from .scenes import BRIEF, CALM, QUICK, InFolder


class Runs(InFolder):
    def test_a_dict_is_run_and_leaves_nothing_beside_its_directory(self) -> None:
        run = self.quick(out="run")
        self.assertTrue(run.valid, run.cause)
        self.assertIsNone(run.cause)
        self.assertEqual((run.exit_code, run.directory), (0, self.folder / "run"))
        self.assertEqual(run.summary.heading.load, "closed")
        self.assertEqual(os.listdir("."), ["run"])
        # The interactive response time law: users / (think time + response time).
        times = run.times()
        assert times is not None and run.rate is not None
        self.assertAlmostEqual(run.rate, 10 / (0.05 + times.mean_ns / 1e9), delta=0.1 * run.rate)
        self.assertLessEqual(run.percentile_ns(50) or 0, run.percentile_ns(99.9) or 0)
        self.assertEqual(run.percentile_ns(99), {one.name: one.value_ns for one in times.quantiles}["p99"])
        with self.assertRaisesRegex(farfield.FarfieldError, "p50.*and not p42"):
            run.percentile_ns(42)

    def test_opened_again_it_is_the_same(self) -> None:
        run = self.quick()
        self.assertTrue(run.directory.is_absolute())
        self.assertEqual(farfield.open_run("last").summary, run.summary)
        self.assertEqual(farfield.open_run(run).directory, run.directory)
        again = farfield.run(run.directory, out="again")
        self.assertEqual(again.summary.steady, run.summary.steady)

    def test_keywords_outrank_the_scenario(self) -> None:
        run = self.quick(out="run", users=3, load_think="20ms", set={"note": 'a "note"\nof two lines'})
        self.assertIn("3 users", run.summary.heading.load_words)
        # Shown without its line's end, and kept with it.
        self.assertIn('a "note"', run.summary.heading.note or "")
        self.assertIn("of two lines", run.scenario.read_text())
        self.assertIn('think = "20ms"', run.scenario.read_text())

    def test_files_that_a_dict_names_are_in_the_working_folder(self) -> None:
        Path("body.txt").write_text("hello")
        request = {"path": "/", "method": "POST", "body": {"file": "body.txt"}}
        run = farfield.run({**QUICK, "requests": {"request": [request]}}, out="run")
        self.assertTrue(run.valid, run.cause)

    def test_a_path_that_looks_like_a_flag_or_a_url_is_a_file(self) -> None:
        Path("-c").write_text(farfield.scenario_text(QUICK))
        for name in ["--help", "last"]:
            Path(name).write_text(farfield.scenario_text(QUICK))
            self.assertTrue(farfield.run(Path(name), out=f"of{name}").valid)
        self.assertTrue(farfield.run("-c", out="-out").valid)
        self.assertTrue(Path("-out/summary.json").exists())

    def test_mistakes_are_scenario_errors_with_their_place(self) -> None:
        with self.assertRaisesRegex(farfield.ScenarioError, "usres.*users") as raised:
            farfield.run({**QUICK, "load": {"usres": 3}})
        self.assertEqual(raised.exception.code, 2)
        with self.assertRaisesRegex(farfield.ScenarioError, "nowhere.toml"):
            farfield.run("nowhere.toml")
        with self.assertRaisesRegex(farfield.ScenarioError, "rate"):
            farfield.run(QUICK, rate="fast")
        with self.assertRaisesRegex(farfield.ScenarioError, "a path, a URL, a dict or None"):
            farfield.run(3)  # type: ignore[arg-type]
        self.assertEqual(os.listdir("."), [])

    def test_a_folder_that_cannot_be_written_is_no_hindrance(self) -> None:
        # Nobody makes files there, not even root.
        os.chdir("/proc/self")
        self.assertTrue(self.quick(out=self.folder / "run").valid)

    def test_a_folder_that_is_taken_is_refused_and_left(self) -> None:
        self.quick(out="run")
        with self.assertRaises(farfield.FarfieldError):
            self.quick(out="run/summary.json")
        self.assertTrue(farfield.open_run("run").valid)

    def test_thresholds_are_raised_by_choice(self) -> None:
        missed = self.quick(out="missed", threshold="p99<1us")
        self.assertEqual((missed.valid, missed.exit_code, missed.thresholds[0].passed), (True, 99, False))
        self.assertIs(missed.raise_if_invalid(), missed)
        with self.assertRaisesRegex(farfield.ThresholdFailed, "p99<1us .measured") as raised:
            missed.raise_if_failed()
        self.assertEqual((raised.exception.code, raised.exception.run), (99, missed))
        with self.assertRaises(farfield.ThresholdFailed):
            farfield.run(BRIEF, threshold="p99<1us", check=True)

    def test_an_invalid_run_is_returned_and_raised_by_choice(self) -> None:
        with farfield.serve(error_rate=1) as server:
            run = farfield.run(
                server.url,
                users=1,
                think="10ms",
                duration=0.5,
                warm_up=0,
                threshold="p99<1us",
                set=CALM,
                out="invalid",
            )
        self.assertEqual((run.valid, run.exit_code), (False, 3))
        self.assertIn("succe", run.cause or "")
        for fails in (run.raise_if_invalid, run.raise_if_failed):
            with self.assertRaises(farfield.InvalidRun) as raised:
                fails()
            self.assertIs(raised.exception.run, run)
        self.assertIn("INVALID", run._repr_html_())
        self.assertIn("INVALID", run.text())

    def test_a_server_that_is_not_there_is_an_error(self) -> None:
        with self.assertRaisesRegex(farfield.FarfieldError, "nothing answers at 127.0.0.1:9") as raised:
            farfield.run("http://127.0.0.1:9/", out="run")
        self.assertEqual((raised.exception.code, raised.exception.run, os.listdir(".")), (1, None, []))

    def test_an_abort_is_raised_with_what_was_measured(self) -> None:
        with self.assertRaisesRegex(farfield.Aborted, "p99") as raised:
            farfield.run({**QUICK, "aborts": ["p99<1us"], "run": {"duration": "60s"}}, out="aborted")
        run = raised.exception.run
        assert run is not None
        self.assertFalse(run.summary.complete)

    def test_figures_come_as_it_runs(self) -> None:
        seen: list[dict[str, Any]] = []
        with farfield.serve() as server:
            run = farfield.run(
                server.url, users=2, think="50ms", duration=1.4, warm_up=0, set=CALM, on_figures=seen.append
            )
        self.assertGreaterEqual(len(seen), 1)
        self.assertIn("rows", seen[0])
        self.assertTrue(run.valid, run.cause)

    def test_an_error_of_the_caller_ends_the_run(self) -> None:
        def fails(figures: dict[str, Any]) -> None:
            raise ZeroDivisionError

        with farfield.serve() as server, self.assertRaises(ZeroDivisionError):
            farfield.run(server.url, users=1, think="10ms", duration=60, on_figures=fails, out="run")
        self.assertFalse(farfield.open_run("run").summary.complete)

    def test_pages_and_texts(self) -> None:
        run = self.quick(out="run")
        self.assertFalse((run.directory / "report.html").exists())
        self.assertIn("<html", run.report.read_text())
        self.assertIn(": valid", run.text("markdown"))
        self.assertIn("valid", repr(run))
        with self.program("echo half; kill -9 $$"), self.assertRaisesRegex(farfield.FarfieldError, "SIGKILL"):
            run.text()

    def test_html_of_a_run_is_escaped(self) -> None:
        run = self.quick(out="run", name="<script>alert(1)</script>", note="<b>")
        html = run._repr_html_()
        self.assertNotIn("<script", html)
        self.assertIn("&lt;script&gt;", html)


class Programs(InFolder):
    def test_a_program_that_is_missing_says_so(self) -> None:
        with unittest.mock.patch.dict(os.environ, {"FARFIELD_PROGRAM": "/nowhere/farfield"}):
            with self.assertRaisesRegex(farfield.ProgramMissing, "/nowhere/farfield"):
                self.quick()
            with self.assertRaises(FileNotFoundError):
                farfield.program()

    def assert_of_program(self, script: str, kind: type[Exception], words: str) -> None:
        with self.program(script), self.assertRaisesRegex(kind, words):
            farfield.run(out="run")

    def test_a_program_that_ends_in_another_way(self) -> None:
        self.assert_of_program("kill -9 $$", farfield.FarfieldError, "signal 9 .SIGKILL")
        self.assert_of_program("exit 0", farfield.FarfieldError, "exit code 0 and no message")
        self.assert_of_program("echo 'farfield: no room' >&2; exit 1", farfield.FarfieldError, "^no room$")
        self.assert_of_program("kill -15 $$", farfield.Interrupted, "SIGTERM")
        # Much is read, so that it does not wait, and little is kept.
        self.assert_of_program("head -c 3000000 /dev/zero >&2; echo end >&2; exit 1", farfield.FarfieldError, "end$")


def notes(swept: farfield.Sweep) -> list[str | None]:
    """The notes of the runs of a sweep."""
    return [run.summary.heading.note for run in swept.runs]


class Many(InFolder):
    def test_a_sweep_has_points_runs_and_a_table(self) -> None:
        vary: dict[str, list[Any]] = {"network.rtt": ["1ms", "20ms"], "load.users": [2, 4]}
        swept = farfield.sweep(BRIEF, vary=vary, repeats=1, out="s")
        self.assertEqual((len(swept.points), len(swept.runs)), (4, 4))
        self.assertEqual({setting.key for setting in swept.points[0].settings}, {"network.rtt", "load.users"})
        self.assertTrue(all(run.valid for run in swept.raise_if_invalid().runs))
        self.assertTrue(swept.page.exists())
        self.assertIn("network.rtt", swept._repr_html_())
        # The same call makes no run again.
        times = [run.directory.stat().st_mtime_ns for run in swept.runs]
        again = farfield.sweep(BRIEF, vary=vary, repeats=1, out="s")
        self.assertEqual([run.directory.stat().st_mtime_ns for run in again.runs], times)
        self.assertEqual(again.points, swept.points)

        compared = swept.runs[0].compare(swept.runs[-1], metric="p95")
        self.assertIsNotNone(compared.row("p50").base)
        self.assertIn("p95", compared._repr_html_())
        self.assertIn("p95", compared.markdown)

    def test_texts_of_points_arrive_as_they_are(self) -> None:
        points: list[dict[str, Any]] = [{"load.users": 3}, {"load.users": 2, "note": 'a, "b"'}, {"note": "true"}]
        swept = farfield.sweep(BRIEF, points=points, repeats=1, out="s")
        self.assertEqual(sorted(map(str, notes(swept))), ["None", 'a, "b"', "true"])
        # A key that only some points have is a column too.
        self.assertIn("<th>load.users</th><th>note</th>", swept._repr_html_())
        texts = ['"a", b', "[1,2", "it's (", "1"]
        varied = farfield.sweep(BRIEF, vary={"note": texts}, repeats=1, out="v")
        self.assertEqual(sorted(map(str, notes(varied))), sorted(texts))

    def test_a_sweep_whose_runs_do_not_count_is_raised_by_choice(self) -> None:
        flood = {**QUICK, "load": {"model": "open", "arrivals": "500/s", "users-max": 2}}
        # Long enough for the check to judge.
        swept = farfield.sweep(flood, vary={"network.rtt": ["1ms", "2ms"]}, repeats=1, out="s")
        with self.assertRaisesRegex(farfield.InvalidRun, "has no valid run to compare: .*dropped-arrivals"):
            farfield.compare(*swept.runs)
        with self.assertRaisesRegex(farfield.InvalidRun, "network.rtt = 1ms: dropped-arrivals"):
            swept.raise_if_invalid()
        self.assertIn("2 runs were invalid", swept._repr_html_())

    def test_a_comparison_is_judged(self) -> None:
        near, far = self.quick(out="near", network_rtt="10ms"), self.quick(out="far", network_rtt="30ms")
        compared = farfield.compare("near", "far", fail_if="p50 +5%")
        self.assertIs(compared.raise_if_invalid(), compared)
        with self.assertRaisesRegex(farfield.ThresholdFailed, "p50 .*is exceeded for far, against near"):
            compared.raise_if_failed()
        self.assertTrue(compared.exceeded)
        self.assertEqual(compared.conditions[0].judgements, ["exceeded"])
        change = compared.row("p50").change
        assert change is not None
        self.assertTrue(change.differs and change.low > 0.05)
        self.assertIn("network.rtt", [changed.key for changed in compared.others[0].inputs])
        with self.assertRaisesRegex(farfield.ScenarioError, "nonsense"):
            farfield.compare(near, far, metric="nonsense")
        # Names begin at the folder of the call, wherever it is read.
        os.chdir("/")
        self.assertIn("near", str(compared))
        self.assertIn("far", compared.markdown)

    def test_a_comparison_that_decides_nothing_is_raised_by_choice(self) -> None:
        def compared(judgement: str, runs: int = 1) -> Comparison:
            left_out = [LeftOut(run="b", reason="it is invalid (arrivals)")]
            base = Side(name="a", runs=1, left_out=[], load="")
            other = Side(name="b", runs=runs, left_out=left_out, load="")
            against = Against(side=other, evidence="pairs", rows=[], inputs=[], notes=[])
            limit = Condition(condition="p50 +5%", judgements=[judgement])
            whole = _Compared(level=0.95, base=base, others=[against])
            return Comparison([], _Document(comparison=whole, conditions=[limit]), 0)

        kept = compared("kept")
        self.assertIs(kept.raise_if_failed(), kept)
        with self.assertRaisesRegex(farfield.InvalidRun, r"p50 \+5% is undecided for b, against a; more repeats"):
            compared("undecided").raise_if_failed()
        for method in (Comparison.raise_if_invalid, Comparison.raise_if_failed):
            with self.assertRaisesRegex(farfield.InvalidRun, "b has no valid run to compare: b: it is invalid"):
                method(compared("kept", runs=0))

    def test_parts_of_which_one_is_missing_are_an_invalid_run(self) -> None:
        # Two that are one run are merged in test_ray.
        parts = [farfield.run(BRIEF, out=f"part-{k}", part=f"{k}/2") for k in (1, 2)]
        alone = farfield.merge(parts[:1], out="alone")
        self.assertFalse(alone.valid)
        self.assertIn("parts", alone.cause or "")
        with self.assertRaises(farfield.FarfieldError):
            farfield.merge([parts[0], parts[0]], out="twice")
        # The run that lies there is not the one that was asked for.
        with self.assertRaises(farfield.FarfieldError) as raised:
            farfield.merge(parts, out="alone")
        self.assertIsNone(raised.exception.run)
        self.assertFalse(farfield.open_run("alone").valid)

    def test_a_search_has_its_trials_and_its_answer(self) -> None:
        scenario = {**QUICK, "load": {"model": "open", "arrivals": "100/s"}}
        # No load keeps this goal, however long the search has for it.
        searched = farfield.capacity(scenario, slo=["mean<1us", "errors<1%"], budget="200ms", duration="200ms", out="c")
        self.assertIn(searched.answer.is_, ("less-than", "undecided"))
        self.assertEqual((searched.value, searched.interval), (None, None))
        self.assertEqual(searched.report.goals, ["mean<1us", "errors<1%"])
        self.assertEqual({point.kept for point in searched.report.curve}, {0})
        self.assertIn("0 of 1", searched._repr_html_())
        answer = AnswerFound(is_="found", value=5.0, low=4.0, high=6.0, method="bounds", at_load=1.0)
        found = dataclasses.replace(searched, report=dataclasses.replace(searched.report, answer=answer))
        self.assertEqual((found.value, found.interval, str(found)), (5.0, (4.0, 6.0), "5 requests/s (4 to 6)"))

    def test_a_mistake_leaves_no_folder(self) -> None:
        with self.assertRaisesRegex(farfield.ScenarioError, "usres"):
            farfield.sweep(QUICK, vary={"load.usres": [1, 2]})
        with self.assertRaises(farfield.ScenarioError):
            farfield.capacity(QUICK, slo="p99<soon")
        with self.assertRaises(farfield.ScenarioError):
            farfield.sweep("nowhere.toml", vary={"load.users": [1, 2]})
        self.assertEqual(os.listdir("."), [])

    def test_a_log_that_cannot_be_fitted_is_refused_with_the_reason(self) -> None:
        # One that can is fitted by the tutorial (test_pages).
        Path("-robots.log").write_text(
            '192.0.2.1 - - [01/Jan/2026:00:00:01 +0000] "GET /robots.txt HTTP/1.1" 404 0\n'
        )
        with self.assertRaisesRegex(farfield.FarfieldError, "no request of a user"):
            farfield.fit("-robots.log", out="fit")
        with self.assertRaisesRegex(farfield.FarfieldError, "nowhere.log"):
            farfield.fit(["-robots.log", "nowhere.log"], out="fit")


class Samples(InFolder):
    def setUp(self) -> None:
        super().setUp()
        if find_spec("pyarrow") is None:
            self.skipTest("PyArrow is not installed")

    def test_samples_stream_into_libraries_that_are_there(self) -> None:
        import pyarrow

        run = self.quick(out="run")
        count = len(run.samples)
        self.assertGreater(count, 100)
        self.assertEqual(pyarrow.table(run.samples).num_rows, count)
        self.assertIn("due_ns", run.samples.columns)
        steady = run.samples.to_arrow(["done_ns", "due_ns"])
        self.assertEqual((steady.num_columns, steady.num_rows), (2, count))
        if find_spec("polars") is not None:
            import polars

            self.assertEqual(polars.DataFrame(run.samples).height, count)
            self.assertEqual(run.samples.to_polars(["user"]).height, count)
        if find_spec("pandas") is not None:
            self.assertEqual(len(run.series.to_pandas()), len(run.series))

        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.parquet": None, "polars": None}):
            # The index has no farfield of this project's: no extra of it is named.
            with self.assertRaisesRegex(farfield.FarfieldError, "pip install pyarrow$"):
                run.samples.__arrow_c_stream__()
            with self.assertRaisesRegex(farfield.FarfieldError, "pip install polars$"):
                run.samples.to_polars()
        run.samples.path.unlink()
        with self.assertRaisesRegex(farfield.FarfieldError, "samples.parquet is not there"):
            run.samples.to_arrow()


class Imports(unittest.TestCase):
    def test_the_package_needs_nothing_but_the_standard_library(self) -> None:
        script = (
            "import sys, json; import farfield, farfield.ray; "
            "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))))"
        )
        printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        others = [
            name
            for name in json.loads(printed.stdout)
            if not name.startswith(("_", "sitecustomize", "usercustomize"))
        ]
        self.assertEqual(others, ["farfield"], printed.stderr)
