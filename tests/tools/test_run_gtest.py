"""What is shown of a GoogleTest program's run, with programs that write what GoogleTest writes."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import run_gtest

TOOL = pathlib.Path(run_gtest.__file__)
HEAD = """Running main() from ./googletest/src/gtest_main.cc
Note: This is test shard 2 of 3.
[==========] Running 3 tests from 2 test suites.
[----------] Global test environment set-up.
[----------] 2 tests from Levels
"""
PASSED = """[ RUN      ] Levels.Agree/0
some words without an end[       OK ] Levels.Agree/0 (12 ms)
"""
SKIPPED = """[ RUN      ] Levels.Agree/1
../tests/kernels/kernel_test.h:32: Skipped
avxvnni: not run, the processor lacks it

[  SKIPPED ] Levels.Agree/1 (0 ms)
"""
FAILED = """[ RUN      ] Names.AreSaid
../tests/names_test.cc:7: Failure
Expected equality of these values:
[  FAILED  ] Names.AreSaid, where GetParam() = 3 (5 ms)
"""
TAIL = """[----------] 1 test from Names (12 ms total)

[----------] Global test environment tear-down
[==========] 3 tests from 2 test suites ran. (17 ms total)
[  PASSED  ] 1 test.
"""


class RunGtest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, "test_names")

    def run_program(self, output, then="exit 0", options=(), env=None):
        """(exit code, lines shown) for a program that writes this and then does that."""
        self.program.with_suffix(".txt").write_text(output)
        self.program.write_text(f'#!/bin/sh\ncat "$0.txt"\n{then}\n')
        self.program.chmod(0o755)
        done = subprocess.run([sys.executable, TOOL, *options, self.program], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **(env or {})}, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_cases_that_passed_are_counted_alone_and_skipped_ones_say_why(self):
        ends = PASSED.replace("Agree/0", "Agree/2")
        code, lines = self.run_program(HEAD + PASSED + SKIPPED + ends + TAIL,
                                       env={"GTEST_TOTAL_SHARDS": "3", "GTEST_SHARD_INDEX": "1"})
        self.assertEqual((code, lines), (0, ["skipped: Levels.Agree/1: avxvnni: not run, the processor lacks it",
                                             "cases: 2 of 3 passed in test_names/2of3"]))

    def test_a_failed_case_is_shown_whole_and_named_at_the_end(self):
        code, lines = self.run_program(HEAD + PASSED + FAILED + SKIPPED + TAIL, "exit 1")
        self.assertEqual(code, 1)
        self.assertEqual(lines[:4], FAILED.splitlines())
        self.assertEqual(lines[-2:], ["failed: Names.AreSaid", "cases: 1 of 3 passed in test_names"])

    def test_what_is_said_outside_of_cases_is_shown(self):
        code, lines = self.run_program(HEAD + PASSED + SKIPPED + PASSED + TAIL + "==12==ERROR: LeakSanitizer\n", "exit 23")
        self.assertEqual((code, lines[0]), (23, "==12==ERROR: LeakSanitizer"))

    def test_a_crash_names_the_case_at_work_and_what_did_not_run(self):
        begun = "[ RUN      ] Names.AreSaid\nlast words\n"
        code, lines = self.run_program(HEAD + PASSED + begun, "kill -SEGV $$")
        self.assertEqual(code, 139)
        self.assertEqual(lines[:2], begun.splitlines())
        self.assertEqual(lines[2:], [
            "the program was ended by SIGSEGV in Names.AreSaid; 1 of its cases did not run", "failed: Names.AreSaid",
            "cases: 1 of 3 passed in test_names"])

    def test_a_case_that_hangs_is_ended_and_named(self):
        code, lines = self.run_program(HEAD + "[ RUN      ] Names.AreSaid\n", "exec sleep 60", ["--timeout", "0.5"])
        self.assertEqual(code, 137)
        self.assertIn("the program was ended after 0.5 s in Names.AreSaid; 2 of its cases did not run", lines)

    def test_a_program_that_leaves_early_has_failed_whatever_it_says(self):
        for output, case in ((HEAD + PASSED, "no case"), (HEAD + "[ RUN      ] Names.AreSaid\n", "Names.AreSaid")):
            code, lines = self.run_program(output)
            self.assertEqual(code, 1)
            self.assertIn(f"the program left with exit code 0 in {case}; 2 of its cases did not run", lines)

    def test_the_summary_counts_the_cases_of_all_programs(self):
        log = self.program.with_suffix(".log")
        log.write_text("skipped: Levels.Agree/1: no such level\ncases: 2 of 3 passed in test_names/2of3\n"
                       "----\nfailed: Other.Case\ncases: 4 of 7 passed in test_other\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), unittest.mock.patch.object(sys, "argv", ["run_gtest", "--summary", str(log)]):
            self.assertEqual(run_gtest.main(), 0)
        self.assertEqual(out.getvalue().splitlines(), [
            "1 cases skipped:", "  names.Levels.Agree/1: no such level", "1 cases failed:", "  other.Other.Case",
            "cases of test programs: 10, 6 passed, 1 skipped, 3 failed or did not run"])


if __name__ == "__main__":
    unittest.main()
