"""Docstrings of functions and of their arguments."""
from __future__ import annotations

import inspect
import re
import sys
from typing import Collection, Dict, List, Optional, Tuple

_ARGUMENTS = {"args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments"}
_OTHERS = {"return", "returns", "yield", "yields", "raise", "raises", "example", "examples", "note", "notes",
           "see also", "references", "warning", "warnings", "warns", "attributes", "todo"}
_SPHINX = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)$")
_NAMED = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\)+)?\s*:(?:\s+(.*))?$")  # `city (str): where`
_TYPED = re.compile(r"(\w+)\s*(?::\s*.*)?$")  # numpy's `city : str`, above where


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _section(lines: List[str], i: int) -> Optional[Tuple[str, bool]]:
    """The name of the section that begins at a line, and whether it is underlined, as numpy has it."""
    name = lines[i].strip()
    is_underlined = i + 1 < len(lines) and re.fullmatch(r"\s*-{3,}\s*", lines[i + 1]) is not None
    known = name.rstrip(":").lower() in _ARGUMENTS | _OTHERS
    return (name.rstrip(":").lower(), is_underlined) if known and (name.endswith(":") or is_underlined) else None


class _Reader:
    """Reads a docstring line by line: its text, and what it says of the arguments."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.text: List[str] = []
        self.about: Dict[str, List[str]] = {}
        self.section, self.is_numpy = "", False
        self.into: Optional[List[str]] = self.text  # what lines that go on belong to; None: they are left out
        self.indent = 0  # of the line that lines of a deeper indent go on from

    def read(self, line: str) -> None:
        sphinx = _SPHINX.match(line.strip())
        if sphinx is not None:
            name = (sphinx.group(2) or "").split()[-1:]
            self._begin(name[0] if name and sphinx.group(1) in ("param", "parameter", "arg", "argument") else "",
                        sphinx.group(3), line)
        elif self.section in _OTHERS:
            pass
        elif self._is_argument(line):
            pass
        elif self.into is not self.text and line.strip() and _indent(line) <= self.indent and not self.section:
            self.into = self.text
            self.text.append(line)
        elif self.into is not None:
            self.into.append(line if self.into is self.text else line.strip())

    def _is_argument(self, line: str) -> bool:
        goes_on = self.into is not self.text and _indent(line) > self.indent
        match = (_TYPED if self.is_numpy else _NAMED).match(line.strip())
        if goes_on or match is None or match.group(1) not in self.names:
            return False
        self._begin(match.group(1), "" if self.is_numpy else match.group(2) or "", line)
        return True

    def _begin(self, name: str, words: str, line: str) -> None:
        self.into = self.about.setdefault(name, [words]) if name in self.names else None
        self.indent = _indent(line)


def read_docstring(doc: str, names: Collection[str]) -> Tuple[str, Dict[str, str]]:
    """A docstring's text, without what it says of arguments, results and errors; and what it says of each argument of
    these names. Arguments are told in sections as Google or numpy has them, as Sphinx's `:param city: where`, or in
    lines such as `city: where`."""
    lines = inspect.cleandoc(doc).split("\n")
    reader = _Reader(names)
    i = 0
    while i < len(lines):
        found = _section(lines, i)
        if found is not None:
            reader.section, reader.is_numpy = found
            reader.into, reader.indent = None, sys.maxsize
            i += 1 + found[1]
            continue
        reader.read(lines[i])
        i += 1
    about = {name: " ".join(word for word in words if word) for name, words in reader.about.items()}
    return "\n".join(reader.text).strip(), {name: words for name, words in about.items() if words}
