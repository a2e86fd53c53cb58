"""The table of times: what a row says of a command, and that the command's end becomes the launcher's."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import timed

TOOL = timed.__file__
CCACHE = """#!/bin/sh
[ -z "$CCACHE_STATSLOG" ] || printf '# unit.cc\\n%s\\n' "$RESULT" >>"$CCACHE_STATSLOG"
"""


class Timed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = self.folder / "build" / "times.tsv"
        self.table.parent.mkdir()

    def start(self, kind, name, *command, **options):
        return subprocess.Popen([sys.executable, "-I", "-S", TOOL, self.table, kind, name, *command], **options)

    def run_timed(self, kind, name, *command, **environment):
        """(exit code, the fields of the last row)."""
        with self.start(kind, name, *command, env={**os.environ, **environment}) as process:
            code = process.wait(timeout=60)
        return code, self.table.read_text().splitlines()[-1].split("\t")

    def test_a_row_has_what_the_command_and_its_children_took_and_its_exit_code(self):
        busy = f"{sys.executable} -c 'sum(range(20_000_000))'; exit 3"
        code, row = self.run_timed("test", "layers.Some", "sh", "-c", busy)
        self.assertEqual((code, row[:2], row[5]), (3, ["test", "layers.Some"], "3"))
        wall, user, system = map(float, row[2:5])
        self.assertGreater(user, 0.1)
        self.assertGreater(wall, 0.1)
        self.assertGreaterEqual(system, 0)

    def test_what_a_command_reads_and_writes_is_its_own(self):
        with self.start("test", "x", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.communicate(b"words", timeout=60)[0], b"words")

    def test_a_signal_that_ends_the_command_ends_the_launcher(self):
        code, row = self.run_timed("test", "crash", "sh", "-c", "kill -SEGV $$")
        self.assertEqual((code, row[5]), (-signal.SIGSEGV, str(-signal.SIGSEGV)))

    def test_a_signal_to_the_launcher_reaches_the_command(self):
        ready = self.folder / "ready"
        script = f"trap 'exit 7' TERM; touch {ready}; while :; do sleep 0.01; done"
        with self.start("test", "waits", "sh", "-c", script) as process:
            while not ready.exists():
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), 7)

    def test_a_unit_is_named_by_its_output_and_one_from_the_cache_is_of_another_kind(self):
        ccache = self.folder / "ccache"
        ccache.write_text(CCACHE)
        ccache.chmod(0o755)
        command = ("unit", "-o", ccache, "c++", "-o", "src/a.cc.o", "-c", "src/a.cc")
        for result, kind in (("cache_miss", "unit"), ("direct_cache_hit", "cached"), ("preprocessed_cache_hit", "cached")):
            code, row = self.run_timed(*command, RESULT=result)
            self.assertEqual((code, row[:2]), (0, [kind, "src/a.cc.o"]))
        self.assertEqual([path.name for path in self.table.parent.iterdir()], [self.table.name])

    def test_a_command_that_is_not_there_is_named(self):
        with self.start("test", "x", "/no/such/program", stderr=subprocess.PIPE, text=True) as process:
            self.assertIn("/no/such/program: No such file", process.communicate(timeout=60)[1])
        self.assertNotEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
