"""A cluster in this process, with as much of Ray as `farfield.ray` uses: calls are made at once, one after another.

Nothing of Ray itself is shown by it: `ray_cluster.py` does that, by hand.
"""

from __future__ import annotations

import sys
import types
import unittest.mock
from typing import Any, Callable


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class GetTimeoutError(RayError):
    pass


class ActorDiedError(RayError):
    pass


class Reference:
    """What a call has returned or raised; one that never ends if ``ends`` is false."""

    def __init__(self, call: Callable[[], Any], ends: bool = True) -> None:
        self.ends = ends
        self.value: Any = None
        self.error: RayError | None = None
        if ends:
            try:
                self.value = call()
            except RayError as error:
                self.error = error
            except Exception as error:
                self.error = RayTaskError(error)


class Method:
    def __init__(self, cluster: Cluster, of: Any, name: str) -> None:
        self._cluster, self._of, self._name = cluster, of, name

    def remote(self, *words: Any) -> Reference:
        number = self._cluster.actors.index(self._of)
        call = getattr(self._of, self._name)

        def made() -> Any:
            fault = self._cluster.faults.get((number, self._name))
            if fault is not None:
                raise fault
            self._cluster.calls.append((number, self._name))
            return call(*words)

        return Reference(made, ends=(number, self._name) not in self._cluster.endless)


class Handle:
    def __init__(self, cluster: Cluster, of: Any) -> None:
        self._cluster, self.of = cluster, of

    def __getattr__(self, name: str) -> Method:
        return Method(self._cluster, self.of, name)


class Remote:
    def __init__(self, cluster: Cluster, kind: Any) -> None:
        self._cluster, self._kind = cluster, kind

    def options(self, **words: Any) -> Remote:
        return self

    def remote(self, *words: Any) -> Any:
        if not isinstance(self._kind, type):
            self._cluster.tasks += 1
            return Reference(lambda: self._kind(*words))
        self._cluster.actors.append(self._kind(*words))
        return Handle(self._cluster, self._cluster.actors[-1])


class Cluster:
    """The stub: `modules` are what `import ray` finds."""

    def __init__(self) -> None:
        self.actors: list[Any] = []
        #: The calls of actors, by number and method.
        self.calls: list[tuple[int, str]] = []
        self.tasks = 0
        #: What such a call raises instead.
        self.faults: dict[tuple[int, str], Exception] = {}
        #: Calls that never end.
        self.endless: set[tuple[int, str]] = set()
        ray, util = types.ModuleType("ray"), types.ModuleType("ray.util")
        group, strategies = types.ModuleType("ray.util.placement_group"), types.ModuleType("x")
        errors = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        names = {
            "exceptions": errors,
            "is_initialized": lambda: True,
            "remote": self._remote,
            "get": self._get,
            "wait": self._wait,
            "kill": lambda actor: None,
            "cancel": lambda reference, force: None,
            "nodes": lambda: [],
        }
        vars(ray).update(names)
        vars(group).update(
            placement_group=lambda bundles, strategy: types.SimpleNamespace(wait=lambda patience_s: True),
            remove_placement_group=lambda one: None,
        )
        vars(strategies).update(PlacementGroupSchedulingStrategy=lambda **words: None)
        self.modules = {
            "ray": ray,
            "ray.util": util,
            "ray.util.placement_group": group,
            "ray.util.scheduling_strategies": strategies,
        }

    def here(self) -> Any:
        """The stub in the place of Ray, for as long as a block lasts."""
        return unittest.mock.patch.dict(sys.modules, self.modules)

    def _remote(self, kind: Any = None, **options: Any) -> Any:
        return (lambda kind: Remote(self, kind)) if kind is None else Remote(self, kind)

    def _get(self, references: Any, timeout: float | None = None) -> Any:
        if isinstance(references, list):
            return [self._get(one) for one in references]
        if not references.ends:
            raise GetTimeoutError("it has not ended")
        if references.error is not None:
            raise references.error
        return references.value

    def _wait(
        self, references: list[Reference], num_returns: int, timeout: float | None = None
    ) -> tuple[list[Reference], list[Reference]]:
        over = [one for one in references if one.ends][:num_returns]
        if not over and timeout is None:
            raise AssertionError("this would wait for ever")
        return over, [one for one in references if one not in over]
