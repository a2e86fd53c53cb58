#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/, several at once, and remembers which were clean.

    check_tidy.py --build BUILD [--clang-tidy PROGRAM] [--jobs N] [--share I/N] ROOT [FILE...]

BUILD holds compile_commands.json, and gets what each unit took in its table of times (timed.py). --share reads the Ith of
N shares of the units. Most of clang-tidy's time for a file goes into the library headers that it includes, so files are
read together, as one unit that includes them, where they give no name twice (source_batches.py, as the build joins them)
and their compile commands differ in nothing but paths, macros and optimization: the unit has the paths and macros of all.
A unit that does not compile is read in halves. Precompiled headers, which hold more than a file includes and only GCC can
read, are left out. A file that is compiled several times is read with its first command.

A unit that was found clean is not read again until one of its files, a header they include, their compile command,
.clang-tidy, clang-tidy itself or this program changes. clang-tidy names the files that it reads; a hash of them all is
kept in the cache folder ($XDG_CACHE_HOME or ~/.cache, then octavo/tidy). Exit code 1 if any file has a finding. The last
line says what processor time it took.
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
MOST_FILES = 36  # of a unit
# Nothing in kernels' bodies is reported (.inl), so that they need no look: as system headers they get none.
UNREPORTED = "--extra-arg=--system-header-prefix=kernels/generic/"
NAMES_KEPT = 8  # lists of a unit's files, of its last clean readings: for who changes between branches


def cache_folder(name):
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "octavo", name)


PROGRAM = cache_folder("venv") / "bin" / "clang-tidy"  # where scripts/setup --test puts that of tools/requirements.in


def plain_command(entry):
    """The file's own compile command without compiler, input, output, precompiled header and level of optimization."""
    arguments = shlex.split(entry["command"])
    # Launchers, such as ccache, stand before the compiler.
    arguments = arguments[1 + next(i for i, word in enumerate(arguments) if COMPILER.search(word)):]
    for option in ("-o", "-c"):
        at = arguments.index(option)
        del arguments[at : at + 2]
    while "-include" in arguments:
        at = arguments.index("-include")
        del arguments[at : at + 2]
    return [argument for argument in arguments
            if argument != "-Winvalid-pch" and not re.fullmatch("-O.?", argument)]


def files_to_read(entries, root):
    """Entries of the sources below src/, of a batch's files each its own, no file twice. A batch of a test program names
    no such file."""
    met = set()
    for entry in entries:
        file = pathlib.Path(entry["file"])
        for file in source_batches.files_of(file, root / "src") or [file]:
            if file.is_relative_to(root / "src") and file.exists() and file not in met:
                met.add(file)
                yield {"file": str(file), "directory": entry["directory"], "command": plain_command(entry)}


def split_command(command):
    """(macros and paths, the other options) of a command; a path stands with its option where that is apart."""
    of_unit, others, arguments = [], [], iter(command)
    for argument in arguments:
        if argument in ("-isystem", "-I"):
            of_unit.append((argument, next(arguments)))
        elif argument.startswith(("-D", "-I")):
            of_unit.append((argument,))
        else:
            others.append(argument)
    return of_unit, others


def contradict(some, others):
    """True if a macro has two values."""
    values = {}
    for (option, *_) in (*some, *others):
        if option.startswith("-D") and values.setdefault(option.partition("=")[0], option) != option:
            return True
    return False


def units(entries, root):
    """The entries' files in units: [(command, directory, [file...])], the largest first."""
    alike = []  # of files whose commands agree: {others, directory, of_unit, files}
    for entry in entries:
        of_unit, others = split_command(entry["command"])
        for group in alike:
            if (group["others"], group["directory"]) == (others, entry["directory"]) and not contradict(
                    group["of_unit"], of_unit):
                break
        else:
            group = {"others": others, "directory": entry["directory"], "of_unit": [], "files": []}
            alike.append(group)
        group["of_unit"] += [option for option in of_unit if option not in group["of_unit"]]
        group["files"].append(entry["file"])
    joined = [([*sum(group["of_unit"], ()), *group["others"]], group["directory"], files)
              for group in alike for files in source_batches.joined(group["files"], root, MOST_FILES)]
    return sorted(joined, key=lambda unit: -len(unit[2]))  # the longest first, so that none is waited for at the end


class Tidy:
    def __init__(self, args):
        self.program, self.root, self.table = args.clang_tidy, args.root, args.build.resolve() / "times.tsv"
        self.cache = cache_folder("tidy")
        self.cache.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([self.program, "--version"], check=True, capture_output=True).stdout
        self.salt = version + (args.root / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()
        self.hashes = {}  # of each path that was met

    def hash_of(self, path):
        """The hash of a file's bytes; None if it is not there."""
        if path not in self.hashes:
            try:
                self.hashes[path] = hashlib.sha256((self.root / path).read_bytes()).hexdigest()
            except OSError:
                self.hashes[path] = None
        return self.hashes[path]

    def names(self, command, files):
        """The cache's file of lists of a unit's files."""
        text = "\0".join([*command, "", *files]).replace(str(self.root), "")
        return self.cache / (hashlib.sha256(self.salt + text.encode()).hexdigest() + ".json")

    def key(self, names, paths):
        """The cache's file that says that a unit is clean, with these files as they are."""
        text = json.dumps([names.name, [(path, self.hash_of(path)) for path in paths]])
        return self.cache / hashlib.sha256(text.encode()).hexdigest()

    def read(self, command, directory, files, source):
        """(findings, keep): findings in the files that `source` consists of, and in what they include of src/ and
        include/, empty when clean; keep() notes that they are clean."""
        names = self.names(command, files)
        lists = json.loads(names.read_text()) if names.exists() else []
        if any(self.key(names, paths).exists() for paths in lists):
            return "", None
        name = str(pathlib.Path(files[0]).relative_to(self.root))
        name += f" and {len(files) - 1} more" if len(files) > 1 else ""
        done = subprocess.run([sys.executable, "-I", "-S", timed.__file__, self.table, "tidy", name,
                               self.program, "--quiet", "--warnings-as-errors=*", "--extra-arg=-H", UNREPORTED,
                               f"--header-filter={re.escape(str(self.root))}/(src|include)/.*\\.(h|cc)$", source, "--",
                               *command], cwd=directory, capture_output=True, text=True, check=False)
        included = {os.path.normpath(os.path.join(directory, path))
                    for path in re.findall(r"^\.+ (.+)$", done.stderr, re.MULTILINE) if path != source}
        paths = sorted(path.removeprefix(f"{self.root}/") for path in included | set(files))

        def keep():
            names.write_text(json.dumps([paths, *(other for other in lists if other != paths)][:NAMES_KEPT]))
            self.key(names, paths).touch()

        if done.returncode == 0:
            keep()
            return "", None
        return done.stdout + ("" if done.stdout.strip() else done.stderr), keep

    def check(self, unit):
        """[(file, findings)] of the files with findings: those of a unit with its first such file, which is the unit's
        first file where they are in headers."""
        command, directory, files = unit
        if len(files) > 1:
            # .clang-tidy is found from where a file lies, so that clang-tidy judges only our names. With one given for
            # all it complains of every name of the standard library, unheard, for a third of its time.
            with tempfile.TemporaryDirectory() as folder:
                joined = pathlib.Path(folder, "joined.cc")
                joined.write_text("".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n'
                                          for file in files))
                joined.with_name(".clang-tidy").symlink_to(self.root / ".clang-tidy")
                findings, keep = self.read(command, directory, files, str(joined))
            if not findings:
                return []
            if "clang-diagnostic-error" not in findings:
                named = [file for file in files if file in findings] or files[:1]
                return [(named[0], findings), *((file, "") for file in named[1:])]
            middle = len(files) // 2
            found = [*self.check((command, directory, files[:middle])),
                     *self.check((command, directory, files[middle:]))]
            if not found:
                keep()  # it is the whole that does not compile, today and tomorrow
            return found
        findings, _ = self.read(command, directory, files, files[0])
        return [(files[0], findings)] if findings else []


def share(text):
    """(I, N) of "I/N"."""
    index, number = map(int, text.split("/"))
    if not 1 <= index <= number:
        raise ValueError(text)
    return index, number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang-tidy", default=PROGRAM)
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
