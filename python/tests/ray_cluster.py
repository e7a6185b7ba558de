"""Parts and sweeps over a cluster of Ray on this machine, of which a node is killed.

Not among the tests that every change runs: Ray takes 300 MB, and all of it minutes. By hand, with a Python that
has Ray (it leaves its sessions in /tmp/ray, and a killed node the folder of its part)::

    cd python && FARFIELD_PROGRAM=…/farfield python3 -m unittest -v tests.ray_cluster
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import farfield
import farfield.ray

from .scenes import CALM, QUICK, InFolder
from .test_ends import children

PACKAGE = str(Path(__file__).resolve().parent.parent)


class Clusters(InFolder):
    nodes = 2
    processors = 1

    def setUp(self) -> None:
        super().setUp()
        import ray
        from ray.cluster_utils import Cluster

        # Workers get the environment of their node's daemon.
        os.environ["PYTHONPATH"] = PACKAGE
        os.environ["RAY_DEDUP_LOGS"] = "0"
        self.cluster: Any = Cluster()
        # The head has no processors, so that every part is on a node that may be lost.
        self.cluster.add_node(num_cpus=0, object_store_memory=80 << 20, include_dashboard=False)
        self.workers = [
            self.cluster.add_node(num_cpus=self.processors, object_store_memory=80 << 20) for _ in range(self.nodes)
        ]
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        self.addCleanup(self.cluster.shutdown)
        self.addCleanup(ray.shutdown)

    def farfields(self) -> list[int]:
        """The runs that are under way on this machine, of whatever node."""
        found = []
        for pid in children(os.getpid()):
            try:
                if b"--format=jsonl" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue
        return found


class TwoNodes(Clusters):
    def test_two_parts_are_the_run_of_one(self) -> None:
        whole = farfield.ray.run(QUICK, machines=2, out="whole")
        self.assertTrue(whole.valid, whole.cause)
        self.assertEqual([part.part for part in whole.summary.parts], ["1/2", "2/2"])
        # In virtual time the sum is what one process makes of both units.
        alone = farfield.run(QUICK, part="1..2/2", out="alone")
        self.assertEqual(whole.summary.steady.requests, alone.summary.steady.requests)
        self.assertEqual(whole.times(), alone.times())

    def test_parts_load_one_server_together(self) -> None:
        with farfield.serve() as server:
            whole = farfield.ray.run(
                server.url, machines=2, users=4, think="10ms", duration=2, warm_up=1, set=CALM, out="w"
            )
        self.assertTrue(whole.valid, f"{whole.cause} {whole.messages}")
        skews = [part.skew_ns for part in whole.summary.parts]
        print(f"start skew, ns: {skews}")
        self.assertTrue(all(skew is not None and abs(skew) < 100e6 for skew in skews))

    def test_a_mistake_is_raised_here(self) -> None:
        with self.assertRaisesRegex(farfield.ScenarioError, "usres"):
            farfield.ray.run({**QUICK, "load": {"usres": 1}}, machines=2)
        with self.assertRaisesRegex(farfield.FarfieldError, "has not given 3 machines"):
            farfield.ray.run(QUICK, machines=3, patience_s=2)

    def test_a_lost_node_is_a_missing_part(self) -> None:
        lost: list[float] = []

        def lose() -> None:
            while len(self.farfields()) < 2:
                time.sleep(0.05)
            time.sleep(5)
            lost.append(time.monotonic())
            self.cluster.remove_node(self.workers[1], allow_graceful=False)

        class Named(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                print(f"{record.getMessage()}: {time.monotonic() - lost[0]:.2f} s after the loss")

        handler = Named()
        logging.getLogger("farfield.ray").addHandler(handler)
        self.addCleanup(logging.getLogger("farfield.ray").removeHandler, handler)
        with farfield.serve() as server:
            loser = threading.Thread(target=lose)
            loser.start()
            whole = farfield.ray.run(server.url, machines=2, users=4, think="10ms", duration=15, set=CALM, out="w")
            loser.join()
        self.assertFalse(whole.valid)
        self.assertTrue((whole.cause or "").startswith("parts"), whole.cause)
        self.assertRegex(whole.messages, r"part \d/2 is missing: its node was lost")
        self.assertEqual(len(whole.summary.parts), 1)
        self.assertGreater(whole.summary.steady.requests, 100)
        self.assertEqual(self.farfields(), [])

    def test_a_sweep_goes_on_without_a_node(self) -> None:
        def lose() -> None:
            while not self.farfields():
                time.sleep(0.02)
            time.sleep(1)
            self.cluster.remove_node(self.workers[1], allow_graceful=False)

        loser = threading.Thread(target=lose)
        loser.start()
        long = {**QUICK, "run": {"duration": "20s"}}
        swept = farfield.ray.sweep(long, vary={"load.users": [2, 5, 10, 20]}, repeats=3, out="s")
        loser.join()
        self.assertEqual(swept.lost, [])
        rows = swept.rows()
        self.assertEqual([row["load.users"] for row in rows], [2, 2, 2, 5, 5, 5, 10, 10, 10, 20, 20, 20])
        self.assertTrue(all(row["valid"] for row in rows))
        # The same seeds give the same runs here.
        here = farfield.run(long, load_users=5, seed=2, workers=1, out="here")
        self.assertEqual(rows[4]["p99_ns"], here.percentile_ns(99))


class Speed(Clusters):
    def test_sixty_four_runs_on_two_nodes_and_on_one(self) -> None:
        long = {**QUICK, "run": {"duration": os.environ.get("FARFIELD_SWEEP_LENGTH", "20s")}}
        took = []
        for name in ("two", "one"):
            began = time.monotonic()
            swept = farfield.ray.sweep(long, vary={"load.users": [2, 4, 8, 16]}, repeats=16, out=name)
            took.append(time.monotonic() - began)
            self.assertEqual((len(swept.rows()), swept.lost), (64, []))
            if name == "two":
                self.cluster.remove_node(self.workers[1])
        print(f"64 runs: {took[0]:.1f} s on two nodes, {took[1]:.1f} s on one: {took[1] / took[0]:.2f} times")
