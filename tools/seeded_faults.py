#!/usr/bin/env python3
"""Asks whether the tests still find faults: those of tools/seeded_fault_table.py, put into a copy of the sources.

    seeded_faults.py make FOLDER                  writes the tracked files to FOLDER, with all faults in them
    seeded_faults.py run FOLDER [--faults 1,2] [--tests REGEX] [--label NAME]
    seeded_faults.py table FOLDER [--label NAME]  what was found by which test, as a table of Markdown
    seeded_faults.py compare A B                  differences between two records; exit code 1 where there are any

One build of the copy has every fault: OCTAVO_SEEDED_FAULT=17 in a program's environment makes the 17th one happen, and
without it there is none. `make` may be repeated, and leaves files alone that are right. FOLDER is configured and built
as any checkout is (docs/building.md), in build/release.

`run` asks ctest for its tests. The shards of one GoogleTest program are one test here, which bears the program's name;
REGEX chooses among these names and those of the other tests. Those that read sources alone (label lint) are left out.
Each test runs without a fault first, for its ordinary time; one that fails then, or a program's case, is told and not
used. Then come the tests of each fault, up to the first that fails or takes many times as long as it should: those of
the fault's own layer first, those of the layers above, and those of the whole program last, each of these from the
cheapest on. A failure counts if it comes again.

The record is FOLDER/NAME.jsonl, a line for each run of a test. A run that was stopped is taken up by the same command,
and what is recorded is not run again.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import seeded_fault_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
VARIABLE = "OCTAVO_SEEDED_FAULT"
LEAST_TIMEOUT = 60  # seconds
GTEST_OPTION = "--gtest_fail_fast"
SHARD = ("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX")
TIMES_LONGER = 6  # than without a fault: others may use the machine meanwhile

HEADER = """// Made by tools/seeded_faults.py. Units of instruction sets share no code: each has a function of its own.
#pragma once

extern "C" int octavo_seeded_fault;

static inline bool seeded_fault(int number) { return octavo_seeded_fault == number; }
"""
SOURCE = f"""// Made by tools/seeded_faults.py.
#include "base/seeded_fault.h"

#include <cstdlib>

int octavo_seeded_fault = 0;

namespace {{

__attribute__((constructor(101))) void choose_seeded_fault() {{
  const char* const number = std::getenv("{VARIABLE}");
  if (number != nullptr) octavo_seeded_fault = std::atoi(number);
}}

}}  // namespace
"""
INCLUDE = '#include "base/seeded_fault.h"\n'
ADDED = {"src/base/seeded_fault.h": HEADER, "src/base/seeded_fault.cc": SOURCE}


def place_of(fault, source):
    """Where the right text begins. ValueError if the table does not say one place."""
    context = fault.context or fault.right
    for text, within in ((context, source), (fault.right, context)):
        if within.count(text) != 1:
            raise ValueError(f"fault {fault.number}, src/{fault.file}: found {text!r} {within.count(text)} times, "
                             f"expected once")
    return source.index(context) + context.index(fault.right)


def choice_of(fault):
    """The text that takes the place of the right one."""
    condition = f"seeded_fault({fault.number})"
    if fault.right.endswith(";"):
        return f"{{ if ({condition}) {{ {fault.wrong} }} else {{ {fault.right} }} }}"
    return f"({condition} ? ({fault.wrong}) : ({fault.right}))"


def with_faults(source, faults):
    """A source with these faults as choices."""
    places = sorted(((place_of(fault, source), fault) for fault in faults), reverse=True)
    for begin, fault in places:
        source = source[:begin] + choice_of(fault) + source[begin + len(fault.right):]
    guard = "#pragma once\n"
    at = source.index(guard) + len(guard) if guard in source else 0
    return source[:at] + INCLUDE + source[at:]


def changed_sources(root, faults):
    """{path below root: text} of the sources that have faults in them."""
    by_file = {}
    for fault in faults:
        by_file.setdefault(f"src/{fault.file}", []).append(fault)
    return {path: with_faults((root / path).read_text(), own) for path, own in by_file.items()}


def write(path, data):
    """Unless it is there, so that a build sees only what has changed."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def make(root, folder, faults):
    """The tracked files of root in the folder, with the faults."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    changed = {**changed_sources(root, faults), **ADDED}
    layer = "src/base/CMakeLists.txt"
    changed[layer] = (root / layer).read_text() + "target_sources(octavo_base PRIVATE seeded_fault.cc)\n"
    for name in (name for name in listed.split("\0") if name):
        source, copy = root / name, folder / name
        if source.is_symlink():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            copy.symlink_to(os.readlink(source))
        elif source.is_file():
            write(copy, changed.pop(name).encode() if name in changed else source.read_bytes())
            copy.chmod(source.stat().st_mode)
    for name, text in changed.items():
        write(folder / name, text.encode())


class Test(NamedTuple):
    name: str
    layer: str  # the folder below tests/
    command: list
    environment: dict
    folder: str


def program_of(command):
    """The GoogleTest program of an entry, empty if it is another test."""
    return command[-1] if any(word.endswith("run_gtest.py") for word in command) else ""


def command_of(command):
    """All cases of a GoogleTest program, or the command without the one that times it; either ends with its first
    failure, where it can."""
    if program := program_of(command):
        return [program, GTEST_OPTION]
    timed = next((i for i, word in enumerate(command) if word.endswith("timed.py")), None)
    command = command if timed is None else command[timed + 4:]
    is_unittest = any(word.endswith(".py") for word in command) and command[-1] == "-v"
    return [*command, "-f"] if is_unittest else command


def tests_of(listed, wanted):
    """The tests of a listing of ctest whose names a pattern is found in."""
    tests = {}
    for entry in listed["tests"]:
        properties = {one["name"]: one["value"] for one in entry.get("properties", [])}
        command = entry.get("command", [])
        name = pathlib.Path(program_of(command)).name or entry["name"]
        if properties.get("DISABLED") or "lint" in properties.get("LABELS", []) or not re.search(wanted, name):
            continue
        if not command or not shutil.which(command_of(command)[0]):
            raise ValueError(f"{name}: found no program, expected one: build the copy first")
        folder = properties["WORKING_DIRECTORY"]
        pairs = (pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        environment = {key: value for key, value in pairs if key not in SHARD}
        layer = re.search(r"/tests/([^/]+)", folder)
        tests.setdefault(name, Test(name, layer[1] if layer else "", command_of(command), environment, folder))
    return list(tests.values())


def layers_of(root):
    """The folders of tests, lowest layer first, as tests/CMakeLists.txt adds them."""
    return re.search(r"foreach\(layer ([^)]+)\)", (root / "tests/CMakeLists.txt").read_text())[1].split()


def nearest_first(fault, tests, layers, seconds):
    """The tests in the order in which they are asked about a fault. Those of layers below come last: they need not even
    have the code. `seconds`: by name."""
    own = layers.index(fault.file.split("/")[0])

    def rank(test):
        at = layers.index(test.layer) if test.layer in layers else len(layers)
        return (at - own if at >= own else len(layers) + own - at, seconds[test.name], test.name)

    return sorted(tests, key=rank)


def first_failure(output):
    """What a test says has failed first, or where it was when it ended: empty if it says nothing of it."""
    for pattern in (r"^\[  FAILED  \] (\S+?),? ", r"^(?:FAIL|ERROR): (\S+)", r"^FAILED (\S+)"):
        found = re.search(pattern, output, re.MULTILINE)
        if found:
            return found[1]
    begun = re.findall(r"^(?:\[ RUN      \] (\S+)|(test_\w+) \()", output, re.MULTILINE)
    return "".join(begun[-1]) if begun else ""


def run_test(test, fault, timeout):
    """(outcome, seconds, what failed first)"""
    environment = {**os.environ, **test.environment}
    environment.pop(VARIABLE, None)
    if fault:
        environment[VARIABLE] = str(fault)
    start = time.monotonic()
    with subprocess.Popen(test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            output, outcome = process.communicate(timeout=timeout)[0], None
        except subprocess.TimeoutExpired:
            outcome = "hangs"
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
        except ProcessLookupError:
            pass
        if outcome:
            output = process.communicate()[0]
    seconds = time.monotonic() - start
    if not outcome:
        outcome = "passes" if process.returncode == 0 else "crashes" if process.returncode < 0 else "fails"
    return outcome, round(seconds, 1), "" if outcome == "passes" else first_failure(output)


def run_to_steady_failure(test, fault, timeout, left_out=()):
    """As run_test(), but a failure counts only if it comes again: others may use the machine, and a fault in a race may
    show or not. A case of a program that fails once is left out, and the others run."""
    left_out = list(left_out)
    while True:
        filters = [f"--gtest_filter=-{':'.join(left_out)}"] if left_out else []
        whole = test._replace(command=[*test.command, *filters])
        outcome, seconds, case = run_test(whole, fault, timeout)
        if outcome == "passes":
            return outcome, seconds, ""
        is_case = GTEST_OPTION in test.command and case and case not in left_out
        alone = test._replace(command=[*test.command, f"--gtest_filter={case}"]) if is_case else whole
        if run_test(alone, fault, timeout)[0] != "passes":
            return outcome, seconds, case
        if not is_case:
            return "passes", seconds, ""
        if run_test(whole, fault, timeout)[2] == case:  # it needs what other cases leave behind
            return outcome, seconds, case
        left_out.append(case)


def run_without_fault(test):
    """(outcome, seconds, what failed; where it passes the cases of a program that do not, and are left out)"""
    left_out = []
    while True:
        outcome, seconds, case = run_to_steady_failure(test, 0, None, left_out)
        if outcome == "passes":
            return outcome, seconds, ":".join(left_out)
        if GTEST_OPTION not in test.command or not case or case in left_out:
            return outcome, seconds, case
        left_out.append(case)


class Record:
    """The runs of tests, in the order in which they came."""

    def __init__(self, path):
        self.path = path
        self.runs = {}  # by fault and test
        if path.is_file():
            for line in path.read_text().splitlines():
                one = json.loads(line)
                self.runs[one["fault"], one["test"]] = one

    def add(self, fault, test, outcome, seconds, case):
        one = {"fault": fault, "test": test, "outcome": outcome, "seconds": seconds, "case": case}
        self.runs[fault, test] = one
        with self.path.open("a") as file:
            file.write(json.dumps(one) + "\n")
        return one

    def outcome(self, fault, test):
        return self.runs[fault, test]["outcome"] if (fault, test) in self.runs else None

    def finding(self, fault):
        """The run that has found a fault, or None."""
        runs = (one for (number, _), one in self.runs.items() if number == fault)
        return next((one for one in runs if one["outcome"] != "passes"), None)

    def faults(self):
        return sorted({fault for fault, _ in self.runs if fault})


def run(folder, faults, wanted, label):
    listed = subprocess.run(["ctest", "--test-dir", folder / "build/release", "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    tests, record = tests_of(json.loads(listed), wanted), Record(folder / f"{label}.jsonl")
    for test in tests:
        if record.outcome(0, test.name) is None:
            outcome, seconds, case = run_without_fault(test)
            record.add(0, test.name, outcome, seconds, case)
            but = f", but for {case}" if case else ""
            print(f"without a fault {test.name} {outcome} in {seconds} s{but}", flush=True)
    seconds = {test.name: record.runs[0, test.name]["seconds"] for test in tests}
    tests = [test for test in tests if record.outcome(0, test.name) == "passes"]
    for fault in faults:
        for test in nearest_first(fault, tests, layers_of(folder), seconds):
            if record.finding(fault.number):
                break
            if record.outcome(fault.number, test.name) is None:
                timeout = max(LEAST_TIMEOUT, TIMES_LONGER * seconds[test.name])
                left_out = list(filter(None, record.runs[0, test.name]["case"].split(":")))
                record.add(fault.number, test.name, *run_to_steady_failure(test, fault.number, timeout, left_out))
        found = record.finding(fault.number)
        print(f"{fault.number:2} {fault.what}: " +
              (f"{found['test']} {found['outcome']} {found['case']}" if found else "not found"), flush=True)


def table(record):
    """Lines of Markdown: each fault with the test that found it."""
    yield "| | fault | in `src/` | found by |"
    yield "|---:|---|---|---|"
    for fault in seeded_fault_table.FAULTS:
        found = record.finding(fault.number)
        if not found and fault.number not in record.faults():
            continue
        case = f", {found['outcome']} in `{found['case']}`" if found and found["case"] else ""
        by = f"`{found['test']}`{case or ', ' + found['outcome']}" if found else "nothing"
        yield f"| {fault.number} | {fault.what} | `{fault.file}` | {by} |"


def compare(first, second):
    """Lines about faults that one of two records has found and the other has not, or has not run."""
    for fault in sorted({*first.faults(), *second.faults()}):
        records = (first, second)
        if any(fault not in record.faults() for record in records):
            yield f"{fault}: only in {next(record.path for record in records if fault in record.faults())}"
            continue
        found = [record.finding(fault) for record in records]
        if (found[0] is None) != (found[1] is None):
            told = [f"{one['test']} {one['case']}".strip() if one else "nothing" for one in found]
            yield f"{fault}: found by {told[0]}, then by {told[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "run", "table"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=pathlib.Path)
        if name != "make":
            command.add_argument("--label", default="seeded_faults", help="the record's name")
        if name == "run":
            command.add_argument("--faults", help="numbers with commas; without it all")
            command.add_argument("--tests", default="", help="a pattern of tests' names; without it all")
    command = commands.add_parser("compare")
    command.add_argument("records", nargs=2, type=pathlib.Path)
    args = parser.parse_args()
    faults = seeded_fault_table.FAULTS
    if args.command == "make":
        make(ROOT, args.folder.absolute(), faults)
    elif args.command == "run":
        wanted = {int(number) for number in args.faults.split(",")} if args.faults else None
        run(args.folder.absolute(), [fault for fault in faults if wanted is None or fault.number in wanted], args.tests,
            args.label)
    elif args.command == "table":
        print("\n".join(table(Record(args.folder / f"{args.label}.jsonl"))))
    else:
        differences = list(compare(*map(Record, args.records)))
        print("\n".join(differences))
        return 1 if differences else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
