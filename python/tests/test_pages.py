"""The pages on Python: their blocks of code, run one after the other as a reader would."""

from __future__ import annotations

import contextlib
import io
import json
import re
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

    def test_the_tutorial_ends_with_its_plot(self) -> None:
        names = self.follow("tutorials/python.md", 5)
        self.assertIn("<svg", Path("round-trips.svg").read_text("utf-8"))
        self.assertEqual(len(names["swept"].runs), 12)

    def test_the_notebook_has_the_code_of_the_tutorial(self) -> None:
        cells = json.loads((DOCS / "tutorials/python.ipynb").read_text("utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        page = "\n".join(block for _, block in blocks("tutorials/python.md"))
        left_out = [line for line in page.splitlines() if line and line not in code.splitlines()]
        self.assertEqual([line.split("(")[0] for line in left_out], ["matplotlib.use"])

    def test_the_page_runs(self) -> None:
        names = self.follow("python.md", 3)
        self.assertGreater(len(names["samples"]), 0)
