"""Parts and sweeps over a cluster, of which this process plays Ray: what is refused, lost, kept and left."""

from __future__ import annotations

import os
import shutil
import unittest.mock
from pathlib import Path
from typing import Any

import farfield
import farfield.ray
from farfield.ray import _Part

from .ray_stub import ActorDiedError, Cluster
from .scenes import BRIEF, InFolder


class OnCluster(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = Cluster()
        stub = self.cluster.here()
        stub.start()
        self.addCleanup(stub.stop)
        self.addCleanup(self.clean)

    def clean(self) -> None:
        for actor in self.cluster.actors:
            shutil.rmtree(actor._folder, ignore_errors=True)

    def left(self) -> list[int]:
        """The actors whose files are still there."""
        return [at for at, actor in enumerate(self.cluster.actors) if os.path.exists(actor._folder)]


class Runs(OnCluster):
    def test_parts_are_one_run_and_leave_nothing_on_their_nodes(self) -> None:
        whole = farfield.ray.run(BRIEF, machines=2, out="whole")
        self.assertTrue(whole.valid, whole.cause)
        self.assertEqual([part.part for part in whole.summary.parts], ["1/2", "2/2"])
        self.assertEqual(sorted(os.listdir(".")), ["whole", "whole-parts"])
        parts = [farfield.open_run(f"whole-parts/part-{number}") for number in (1, 2)]
        requests = [part.summary.steady.requests for part in parts]
        self.assertTrue(all(requests))
        self.assertEqual(whole.summary.steady.requests, sum(requests))
        self.assertEqual((self.left(), whole.messages), ([], ""))

    def test_a_folder_that_is_there_is_refused_before_anything_starts(self) -> None:
        for name in ["whole", "whole-parts"]:
            Path(name).mkdir()
            with self.assertRaisesRegex(farfield.FarfieldError, f"/{name} exists"):
                farfield.ray.run(BRIEF, machines=2, out="whole")
            Path(name).rmdir()
        self.assertEqual(self.cluster.actors, [])

    def assert_lost(self, reason: str, left: list[int], **keywords: Any) -> None:
        """The second part of two is lost, and the first one is merged. The runs are no runs, and merged by nobody."""
        merged: list[Path] = []

        def run_here(what: Any, *, out: str, **words: Any) -> None:
            Path(out, "inputs").mkdir(parents=True)
            for name in ("summary.json", "inputs/a.csv"):
                Path(out, name).write_text(words["part"])

        def merge(parts: list[Path], *, out: Path) -> farfield.Run:
            merged.extend(parts)
            return farfield.Run(out)

        with unittest.mock.patch.multiple(farfield.ray, run_here=run_here, merge=merge):
            with self.assertLogs("farfield.ray", "WARNING"):
                whole = farfield.ray.run(BRIEF, machines=2, out="whole", **keywords)
        self.assertEqual(merged, [self.folder / "whole-parts/part-1"])
        self.assertEqual((merged[0] / "inputs/a.csv").read_text(), "1/2")
        self.assertRegex(whole.messages, reason)
        self.assertEqual(self.left(), left)

    def test_a_part_that_cannot_be_written_here_is_lost_and_stays_there(self) -> None:
        self.cluster.faults[1, "read"] = OSError(28, "No space left on device")
        self.assert_lost("part 2/2 is missing: .*No space left on device; it is in .*/part", [1])

    def test_a_disk_that_is_full_here_loses_that_part_alone(self) -> None:
        fetch = farfield.ray._fetch

        def fails(ray: Any, actor: Any, place: Path, patience_s: float) -> None:
            if place.name == "part-2":
                raise OSError(28, "No space left on device")
            fetch(ray, actor, place, patience_s)

        with unittest.mock.patch.object(farfield.ray, "_fetch", fails):
            self.assert_lost("part 2/2 is missing: it could not be fetched: .*No space left.*; it is in ", [1])

    def test_a_node_that_is_lost_takes_its_part_along(self) -> None:
        self.cluster.faults[1, "run"] = ActorDiedError("gone")
        self.assert_lost("its node was lost .ActorDiedError.", [])

    def test_a_part_that_does_not_end_is_lost_at_the_limit(self) -> None:
        self.cluster.endless.add((1, "run"))
        self.assert_lost("it had not ended after 0.1 s", [], limit_s=0.1)

    def test_files_that_do_not_come_are_waited_for_with_patience(self) -> None:
        self.cluster.endless.add((1, "files"))
        self.assert_lost("could not be fetched .GetTimeoutError.; it is in ", [1])

    def test_a_part_that_was_measured_and_interrupted_is_kept(self) -> None:
        part = _Part()
        self.addCleanup(part.end)
        error = farfield.Interrupted("SIGTERM came", run=farfield.Run("made"))
        with unittest.mock.patch.object(farfield.ray, "run_here", side_effect=error):
            self.assertEqual(part.run(None, "http://127.0.0.1/", {}, "part"), "SIGTERM came")
            error.run = None
            with self.assertRaises(farfield.Interrupted):
                part.run(None, "http://127.0.0.1/", {}, "part")

    def test_no_part_at_all_is_an_error_with_the_reasons(self) -> None:
        for number in (0, 1):
            self.cluster.faults[number, "run"] = ActorDiedError("gone")
        with self.assertLogs("farfield.ray", "WARNING"), self.assertRaisesRegex(
            farfield.FarfieldError, "no part .*1/2: its node was lost.*2/2: its node"
        ):
            farfield.ray.run(BRIEF, machines=2, out="whole")

    def test_keywords_that_parts_have_of_their_own_are_refused(self) -> None:
        for keywords in ({"part": "1/3"}, {"start_at": "2026-11-29T00:00:00Z"}):
            given: Any = keywords
            with self.assertRaisesRegex(farfield.ScenarioError, "is no keyword of farfield.ray.run"):
                farfield.ray.run(BRIEF, machines=2, **given)
        with self.assertRaisesRegex(farfield.ScenarioError, "usres"):
            farfield.ray.run({**BRIEF, "load": {"usres": 1}}, machines=2)
        self.assertEqual((self.cluster.actors, os.listdir(".")), ([], []))


class Sweeps(OnCluster):
    def test_runs_of_one_repeat_have_the_same_seed(self) -> None:
        swept = farfield.ray.sweep(BRIEF, vary={"load.users": [2, 5]}, repeats=2, seed=7, out="s")
        found = [(row["load.users"], row["repeat"], row["seed"]) for row in swept.rows()]
        self.assertEqual(found, [(2, 1, 7), (2, 2, 8), (5, 1, 7), (5, 2, 8)])
        self.assertEqual(swept.lost, [])
        run = swept.runs[3].run
        assert run is not None
        self.assertEqual(run.summary.heading.seed, 8)

    def test_keys_that_a_sweep_sets_itself_are_refused(self) -> None:
        refused: list[Any] = [
            {"vary": {"seed": [1, 2]}},
            {"points": [{"seed": 1}]},
            {"points": [{"load.users": 1}], "set": {"seed": 1}},
            {"vary": {"plane": ["simulated"]}},
            {"vary": {"load.users": [1, 2]}, "plane": "sockets"},
            {"vary": {"load.users": [1, 2]}, "workers": 4},
            {"vary": {"load.users": [1, 2]}, "part": "1/2"},
            {"vary": {"a=b": [1, 2]}},
        ]
        for keywords in refused:
            with self.assertRaises(farfield.ScenarioError, msg=keywords):
                farfield.ray.sweep(BRIEF, out="s", **keywords)
        Path("s").mkdir()
        Path("s/kept").touch()
        with self.assertRaisesRegex(farfield.FarfieldError, "/s exists"):
            farfield.ray.sweep(BRIEF, vary={"load.users": [1, 2]}, out="s")
        self.assertEqual(self.cluster.tasks, 0)
