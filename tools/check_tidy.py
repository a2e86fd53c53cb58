#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/, several at once, and remembers which were clean.

    check_tidy.py --build BUILD [--clang-tidy PROGRAM] [--jobs N] [--share I/N] ROOT [FILE...]

BUILD holds compile_commands.json, and gets what each unit took in its table of times (timed.py). --share reads the Ith of
N shares of the units. Most of clang-tidy's time for a file goes into the library headers that it includes,
so files with the same compile command are read together, as one unit that includes them, where they give no
name twice (source_batches.py, as the build joins them); a unit that does not compile is read file by file. Precompiled headers, which hold more than a file includes
and only GCC can read, are left out.

A unit that was found clean is not read again until one of its files, a header they include, their compile command,
.clang-tidy, clang-tidy itself or this program changes: the preprocessed source, comments kept (they hold NOLINT), is
hashed and the hash kept in the cache folder ($XDG_CACHE_HOME or ~/.cache, then octavo/tidy). Exit code 1 if any file has
a finding. The last line says what processor time it took.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

import source_batches
import timed

COMPILER = re.compile(r"\+\+(?:-\d+)?$")

def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(base, "octavo", "tidy")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def plain_command(entry):
    """The file's own compile command without compiler, input, output and precompiled header."""
    arguments = shlex.split(entry["command"])
    # Launchers, such as ccache, stand before the compiler.
    arguments = arguments[1 + next(i for i, word in enumerate(arguments) if COMPILER.search(word)):]
    for option in ("-o", "-c"):
        at = arguments.index(option)
        del arguments[at : at + 2]
    while "-include" in arguments:
        at = arguments.index("-include")
        del arguments[at : at + 2]
    return [argument for argument in arguments if argument != "-Winvalid-pch"]


def files_to_read(entries, root):
    """Entries of the sources below src/, of a batch's files each its own. A batch of a test program names no such file."""
    for entry in entries:
        file = pathlib.Path(entry["file"])
        for file in source_batches.files_of(file, root / "src") or [file]:
            if file.is_relative_to(root / "src") and file.exists():
                yield {"file": str(file), "directory": entry["directory"], "command": plain_command(entry)}


def units(entries, root):
    """The entries' files in units: [(command, directory, [file...])]."""
    alike = {}
    for entry in entries:
        alike.setdefault((tuple(entry["command"]), entry["directory"]), []).append(entry["file"])
    return [(list(command), directory, files) for (command, directory), all_files in alike.items()
            for files in source_batches.joined(all_files, root)]


class Tidy:
    def __init__(self, args):
        self.program, self.root, self.table = args.clang_tidy, args.root, args.build.resolve() / "times.tsv"
        self.compiler = args.clang_tidy.replace("clang-tidy", "clang++")
        self.cache = cache_folder()
        version = subprocess.run([self.program, "--version"], check=True, capture_output=True).stdout
        self.salt = version + (args.root / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()

    def key(self, command, directory, file):
        done = subprocess.run([self.compiler, "-E", "-C", "-P", *command, file], cwd=directory, capture_output=True,
                              check=False)
        if done.returncode:
            return None  # clang-tidy will say why
        text = shlex.join(command).replace(str(self.root), "").encode()
        return hashlib.sha256(b"\0".join([self.salt, text, done.stdout])).hexdigest()

    def read(self, command, directory, file, name):
        """Findings in a file and in what it includes of src/ and include/; empty when clean."""
        key = self.key(command, directory, file)
        if key and (self.cache / key).exists():
            return ""
        done = subprocess.run([sys.executable, "-I", "-S", timed.__file__, self.table, "tidy", name,
                               self.program, "--quiet", "--warnings-as-errors=*",
                               f"--config-file={self.root / '.clang-tidy'}",
                               f"--header-filter={re.escape(str(self.root))}/(src|include)/.*\\.(h|cc)$", file, "--",
                               *command], cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            if key:
                (self.cache / key).touch()
            return ""
        return done.stdout + ("" if done.stdout.strip() else done.stderr)

    def check(self, unit):
        """[(file, findings)] of the files with findings: those of a unit with its first such file, which is the unit's
        first file where they are in headers."""
        command, directory, files = unit
        names = [str(pathlib.Path(file).relative_to(self.root)) for file in files]
        if len(files) > 1:
            with tempfile.NamedTemporaryFile("w", suffix=".cc") as joined:
                joined.writelines(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files)
                joined.flush()
                findings = self.read(command, directory, joined.name, f"{names[0]} and {len(files) - 1} more")
            if not findings:
                return []
            if "clang-diagnostic-error" not in findings:
                named = [file for file in files if file in findings] or files[:1]
                return [(named[0], findings), *((file, "") for file in named[1:])]
        found = [(file, self.read(command, directory, file, name)) for file, name in zip(files, names)]
        return [(file, findings) for file, findings in found if findings]


def share(text):
    """(I, N) of "I/N"."""
    index, number = map(int, text.split("/"))
    if not 1 <= index <= number:
        raise ValueError(text)
    return index, number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang-tidy", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--share", type=share, default=(1, 1), metavar="I/N")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    args.root = args.root.resolve()
    only = {str(path.resolve()) for path in args.files}
    commands = json.loads((args.build / "compile_commands.json").read_text())
    entries = [e for e in files_to_read(commands, args.root) if not only or e["file"] in only]
    if not entries:
        sys.exit("no source of src/ is in compile_commands.json")
    index, number = args.share
    chosen = units(entries, args.root / "src")[index - 1::number]
    num_files = sum(len(files) for _, _, files in chosen)
    tidy, failed = Tidy(args), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for found in pool.map(tidy.check, chosen):
            failed += len(found)
            for _, findings in found:
                print(findings, end="", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"clang-tidy: {num_files - failed} of {num_files} files are clean, "
          f"{used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
