#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/, several at once, and remembers which were clean.

    check_tidy.py --build BUILD [--clang-tidy PROGRAM] [--jobs N] ROOT [FILE...]

BUILD holds compile_commands.json. A file that was found clean is not read again until it, a header it includes, its
compile command, .clang-tidy or clang-tidy itself changes: the preprocessed source, comments kept (they hold NOLINT),
is hashed and the hash kept in the cache folder ($XDG_CACHE_HOME or ~/.cache, then octavo/tidy). Exit code 1 if any
file has a finding.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(base, "octavo", "tidy")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def preprocessor_command(entry, compiler):
    """The file's own compile command as a clang preprocessor run."""
    arguments = shlex.split(entry["command"])
    if pathlib.Path(arguments[0]).name == "ccache":
        arguments = arguments[1:]
    arguments = arguments[1:]
    output = arguments.index("-o")
    del arguments[output : output + 2]
    arguments.remove("-c")
    return [compiler, "-E", "-C", "-P", *arguments]


class Tidy:
    def __init__(self, args):
        self.program, self.build, self.root = args.clang_tidy, args.build, args.root
        self.compiler = args.clang_tidy.replace("clang-tidy", "clang++")
        self.cache = cache_folder()
        version = subprocess.run([self.program, "--version"], check=True, capture_output=True).stdout
        self.salt = version + (args.root / ".clang-tidy").read_bytes()

    def key(self, entry):
        done = subprocess.run(preprocessor_command(entry, self.compiler), cwd=entry["directory"], capture_output=True,
                              check=False)
        if done.returncode:
            return None  # clang-tidy will say why
        command = entry["command"].replace(str(self.root), "").encode()
        return hashlib.sha256(b"\0".join([self.salt, command, done.stdout])).hexdigest()

    def check(self, entry):
        """(file, findings as text; empty when clean)."""
        key = self.key(entry)
        if key and (self.cache / key).exists():
            return entry["file"], ""
        done = subprocess.run([self.program, "--quiet", "--warnings-as-errors=*", "-p", self.build, entry["file"]],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            if key:
                (self.cache / key).touch()
            return entry["file"], ""
        return entry["file"], done.stdout + ("" if done.stdout.strip() else done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang-tidy", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    args.root = args.root.resolve()
    only = {str(path.resolve()) for path in args.files}
    entries = [e for e in json.loads((args.build / "compile_commands.json").read_text())
               if pathlib.Path(e["file"]).is_relative_to(args.root / "src") and (not only or e["file"] in only)]
    if not entries:
        sys.exit("no source of src/ is in compile_commands.json")
    tidy, failed = Tidy(args), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for file, findings in pool.map(tidy.check, entries):
            if findings:
                failed += 1
                print(findings, flush=True)
    print(f"clang-tidy: {len(entries) - failed} of {len(entries)} files are clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
