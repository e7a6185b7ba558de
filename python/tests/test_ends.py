"""Ends that nobody planned: Ctrl-C, signals from elsewhere, and a Python that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import farfield
from farfield import _child, _server

from .scenes import InFolder

PACKAGE = str(Path(farfield.__file__).resolve().parent.parent)


def ended(pid: int, patience_s: float = 20.0) -> bool:
    """True once there is no such process, or only its body is left."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def children(pid: int) -> list[int]:
    """The processes that descend from this one, by their parents."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                own = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += own
            waiting += own
    return found


#: A server of somebody's: its port is the first word.
LISTENING = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listener.accept()[0].close()
"""


class Interrupts(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.server = farfield.serve()
        self.addCleanup(self.server.stop)

    def test_ctrl_c_ends_the_run_and_keeps_what_was_measured(self) -> None:
        presses: list[float] = []

        def press(figures: dict[str, Any]) -> None:
            if not presses:
                presses.append(time.monotonic())
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(farfield.KeyboardInterrupted) as raised:
            farfield.run(self.server.url, users=2, think="50ms", duration=60, warm_up=0, on_figures=press, out="run")
        run = raised.exception.run
        assert run is not None
        self.assertNotIsInstance(raised.exception, Exception)
        self.assertEqual(run.exit_code, 130)
        self.assertFalse(run.summary.complete)
        self.assertGreater(run.summary.steady.requests, 0)
        self.assertIn("interrupted", str(raised.exception))

    def test_ctrl_c_while_nothing_comes_is_as_good(self) -> None:
        # The signal comes to the main thread, which waits for lines.
        timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.addCleanup(timer.join)
        with self.assertRaises(KeyboardInterrupt):
            farfield.run(self.server.url, users=1, think="50ms", duration=60, warm_up=0, out="run")
        self.assertFalse(farfield.open_run("run").summary.complete)

    def test_a_signal_from_elsewhere_is_an_error_with_the_run(self) -> None:
        def end_it(figures: dict[str, Any]) -> None:
            for pid in children(os.getpid()):
                if b"--format=jsonl" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGTERM)

        with self.assertRaises(farfield.Interrupted) as raised:
            farfield.run(self.server.url, users=1, think="50ms", duration=60, warm_up=0, on_figures=end_it, out="run")
        assert raised.exception.run is not None
        self.assertFalse(raised.exception.run.valid)

    def test_a_killed_run_keeps_its_last_checkpoint(self) -> None:
        seen: list[int] = []

        def kill_it(figures: dict[str, Any]) -> None:
            seen.append(1)
            if len(seen) < 2:
                return
            for pid in children(os.getpid()):
                if b"--format=jsonl" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

        with self.assertRaisesRegex(farfield.FarfieldError, "SIGKILL") as raised:
            farfield.run(
                self.server.url, users=1, think="50ms", duration=60, warm_up=0, on_figures=kill_it, out="run"
            )
        run = raised.exception.run
        assert run is not None
        self.assertFalse(run.summary.complete)
        self.assertFalse(run.valid)


#: A program that prints figures, and ends half a second after SIGINT.
SLOW = """trap 'sleep 0.5; exit 130' INT
echo $$ > number
echo '{"kind":"figures"}'
while :; do sleep 0.02; done"""


class Presses(InFolder):
    """Ctrl-C at moments at which a program of the tests' has just started, or is about to end."""

    def assert_over(self) -> None:
        self.assertTrue(ended(int(Path("number").read_text()), 2.0))

    def test_ctrl_c_just_after_the_start_ends_the_run(self) -> None:
        class Messages(_child.Messages):
            def __init__(self, pipe: Any) -> None:
                while not Path("number").exists():
                    time.sleep(0.01)
                signal.raise_signal(signal.SIGINT)
                super().__init__(pipe)

        with self.program(SLOW), unittest.mock.patch.object(_child, "Messages", Messages):
            with self.assertRaises(farfield.KeyboardInterrupted):
                farfield.run(out="run")
        self.assert_over()
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_ctrl_c_outranks_what_a_callback_has_raised(self) -> None:
        def fails(figures: dict[str, Any]) -> None:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            raise ZeroDivisionError

        with self.program(SLOW), self.assertRaises(farfield.KeyboardInterrupted) as raised:
            farfield.run(on_figures=fails, out="run")
        self.assertIsInstance(raised.exception.__cause__, ZeroDivisionError)
        self.assert_over()


class Orphans(InFolder):
    def python(self, script: str) -> tuple[subprocess.Popen[str], str]:
        """A Python that has started something, and the line that it has printed."""
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        started = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment, cwd=self.folder
        )
        assert started.stdout is not None
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.kill)
        return started, started.stdout.readline()

    def test_what_a_killed_python_has_started_ends(self) -> None:
        script = (
            "import farfield, json, sys\n"
            "server = farfield.serve()\n"
            "farfield.run(server.url, users=1, think='50ms', duration=60, out='run',"
            " on_figures=lambda figures: (print('runs', flush=True)))\n"
        )
        python, line = self.python(script)
        self.assertEqual(line, "runs\n")
        started = children(python.pid)
        # The guard of the server, the server and the run.
        self.assertEqual(len(started), 3)
        python.kill()
        python.wait()
        for pid in started:
            self.assertTrue(ended(pid), pid)

    def test_what_a_server_has_started_ends_too(self) -> None:
        # The shell's child ignores SIGINT, as all that a shell starts in the background do.
        script = (
            "import farfield, signal\n"
            "server = farfield.start_server(['/bin/sh', '-c', 'sleep 60 & exec \"$@\"', '-',"
            f" {sys.executable!r}, '-c', {LISTENING!r}, '{{port}}'], 'http://127.0.0.1:{{port}}/')\n"
            "print(server.url, flush=True)\n"
            "signal.pause()\n"
        )
        python, line = self.python(script)
        self.assertRegex(line, r"http://127.0.0.1:\d+/\n")
        started = children(python.pid)
        self.assertEqual(len(started), 3)
        python.kill()
        python.wait()
        for pid in started:
            self.assertTrue(ended(pid, 8.0), pid)

    def test_a_python_that_ends_takes_its_server_along(self) -> None:
        script = (
            "import farfield, json, os, signal\n"
            "server = farfield.serve()\n"
            "forked = os.fork()\n"
            "if forked == 0:\n"
            "    os.close(1)\n"
            "    while True: signal.pause()\n"
            "print(json.dumps([server.url, os.getpid(), forked]), flush=True)\n"
            "input()\n"
        )
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        python = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert python.stdout is not None and python.stdin is not None
        url, pid, forked = json.loads(python.stdout.readline())
        self.addCleanup(os.kill, forked, signal.SIGKILL)
        self.assertTrue(url.startswith("http://127.0.0.1:"))
        # A forked process, such as one of `multiprocessing`, does not keep it.
        started = [child for child in children(pid) if child != forked]
        self.assertGreaterEqual(len(started), 2)
        python.communicate("\n")
        for pid in started:
            self.assertTrue(ended(pid), pid)


class Servers(unittest.TestCase):
    def test_the_built_in_server_has_a_free_port_and_ends_with_the_block(self) -> None:
        with farfield.serve(service_time="1ms") as server, farfield.serve() as other:
            self.assertNotEqual(server.url, other.url)
            self.assertTrue(server.running)
        self.assertFalse(server.running)
        # Its number may be another process's by now.
        with unittest.mock.patch.object(os, "killpg") as killed:
            server.stop()
        killed.assert_not_called()
        self.assertTrue(server.stopped)

    def test_a_port_is_the_servers_own(self) -> None:
        command = [sys.executable, "-c", LISTENING, "{port}"]
        with farfield.start_server(command, "http://127.0.0.1:{port}/") as own:
            self.assertRegex(own.url, r"^http://127\.0\.0\.1:\d+/$")
            port = own.url.rstrip("/").rpartition(":")[2]
            idle = [sys.executable, "-c", "import time; time.sleep(60)"]
            # As if the other one had come in between.
            listens = _server._listens
            answers = iter([False])
            with unittest.mock.patch.object(_server, "_listens", lambda at: next(answers, True) and listens(at)):
                with self.assertRaisesRegex(farfield.FarfieldError, rf"process \d+ listens on 127.0.0.1:{port}"):
                    farfield.start_server(idle, own.url, ready_s=0.3)
                answers = iter([False])
                with self.assertRaisesRegex(farfield.FarfieldError, "(?s)ended with 1: .*in use"):
                    farfield.start_server([*command[:-1], port], own.url)

    def test_tls_has_a_pin(self) -> None:
        with farfield.serve(tls=True) as server:
            self.assertTrue(server.url.startswith("https://"))
            self.assertTrue(server.pin)

    def test_mistakes_are_raised(self) -> None:
        with self.assertRaisesRegex(farfield.ScenarioError, "service"):
            farfield.serve(service_time="soon")
        with self.assertRaisesRegex(farfield.ScenarioError, "servce_time.*service_time"):
            farfield.serve(servce_time="1ms")  # type: ignore[call-arg]
        with farfield.serve() as server:
            address = server.url.removeprefix("http://").rstrip("/")
            with self.assertRaisesRegex(farfield.FarfieldError, "in use"):
                farfield.serve(address)
            with self.assertRaisesRegex(farfield.FarfieldError, "listens on .* already"):
                farfield.start_server([sys.executable, "-c", ""], server.url)

    def test_a_server_of_another_kind_that_fails_says_what_it_wrote(self) -> None:
        command = [sys.executable, "-c", "raise SystemExit('no configuration')"]
        with self.assertRaisesRegex(farfield.FarfieldError, "no configuration"):
            farfield.start_server(command, "http://127.0.0.1:9/")
        with self.assertRaises(farfield.ScenarioError):
            farfield.start_server(command, "127.0.0.1:80")
        with self.assertRaisesRegex(farfield.FarfieldError, "within 0.2 s"):
            farfield.start_server(
                [sys.executable, "-c", "import time; time.sleep(60)"], "http://127.0.0.1:9/", ready_s=0.2
            )
