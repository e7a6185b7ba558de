"""Writes the modules of the package ``farfield`` that follow from other documents of the repository.

``python3 python/generate.py`` writes them; with ``--check`` nothing is written, and the exit code is 1 if one of
them is out of date. ``cargo xtask docs`` calls it after it has written the documents themselves:

- ``farfield/schema/*.py``: dataclasses from the JSON schemas in ``docs``;
- ``farfield/_keywords.py``: flags of commands, from the completions for fish, and keys of a scenario, from its
  schema, as keywords of Python;
- ``docs/tutorials/python.ipynb``: the tutorial as a notebook.

It needs nothing but Python's standard library.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Iterator

PYTHON = Path(__file__).resolve().parent
DOCS = PYTHON.parent / "docs"
#: The columns of a line.
WIDTH = 108
#: Module and name of the document's class, for each schema.
SCHEMAS = {"summary": "Summary", "capacity": "CapacityReport", "sweep": "SweepReport", "verify": "Verification"}
#: Commands with keywords, and the class of their keywords.
COMMANDS = {
    "run": "RunKeywords",
    "sweep": "SweepKeywords",
    "capacity": "CapacityKeywords",
    "compare": "CompareKeywords",
    "fit": "FitKeywords",
    "serve": "ServeKeywords",
}
#: Commands that take the keys of a scenario by ``--set``.
SCENARIO_COMMANDS = ("run", "sweep", "capacity")
#: Flags that the package sets itself, or that print something else than a result.
OWN_FLAGS = {"help", "format", "quiet", "verbose", "plain", "out", "show-scenario", "with-parent", "set", "version"}
#: Flags of a command that are parameters of its function, or that would make `farfield run` another command.
OWN_FLAGS_OF = {
    "run": {"repeats", "until", "repeats-max", "length-max", "budget", "shell"},
    "sweep": {"vary", "points"},
}

NOTICE = '"""{}\n\nWritten by python/generate.py: change that, or {}, and run it again.\n"""\n'


def camel(name: str) -> str:
    """Return ``at-least`` as ``AtLeast``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_ ]", name))


def identifier(name: str) -> str:
    """Return a key as a name of Python: ``at-load`` as ``at_load``, ``from`` as ``from_``."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def paragraph(text: str, indent: str, opening: str = '"""') -> Iterator[str]:
    """Yield the lines of a docstring; a description is Markdown of Rust's docs."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6) or [""]
    if len(lines) == 1:
        yield f'{indent}{opening}{lines[0]}"""'
        return
    yield f"{indent}{opening}{lines[0]}"
    yield from (f"{indent}{line}" for line in lines[1:])
    yield f'{indent}"""'


class Module:
    """The classes of one schema."""

    def __init__(self, schema: dict[str, Any], root: str) -> None:
        self.definitions: dict[str, Any] = schema["$defs"]
        self.lines: list[str] = []
        self.names: list[str] = []
        self.imports: set[str] = set()
        for name, definition in sorted(self.definitions.items()):
            self.define(name, definition)
        self.define(root, schema)

    def define(self, name: str, definition: dict[str, Any]) -> None:
        """Write the class, or the names, of a definition."""
        if "properties" in definition:
            self.dataclass(name, definition)
        elif "oneOf" in definition:
            self.union(name, definition)
        else:
            raise SystemExit(f"generate.py: {name} has a shape that is not known: {sorted(definition)}")

    def union(self, name: str, definition: dict[str, Any]) -> None:
        """Write a choice of names, of classes, or of both."""
        words = [choice["const"] for choice in definition["oneOf"] if "const" in choice]
        members = []
        for choice in definition["oneOf"]:
            if "const" in choice:
                continue
            tags = [field["const"] for field in choice["properties"].values() if "const" in field]
            own = name + camel(tags[0] if tags else next(iter(choice["properties"])))
            self.dataclass(own, choice)
            members.append(own)
        if words:
            self.imports.add("Literal")
            members.append("Literal[" + ", ".join(json.dumps(word) for word in words) + "]")
        whole = " | ".join(members)
        if len(members) > 1:
            self.imports.add("Union")
            whole = "Union[" + ", ".join(members) + "]"
        self.names.append(name)
        self.lines += ["", ""] if not members or members[-1].startswith("Literal") and len(members) == 1 else [""]
        self.lines += [f"#: {line}" for line in textwrap.wrap(definition.get("description", name), WIDTH - 3)]
        line = f"{name} = {whole}"
        if len(line) > WIDTH:
            opening, _, inner = whole.partition("[")
            parts = inner[:-1].split(", ") if len(members) == 1 else members
            line = f"{name} = {opening}[\n" + "".join(f"    {part},\n" for part in parts) + "]"
        self.lines += line.split("\n")

    def dataclass(self, name: str, definition: dict[str, Any]) -> None:
        """Write a class with a field for each property."""
        self.names.append(name)
        self.imports.add("dataclass")
        required = set(definition.get("required", []))
        self.lines += ["", "", "@dataclass(frozen=True, kw_only=True, slots=True)", f"class {name}:"]
        self.lines += paragraph(definition.get("description", name), "    ")
        for key, field in definition["properties"].items():
            written = self.type_of(field)
            default = self.default(field, written)
            if key not in required:
                if default == " = None" and not written.endswith("| None"):
                    written += " | None"
                written += default
            self.lines += ["", f"    {identifier(key)}: {written}"]
            if "description" in field:
                self.lines += paragraph(field["description"], "    ")

    def default(self, field: dict[str, Any], written: str) -> str:
        """Return the default of a field that may be absent."""
        value = field.get("default")
        if written.startswith("list[") and not written.endswith("| None"):
            self.imports.add("field")
            return " = field(default_factory=list)"
        if written.startswith("dict[") and not written.endswith("| None"):
            self.imports.add("field")
            return " = field(default_factory=dict)"
        if isinstance(value, dict) and "$ref" in field:
            self.imports.add("field")
            inner = ", ".join(f"{identifier(key)}={own!r}" for key, own in sorted(value.items()))
            return f" = field(default_factory=lambda: {written}({inner}))"
        return f" = {value!r}"

    def type_of(self, field: dict[str, Any]) -> str:
        """Return the type of a field, as Python writes it."""
        if "$ref" in field:
            return str(field["$ref"]).rsplit("/", 1)[-1]
        if "const" in field:
            self.imports.add("Literal")
            return f"Literal[{json.dumps(field['const'])}]"
        if "anyOf" in field:
            parts = [self.type_of(part) for part in field["anyOf"]]
            return " | ".join(sorted(parts, key=lambda part: part == "None"))
        kinds = field["type"]
        if isinstance(kinds, list):
            one = [kind for kind in kinds if kind != "null"]
            written = " | ".join(self.type_of({**field, "type": kind}) for kind in one)
            return written + (" | None" if "null" in kinds else "")
        if kinds == "array":
            return self.array(field)
        if kinds == "object":
            inner = field.get("additionalProperties")
            if isinstance(inner, dict):
                return f"dict[str, {self.type_of(inner)}]"
            raise SystemExit(f"generate.py: an object without a name: {field}")
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kinds]

    def array(self, field: dict[str, Any]) -> str:
        """Return the type of a list, or of a row of fixed length."""
        if "prefixItems" in field:
            return "tuple[" + ", ".join(self.type_of(item) for item in field["prefixItems"]) + "]"
        item = self.type_of(field["items"])
        count = field.get("minItems")
        if count is not None and count == field.get("maxItems"):
            return "tuple[" + ", ".join([item] * count) + "]"
        return f"list[{item}]"


def schema_module(name: str, root: str) -> str:
    """Return the text of the module of a schema."""
    path = DOCS / f"{name}.schema.json"
    schema = json.loads(path.read_text("utf-8"))
    module = Module(schema, root)
    head = NOTICE.format(f"The classes of docs/{name}.schema.json.", "the schema")
    lines = [head, "from __future__ import annotations", ""]
    data = sorted(module.imports & {"dataclass", "field"})
    lines.append(f"from dataclasses import {', '.join(data)}")
    typing = sorted(module.imports & {"Literal", "Union"})
    if typing:
        lines.append(f"from typing import {', '.join(typing)}")
    version = schema["properties"].get("schema_version")
    lines += ["", "__all__ = ["] + [f'    "{own}",' for own in module.names] + ["]"]
    if version is None:
        raise SystemExit(f"generate.py: {path} has no schema_version")
    return "\n".join(lines + module.lines) + "\n"


def fish_flags(command: str) -> list[tuple[str, str, bool]]:
    """Return name, description and whether it takes a value, for each long flag of a command."""
    found = []
    opening = f'complete -c farfield -n "__fish_farfield_using_subcommand {command}" '
    # Values that fish offers go on in further lines, which are passed over.
    for line in (DOCS / "completions/farfield.fish").read_text("utf-8").splitlines():
        if not line.startswith(opening):
            continue
        name = re.search(r"-l ([a-z0-9-]+)", line)
        description = re.search(r"-d '((?:[^'\\]|\\.)*)'", line)
        if name is None or name[1] in OWN_FLAGS | OWN_FLAGS_OF.get(command, set()):
            continue
        text = description[1].replace("\\'", "'").replace("\\\\", "\\") if description else ""
        found.append((name[1], text, bool(re.search(r" -r(?: |$)", line))))
    if not found:
        raise SystemExit(f"generate.py: the completions for fish have no flags of {command}")
    return found


def scenario_keys() -> dict[str, str]:
    """Return the keys of a scenario by the keyword for each: ``run_warm_up`` for ``run.warm-up``.

    Keys of tables in lists have no place of their own, and are left out; so are names that would stand for two
    keys.
    """
    schema = json.loads((DOCS / "scenario.schema.json").read_text("utf-8"))
    keys: set[str] = set()

    def walk(part: dict[str, Any], path: tuple[str, ...]) -> None:
        if len(path) > 4:
            return
        if "$ref" in part:
            walk(schema["definitions"][part["$ref"].rsplit("/", 1)[-1]], path)
        for group in ("anyOf", "oneOf", "allOf"):
            for choice in part.get(group, []):
                walk(choice, path)
        for name, inner in part.get("properties", {}).items():
            keys.add(".".join((*path, name)))
            walk(inner, (*path, name))

    walk(schema, ())
    by_keyword: dict[str, list[str]] = {}
    for key in sorted(keys):
        by_keyword.setdefault(re.sub(r"[.-]", "_", key), []).append(key)
    return {word: own[0] for word, own in by_keyword.items() if len(own) == 1 and not keyword.iskeyword(word)}


def keywords_module() -> str:
    """Return the text of ``_keywords.py``."""
    head = NOTICE.format(
        "Keywords of the commands: their flags, and the keys of a scenario.", "the documents it reads"
    )
    lines = [head, "from __future__ import annotations", ""]
    lines += ["from typing import TYPE_CHECKING, Any, Dict, Mapping, Tuple", ""]
    lines += ["if TYPE_CHECKING:", "    from typing import TypedDict", "", "    from ._values import Value", ""]
    keys = scenario_keys()
    flags = {command: fish_flags(command) for command in COMMANDS}
    own = {command: {identifier(name) for name, _, _ in flags[command]} for command in COMMANDS}
    lines += ["    class ScenarioKeywords(TypedDict, total=False):"]
    lines += paragraph("Keys of a scenario: `run_warm_up` is `run.warm-up`.", "        ")
    # Keys whose names are flags of some command are keys of the others alone: a class must not change a type.
    taken = {name for command in SCENARIO_COMMANDS for name in own[command]}
    lines += [""] + [f"        {word}: Value" for word in keys if word not in taken]
    for command, name in COMMANDS.items():
        base = "ScenarioKeywords" if command in SCENARIO_COMMANDS else "TypedDict"
        lines += ["", f"    class {name}({base}, total=False):"]
        lines += paragraph(f"Flags of `farfield {command}`.", "        ")
        for flag, text, takes in flags[command]:
            lines += ["", f"        {identifier(flag)}: {'Value' if takes else 'bool'}"]
            lines += paragraph(text, "        ") if text else []
        if command in SCENARIO_COMMANDS and (others := [word for word in keys if word in taken - own[command]]):
            lines += [""] + [f"        {word}: Value" for word in others]
    lines += ["", "#: Flags of each command by their keyword, and whether they take a value."]
    lines += ["FLAGS: Mapping[str, Mapping[str, Tuple[str, bool]]] = {"]
    for command in COMMANDS:
        lines.append(f'    "{command}": {{')
        for flag, _, takes in flags[command]:
            lines.append(f'        "{identifier(flag)}": ("{flag}", {takes}),')
        lines.append("    },")
    lines += ["}", "", "#: Keys of a scenario by their keyword.", "KEYS: Dict[str, str] = {"]
    lines += [f'    "{word}": "{key}",' for word, key in keys.items()] + ["}", ""]
    lines += ["#: Commands that take keys of a scenario.", f"OF_SCENARIOS = {SCENARIO_COMMANDS!r}".replace("'", '"')]
    text = "\n".join(lines) + "\n"
    return text.replace("TYPE_CHECKING, Any, Dict", "TYPE_CHECKING, Dict")


def notebook(page: Path) -> str:
    """Return a page as a notebook: its text, and its blocks of Python as cells, without lines that files alone want."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, text: str) -> None:
        lines = text.strip("\n").splitlines(keepends=True)
        if not any(line.strip() for line in lines):
            return
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{len(cells) + 1}", "metadata": {}, "source": lines}
        cells.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)

    text = re.sub(r"^<!-- .* -->\n", "", page.read_text("utf-8"), flags=re.MULTILINE)
    for at, part in enumerate(re.split(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)):
        if at % 2 == 1:
            kept = [line for line in part.splitlines() if "leave this out in a notebook" not in line]
            add("code", "\n".join(kept))
        else:
            # Links of the page begin at its folder, as those of the notebook beside it do.
            add("markdown", part)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def documents() -> dict[Path, str]:
    """Return all modules, and the notebook, with their text."""
    package = PYTHON / "farfield"
    texts = {package / "schema" / f"{name}.py": schema_module(name, root) for name, root in SCHEMAS.items()}
    page = DOCS / "tutorials/python.md"
    return {**texts, package / "_keywords.py": keywords_module(), page.with_suffix(".ipynb"): notebook(page)}


def main(words: list[str]) -> int:
    """Write or check the modules."""
    if words not in ([], ["--check"]):
        print("usage: python3 python/generate.py [--check]", file=sys.stderr)
        return 2
    for path, text in documents().items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        name = path.relative_to(PYTHON.parent)
        if words:
            print(f"{name} is out of date; run `python3 python/generate.py`", file=sys.stderr)
            return 1
        path.write_text(text, "utf-8")
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
