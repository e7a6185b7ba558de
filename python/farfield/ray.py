"""Runs on the machines of a Ray cluster, with the package ``ray`` beside farfield.

`run` makes one run of M parts, one on each machine, and merges them; `sweep` makes simulated runs at many points, as
many at once as the cluster has processors. An actor on a node starts farfield as a child there; farfield must be
installed on every node, in the same version.

Parts start together by `Start`: at present at one time of all clocks, which NTP keeps (``--start-at``). A part whose
node is lost is missing from the sum, which is then invalid, says so, and keeps the others.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Protocol, Sequence

from ._child import Ended
from ._commands import Paths, Scenario, located, merge
from ._commands import run as run_here
from ._program import program
from ._values import key_of, scenario_text, toml_value, word_of
from ._words import words_of
from .errors import Aborted, FarfieldError, Interrupted, ScenarioError
from .runs import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import RunKeywords

__all__ = ["AtOneTime", "LostPart", "PointRun", "Start", "SweptPoints", "run", "sweep"]

#: Bytes of a file that are sent over the cluster at once.
CHUNK = 16 << 20
_LOG = logging.getLogger("farfield.ray")


class Start(Protocol):
    """How the parts of a run come to start together.

    The rendezvous of `farfield gather` takes the place of `AtOneTime` by another one of these.
    """

    def keywords(self, part: int, parts: int) -> Mapping[str, Any]:
        """Return the keywords of `farfield.run` that a part has, from 1."""


class AtOneTime:
    """All parts start at one time, by the clocks of their machines; each refuses to run if it is over.

    The time is to the second, as ``--start-at`` takes it, and ``lead`` must be long enough for each node to be ready.
    """

    def __init__(self, lead: timedelta = timedelta(seconds=3), now: datetime | None = None) -> None:
        at = (now or datetime.now(timezone.utc)) + lead + timedelta(seconds=1)
        #: The time.
        self.at = at.replace(microsecond=0)

    def keywords(self, part: int, parts: int) -> Mapping[str, Any]:
        """Return `start_at`."""
        return {"start_at": f"{self.at:%Y-%m-%dT%H:%M:%SZ}"}


@dataclass(frozen=True)
class LostPart:
    """A part that has no result."""

    #: The part, such as ``2/8``.
    part: str
    #: Why.
    reason: str


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise FarfieldError("farfield.ray needs Ray: pip install ray") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return ray


class _Part:
    """The actor of a node: it starts farfield there, and hands the run directory over."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="farfield-")

    def place(self, name: str) -> str:
        """Return the path of a run directory here."""
        return os.path.join(self._folder, name)

    def ready(self) -> str:
        """Return the version of farfield here, so that the start is not set before all nodes are there."""
        return subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def run(self, text: str | None, url: str | None, keywords: dict[str, Any], name: str) -> str | None:
        """Make the run of a scenario's text, or of a URL.

        Returns once it was measured: why it ended before its end, or None.
        """
        place = self.place(name)
        what: Scenario = url
        if text is not None:
            what = Path(self._folder, f"{name}.toml")
            what.write_text(text, "utf-8")
        try:
            run_here(what, out=place, **keywords)
        except (Aborted, Interrupted) as error:
            if error.run is None:
                raise
            return str(error)
        return None

    def where(self, name: str) -> str:
        """Return the host and the path of a run directory here."""
        return f"{socket.gethostname()}:{self.place(name)}"

    def files(self, name: str) -> list[tuple[str, int]]:
        """Return the files of a run directory with their lengths in bytes."""
        place = Path(self._folder, name)
        return [(str(path.relative_to(place)), path.stat().st_size) for path in place.rglob("*") if path.is_file()]

    def read(self, name: str, file: str, offset: int) -> bytes:
        """Return at most `CHUNK` bytes of a file."""
        with open(Path(self._folder, name, file), "rb") as content:
            content.seek(offset)
            return content.read(CHUNK)

    def end(self) -> None:
        """Remove what was written here."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _file_in(place: Path, name: str) -> Path:
    """Return the path of a file that a node has sent, which is within the run directory, and make its folder."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise FarfieldError(f"a node sent {name!r}, which is no file of a run directory")
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    return place / path


def _fetch(ray: Any, actor: Any, place: Path, patience_s: float) -> None:
    """Fetch the run directory of an actor, a chunk at a time, so that samples of any length fit."""
    place.mkdir(parents=True)
    for name, length in ray.get(actor.files.remote("part"), timeout=patience_s):
        with open(_file_in(place, name), "xb") as file:
            while file.tell() < length:
                chunk = ray.get(actor.read.remote("part", name, file.tell()), timeout=patience_s)
                if not chunk:
                    raise FarfieldError(f"{name} of a part became shorter while it was fetched")
                file.write(chunk)


def _sent(scenario: Scenario) -> tuple[str | None, str | None]:
    """Text and URL of a scenario that nodes are to run.

    Files that it names are not sent: they must lie at the same absolute path on each node.
    """
    if scenario is None:
        raise ScenarioError("on several machines a server must be named: a URL, or a scenario with `target`")
    if isinstance(scenario, Mapping):
        return scenario_text(scenario if "name" in scenario else {"name": "scenario", **scenario}), None
    if isinstance(scenario, str) and "://" in scenario:
        return None, scenario
    path = Path(scenario)
    try:
        return (path / "scenario.toml" if path.is_dir() else path).read_text("utf-8"), None
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path} cannot be read: {error}") from error


@contextlib.contextmanager
def _placed(
    ray: Any, machines: int, processors: float, patience_s: float, kept: list[Any]
) -> Iterator[list[Any]]:
    """Yield an actor on each of so many nodes, no two on one; those in ``kept`` leave what they have written."""
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = placement_group([{"CPU": processors}] * machines, strategy="STRICT_SPREAD")
    actors: list[Any] = []
    try:
        if not group.wait(patience_s):
            alive = sum(1 for node in ray.nodes() if node["Alive"])
            raise FarfieldError(
                f"the cluster has not given {machines} machines with {processors:g} free processors each within "
                f"{patience_s:g} s; it has {alive} nodes"
            )
        remote = ray.remote(max_restarts=0, num_cpus=processors)(_Part)
        for number in range(machines):
            strategy = PlacementGroupSchedulingStrategy(placement_group=group, placement_group_bundle_index=number)
            actors.append(remote.options(scheduling_strategy=strategy).remote())
        yield actors
    finally:
        # A part that is under way, or lost, leaves its temporary folder.
        with contextlib.suppress(Exception):
            ends = [actor.end.remote() for actor in actors if actor not in kept]
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=2)
        for actor in actors:
            ray.kill(actor)
        remove_placement_group(group)


def run(
    scenario: Scenario,
    *,
    machines: int,
    out: Paths | None = None,
    check: bool = False,
    start: Start | None = None,
    reserve: float = 1.0,
    patience_s: float = 60.0,
    limit_s: float | None = None,
    set: Mapping[str, Any] | None = None,
    **keywords: Unpack[RunKeywords],
) -> Run:
    """Make one run of as many parts as there are to be machines, each on a node of its own, and return their sum.

    ``scenario`` and the keywords are those of `farfield.run`; the scenario names the server, and files that it names
    must lie at the same place on each node. ``reserve`` processors are reserved on each node, for which
    ``patience_s`` is waited, as for each file of a part. ``limit_s`` is the time after which a part that has not ended
    is lost; without it a part is waited for as long as its node is there. ``out`` is the run directory of the sum;
    parts lie beside it in ``out-parts``; neither may exist. ``check`` is that of `farfield.run`.

    A part whose node is lost, or that could not be made or fetched, is missing: the run is then invalid and names it,
    and ``run.messages`` has the reason. What was not fetched stays on its node. Raises as `farfield.run` does, and
    FarfieldError if no part came back.
    """
    if machines < 1:
        raise ScenarioError(f"machines: {machines} machines make no run")
    for name, why in (("part", "each machine has one"), ("start_at", "`start` says when the parts start")):
        if keywords.get(name) is not None:
            raise ScenarioError(f"{name} is no keyword of farfield.ray.run: {why}")
    own = {**keywords, "set": set}
    # What is wrong in them is refused here, before the cluster is asked.
    words = words_of("run", own)
    text, url = _sent(scenario)
    simulated = _is_simulated(text, url, words)
    place = Path(os.path.abspath(word_of(out, "out"))) if out is not None else _new_folder("ray")
    parts_folder = place.with_name(place.name + "-parts")
    for folder in (place, parts_folder):
        if os.path.lexists(folder):
            raise FarfieldError(f"{folder} exists; name another folder with out=, or remove it")
    ray = _ray()
    kept: list[Any] = []
    with _placed(ray, machines, reserve, patience_s, kept) as actors:
        _same_version(ray, actors, patience_s)
        # Virtual time waits for nobody.
        how = None if simulated else start or AtOneTime()
        runs = []
        for number, actor in enumerate(actors, 1):
            common = {} if how is None else how.keywords(number, machines)
            part = {"part": f"{number}/{machines}", **common}
            runs.append(actor.run.remote(text, url, {**own, **part}, "part"))
        fetching = _Fetching(ray, actors, parts_folder, patience_s, limit_s, kept)
        made, lost = fetching.collect(runs)
    if not made:
        raise FarfieldError("no part of the run came back: " + "; ".join(f"{one.part}: {one.reason}" for one in lost))
    try:
        whole = merge(made, out=place)
    except FarfieldError as error:
        raise type(error)(f"{error}; the parts are in {parts_folder}", run=error.run) from error
    whole.messages += "".join(f"part {one.part} is missing: {one.reason}\n" for one in lost)
    whole.messages += "".join(f"part {part} ended early: {reason}\n" for part, reason in fetching.early)
    return whole.raise_if_failed() if check else whole


def _is_simulated(text: str | None, url: str | None, words: Sequence[str]) -> bool:
    """True if a scenario is on the simulated plane, by farfield here. Raises ScenarioError."""
    with located(url) if text is None else _as_file(text) as what:
        command = [program(), "run", "--show-scenario", *words, *what]
        shown = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if shown.returncode != 0:
        raise Ended(shown.returncode, shown.stderr.decode("utf-8", "replace"), False).error()
    return b'\nplane = "simulated"\n' in b"\n" + shown.stdout


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[list[str]]:
    with tempfile.NamedTemporaryFile("w", prefix="farfield-", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield ["--", file.name]


class _Fetching:
    """The parts of a run, fetched as they end."""

    def __init__(
        self,
        ray: Any,
        actors: list[Any],
        folder: Path,
        patience_s: float,
        limit_s: float | None,
        kept: list[Any],
    ) -> None:
        self._ray = ray
        self._actors = actors
        self._folder = folder
        self._patience_s = patience_s
        self._limit_s = limit_s
        self._kept = kept
        #: Parts that were measured, and ended before their end, with the reasons.
        self.early: list[tuple[str, str]] = []

    def collect(self, runs: list[Any]) -> tuple[list[Path], list[LostPart]]:
        """Return the directories of the parts, and those that are lost.

        A part that is lost is in the log (`farfield.ray`) as soon as Ray knows. Raises ScenarioError.
        """
        made: dict[int, Path] = {}
        lost: dict[int, LostPart] = {}
        mistake: ScenarioError | None = None
        deadline = None if self._limit_s is None else time.monotonic() + self._limit_s
        waiting = {ended: number for number, ended in enumerate(runs, 1)}
        while waiting:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=left_s)
            for ended in ready or list(waiting):
                number = waiting.pop(ended)
                found = self._part(number, ended if ready else None)
                if isinstance(found, Path):
                    made[number] = found
                    continue
                reason, cause = found
                mistake = mistake or (cause if isinstance(cause, ScenarioError) else None)
                lost[number] = LostPart(self._name(number), reason)
                _LOG.warning("part %s is missing: %s", lost[number].part, reason)
        if mistake is not None:
            raise ScenarioError(str(mistake)) from mistake
        return [made[number] for number in sorted(made)], [lost[number] for number in sorted(lost)]

    def _name(self, number: int) -> str:
        return f"{number}/{len(self._actors)}"

    def _part(self, number: int, ended: Any) -> Path | tuple[str, Exception | None]:
        """Fetch a part. Returns its directory, or the reason why it is lost, with what was raised there."""
        if ended is None:
            return f"it had not ended after {self._limit_s:g} s", None
        actor, place = self._actors[number - 1], self._folder / f"part-{number}"
        measured = False
        try:
            early = self._ray.get(ended)
            measured = True
            _fetch(self._ray, actor, place, self._patience_s)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(getattr(error, "cause", None), Exception) else error
            return f"{cause}{self._left(actor) if measured else ''}", cause
        except self._ray.exceptions.RayError as error:
            what = "it could not be fetched" if measured else "its node was lost"
            return f"{what} ({type(error).__name__}){self._left(actor) if measured else ''}", None
        except (OSError, FarfieldError) as error:
            return f"it could not be fetched: {error}{self._left(actor)}", None
        if early is not None:
            self.early.append((self._name(number), early))
        return place

    def _left(self, actor: Any) -> str:
        """Leave what an actor has written; return the place, in words."""
        self._kept.append(actor)
        try:
            return f"; it is in {self._ray.get(actor.where.remote('part'), timeout=self._patience_s)}"
        except self._ray.exceptions.RayError:
            return ""


def _same_version(ray: Any, actors: list[Any], patience_s: float) -> None:
    try:
        versions = ray.get([actor.ready.remote() for actor in actors], timeout=patience_s)
    except ray.exceptions.RayError as error:
        raise FarfieldError(f"farfield does not start on a node: {error}") from error
    if len({*versions}) > 1:
        raise FarfieldError(f"the nodes have several versions of farfield: {', '.join(sorted({*versions}))}")


def _new_folder(what: str) -> Path:
    stem = f"{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%SZ}-{what}"
    runs = Path("farfield-runs").absolute()
    numbers = itertools.count(2)
    place = runs / stem
    while place.exists():
        place = runs / f"{stem}-{next(numbers)}"
    return place


@dataclass(frozen=True)
class PointRun:
    """A run of a sweep."""

    #: The keys that were set, with their values.
    settings: dict[str, Any]
    #: The number of the repeat, from 1.
    repeat: int
    #: The seed; runs of one repeat have the same.
    seed: int
    #: The run; None if it could not be made.
    run: Run | None
    #: Why there is none.
    reason: str | None = None


@dataclass(frozen=True)
class SweptPoints:
    """The runs of a sweep over a cluster."""

    #: The folder of the runs: `point-02/repeat-1`.
    directory: Path
    #: The runs, by point and repeat.
    runs: list[PointRun]

    @property
    def lost(self) -> list[PointRun]:
        """Runs that could not be made."""
        return [one for one in self.runs if one.run is None]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run that was made: its settings, repeat, seed, validity, rate, errors and p50, p99."""
        rows = []
        for one in self.runs:
            if one.run is not None:
                run = one.run
                figures = {"valid": run.valid, "rate": run.rate, "errors": run.error_share}
                times = {f"p{percent}_ns": run.percentile_ns(percent) for percent in (50, 99)}
                rows.append({**one.settings, "repeat": one.repeat, "seed": one.seed, **figures, **times})
        return rows


def sweep(
    scenario: Scenario,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    repeats: int = 3,
    out: Paths | None = None,
    tries: int = 3,
    set: Mapping[str, Any] | None = None,
    **keywords: Unpack[RunKeywords],
) -> SweptPoints:
    """Make simulated runs at many points, ``repeats`` at each, over all processors of the cluster.

    ``vary`` has keys with their values, of which all combinations are made; or ``points`` is a list of dicts. Runs of
    one repeat have the same seed at each point: ``seed`` and the numbers after it. A run whose node is lost is made
    again elsewhere, ``tries`` times at most. Only the simulated plane is taken: runs in real time would take each
    other's processors. `farfield.compare` takes the folders of points, and so does `farfield sweep` not: it makes its
    own.
    """
    if (vary is None) == (points is None):
        raise ScenarioError("sweep: name either vary or points")
    if repeats < 1 or tries < 1:
        raise ScenarioError("sweep: repeats and tries are at least 1")
    all_points = list(points) if points is not None else _combinations(vary or {})
    for where, settings in [("set", set or {}), *(("points", point) for point in all_points)]:
        for key, value in settings.items():
            toml_value(value, key_of(key, where))
            if key in ("seed", "plane"):
                raise ScenarioError(f"{where}: farfield.ray.sweep gives each run its {key}; leave it out")
    for name, own_value in (("plane", "simulated"), ("workers", 1)):
        if keywords.get(name) not in (None, own_value):
            raise ScenarioError(f"{name}: runs of farfield.ray.sweep have {own_value!r}; leave it out")
    for name in ("part", "start_at"):
        if keywords.get(name) is not None:
            raise ScenarioError(f"{name} is no keyword of farfield.ray.sweep: its runs are whole, and simulated")
    own = {**keywords, "plane": "simulated", "workers": 1}
    seed = own.pop("seed", None)
    seed = 1 if seed is None else seed
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ScenarioError(f"seed: write a whole number, and not {seed!r}")
    words_of("run", {**own, "set": set})
    text, url = _sent(scenario)
    folder = Path(os.path.abspath(word_of(out, "out"))) if out is not None else _new_folder("ray-sweep")
    if os.path.lexists(folder) and not (folder.is_dir() and not os.listdir(folder)):
        raise FarfieldError(f"{folder} exists; name another folder with out=, or remove it")
    ray = _ray()
    one_run = ray.remote(num_cpus=1, max_retries=tries - 1)(_simulated)
    planned = [(number, repeat) for repeat in range(1, repeats + 1) for number in range(len(all_points))]
    waiting = {}
    for number, repeat in planned:
        sets = {**(set or {}), **all_points[number], "seed": seed + repeat - 1}
        waiting[one_run.remote(text, url, {**own, "set": sets})] = (number, repeat)
    found: dict[tuple[int, int], PointRun] = {}
    try:
        while waiting:
            (ready,), _ = ray.wait(list(waiting), num_returns=1)
            number, repeat = waiting.pop(ready)
            place = folder / f"point-{number + 1:02}" / f"repeat-{repeat}"
            run_made, reason = _fetched(ray, ready, place)
            found[number, repeat] = PointRun(dict(all_points[number]), repeat, seed + repeat - 1, run_made, reason)
            del ready
    except BaseException:
        for reference in waiting:
            ray.cancel(reference, force=False)
        raise
    return SweptPoints(folder, [found[key] for key in sorted(found)])


def _fetched(ray: Any, reference: Any, place: Path) -> tuple[Run | None, str | None]:
    try:
        place.mkdir(parents=True)
        for name, content in ray.get(reference).items():
            with open(_file_in(place, name), "xb") as file:
                file.write(content)
        return Run(place), None
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(getattr(error, "cause", None), Exception) else error
        if isinstance(cause, (ScenarioError, Interrupted)):
            raise type(cause)(str(cause)) from error
        return None, str(cause)
    except ray.exceptions.RayError as error:
        return None, f"its node was lost ({type(error).__name__})"
    except OSError as error:
        return None, f"it could not be fetched: {error}"


def _simulated(text: str | None, url: str | None, keywords: dict[str, Any]) -> dict[str, bytes]:
    """Make a run on a node, and return the files of its directory."""
    part = _Part()
    try:
        part.run(text, url, {"no_report": True, **keywords}, "run")
        return {name: Path(part.place("run"), name).read_bytes() for name, _ in part.files("run")}
    finally:
        part.end()


def _combinations(vary: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    for key, values in vary.items():
        if isinstance(values, str):
            raise ScenarioError(f"vary: {key} wants a list of values, and not {values!r}")
    return [dict(zip(vary, values)) for values in itertools.product(*vary.values())]
