"""The commands of farfield as functions."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, Union

from . import _json
from ._child import Ended, attend
from ._program import program
from ._values import key_of, point_text, scenario_text, word_of
from ._words import words_of
from .errors import Aborted, FarfieldError, Interrupted, KeyboardInterrupted, ScenarioError
from .results import Capacity, Fit, Sweep
from .runs import Run
from .schema.capacity import CapacityReport
from .schema.sweep import SweepReport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import CapacityKeywords, FitKeywords, RunKeywords, SweepKeywords

#: A path.
Paths = Union[str, "os.PathLike[str]"]
#: What is run: a URL, a scenario file or a run directory; a scenario as a dict; None for the built-in server.
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any], None]

#: Exit codes of runs that were measured.
MEASURED = (0, 3, 99)


@contextlib.contextmanager
def located(scenario: Scenario) -> Iterator[list[str]]:
    """Yield the words that name a scenario.

    A dict becomes a file in the working folder, where the names of files in it begin, for as long as it is needed; in
    the folder of temporary files if that cannot be written.
    """
    if scenario is None:
        yield []
    elif isinstance(scenario, Mapping):
        text = scenario_text(scenario if "name" in scenario else {"name": "scenario", **scenario})
        with contextlib.ExitStack() as stack:
            try:
                file = tempfile.NamedTemporaryFile(
                    "w", dir=".", prefix=".farfield-", suffix=".toml", encoding="utf-8"
                )
            except OSError:
                file = tempfile.NamedTemporaryFile("w", prefix="farfield-", suffix=".toml", encoding="utf-8")
            stack.enter_context(file)
            file.write(text)
            file.flush()
            yield ["--", file.name]
    elif isinstance(scenario, str):
        yield ["--", word_of(scenario, "scenario")]
    elif isinstance(scenario, os.PathLike):
        # A file, also where its name is like a URL, or `last`.
        yield ["--", os.path.join(os.curdir, word_of(scenario, "scenario"))]
    else:
        raise ScenarioError(f"a scenario is a path, a URL, a dict or None, and not {scenario!r}")


def out_words(out: Paths | None) -> list[str]:
    """Return the words for the folder of a result."""
    return [] if out is None else [f"--out={word_of(out, 'out')}"]


def run(
    scenario: Scenario = None,
    *,
    out: Paths | None = None,
    check: bool = False,
    on_figures: Callable[[dict[str, Any]], object] | None = None,
    set: Mapping[str, Any] | None = None,
    **keywords: Unpack[RunKeywords],
) -> Run:
    """Load a server, and return the run.

    ``scenario`` is a URL, a scenario file, a run directory to repeat, or a dict with the keys of a scenario file; a
    path object is always a file. Without one the built-in server is loaded. Keywords are flags of `farfield run`
    (``rate="200/s"``, ``warm_up=2``) and keys of a scenario (``connections_request_timeout="5s"``); ``set`` has keys
    with the values that they get (``{"run.drain": "1s"}``). A list gives a flag several times, and None leaves it out.

    ``out`` is the run directory; ``farfield-runs/TIME-NAME`` if absent. ``on_figures`` is called once a second with the
    figures so far, as `farfield run --format jsonl` prints them.

    A run that was measured is returned, valid or not: look at ``run.valid``, or call `Run.raise_if_invalid`. With
    ``check=True``, `InvalidRun` is raised for one that is invalid and `ThresholdFailed` for one that missed a
    threshold. Raises `ScenarioError`, `Aborted`, `Interrupted`, `FarfieldError`; and on Ctrl-C, once the run has ended
    and kept what it had measured, `KeyboardInterrupted`.
    """
    words = words_of("run", {**keywords, "set": set})
    watch = _Watch(on_figures)
    with located(scenario) as what:
        own = ["run", "--format=jsonl", "--quiet", f"--with-parent={os.getpid()}"]
        ended = attend([*own, *words, *out_words(out), *what], watch.line, guarded=False)
    made = run_of(ended, watch.directory)
    return made.raise_if_failed() if check else made


class _Watch:
    """The lines of a run, as it prints them."""

    def __init__(self, on_figures: Callable[[dict[str, Any]], object] | None) -> None:
        self.directory: Path | None = None
        self._on_figures = on_figures

    def line(self, line: bytes) -> None:
        # The result is read from the run directory.
        if line.startswith(b'{"kind":"run"') or line.startswith(b'{"kind":"result"'):
            self.directory = Path(os.path.abspath(self._read(line)["directory"]))
        elif self._on_figures is not None and line.startswith(b'{"kind":"figures"'):
            self._on_figures(self._read(line))

    @staticmethod
    def _read(line: bytes) -> dict[str, Any]:
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise FarfieldError(f"farfield printed what is no JSON: {error}") from error


def run_of(ended: Ended, directory: Path | None) -> Run:
    """Return the run of a command that has ended; raise what its exit code stands for."""
    made = None
    if directory is not None and (directory / "summary.json").exists():
        made = Run(directory, exit_code=ended.code, messages=ended.messages)
    if ended.interrupted_here:
        kept = f"what was measured is in {directory}" if made else "nothing was measured"
        raise KeyboardInterrupted(f"the run was interrupted; {kept}", run=made) from ended.thrown
    if ended.code in MEASURED and made is not None:
        return made
    error = ended.error()
    if isinstance(error, (Aborted, Interrupted)) and made is not None:
        reason = made.summary.incomplete_reason or ended.sentence()
        raise type(error)(f"{reason}; what was measured is in {directory}", run=made) from None
    error.run = made
    raise error


def _document(words: Sequence[str], scenario: Scenario) -> tuple[Ended, Any]:
    """Run a command that prints one document; return its end, and the document, None without one."""
    lines: list[bytes] = []
    with located(scenario) as what:
        ended = attend([*words, *what], lines.append, guarded=True)
    text = b"".join(lines)
    try:
        return ended, json.loads(text) if text.strip() else None
    except ValueError as error:
        raise FarfieldError(f"farfield printed what is no JSON: {error}\n{ended.messages}") from error


def _raised(ended: Ended, what: str, has_document: bool, folder: Path) -> None:
    """Raise what ended a search or a sweep, unless it has a result."""
    if ended.interrupted_here:
        raise KeyboardInterrupted(
            f"{what} was interrupted; the same call with out={str(folder)!r} goes on"
        ) from ended.thrown
    if ended.code not in MEASURED or not has_document:
        raise ended.error()


@contextlib.contextmanager
def _in_folder(out: Paths | None, what: str) -> Iterator[Path]:
    """Yield the folder of a search or a sweep, whose result does not say where it is.

    One that was made here is removed if what is done in it fails and leaves nothing there.
    """
    if out is not None:
        yield Path(os.path.abspath(word_of(out, "out")))
        return
    is_first = not os.path.lexists("farfield-runs")
    folder = _new_folder(what)
    try:
        yield folder
    except BaseException:
        with contextlib.suppress(OSError):
            folder.rmdir()
            if is_first and os.listdir(folder.parent) == [".gitignore"]:
                (folder.parent / ".gitignore").unlink()
                folder.parent.rmdir()
        raise


def _new_folder(what: str) -> Path:
    from datetime import datetime, timezone

    stem = f"{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%SZ}-{what}"
    runs = Path("farfield-runs").absolute()
    if not runs.exists():
        with contextlib.suppress(OSError):
            runs.mkdir()
            (runs / ".gitignore").write_text("*\n")
    for number in range(1, 10_000):
        folder = runs / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            raise FarfieldError(
                f"{folder} cannot be made: {error.strerror}; name another folder with out="
            ) from error
    raise FarfieldError(f"{runs} is full of folders named {stem}")


def capacity(
    scenario: Scenario,
    *,
    out: Paths | None = None,
    set: Mapping[str, Any] | None = None,
    **keywords: Unpack[CapacityKeywords],
) -> Capacity:
    """Find what a server can take: the highest load that keeps the goals ``slo``, or its highest throughput.

    ``slo`` is a text or a list of thresholds (``["p99<1s", "errors<1%"]``), ``budget`` the time for all trials. ``out``
    is the folder of trials, of which none is made again. Raises as `run` does; a search whose answer is undecided is
    returned.
    """
    goals = keywords.get("slo")
    joined = {"slo": ",".join(goals)} if isinstance(goals, (list, tuple)) else {}
    words = words_of("capacity", {**keywords, **joined, "set": set})
    with _in_folder(out, "capacity") as folder:
        ended, document = _document(["capacity", "--format=json", "--quiet", *words, f"--out={folder}"], scenario)
        _raised(ended, "the search", document is not None, folder)
        return Capacity(folder, _read(CapacityReport, document), document)


def sweep(
    scenario: Scenario,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    points: Sequence[Mapping[str, Any]] | Paths | None = None,
    out: Paths | None = None,
    set: Mapping[str, Any] | None = None,
    **keywords: Unpack[SweepKeywords],
) -> Sweep:
    """Make runs at many points, each repeated, and return what moves the result.

    ``vary`` has keys with their values, of which all combinations are made; ``points`` is a list of dicts with keys and
    values, or a CSV file. Keys are those of a scenario (``"load.arrivals"``). ``repeats``, ``until``, ``budget`` and
    ``metric`` are among the keywords. ``out`` is the folder of the runs, of which none is made again. Raises as `run`
    does.
    """
    words = words_of("sweep", {**keywords, "set": set})
    words += vary_words(vary)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_in_folder(out, "sweep"))
        if points is not None:
            file = points if isinstance(points, (str, os.PathLike)) else points_file(points, stack)
            words.append(f"--points={word_of(file, 'points')}")
        ended, document = _document(["sweep", "--format=json", "--quiet", *words, f"--out={folder}"], scenario)
        _raised(ended, "the sweep", document is not None, folder)
        return Sweep(folder, _read(SweepReport, document), document)


def vary_words(vary: Mapping[str, Sequence[Any]] | None) -> list[str]:
    """Return the words of the keys that are varied."""
    words = []
    for key, values in (vary or {}).items():
        key_of(key, "vary")
        if isinstance(values, str) or not isinstance(values, Sequence) and not hasattr(values, "tolist"):
            raise ScenarioError(f"vary: {key} wants a list of values, and not {values!r}")
        own = ",".join(point_text(value, key) for value in list(values))
        words.append(f"--vary={key}={own}")
    return words


def points_file(points: Sequence[Mapping[str, Any]], stack: contextlib.ExitStack) -> str:
    """Write points as a CSV file that is removed with ``stack``.

    A key that a point lacks is left as it is; an empty text is a value.
    """
    import csv

    keys = list(dict.fromkeys(key_of(key, "points") for point in points for key in point))
    if not keys:
        raise ScenarioError("points: there is no point with a key")
    file = stack.enter_context(
        tempfile.NamedTemporaryFile("w", prefix="farfield-", suffix=".csv", encoding="utf-8", newline="")
    )
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(keys)
    for point in points:
        rows.writerow([point_text(point[key], key) if key in point else "" for key in keys])
    file.flush()
    return file.name


def fit(
    logs: Paths | Sequence[Paths],
    *,
    out: Paths = "fit",
    format: str | None = None,
    **keywords: Unpack[FitKeywords],
) -> Fit:
    """Fit models to access logs, oldest first, and return the fit with its scenario.

    ``out`` is its folder, which must contain no other fit; ``format`` the layout of the lines, if it is not recognized.
    """
    several = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    files = [os.path.join(os.curdir, word_of(log, "logs")) for log in several]
    words = ["fit", *out_words(out), *words_of("fit", keywords)]
    if format is not None:
        words.append(f"--format={word_of(format, 'format')}")
    lines: list[bytes] = []
    ended = attend([*words, "--", *files], lines.append, guarded=True)
    if ended.interrupted_here:
        raise KeyboardInterrupted("the fit was interrupted")
    if ended.code != 0:
        raise ended.error()
    return Fit(Path(os.path.abspath(word_of(out, "out"))), b"".join(lines).decode("utf-8", "replace"))


def merge(parts: Sequence[Paths], *, out: Paths, check: bool = False) -> Run:
    """Make one run of the parts that several processes made, and return it.

    ``parts`` are their run directories, ``out`` the directory of the whole. It is invalid if one is missing. ``check``
    is that of `run`.
    """
    if isinstance(parts, (str, os.PathLike)):
        raise ScenarioError("merge: write a list of run directories")
    directories = [os.path.join(os.curdir, word_of(part, "parts")) for part in parts]
    ended = attend(["merge", "--format=json", *out_words(out), "--", *directories], lambda line: None, guarded=True)
    # What lies there after a merge that failed is something else.
    whole = run_of(ended, Path(os.path.abspath(word_of(out, "out"))) if ended.code in MEASURED else None)
    return whole.raise_if_failed() if check else whole


def report(directory: Path, format: str, out: Path | None = None) -> str:
    """Return what `farfield report` prints of a run, or write it to a file."""
    words = ["report", f"--format={format}", *out_words(out), "--", str(directory)]
    ended = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    text = ended.stdout.decode("utf-8", "replace")
    # Its exit code is that of the run.
    if ended.returncode in (1, 2) or ended.returncode < 0 or (out is None and not text):
        raise Ended(ended.returncode, ended.stderr.decode("utf-8", "replace"), False).error()
    return text


def _read(kind: type[Any], document: Any) -> Any:
    try:
        return _json.read(kind, document)
    except _json.Mismatch as error:
        raise FarfieldError(
            f"farfield's result cannot be read: {error}; is `{program()}` of this package's version?"
        ) from error
