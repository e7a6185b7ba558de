"""The pages on Python: their blocks of code, run one after the other as a reader would."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import unittest.mock
from pathlib import Path
from typing import Any

from .scenes import InFolder

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def blocks(page: str) -> list[tuple[int, str]]:
    """The blocks of Python of a page with their lines, but for those marked as not run."""
    text = (DOCS / page).read_text("utf-8")
    found = []
    for block in re.finditer(r"^(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if block[1] is None:
            found.append((text.count("\n", 0, block.start(2)) + 1, block[2]))
    return found


def cells() -> list[str]:
    """The code of the notebook, cell by cell."""
    whole = json.loads((DOCS / "tutorials/python.ipynb").read_text("utf-8"))
    return ["".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == "code"]


class Pages(InFolder):
    def follow(self, page: str, count: int) -> dict[str, Any]:
        """Run the blocks of a page, of which there are so many."""
        found = blocks(page)
        self.assertEqual(len(found), count, page)
        names: dict[str, Any] = {"__name__": "page"}
        for line, code in found:
            compiled = compile("\n" * (line - 1) + code, str(DOCS / page), "exec")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compiled, names)  # noqa: S102  The pages are this repository's.
        return names

    def test_the_tutorial_and_then_its_notebook_end_with_their_plots(self) -> None:
        """One after the other in one folder, as somebody who runs the cells again would."""
        page = self.follow("tutorials/python.md", 5)
        names: dict[str, Any] = {"__name__": "notebook"}
        # Where a notebook would show its figures, and without a terminal to ask.
        with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch.dict(os.environ, {"MPLBACKEND": "agg"}):
            for number, cell in enumerate(cells()):
                exec(compile(cell, f"cell {number}", "exec"), names)  # noqa: S102
        self.assertNotEqual(page["folder"], names["folder"])
        for made in (page, names):
            self.assertIn("<svg", Path(made["folder"], "round-trips.svg").read_text("utf-8"))
            self.assertEqual(len(made["swept"].runs), 9)

    def test_no_page_installs_what_others_have_in_the_public_index(self) -> None:
        for page in ["python.md", "tutorials/python.md", "tutorials/python.ipynb", "install.md"]:
            text = (DOCS / page).read_text("utf-8")
            self.assertIsNone(re.search(r"pip install ['\"]?farfield(?!-[0-9V])", text), page)

    def test_the_notebook_has_the_code_of_the_tutorial(self) -> None:
        code = "\n".join(cells())
        page = "\n".join(block for _, block in blocks("tutorials/python.md"))
        left_out = [line for line in page.splitlines() if line and line not in code.splitlines()]
        self.assertEqual([line.split("(")[0] for line in left_out], ["matplotlib.use"])

    def test_the_page_runs(self) -> None:
        names = self.follow("python.md", 3)
        self.assertGreater(len(names["samples"]), 0)
