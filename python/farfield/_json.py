"""JSON documents read into the dataclasses of `farfield.schema`.

Keys that a class does not know are passed over, so that what a newer farfield adds harms nothing. Names of a choice
(`Literal`) are taken as they come, for the same reason. A key that is missing, or has a value of another kind, is a
`Mismatch` with its place.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


class Mismatch(ValueError):
    """A document that is not of its schema."""


_Row = typing.Tuple[str, typing.Tuple[str, ...], Any, bool]
_ROWS: dict[Any, list[_Row]] = {}


def _fields(kind: Any) -> list[_Row]:
    """Return name, possible keys, type, and whether it must be there, of each field."""
    if kind in _ROWS:
        return _ROWS[kind]
    hints = typing.get_type_hints(kind)
    rows: list[_Row] = []
    for field in dataclasses.fields(kind):
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        plain = field.name.rstrip("_")
        rows.append((field.name, (plain, plain.replace("_", "-")), hints[field.name], needed))
    # Now that it is complete: other threads read as well.
    _ROWS[kind] = rows
    return rows


def read(kind: type[T], document: Any, where: str = "") -> T:
    """Return ``document`` as a ``kind``.

    Raises Mismatch.
    """
    return typing.cast(T, _value(kind, document, where))


def _refuse(document: Any, what: str, where: str) -> Mismatch:
    return Mismatch(f"{where or 'the document'} is {_short(document)}, and not {what}")


def _short(document: Any) -> str:
    text = repr(document)
    return text if len(text) <= 40 else text[:40] + "…"


def _value(kind: Any, document: Any, where: str) -> Any:
    if kind is float:
        if isinstance(document, (int, float)) and not isinstance(document, bool):
            return float(document)
        raise _refuse(document, "a number", where)
    if kind in (int, str, bool):
        if type(document) is kind:
            return document
        raise _refuse(document, {int: "a whole number", str: "a text", bool: "true or false"}[kind], where)
    if kind == type(None):  # noqa: E721
        if document is None:
            return None
        raise _refuse(document, "null", where)
    if dataclasses.is_dataclass(kind):
        return _object(typing.cast("type[Any]", kind), document, where)
    origin: Any = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin is typing.Literal:
        return _value(str, document, where)
    if origin is list:
        if not isinstance(document, list):
            raise _refuse(document, "a list", where)
        return [_value(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(document)]
    if origin is tuple:
        if not isinstance(document, list) or len(document) != len(arguments):
            raise _refuse(document, f"a list of {len(arguments)}", where)
        return tuple(_value(inner, item, where) for inner, item in zip(arguments, document))
    if origin is dict:
        if not isinstance(document, dict):
            raise _refuse(document, "an object", where)
        return {key: _value(arguments[1], item, f"{where}.{key}") for key, item in document.items()}
    if origin in (typing.Union, types.UnionType):
        return _choice(arguments, document, where)
    return document


def _object(kind: type[Any], document: Any, where: str) -> Any:
    if not isinstance(document, dict):
        raise _refuse(document, "an object", where)
    values = {}
    for name, keys, inner, needed in _fields(kind):
        key = next((key for key in keys if key in document), None)
        if key is not None:
            values[name] = _value(inner, document[key], f"{where}.{key}" if where else key)
        elif needed:
            raise Mismatch(f"{where or 'the document'} has no {keys[0]}")
    return kind(**values)


def _choice(kinds: tuple[Any, ...], document: Any, where: str) -> Any:
    """The first kind that the document is of: of objects, the one whose fixed words it has."""
    if document is None and type(None) in kinds:
        return None
    mismatch: Mismatch | None = None
    for kind in kinds:
        if kind == type(None) or dataclasses.is_dataclass(kind) and not _is_tagged(kind, document):
            continue
        try:
            return _value(kind, document, where)
        except Mismatch as error:
            mismatch = mismatch or error
    raise mismatch or _refuse(document, "one of those that there are", where)


def _is_tagged(kind: Any, document: Any) -> bool:
    """True if the words that a class is known by are in the document."""
    if not isinstance(document, dict):
        return True
    for _, keys, inner, _ in _fields(kind):
        words = typing.get_args(inner)
        origin: Any = typing.get_origin(inner)
        if origin is typing.Literal and len(words) == 1:
            if not any(document.get(key) == words[0] for key in keys):
                return False
    return True
