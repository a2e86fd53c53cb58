#!/usr/bin/env python3
"""Writes a C++ unit with a digest of what decides an answer's bits, for the fingerprint of answers.

    build_digest.py OUTPUT.cc PLACE... --root ROOT --archives ARCHIVE.a...
    build_digest.py OUTPUT.cc PLACE... --root ROOT --words WORD...

The unit has two digests. One is of the build. With --archives it is of compiled objects: of the contents of the
archives' members and their names, whatever their times and owners, so program and library that are linked of the same
objects have the same. With --words it is of sources: of the files PLACE, or in the folders PLACE, of ROOT with their
names, and of words that say what compiles them and how. It is the same in every checkout and build folder. The other
digest is of the sources alone, for bits that do not depend on what compiles them. A file that is right already is left
as it is.
"""
import argparse
import hashlib
import pathlib

MAGIC = b"!<arch>\n"
HEADER_BYTES = 60


def members(archive):
    """The (name, content) of each member; raises ValueError where the file is no archive of ar."""
    data = pathlib.Path(archive).read_bytes()
    if not data.startswith(MAGIC):
        raise ValueError(f"{archive}: found no archive, expected one of ar")
    place = len(MAGIC)
    while place + HEADER_BYTES <= len(data):
        header = data[place:place + HEADER_BYTES]
        name, size = header[:16].rstrip(), int(header[48:58])
        place += HEADER_BYTES
        yield name, data[place:place + size]
        place += size + size % 2


def add(total, name, content):
    total.update(len(name).to_bytes(8, "little") + name + hashlib.sha256(content).digest())


def hexadecimal(total):
    """32 digits."""
    return total.hexdigest()[:32]


def digest_of(archives):
    total = hashlib.sha256()
    for archive in archives:
        for name, content in members(archive):
            if name != b"/":  # the index of symbols, which the others make
                add(total, name, content)
    return hexadecimal(total)


def source_files(root, places):
    """{name below root: path} of all files there but those that editors leave; ValueError where a place has none."""
    files = {}
    for place in places:
        path = root / place
        found = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()
                                               and not file.name.startswith(".") and not file.name.endswith("~")]
        if not found:
            raise ValueError(f"{path}: found no file, expected sources")
        files |= {file.relative_to(root).as_posix(): file for file in found}
    return files


def digest_of_sources(root, places, words):
    total = hashlib.sha256()
    for word in words:
        add(total, b"word", word.encode())
    for name, path in sorted(source_files(root, places).items()):
        add(total, name.encode(), path.read_bytes())
    return hexadecimal(total)


def unit_of(build, sources):
    return ('#include "engine/load/build_digest.h"\n\n'
            f'std::string_view octavo::build_digest() {{ return "{build}"; }}\n'
            f'std::string_view octavo::source_digest() {{ return "{sources}"; }}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--root", type=pathlib.Path, required=True)
    of_build = parser.add_mutually_exclusive_group(required=True)
    of_build.add_argument("--archives", nargs="+")
    of_build.add_argument("--words", nargs="+")
    args = parser.parse_args()
    build = digest_of(args.archives) if args.archives else digest_of_sources(args.root, args.places, args.words)
    unit = unit_of(build, digest_of_sources(args.root, args.places, []))
    if not args.output.exists() or args.output.read_text(encoding="utf-8") != unit:
        args.output.write_text(unit, encoding="utf-8")


if __name__ == "__main__":
    main()
