#!/usr/bin/env python3
"""Runs a GoogleTest program, or one shard of it, and shows what went wrong and how many cases there were.

    run_gtest.py [--timeout SECONDS] COMMAND...
    run_gtest.py --summary LOG

The output of cases that passed is left out. A case that failed is shown whole, and named again at the end; so is the case
that was at work when the program crashed, left early or was ended after SECONDS. A skipped case is named with its reason.
The exit code is the program's, or 1 where it ended well before its last case.

--summary counts the cases of all programs in a log of CTest (Testing/Temporary/LastTest.log), and names those that were
skipped and those that failed.
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import threading

RUN = re.compile(r"^\[ RUN      \] (\S+)$")
# What a case wrote without an end of line stands before it.
END = re.compile(r"\[ *(OK|FAILED|SKIPPED) \] (\S+?)(?:, where .*)? \(\d+ ms\)$")
NUMBER = re.compile(r"^\[==========\] Running (\d+) tests? from")
OF_GTEST = re.compile(r"^(?:\[[-=]{10}\].*|\[  (?:PASSED|FAILED|SKIPPED) +\] .*|Running main\(\) from .*|Note: .*"
                      r"| *\d+ FAILED TESTS?| *YOU HAVE \d+ DISABLED TESTS?|)$")
# The lines that --summary finds again.
COUNT = re.compile(r"^cases: (\d+) of (\d+) passed in (\S+)$")
NAMED = re.compile(r"^(failed|skipped): (.+)$")


class Cases:
    """The cases of one run, from the lines of the program's output."""

    def __init__(self, show):
        self.show = show
        self.number = 0
        self.passed = 0
        self.failed = []
        self.skipped = []  # (case, why)
        self.running = None
        self.said = []  # by the running case

    def read(self, line):
        if run := RUN.match(line):
            self.lose_running()
            self.running, self.said = run[1], []
        elif (end := END.search(line)) and end[2] == self.running:
            self.said.append(line)
            self.end_case(end[1])
        elif self.running:
            self.said.append(line)
        elif number := NUMBER.match(line):
            self.number += int(number[1])
        elif not OF_GTEST.match(line):
            self.show(line)

    def end_case(self, result):
        if result == "OK":
            self.passed += 1
        elif result == "SKIPPED":
            self.skipped.append((self.running, self.reason()))
        else:
            self.show_running()
            self.failed.append(self.running)
        self.running = None

    def reason(self):
        """What the case gave as its reason: the lines behind the one that names its place."""
        places = [i for i, line in enumerate(self.said) if line.endswith(": Skipped")]
        lines = [line for line in self.said[places[-1] + 1:-1] if line] if places else []
        return " ".join(lines) or "no reason given"

    def show_running(self):
        self.show(f"[ RUN      ] {self.running}")
        for line in self.said:
            self.show(line)

    def lose_running(self):
        """The case at work has no end, because the program has: whether it had passed is not known."""
        if self.running:
            self.show_running()
            self.failed.append(self.running)
            self.running = None

    def all_ended(self):
        return self.number == self.passed + len(self.failed) + len(self.skipped)

    def say(self, program):
        for case, why in self.skipped:
            self.show(f"skipped: {case}: {why}")
        for case in self.failed:
            self.show(f"failed: {case}")
        self.show(f"cases: {self.passed} of {self.number} passed in {program}")


def name_of(command):
    """The program's, with its shard."""
    program = next((os.path.basename(word) for word in command if os.path.basename(word).startswith("test_")),
                   os.path.basename(command[0]))
    total = os.environ.get("GTEST_TOTAL_SHARDS")
    return f"{program}/{int(os.environ.get('GTEST_SHARD_INDEX', 0)) + 1}of{total}" if total else program


def how_it_ended(code, timed_out, timeout):
    if timed_out:
        return f"was ended after {timeout:g} s"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"left with exit code {code}"


def run(command, timeout):
    def show(line):
        print(line, flush=True)

    cases, timed_out = Cases(show), threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "GTEST_COLOR": "no"}) as process:
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))

        def end():
            timed_out.set()
            process.kill()

        timer = threading.Timer(timeout, end)
        timer.daemon = True
        timer.start()
        for line in process.stdout:
            cases.read(line.decode(errors="replace").rstrip("\n"))
        code = process.wait()
        timer.cancel()
    at_work = cases.running
    cases.lose_running()
    if at_work or not cases.all_ended():
        left = cases.number - cases.passed - len(cases.failed) - len(cases.skipped)
        show(f"the program {how_it_ended(code, timed_out.is_set(), timeout)} in {at_work or 'no case'}; "
             f"{left} of its cases did not run")
    elif code < 0:
        show(f"the program {how_it_ended(code, timed_out.is_set(), timeout)} after its cases")
    cases.say(name_of(command))
    if code == 0 and (cases.failed or not cases.all_ended()):
        return 1
    return code if code >= 0 else 128 - code


def summary(text):
    """Lines about all programs whose output is in a log of CTest."""
    passed = number = programs = 0
    named, waiting = collections.defaultdict(list), []
    for line in text.splitlines():
        if match := NAMED.match(line):
            waiting.append((match[1], match[2]))
        elif match := COUNT.match(line):
            programs += 1
            passed, number = passed + int(match[1]), number + int(match[2])
            for what, case in waiting:
                named[what].append(f"{match[3].partition('/')[0].removeprefix('test_')}.{case}")
            waiting = []
    lines = []
    for what in ("skipped", "failed"):
        lines += [f"{len(named[what])} cases {what}:", *(f"  {case}" for case in named[what])] if named[what] else []
    return [*lines, f"cases of test programs: {number}, {passed} passed, {len(named['skipped'])} skipped, "
            f"{number - passed - len(named['skipped'])} failed or did not run"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--summary", metavar="LOG")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.summary:
        with open(args.summary, encoding="utf-8", errors="replace") as file:
            print("\n".join(summary(file.read())))
        return 0
    if not args.command:
        parser.error("no command")
    return run(args.command, args.timeout)


if __name__ == "__main__":
    sys.exit(main())
