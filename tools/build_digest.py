#!/usr/bin/env python3
"""Writes a C++ unit with a digest of compiled objects, for the fingerprint of answers.

    build_digest.py OUTPUT.cc ARCHIVE.a...

The digest is over the contents of the archives' members and their names, whatever their times and owners, so program
and library that are linked of the same objects have the same. A file that is right already is left as it is.
"""
import hashlib
import pathlib
import sys

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


def digest_of(archives):
    """32 hexadecimal digits."""
    total = hashlib.sha256()
    for archive in archives:
        for name, content in members(archive):
            if name != b"/":  # the index of symbols, which the others make
                total.update(len(name).to_bytes(8, "little") + name + hashlib.sha256(content).digest())
    return total.hexdigest()[:32]


def unit_of(digest):
    return ('#include "engine/build_digest.h"\n\n'
            f'std::string_view octavo::build_digest() {{ return "{digest}"; }}\n')


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    output = pathlib.Path(sys.argv[1])
    unit = unit_of(digest_of(sys.argv[2:]))
    if not output.exists() or output.read_text(encoding="utf-8") != unit:
        output.write_text(unit, encoding="utf-8")


if __name__ == "__main__":
    main()
