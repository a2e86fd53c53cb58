#!/usr/bin/env python3
"""Joins the sources of a layer or of a test program into batches that the compiler reads as one unit.

    source_batches.py --root ROOT --out FOLDER [--most N] FILE...

Most of the compiler's time for a small file goes into headers and into what their templates become, once a unit; a batch
pays for them once in N files. ROOT is the folder on the include path under which the files lie: a batch names
them relative to it, so that it is the same text in every checkout. Files that give a name twice never share a batch, as
anonymous namespaces of one unit are one. Prints what to compile in place of FILE..., separated by semicolons: batches in
FOLDER, and the files that are not below ROOT or have no company, as they are.

cmake/batches.cmake calls it when the build is configured; tools/check_tidy.py joins files by the same rule and reads a
batch's files by files_of().
"""
import argparse
import pathlib
import re
import sys

MOST_FILES = 12  # of a batch: as one unit, so many of the server's take GCC 1.2 GB
HEAD = """// Made by tools/source_batches.py. What it joins is edited, not this.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // GCC takes what a unit includes for headers
#endif
"""

# Names that a file gives at the beginning of a line, which is where namespaces' members stand. An alias may be repeated
# as it is. A test's name is its suite's and its own.
DEFINITIONS = re.compile(
    r"""^(?:(?:class|struct|union|enum(?:\ class)?)\ (?P<type>\w+)
          |\#define\ (?P<macro>\w+)
          |(?:using|namespace)\ (?P<alias>\w+)\ =
          |(?:(?:TYPED_)?TEST(?:_[FP])?|RC_GTEST_(?:FIXTURE_)?PROP)\((?P<suite>\w+),\s*(?P<test>\w+)
          |INSTANTIATE_TEST_SUITE_P\((?P<prefix>\w+),\s*(?P<instance>\w+)
          |(?!(?:return|namespace|using|typedef|extern)\b)[A-Za-z_][^;={}()\n]*?(?<![:\w])(?P<name>\w+)(?:\[\w*\])?\s*[({=])""",
    re.MULTILINE | re.VERBOSE)
CONSTANTS = re.compile(r"^(?:inline |static )*const(?:expr)? [^;]*;", re.MULTILINE)
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?:\[\w*\])?\s*[={(]")
INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def names_given(source):
    """Names that a second file must not give; of an alias, all of its line."""
    names = set()
    for found in DEFINITIONS.finditer(source):
        if found["alias"]:
            line = source[found.start() : source.find("\n", found.start())]
            names.add((found["alias"], line))
        elif found["suite"]:
            names.add((f"{found['suite']}.{found['test']}", None))
        elif found["prefix"]:
            names.add((f"{found['prefix']}/{found['instance']}", None))
        else:
            names.add((found["type"] or found["macro"] or found["name"], None))
    for constants in CONSTANTS.finditer(source):
        names |= {(name, None) for name in CONSTANT.findall(constants[0])}
    return names


def clash(names, others):
    """True if a name is in both, unless both are the same alias and neither gives it in another way, too."""
    texts = {}
    for name, text in others:
        texts.setdefault(name, set()).add(text)
    return any(name in texts and (text is None or texts[name] != {text}) for name, text in names)


class Names:
    """Names that files give, and names that the project's headers give to them. ROOT as for the program."""

    def __init__(self, root):
        self.folders = [root, *(root.parent / name for name in ("src", "include", "tests"))]
        self.headers = {}  # of each path: (names given, paths of the headers that it includes)

    def of(self, file):
        """(names given, names seen): what two files give is theirs alone, what they see may be the same header's."""
        source = pathlib.Path(file).read_text()
        seen, paths, waiting = set(), set(), self.included(source)
        while waiting:
            path = waiting.pop()
            if path not in paths:
                paths.add(path)
                if path not in self.headers:
                    text = path.read_text()
                    self.headers[path] = names_given(text), self.included(text)
                seen |= self.headers[path][0]
                waiting += self.headers[path][1]
        return names_given(source), seen

    def included(self, source):
        paths = (folder / name for name in INCLUDED.findall(source) for folder in self.folders)
        return [path for path in paths if path.exists()]


def joined(files, root, most=MOST_FILES):
    """The files in groups of at most `most` that fit together, each file in the first group that takes it: no two
    give a name, and none gives what only another's headers give."""
    names, groups = Names(root), []
    for file in files:
        given, seen = names.of(file)
        for group in groups:
            if len(group["files"]) < most and not clash(given, group["given"]) and all(
                    not clash(given, other_seen - seen) and not clash(other_given, seen - other_seen)
                    for other_given, other_seen in group["names"]):
                break
        else:
            group = {"files": [], "given": set(), "names": []}
            groups.append(group)
        group["files"].append(file)
        group["given"] |= given
        group["names"].append((given, seen))
    return [group["files"] for group in groups]


def files_of(batch, root):
    """The files that a batch joins, and None for any other file."""
    text = pathlib.Path(batch).read_text()
    return [root / name for name in INCLUDED.findall(text)] if text.startswith(HEAD) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--most", type=int, default=MOST_FILES)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    inside = [file for file in args.files if file.is_relative_to(args.root) and file.exists()]
    sources = [file for file in args.files if file not in inside]
    args.out.mkdir(parents=True, exist_ok=True)
    for number, files in enumerate(joined(inside, args.root, args.most)):
        if len(files) == 1:
            sources += files
            continue
        batch = args.out / f"batch_{number}.cc"
        text = HEAD + "".join(f'#include "{file.relative_to(args.root).as_posix()}"\n' for file in files)
        if not batch.exists() or batch.read_text() != text:
            batch.write_text(text)
        sources.append(batch)
    print(";".join(map(str, sources)), end="")


if __name__ == "__main__":
    sys.exit(main())
