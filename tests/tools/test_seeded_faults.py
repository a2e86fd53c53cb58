"""tools/seeded_faults.py: its table is about the sources as they are, and a copy has each fault as a choice."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import seeded_fault_table
import seeded_faults
from seeded_fault_table import Fault
from seeded_faults import Record, Test

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["base", "tokenizer", "engine", "server", "e2e"]


class Table(unittest.TestCase):
    def test_every_fault_has_one_place_in_the_sources(self):
        self.assertEqual([fault.number for fault in seeded_fault_table.FAULTS], list(range(1, 41)))
        self.assertEqual({name: len(faults) for name, faults in seeded_fault_table.AREAS.items()},
                         dict.fromkeys(seeded_fault_table.AREAS, 10))
        changed = seeded_faults.changed_sources(ROOT, seeded_fault_table.FAULTS)
        for fault in seeded_fault_table.FAULTS:
            with self.subTest(fault.number):
                self.assertNotEqual(fault.right, fault.wrong)
                self.assertEqual(changed[f"src/{fault.file}"].count(f"seeded_fault({fault.number})"), 1)

    def test_every_fault_is_in_a_layer_that_has_tests(self):
        layers = seeded_faults.layers_of(ROOT)
        self.assertEqual({fault.file.split("/")[0] for fault in seeded_fault_table.FAULTS} - set(layers), set())

    def test_a_text_that_is_gone_or_stands_twice_is_told(self):
        for source in ("int a = 2;", "int a = 1, b = 1;"):
            with self.assertRaisesRegex(ValueError, r"fault 7, src/x.cc: found '= 1' \d times, expected once"):
                seeded_faults.with_faults(source, [Fault(7, "", "x.cc", "= 1", "= 2")])


class Copy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tree(self):
        root = self.folder / "tree"
        files = {"src/base/CMakeLists.txt": "octavo_layer(base)\n", "src/base/x.cc": "int f() { return 1; }\n",
                 "src/base/x.h": "#pragma once\nint f();\n", "untracked": ""}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        subprocess.run(["git", "-C", root, "init", "-q"], check=True)
        subprocess.run(["git", "-C", root, "add", "src"], check=True)
        return root

    def test_a_program_of_the_copy_has_the_fault_that_its_environment_names(self):
        root, copy = self.tree(), self.folder / "copy"
        (root / "src/base/x.cc").write_text(
            '#include <cstdio>\nint main() {\n  std::puts("a");\n  std::printf("%d", 2 + 3);\n}\n')
        faults = [Fault(4, "", "base/x.cc", 'std::puts("a");', ""), Fault(5, "", "base/x.cc", "2 + 3", "2 - 3")]
        seeded_faults.make(root, copy, faults)
        program, compiler = self.folder / "program", os.environ.get("OCTAVO_CXX", "c++")
        subprocess.run([compiler, f"-I{copy / 'src'}", *copy.glob("src/base/*.cc"), "-o", program], check=True)
        told = {}
        for fault in ("", "4", "5"):
            environment = {seeded_faults.VARIABLE: fault} if fault else {}
            told[fault] = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout
        self.assertEqual(told, {"": "a\n5", "4": "5", "5": "a\n-1"})

    def test_only_tracked_files_are_copied_and_those_that_are_right_stay(self):
        root, copy = self.tree(), self.folder / "copy"
        faults = [Fault(1, "", "base/x.h", "int f();", "int g();")]
        seeded_faults.make(root, copy, faults)
        self.assertFalse((copy / "untracked").exists())
        header = (copy / "src/base/x.h").read_text()
        self.assertTrue(header.startswith('#pragma once\n#include "base/seeded_fault.h"\n'), header)
        self.assertIn("seeded_fault.cc", (copy / "src/base/CMakeLists.txt").read_text())
        times = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
        (root / "src/base/x.cc").write_text("int f();\n")
        seeded_faults.make(root, copy, faults)
        changed = [path.name for path, time in times.items() if path.stat().st_mtime_ns != time]
        self.assertEqual(changed, ["x.cc"])


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_program_is_one_test_and_what_reads_sources_is_none(self):
        def entry(name, folder, *command, **properties):
            properties |= {"WORKING_DIRECTORY": f"/b/tests/{folder}",
                           "ENVIRONMENT": ["A=1=2", "GTEST_TOTAL_SHARDS=2", "GTEST_SHARD_INDEX=1"]}
            command = [sys.executable, "-I", "-S", "/s/tools/timed.py", "/b/times.tsv", "test", name, *command]
            return {"name": name, "command": command,
                    "properties": [{"name": key, "value": value} for key, value in properties.items()]}

        test_engine = self.folder / "test_engine"
        test_engine.touch(0o755)
        gtest = (sys.executable, "/s/tools/run_gtest.py", "--timeout", "600", str(test_engine))
        listed = {"tests": [entry("engine.1of2", "engine", *gtest), entry("engine.2of2", "engine", *gtest),
                            entry("e2e.tls", "e2e", sys.executable, "/t/test_tls.py", "-v", LABELS=["e2e"]),
                            entry("lint.Format", "tools", "python", "x.py", LABELS=["lint"])]}
        has = {"A": "1=2"}
        program = Test("test_engine", "engine", [str(test_engine), "--gtest_fail_fast"], has, "/b/tests/engine")
        script = Test("e2e.tls", "e2e", [sys.executable, "/t/test_tls.py", "-v", "-f"], has, "/b/tests/e2e")
        self.assertEqual(seeded_faults.tests_of(listed, ""), [program, script])
        self.assertEqual(seeded_faults.tests_of(listed, r"^e2e\."), [script])
        test_engine.unlink()
        with self.assertRaisesRegex(ValueError, "test_engine: found no program"):
            seeded_faults.tests_of(listed, "")

    def test_the_nearest_tests_come_first_and_of_equal_ones_the_cheapest(self):
        seconds = {"base": 1, "server": 5, "engine": 9, "quick": 2, "e2e.long": 30, "e2e.short": 3}
        layers = {"quick": "engine", "e2e.long": "e2e", "e2e.short": "e2e"}
        tests = [Test(name, layers.get(name, name), [], {}, "") for name in seconds]
        order = seeded_faults.nearest_first(Fault(1, "", "engine/x.cc", "", ""), tests, LAYERS, seconds)
        self.assertEqual([test.name for test in order], ["quick", "engine", "server", "e2e.short", "e2e.long", "base"])

    def test_a_test_passes_fails_crashes_or_hangs_and_only_a_fault_is_named(self):
        def run(script, fault=3, timeout=60):
            test = Test("x", "base", [sys.executable, "-c", script], {}, self.folder)
            outcome, _, case = seeded_faults.run_test(test, fault, timeout)
            return outcome, case

        says = "import os; print('[ RUN      ] A.b', flush=True); "
        self.assertEqual(run("import os; assert os.environ['OCTAVO_SEEDED_FAULT'] == '3'"), ("passes", ""))
        self.assertEqual(run("import os; assert 'OCTAVO_SEEDED_FAULT' not in os.environ", fault=0), ("passes", ""))
        self.assertEqual(run("print('FAIL: test_it (x.X)'); exit(1)"), ("fails", "test_it"))
        self.assertEqual(run("print('[  FAILED  ] A.c (3 ms)'); exit(1)"), ("fails", "A.c"))
        self.assertEqual(run(says + "os.abort()"), ("crashes", "A.b"))
        self.assertEqual(run(says + "import time; time.sleep(600)", timeout=1), ("hangs", "A.b"))

    def test_a_case_that_fails_once_is_left_out_and_one_that_needs_others_counts(self):
        program, runs, fails = (self.folder / name for name in ("test_x", "runs", "fails"))
        program.write_text(f"""#!{sys.executable}
import pathlib, sys
fails, runs = pathlib.Path({str(fails)!r}), pathlib.Path({str(runs)!r})
case, *others = fails.read_text().split(",")
fails.write_text(",".join(others))
runs.open("a").write("".join(sys.argv[2:]).removeprefix("--gtest_filter=") + ",")
print(f"[  FAILED  ] {{case}} (3 ms)")
sys.exit(case != "")
""")
        program.chmod(0o755)
        test = Test("test_x", "base", [program, seeded_faults.GTEST_OPTION], {}, self.folder)

        def outcome_and_runs(*failing):
            """With the cases that fail in the first run, the second and so on."""
            fails.write_text(",".join(failing))
            runs.write_text("")
            outcome, _, case = seeded_faults.run_to_steady_failure(test, 1, 60)
            return outcome, case, runs.read_text().split(",")[:-1]

        self.assertEqual(outcome_and_runs(""), ("passes", "", [""]))
        self.assertEqual(outcome_and_runs("A.b", "A.b"), ("fails", "A.b", ["", "A.b"]))
        self.assertEqual(outcome_and_runs("A.b", "", "A.b"), ("fails", "A.b", ["", "A.b", ""]))
        self.assertEqual(outcome_and_runs("A.b", "", "", ""), ("passes", "", ["", "A.b", "", "-A.b"]))
        self.assertEqual(outcome_and_runs("A.b", "", "", "A.c", "A.c"),
                         ("fails", "A.c", ["", "A.b", "", "-A.b", "A.c"]))
        fails.write_text("A.b,A.b,")
        outcome, _, left_out = seeded_faults.run_without_fault(test)
        self.assertEqual((outcome, left_out), ("passes", "A.b"))

    def record(self, name, *runs):
        record = Record(self.folder / name)
        for fault, outcome in runs:
            record.add(fault, f"test_{fault}", outcome, 1.0, "A.b" if outcome == "fails" else "")
        return record

    def test_a_record_is_read_again_and_two_are_compared(self):
        first = self.record("first", (0, "passes"), (1, "fails"), (2, "passes"), (3, "hangs"), (4, "fails"))
        second = self.record("second", (0, "passes"), (1, "passes"), (2, "passes"), (3, "fails"))
        again = Record(self.folder / "first")
        self.assertEqual(again.runs, first.runs)
        self.assertEqual(list(seeded_faults.compare(again, second)),
                         ["1: found by test_1 A.b, then by nothing", f"4: only in {self.folder / 'first'}"])
        self.assertEqual(list(seeded_faults.compare(first, again)), [])

    def test_the_table_says_what_found_a_fault(self):
        lines = list(seeded_faults.table(self.record("one", (1, "fails"), (2, "passes"), (3, "hangs"))))
        self.assertEqual([line.split("|")[-2].strip() for line in lines[2:]],
                         ["`test_1`, fails in `A.b`", "nothing", "`test_3`, hangs"])

    def test_faults_run_until_a_test_fails_and_a_record_is_taken_up(self):
        runs = self.folder / "runs"
        build = self.folder / "build/release"
        (self.folder / "tests").mkdir()
        (self.folder / "tests/CMakeLists.txt").write_text("foreach(layer base engine e2e)\n")
        tests = {"base": "a", "engine": "b", "broken": "c"}
        script = ("import os, sys; fault, name = os.environ.get('OCTAVO_SEEDED_FAULT', '0'), sys.argv[1]; "
                  f"open({str(runs)!r}, 'a').write(name + fault); sys.exit(name == 'c' or name + fault == 'b2')")
        for name in tests:
            (build / "tests" / name).mkdir(parents=True)
        lines = [f'add_test({name} "{sys.executable}" "-c" "{script}" "{word}")\n'
                 f'set_tests_properties({name} PROPERTIES WORKING_DIRECTORY "{build}/tests/{name}")\n'
                 for name, word in tests.items()]
        (build / "CTestTestfile.cmake").write_text("".join(lines))
        faults = [Fault(1, "", "base/x.cc", "", ""), Fault(2, "", "base/x.cc", "", "")]
        for number in (1, 2):
            with unittest.mock.patch("builtins.print"):
                seeded_faults.run(self.folder, faults, "", "record")
            self.assertEqual(runs.read_text(), "a0b0c0c0a1b1a2b2b2", number)
        record = Record(self.folder / "record.jsonl")
        self.assertEqual((record.finding(1), record.finding(2)["test"]), (None, "engine"))
        self.assertEqual(json.loads((self.folder / "record.jsonl").read_text().splitlines()[0])["fault"], 0)


if __name__ == "__main__":
    unittest.main()
