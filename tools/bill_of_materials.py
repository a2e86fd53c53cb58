#!/usr/bin/env python3
"""What a package has inside, or needs beside it: a software bill of materials in the form of CycloneDX 1.5.

    bill_of_materials.py --kind deb|folder --version 0.1.0 --architecture amd64 --program FILE --triplet TRIPLET \\
                         [--root FOLDER] [--packages FILE] --to FILE

Writes the bill of a program: of a Debian package, which needs other packages, or of a folder that has all libraries
with it. The libraries are looked for as tools/needed_libraries.py does, which copies them into the folder. Of each it
says the Debian package and the version that it is from, and of each file inside its digest. dpkg knows whose a library
is, or, where the libraries are of another architecture, the file --packages: a line for each library, "libssl.so.3
libssl3 3.0.19-1", and for each package of headers, "- libcli11-dev 2.1.2". The same files give the same bytes. Needs
readelf.

As a module it is also what the wheel's bill and the image's are made with.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import urllib.parse
import uuid

import needed_libraries

# Libraries that are headers alone, which become part of what includes them, and the packages that they are from.
HEADERS = {"boost-asio": "libboost1.81-dev", "cli11": "libcli11-dev", "xxhash": "libxxhash-dev"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hashed_file(name: str, data: bytes) -> dict:
    return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": digest(data)}]}


def debian_component(name: str, package: str, version: str, form: str) -> dict:
    """A library of a Debian package; form: source or an architecture."""
    purl = f"pkg:deb/debian/{package}@{urllib.parse.quote(version, safe='.-~')}?arch={form}&distro=debian-12"
    return {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}


def octavo_component(kind: str, purl: str, version: str, files: list[dict]) -> dict:
    """Octavo itself; kind: library, application or container."""
    return {"type": kind, "name": "octavo", "version": version, "purl": purl, "bom-ref": purl,
            "licenses": [{"license": {"id": "Apache-2.0"}}], "components": files}


def document(octavo: dict, parts: list[dict]) -> bytes:
    """The document of a component of Octavo that needs these, ordered as they are."""
    body = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": octavo},
            "components": parts,
            "dependencies": [{"ref": octavo["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}]}
    content = digest(json.dumps(body, sort_keys=True).encode())
    number = uuid.uuid5(uuid.NAMESPACE_URL, octavo["purl"] + content)
    return json.dumps({**body, "serialNumber": f"urn:uuid:{number}"}, indent=2).encode() + b"\n"


class InstalledPackages:
    """The packages of this machine, as dpkg knows them."""

    def owners(self, libraries: list[pathlib.Path]) -> dict[str, str]:
        """{name of a library: package}, of those that are of one."""
        # /lib is a link to /usr/lib, and a package may have its file by either name.
        names = {str(file).removeprefix("/usr") for file in libraries}
        found = self.ask("--search", *names, *(f"/usr{name}" for name in names))
        rows = re.findall(r"^([a-z0-9+.-]+)(?::\w+)?: (/.*)$", found, re.MULTILINE)
        return {pathlib.PurePath(path).name: package for package, path in rows}

    def versions(self, packages: list[str]) -> dict[str, str]:
        """{package: version}, of those that are installed."""
        shown = self.ask("--show", "--showformat=${Package} ${Version} ${db:Status-Status}\n", *packages)
        rows = [line.split() for line in shown.splitlines()]
        return {row[0]: row[1] for row in rows if row[-1] == "installed"}

    @staticmethod
    def ask(*words: str) -> str:
        """What dpkg-query says of what it knows; nothing where it is not here."""
        try:
            return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            return ""


class ListedPackages:
    """The packages of another architecture, as a file lists them."""

    def __init__(self, listed: pathlib.Path):
        self.rows = [line.split() for line in listed.read_text(encoding="utf-8").splitlines()]

    def owners(self, libraries: list[pathlib.Path]) -> dict[str, str]:
        names = {file.name for file in libraries}
        return {library: package for library, package, _ in self.rows if library in names}

    def versions(self, packages: list[str]) -> dict[str, str]:
        return {package: version for _, package, version in self.rows if package in packages}


def library_parts(libraries: dict[str, pathlib.Path], packages, architecture: str, inside: bool) -> list[dict]:
    """A component for each package of the libraries, and for each library of none; inside: with the files that are."""
    owners = packages.owners(list(libraries.values()))
    versions = packages.versions(sorted(set(owners.values())))
    parts: dict[str, dict] = {}
    for name, file in sorted(libraries.items()):
        owner = owners.get(name)
        part = {"type": "library", "name": name, "bom-ref": name} if owner is None else (
            debian_component(owner, owner, versions[owner], architecture))
        part = parts.setdefault(part["bom-ref"], part)
        if inside:
            part.setdefault("components", []).append(hashed_file(name, file.read_bytes()))
    return [parts[reference] for reference in sorted(parts)]


def header_parts(packages, architecture: str) -> list[dict]:
    """The libraries that the program has inside because it includes them; not those whose package is not here."""
    versions = packages.versions(list(HEADERS.values()))
    return [debian_component(name, package, versions[package], architecture) for name, package in HEADERS.items()
            if package in versions]


def bill_of_program(args: argparse.Namespace) -> bytes:
    packages = ListedPackages(args.packages) if args.packages else InstalledPackages()
    folders = needed_libraries.library_folders(args.root, args.triplet)
    libraries = needed_libraries.all_needed(args.program, folders)
    if args.kind == "deb":
        direct = set(needed_libraries.needed(args.program))
        libraries = {name: file for name, file in libraries.items() if name in direct}
        purl = f"pkg:deb/octavo/octavo@{args.version}?arch={args.architecture}"
    else:
        purl = f"pkg:generic/octavo@{args.version}?arch={args.architecture}"
    octavo = octavo_component("application", purl, args.version, [hashed_file("octavo", args.program.read_bytes())])
    parts = library_parts(libraries, packages, args.architecture, inside=args.kind == "folder")
    return document(octavo, header_parts(packages, args.architecture) + parts)


def bill_of_image(bill_of_folder: bytes, certificates: bytes, version: str) -> bytes:
    """The bill of a container image that has a folder's files, and certificates of Debian's package of that version."""
    bill = json.loads(bill_of_folder)
    part = {"type": "library", "name": "ca-certificates", "bom-ref": "ca-certificates"} if not version else (
        debian_component("ca-certificates", "ca-certificates", version, "all"))
    part["components"] = [hashed_file("ca-certificates.crt", certificates)]
    return document({**bill["metadata"]["component"], "type": "container"}, [*bill["components"], part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("deb", "folder"), required=True)
    for name in ("version", "architecture", "triplet"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("program", "to"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/"))
    parser.add_argument("--packages", type=pathlib.Path)
    args = parser.parse_args()
    args.to.parent.mkdir(parents=True, exist_ok=True)
    args.to.write_bytes(bill_of_program(args))


if __name__ == "__main__":
    main()
