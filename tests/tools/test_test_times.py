"""The report of what a run took: the dearest first, with what was before, and what became dearer."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import test_times


class TestTimes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name, "release")
        self.build.mkdir()
        environment = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(pathlib.Path(folder.name, "cache"))})
        environment.start()
        self.addCleanup(environment.stop)

    def add(self, *rows):
        with (self.build / "times.tsv").open("a", encoding="utf-8") as table:
            for kind, name, wall, cpu, code in rows:
                table.write(f"{kind}\t{name}\t{wall}\t{cpu / 2}\t{cpu / 2}\t{code}\n")

    def run_tool(self, *options):
        out = io.StringIO()
        arguments = ["test_times.py", *map(str, options), str(self.build)]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(out):
            test_times.main()
        return out.getvalue().splitlines()

    def test_each_kind_has_its_dearest_first_and_its_total(self):
        self.add(("unit", "a.cc.o", 3, 2.5, 0), ("unit", "b.cc.o", 4, 3.5, 0), ("program", "engine.1of4", 10, 9, 0),
                 *(("link", f"l{i}", 1, 1, 0) for i in range(60)), ("cached", "c.cc.o", 0.1, 0.1, 0))
        lines = self.run_tool()
        names = [line.split()[-1] for line in lines if line]
        self.assertLess(names.index("b.cc.o"), names.index("a.cc.o"))
        self.assertEqual(sum(name.startswith("l") and name[1:].isdigit() for name in names), 50)
        self.assertNotIn("c.cc.o", names)
        self.assertIn("      6.0      7.0  2 units", lines)
        self.assertIn("     60.0     60.0  60 links", lines)
        self.assertIn("      9.0     10.0  1 test programs", lines)

    def test_what_was_before_stands_beside_and_what_became_dearer_is_named(self):
        self.add(("script", "e2e.hub", 30, 20, 0), ("unit", "a.cc.o", 3, 2.5, 0), ("test", "big", 100, 100, 0))
        self.run_tool("--begin")
        self.add(("script", "e2e.hub", 95, 80, 0), ("cached", "a.cc.o", 0, 0.1, 0), ("test", "big", 105, 105, 0))
        lines = self.run_tool("--short")
        at = lines.index("dearer than before:")
        self.assertEqual(lines[at + 2].split(), ["80.0", "95.0", "20.0", "+60.0", "e2e.hub"])
        self.assertEqual(lines[at + 3], "in all:")  # a twentieth more of 100 s is noise, and less is not dearer
        self.run_tool("--begin")
        self.add(("unit", "a.cc.o", 6, 5.5, 0), ("unit", "new.cc.o", 6, 5.5, 0))
        lines = self.run_tool("--short")
        at = lines.index("dearer than before:")
        self.assertEqual(lines[at + 2].split(), ["5.5", "6.0", "2.5", "+3.0", "a.cc.o"], "when it was last compiled")

    def test_what_failed_is_compared_with_nothing(self):
        self.add(("script", "e2e.hub", 30, 20, 0))
        self.run_tool("--begin")
        self.add(("script", "e2e.hub", 300, 200, 1))
        lines = self.run_tool("--short")
        self.assertNotIn("dearer than before:", lines)
        self.assertTrue(any(line.endswith("e2e.hub (failed)") for line in lines), lines)
        self.run_tool("--begin")
        self.add(("script", "e2e.hub", 30, 21, 0))
        self.assertIn("     21.0     30.0     20.0     +1.0  e2e.hub", self.run_tool("--short"))

    def test_costs_are_the_wall_times_of_long_tests(self):
        self.add(("script", "e2e.nginx", 64, 3, 0), ("program", "engine.1of4", 11, 10, 0), ("unit", "a.cc.o", 90, 90, 0),
                 ("test", "quick", 1, 1, 0), ("script", "e2e.broken", 90, 90, 1))
        costs = self.build / "costs.tsv"
        self.run_tool("--write-costs", costs)
        self.assertEqual(costs.read_text(), "e2e.nginx\t64\nengine.1of4\t11\n")

    def test_a_folder_without_a_run_is_told(self):
        with self.assertRaises(SystemExit) as left:
            self.run_tool()
        self.assertIn("has no row", str(left.exception))


if __name__ == "__main__":
    unittest.main()
