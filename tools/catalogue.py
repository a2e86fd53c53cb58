#!/usr/bin/env python3
"""Counts the models of tests/data/catalogue.tsv whose architecture Octavo has, and names what is missing.

    catalogue.py [--write] [--root FOLDER]

The list has models as two desktop servers offer them, with the architecture of their files. Those that are supported
are the rows of the table in src/model/architectures/architectures.cc. A section of docs/supported.md has the counts;
--write puts it there, and without it the tool fails where the page says something else. Needs: Python alone.
"""
import argparse
import collections
import pathlib
import re
import sys
import textwrap

from made_section import problem_of_section

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- made by tools/catalogue.py -->", "<!-- end of what tools/catalogue.py made -->"


def supported_architectures(root):
    table = (root / "src/model/architectures/architectures.cc").read_text(encoding="utf-8")
    return set(re.findall(r'\{"([^"]+)", read_\w+\}', table))


def models(root):
    """(name, architecture, whether it is asked for most) of each model."""
    for line in (root / "tests/data/catalogue.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, architecture, lists = line.split("\t")
            yield name, architecture, "hot" in lists.split(", ")


def missing(listed, supported):
    """{architecture: number of its models}, those with most models first."""
    counts = collections.Counter(architecture for _, architecture, _ in listed if architecture not in supported)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def section(root):
    supported, listed = supported_architectures(root), list(models(root))
    hot = [architecture for _, architecture, is_hot in listed if is_hot]
    loaded = sum(architecture in supported for _, architecture, _ in listed)
    counts = missing(listed, supported)
    text = (f"{loaded} of {len(listed)} models, {sum(name in supported for name in hot)} of the {len(hot)} that are asked "
            f"for most, have an architecture of these. Missing, with the number of models: "
            + ", ".join(f"`{name}` {count}" for name, count in counts.items()) + ".")
    return "\n".join([BEGIN, textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False), END])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    made = section(args.root)
    print(made)
    sys.exit(problem_of_section(args.root / "docs/supported.md", BEGIN, END, made, args.write))


if __name__ == "__main__":
    main()
