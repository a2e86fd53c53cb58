"""clang-tidy over several files as one unit: findings are named, a batch's files are read, clean units are kept."""
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import check_tidy
import source_batches

PROGRAM = os.environ.get("OCTAVO_CLANG_TIDY", str(check_tidy.PROGRAM))
CLEAN = "namespace octavo {\nint twice(int x) { return 2 * x; }\n}  // namespace octavo\n"
ZERO_POINTER = "namespace octavo {\nint* nobody() { return 0; }\n}  // namespace octavo\n"


@unittest.skipUnless(shutil.which(PROGRAM), f"no {PROGRAM} here")
class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "src").mkdir()
        (self.root / ".clang-tidy").write_text("Checks: '-*,modernize-use-nullptr'\nHeaderFilterRegex: '.*'\n")
        environment = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.root / "cache")})
        environment.start()
        self.addCleanup(environment.stop)

    def check(self, **sources):
        """(exit code, output) for src/NAME.cc with these texts."""
        entries = []
        for name, text in sources.items():
            file = self.root / "src" / f"{name}.cc"
            file.write_text(text)
            entries.append(self.command(file))
        return self.check_commands(entries)

    def command(self, file):
        return {"directory": str(self.root), "file": str(file),
                "command": f"python3 timed.py times.tsv unit -o ccache c++ -O2 -include nowhere/pch.hxx -o {file.stem}.o -c {file}"}

    def check_commands(self, entries, *options):
        (self.root / "compile_commands.json").write_text(json.dumps(entries))
        out = io.StringIO()
        arguments = ["check_tidy.py", "--build", str(self.root), "--clang-tidy", PROGRAM, "--jobs", "1", *options,
                     str(self.root)]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(out):
            return check_tidy.main(), out.getvalue()

    def test_a_finding_in_one_of_several_files_is_reported_with_its_file(self):
        code, out = self.check(a=CLEAN, b=ZERO_POINTER)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"src/b\.cc:2:\d+: error: use nullptr")
        self.assertIn("1 of 2 files are clean", out)
        self.assertNotRegex(out, "suspicious|file not found")

    def test_names_are_read_in_a_unit_of_one_file_and_of_several(self):
        (self.root / ".clang-tidy").write_text("Checks: '-*,readability-identifier-naming'\nCheckOptions:\n"
                                               "  readability-identifier-naming.ClassCase: CamelCase\n")
        (self.root / "src" / "a.h").write_text("#include <string>\nclass small {};\n")
        for others in {}, {"b": CLEAN}:  # alone, and in one unit with others
            code, out = self.check(a='#include "a.h"\nclass large {};\n', **others)
            self.assertEqual(code, 1)
            self.assertRegex(out, r"src/a\.h:2:7: error: invalid case style for class 'small'")
            self.assertRegex(out, r"src/a\.cc:2:7: error: invalid case style for class 'large'")
            self.assertEqual(out.count("error:"), 2, out)

    def test_headers_are_read_and_kernel_bodies_are_not(self):
        (self.root / "src" / "a.h").write_text("inline int* nobody() { return 0; }\n")
        (self.root / "src" / "a.inl").write_text("inline int* nothing() { return 0; }\n")
        code, out = self.check(a='#include "a.inl"\n' + CLEAN, b="int one() { return 1; }\n")
        self.assertEqual(code, 0, out)
        code, out = self.check(a='#include "a.h"\n' + CLEAN, b="int one() { return 1; }\n")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"src/a\.h:1:\d+: error: use nullptr")

    def test_files_that_do_not_compile_together_are_read_alone(self):
        # Each file is right; together the indented macro of one breaks the other.
        code, out = self.check(a="  #define twice int\n", b=CLEAN)
        self.assertEqual((code, "2 of 2 files are clean" in out), (0, True), out)
        self.assertEqual(self.readings(lambda: self.check(a="  #define twice int\n", b=CLEAN)), (0, 0))
        code, out = self.check(a="  #define twice int\n", b=CLEAN, c=ZERO_POINTER)
        self.assertEqual((code, "2 of 3 files are clean" in out), (1, True), out)

    def readings(self, check):
        """(exit code, number of units that clang-tidy read) of a call of check()."""
        with mock.patch.object(check_tidy.subprocess, "run", wraps=check_tidy.subprocess.run) as runs:
            code = check()[0]
        return code, len([call for call in runs.call_args_list if "--quiet" in call.args[0]])

    def test_a_clean_unit_is_read_again_once_it_changes(self):
        other = CLEAN.replace("twice", "double_of")
        self.assertEqual(self.readings(lambda: self.check(a=CLEAN, b=other)), (0, 1))
        self.assertEqual(self.readings(lambda: self.check(a=CLEAN, b=other)), (0, 0))
        self.assertEqual(self.check(a=CLEAN, b=ZERO_POINTER)[0], 1)
        self.assertEqual(self.readings(lambda: self.check(a=CLEAN, b=other)), (0, 0))

    def test_a_clean_unit_is_read_again_once_a_header_or_the_configuration_changes(self):
        header, source = self.root / "src" / "a.h", '#include "a.h"\n' + CLEAN
        header.write_text('#include "b.h"\n')
        (self.root / "src" / "b.h").write_text("int one();\n")
        self.assertEqual(self.readings(lambda: self.check(a=source)), (0, 1))
        header.write_text("int two();\n")
        self.assertEqual(self.readings(lambda: self.check(a=source)), (0, 1))
        header.write_text('#include "b.h"\n')  # as after a change of branches
        self.assertEqual(self.readings(lambda: self.check(a=source)), (0, 0))
        (self.root / "src" / "b.h").write_text("inline int* nobody() { return 0; }\n")
        self.assertEqual(self.readings(lambda: self.check(a=source)), (1, 1))
        (self.root / ".clang-tidy").write_text("Checks: '-*,modernize-use-override'\nHeaderFilterRegex: '.*'\n")
        self.assertEqual(self.readings(lambda: self.check(a=source)), (0, 1))

    def test_files_are_read_together_whose_commands_differ_in_paths_macros_and_optimization(self):
        (self.root / "x").mkdir()
        (self.root / "x" / "x.h").write_text("using Number = int;\n")
        a = self.root / "src" / "a.cc"
        a.write_text('#include "x.h"\nNumber one() { return 1; }\n')
        b = self.root / "src" / "b.cc"
        b.write_text("int two() { return TWO; }\n")
        def commands(*options):
            return [self.command(file) | {"command": f"c++ {added} -o x.o -c {file}"}
                    for file, added in zip((a, b), options, strict=True)]
        self.assertEqual(self.readings(lambda: self.check_commands(commands("-O1 -Ix", "-O3 -DTWO=2"))), (0, 1))
        self.assertEqual(self.readings(lambda: self.check_commands(commands("-Ix -DTWO=3", "-DTWO=2"))), (0, 2))
        self.assertEqual(self.readings(lambda: self.check_commands(commands("-Ix", "-DTWO=2 -mavx2"))), (0, 2))

    def test_the_files_of_a_batch_are_read_and_the_batch_is_not(self):
        for name, text in {"a": CLEAN, "b": ZERO_POINTER}.items():
            (self.root / "src" / f"{name}.cc").write_text(text)
        batch = self.root / "batch_0.cc"
        batch.write_text(source_batches.HEAD + '#include "a.cc"\n#include "b.cc"\n')
        tests = self.root / "batch_1.cc"
        tests.write_text(source_batches.HEAD + '#include "a_test.cc"\n')
        code, out = self.check_commands([self.command(batch), self.command(tests)])
        self.assertEqual(code, 1)
        self.assertRegex(out, r"src/b\.cc:2:\d+: error: use nullptr")
        self.assertIn("1 of 2 files are clean", out)

    def test_shares_read_every_unit_once_and_say_what_each_took(self):
        files = []
        for name, text in {"a": CLEAN, "b": ZERO_POINTER, "c": CLEAN, "d": CLEAN}.items():  # of one name: units apart
            files.append(self.root / "src" / f"{name}.cc")
            files[-1].write_text(text)
        entries = [self.command(file) for file in files]
        told = [self.check_commands(entries, "--share", f"{i}/3") for i in (1, 2, 3)]
        self.assertEqual(sum(code for code, _ in told), 1)
        said = [re.search(r"clang-tidy: (\d+) of (\d+) files are clean", out) for _, out in told]
        self.assertEqual([sum(int(match[i]) for match in said) for i in (1, 2)], [3, 4])
        rows = [line.split("\t") for line in (self.root / "times.tsv").read_text().splitlines()]
        self.assertEqual({row[0] for row in rows}, {"tidy"})
        self.assertEqual(sorted(row[1].partition(" ")[0] for row in rows)[0], "src/a.cc")
        self.assertGreater(min(float(row[3]) for row in rows), 0)

    def test_processor_time_is_said(self):
        self.assertRegex(self.check(a=CLEAN)[1], r"1 of 1 files are clean, \d+ s of processor time\n$")


if __name__ == "__main__":
    unittest.main()
