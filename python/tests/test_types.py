"""The package under mypy --strict, and what it finds in users' code."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .scenes import InFolder

PYTHON = Path(__file__).resolve().parent.parent

#: Code of a user's, with the mistakes that types are to find.
CODE = """
import farfield

run = farfield.run("http://127.0.0.1/", rate="200/s", duration=3, connections_policy="persistent")
p99: int | None = run.percentile_ns(99)
run.percentile_ns(99, "responze")
farfield.run("http://127.0.0.1/", duratoin=3)
answer: str = farfield.capacity("a.toml", slo="p99<1s").value
with farfield.serve(service_time="1ms") as server:
    text: str = server.url
# Keys that are flags of another command.
farfield.capacity("a.toml", slo="p99<1s", note="a", name="b", capture=1, requests={})
farfield.sweep("a.toml", vary={"load.users": [1, 2]}, note="a", name="b")
"""


class Types(InFolder):
    def setUp(self) -> None:
        super().setUp()
        if find_spec("mypy") is None:
            self.skipTest("mypy is not installed")

    def mypy(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mypy", "--cache-dir=/dev/null", *words]
        environment = {**os.environ, "MYPYPATH": str(PYTHON)}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_the_package_is_clean_and_finds_mistakes_of_users(self) -> None:
        Path("code.py").write_text(CODE)
        os.chdir(PYTHON)
        code = str(self.folder / "code.py")
        checked = self.mypy("--config-file", "mypy.ini", "farfield", "generate.py", code)
        found = [line for line in checked.stdout.splitlines() if ": error:" in line]
        self.assertEqual(len(found), 3, checked.stdout + checked.stderr)
        for line, number, word in zip(found, (6, 7, 8), ("arg-type", "call-arg", "assignment")):
            self.assertRegex(line, rf"code\.py:{number}: error: .*\[{word}\]")
