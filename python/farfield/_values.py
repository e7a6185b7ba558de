"""Values of Python as TOML, for scenarios, and as words of a command line.

What has no place in TOML (None, NaN, infinity, numbers of more than 64 bits, surrogates) is refused with the key at
which it stands.
"""

from __future__ import annotations

import datetime
import enum
import math
import numbers
import os
import re
from typing import Any, Iterator, Mapping, Sequence, Union

from .errors import ScenarioError

#: The types of values that keywords and scenarios take; a list gives a flag several times.
Value = Union[str, int, float, bool, "os.PathLike[str]", datetime.timedelta, Sequence[Any], Mapping[str, Any], None]

#: Tables within tables, at most: deeper ones contain themselves.
DEPTH_MAX = 32
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def duration_text(time: datetime.timedelta, where: str) -> str:
    """Return a time as farfield reads it, exact to the microsecond."""
    micros = time // datetime.timedelta(microseconds=1)
    if micros < 0:
        raise ScenarioError(f"{where}: {time} is a time before its beginning")
    return f"{micros}us"


#: Nanoseconds of NumPy's units: of years and months nobody knows them.
_NANOS = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    **{"m": 60 * 10**9, "h": 3600 * 10**9, "D": 86_400 * 10**9, "W": 604_800 * 10**9},
}


def plain(value: Any, where: str) -> Any:
    """Return the value of an enumeration's member, the text of a path, and a time of NumPy's as a text."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    kind = type(value)
    # For Python it is a whole number, of whatever unit.
    if kind.__module__ == "numpy" and kind.__name__ == "timedelta64":
        unit = re.fullmatch(r"timedelta64\[([0-9]*)([a-zA-Z]+)\]", str(value.dtype))
        if unit is None or unit[2] not in _NANOS:
            raise ScenarioError(f"{where}: {value!r} is no time of a known length")
        nanos = int(value.astype("int64")) * int(unit[1] or 1) * _NANOS[unit[2]]
        if nanos < 0:
            raise ScenarioError(f"{where}: {value!r} is a time before its beginning, or none")
        return f"{nanos}ns"
    return value


def text_of(text: str, where: str) -> str:
    """Return a string of TOML."""
    parts = []
    for letter in text:
        if letter in _ESCAPES:
            parts.append(_ESCAPES[letter])
        elif letter < " " or letter == "\x7f":
            parts.append(f"\\u{ord(letter):04X}")
        elif "\ud800" <= letter <= "\udfff":
            raise ScenarioError(f"{where}: {text!r} is no Unicode text")
        else:
            parts.append(letter)
    return '"' + "".join(parts) + '"'


def number_text(value: Any, where: str) -> str:
    """Return a number, of Python or of a library such as NumPy, as TOML."""
    if isinstance(value, numbers.Integral):
        whole = int(value)
        if not -(2**63) <= whole < 2**63:
            raise ScenarioError(f"{where}: {whole} has more than 64 bits")
        return str(whole)
    try:
        number = float(value)
    except (OverflowError, ValueError) as error:
        raise ScenarioError(f"{where}: {value!r} is no number that a scenario can have") from error
    if not math.isfinite(number):
        raise ScenarioError(f"{where}: {number} is no number that a scenario can have")
    return repr(number)


def key_text(key: Any, where: str) -> str:
    """Return a key, within quotes where TOML wants them."""
    if not isinstance(key, str):
        raise ScenarioError(f"{where or 'a scenario'}: the key {key!r} is no text")
    return key if _BARE.fullmatch(key) else text_of(key, where or key)


def toml_value(value: Any, where: str, depth: int = 0) -> str:
    """Return a value as TOML, tables and lists in one line."""
    if depth > DEPTH_MAX:
        raise ScenarioError(f"{where}: tables lie more than {DEPTH_MAX} deep in each other")
    if value is None:
        raise ScenarioError(f"{where}: None is no value; leave the key out")
    value = plain(value, where)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_of(value, where)
    if isinstance(value, datetime.timedelta):
        return text_of(duration_text(value, where), where)
    if isinstance(value, numbers.Real):
        return number_text(value, where)
    if isinstance(value, Mapping):
        pairs = [
            f"{key_text(key, where)} = {toml_value(inner, f'{where}.{key}', depth + 1)}"
            for key, inner in value.items()
        ]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(toml_value(item, f"{where}[{at}]", depth + 1) for at, item in enumerate(value)) + "]"
    kind = type(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return toml_value(value.item(), where, depth + 1)
    raise ScenarioError(f"{where}: a {kind.__module__}.{kind.__qualname__} is no value of a scenario")


def _is_tables(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _lines(table: Mapping[str, Any], path: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
    if len(path) > DEPTH_MAX:
        raise ScenarioError(f"{'.'.join(names[:3])}…: tables lie more than {DEPTH_MAX} deep in each other")
    where = ".".join(names)
    later = []
    for key, value in table.items():
        name = key_text(key, where)
        if isinstance(value, Mapping) or _is_tables(value):
            later.append((name, key, value))
        else:
            yield f"{name} = {toml_value(value, f'{where}.{key}' if where else key)}"
    for name, key, value in later:
        heading = ".".join((*path, name))
        for inner in value if _is_tables(value) else [value]:
            yield f"\n[[{heading}]]" if _is_tables(value) else f"\n[{heading}]"
            yield from _lines(inner, (*path, name), (*names, key))


def scenario_text(scenario: Mapping[str, Any]) -> str:
    """Return a scenario file.

    Raises ScenarioError for what TOML has no value for.
    """
    return "\n".join(_lines(scenario, (), ())) + "\n"


#: Texts that TOML takes for no other value, without letters that part a list or a table.
_WORD = re.compile(r"[A-Za-z0-9_./:%+@-]+")
#: What may be a number, a time, or true and false. Some are none of these, which costs them two quotes.
_NO_TEXT = re.compile(r"true|false|[+-]?(inf|nan)|[+-]?[0-9][0-9_.:+TtZzEe-]*|0[xob][0-9A-Fa-f_]+")


def point_text(value: Any, where: str) -> str:
    """Return a value of a point as `--vary` and a table of points read it back, texts as texts.

    A plain word stays as it is, for the reader of a table; every other text becomes a string of TOML, without a
    ``\\"`` in it: what parts values at commas knows quotes, and no escapes.
    """
    value = plain(value, where)
    if isinstance(value, str) and _WORD.fullmatch(value) and not _NO_TEXT.fullmatch(value):
        return value
    text = toml_value(value, where)
    return re.sub(r"\\(.)", lambda found: "\\u0022" if found[1] == '"' else found[0], text)


def key_of(key: Any, where: str) -> str:
    """Return a key of a scenario as it stands before an equals sign. Raises ScenarioError."""
    if not isinstance(key, str) or not key.strip() or any(letter in key for letter in "=\0\n\r"):
        raise ScenarioError(f"{where}: {key!r} is no key of a scenario; write one such as 'load.users'")
    return key


def word_of(value: Any, where: str) -> str:
    """Return a value as a word of the command line."""
    value = plain(value, where)
    if isinstance(value, str):
        word = value
    elif isinstance(value, datetime.timedelta):
        word = duration_text(value, where)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        word = number_text(value, where)
    else:
        raise ScenarioError(f"{where}: {value!r} is no value of a flag; write a text or a number")
    if "\0" in word:
        raise ScenarioError(f"{where}: {word!r} has a zero byte in it")
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        raise ScenarioError(f"{where}: {word!r} is no Unicode text") from None
    return word
