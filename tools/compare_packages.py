#!/usr/bin/env python3
"""Compares packages of two builds byte for byte, and says of those that differ where they begin to.

    compare_packages.py FIRST SECOND        files, or folders of files

Prints a line for each file: that it is the same, or the way to the first difference through what is packed in it, such
as "octavo.whl: octavo/liboctavo.so: section .rodata: byte 17 is 0x61, then 0x62". Exit code 1 if anything differs.
"""
import argparse
import bz2
import gzip
import io
import lzma
import pathlib
import struct
import sys
import tarfile
import zipfile
from collections.abc import Iterator

# A part of a file: its name, what is said of it (modes, dates, owners), and its bytes.
Part = tuple[str, str, bytes]


def parts_of_zip(data: bytes) -> Iterator[Part]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for entry in packed.infolist():
            yield entry.filename, f"mode {entry.external_attr >> 16:o}, date {entry.date_time}", packed.read(entry)


def parts_of_tar(data: bytes) -> Iterator[Part]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as packed:
        for entry in packed:
            file = packed.extractfile(entry) if entry.isreg() else None
            said = (f"mode {entry.mode:o}, date {entry.mtime}, owner {entry.uid}:{entry.gid} "
                    f"{entry.uname}:{entry.gname}, type {entry.type!r}, link {entry.linkname!r}")
            yield entry.name, said, file.read() if file else b""


def parts_of_ar(data: bytes) -> Iterator[Part]:
    place = 8
    while place + 60 <= len(data):
        header = data[place:place + 60].decode("ascii")
        size = int(header[48:58])
        yield header[:16].rstrip(" /"), header[16:48].strip(), data[place + 60:place + 60 + size]
        place += 60 + size + size % 2


def parts_of_elf(data: bytes) -> Iterator[Part]:
    """Sections of a 64-bit file."""
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * number) for number in range(count)]
    if not headers:
        return
    names = data[headers[names_at][4]:][:headers[names_at][5]]
    for name, kind, flags, address, offset, length in headers:
        content = b"" if kind == 8 else data[offset:offset + length]  # 8: zeros that the file does not have
        yield f"section {names[name:].partition(bytes(1))[0].decode()}", f"address {address:#x}, flags {flags}", content


def whole(name: str, data: bytes) -> Iterator[Part]:
    yield name, "", data


# What a file begins with, where that stands, and how its parts are read.
FORMS = (
    (b"PK\x03\x04", 0, parts_of_zip),
    (b"ustar", 257, parts_of_tar),
    (b"!<arch>\n", 0, parts_of_ar),
    (b"\x7fELF\x02\x01", 0, parts_of_elf),
    (b"\x1f\x8b", 0, lambda data: whole("unpacked", gzip.decompress(data))),
    (b"\xfd7zXZ\x00", 0, lambda data: whole("unpacked", lzma.decompress(data))),
    (b"BZh", 0, lambda data: whole("unpacked", bz2.decompress(data))),
)


def parts_of(data: bytes) -> list[Part]:
    for magic, place, read in FORMS:
        if data[place:place + len(magic)] == magic:
            return list(read(data))
    return []


def first_byte(first: bytes, second: bytes) -> str:
    for place, (one, other) in enumerate(zip(first, second)):
        if one != other:
            return f"byte {place} is {one:#04x}, then {other:#04x}"
    return f"{len(first)} bytes, then {len(second)}"


def first_difference(first: bytes, second: bytes) -> str:
    """Where two files that differ begin to."""
    ones, others = parts_of(first), parts_of(second)
    for (name, said, content), (other_name, other_said, other_content) in zip(ones, others):
        if name != other_name:
            return f"{name}, then {other_name} in its place"
        if said != other_said:
            return f"{name}: {said}, then {other_said}"
        if content != other_content:
            return f"{name}: {first_difference(content, other_content)}"
    if len(ones) != len(others):
        name = (ones + others if len(ones) > len(others) else others + ones)[min(len(ones), len(others))][0]
        return f"{name} is in one alone"
    return first_byte(first, second)


def files_of(path: pathlib.Path) -> dict[str, pathlib.Path]:
    if path.is_dir():
        return {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    return {path.name: path}


def compare(first: pathlib.Path, second: pathlib.Path) -> bool:
    ones, others = files_of(first), files_of(second)
    if not ones or not others:
        sys.exit(f"compare_packages.py: found no file in {first if not ones else second}, expected packages")
    if first.is_file() and second.is_file():
        others = {first.name: second}
    same = True
    for name in sorted(ones.keys() | others.keys()):
        if name not in ones or name not in others:
            difference = f"is in {first if name in ones else second} alone"
        else:
            data, other = ones[name].read_bytes(), others[name].read_bytes()
            difference = first_difference(data, other) if data != other else ""
        print(f"{name}: {difference or 'the same bytes'}")
        same = same and not difference
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=pathlib.Path)
    parser.add_argument("second", type=pathlib.Path)
    args = parser.parse_args()
    sys.exit(0 if compare(args.first, args.second) else 1)


if __name__ == "__main__":
    main()
