"""Keywords as words of a command line: flags, and keys of a scenario by ``--set``."""

from __future__ import annotations

import difflib
from typing import Any, Iterator, Mapping

from ._keywords import FLAGS, KEYS, OF_SCENARIOS
from ._values import key_of, toml_value, word_of
from .errors import ScenarioError

#: Keywords that another function, or a parameter, is there for.
ELSEWHERE = {
    "repeats": "farfield.sweep makes runs again",
    "until": "farfield.sweep makes runs again",
    "budget": "farfield.sweep and farfield.capacity take a budget",
    "format": "results are objects; `run.text()` is the summary for a terminal",
    "quiet": "nothing is printed; `on_figures` is called each second of a run",
    "verbose": "nothing is printed; `farfield report -v` prints diagnostics of a run",
    "show_scenario": "`farfield.scenario_text` writes a scenario, and `run.scenario` is the complete one",
}


def nearest(word: str, words: list[str]) -> str:
    """Return a remark with the nearest words, or nothing."""
    found = difflib.get_close_matches(word, words, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def words_of(command: str, keywords: Mapping[str, Any]) -> list[str]:
    """Return the words for ``keywords``, of which those that are None are left out.

    Raises ScenarioError for a keyword that there is not, with the nearest ones.
    """
    return [word for name, value in keywords.items() if value is not None for word in _words(command, name, value)]


def _words(command: str, name: str, value: Any) -> Iterator[str]:
    flags = FLAGS[command]
    if name in flags:
        yield from _flag(name, *flags[name], value)
    elif command in OF_SCENARIOS and name in KEYS:
        yield f"--set={KEYS[name]}={toml_value(value, KEYS[name])}"
    elif command in OF_SCENARIOS and name == "set":
        if not isinstance(value, Mapping):
            raise ScenarioError("set: write a dict of keys and values, such as {'run.drain': '1s'}")
        for key, inner in value.items():
            yield f"--set={key_of(key, 'set')}={toml_value(inner, key)}"
    elif name in ELSEWHERE:
        raise ScenarioError(f"{name} is no keyword of farfield.{command}: {ELSEWHERE[name]}")
    else:
        known = [*flags, *(KEYS if command in OF_SCENARIOS else ())]
        raise ScenarioError(f"{name} is no keyword of farfield.{command}{nearest(name, known)}")


def _flag(name: str, flag: str, takes_value: bool, value: Any) -> Iterator[str]:
    if not takes_value:
        if not isinstance(value, bool):
            raise ScenarioError(f"{name}: write True or False, not {value!r}")
        if value:
            yield f"--{flag}"
        return
    if isinstance(value, bool):
        raise ScenarioError(f"{name}: write a text or a number, not {value}")
    for one in value if isinstance(value, (list, tuple)) else [value]:
        yield f"--{flag}={word_of(one, name)}"
