"""scripts/run and scripts/setup with an apt-get, a ninja and an octavo that only play their parts."""
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"

APT = """#!/bin/sh
case "$*" in *update*) exit 0 ;; esac
for line in 'dlstatus:1:0:Retrieving file 1 of 2' 'dlstatus:1:40.5:Retrieving file 1 of 2 (3s remaining)' \\
  'dlstatus:2:100:Retrieving file 2 of 2' 'nonsense' pmstatus:a:0:x pmstatus:a:60.2:x pmstatus:b:100:x
do echo "$line" >&3; done
echo "Setting up a package"
[ ! -e "$BROKEN" ] || { echo "E: disk is full" >&2; exit 100; }
"""
SUDO = """#!/bin/bash
exec 3>&-  # as sudo does
exec "$@"
"""
NINJA = """#!/bin/bash
case "$*" in *" -n "*) [ -e "$UP_TO_DATE" ] && echo "ninja: no work to do." || echo "[1/4] Building"; exit 0 ;; esac
echo "ninja: Entering directory"
unit() {
  local status=${NINJA_STATUS/\\%f/$1} total=${2-4}
  status=${status/\\%t/$total}
  echo "${status/\\%p/ $((100 * $1 / total))%}${3-Building}"
}
unit 0 2 "Re-checking globbed directories..."
unit 0 1 "Re-running CMake..."
unit 1
echo "unit.cc:3: warning: mind this"
unit 2
if [ "$WAITS" ]; then
  trap 'kill $!; echo "ninja: build stopped: interrupted by user."; exit 2' INT
  sleep 60 >/dev/null 2>&1 &
  touch "$WAITS"
  wait
fi
unit 3
unit 4
"""
CTEST = """#!/bin/sh
mkdir -p build/release/Testing/Temporary
for share in 3 4; do
  echo "clang-tidy: 9 of 9 files are clean, $share s of processor time"
done >build/release/Testing/Temporary/LastTest.log
printf 'skipped: A.B: no AVX\ncases: 8 of 9 passed in test_base\n' >>build/release/Testing/Temporary/LastTest.log
printf 'test\tlayers\t2.0\t1.0\t0.5\t0\n' >build/release/times.tsv
echo "99% tests passed, 1 tests failed out of 100"
echo "The following tests FAILED:"
exit 8
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(ROOT / "scripts", self.folder / "tree" / "scripts")
        self.script("tree/build/release/octavo", '#!/bin/sh\necho "octavo $*"\n')
        (self.folder / "tree/build/release/build.ninja").touch()
        (self.folder / "cache/octavo/models").mkdir(parents=True)
        (self.folder / "cache/octavo/models" / MODEL).touch()
        self.script("bin/apt-get", APT)
        self.script("bin/sudo", SUDO)
        self.script("bin/id", "#!/bin/sh\necho 1000\n")
        self.script("bin/ninja", NINJA)
        self.script("bin/dpkg-query", "#!/bin/sh\n")  # nothing is installed
        self.environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder),
                            "XDG_CACHE_HOME": str(self.folder / "cache"), "TERM": "xterm"}

    def script(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def installed(self):
        """dpkg-query answers that all that is asked for is there."""
        self.script("bin/dpkg-query", '#!/bin/sh\nshift 2\nfor name; do printf "installed:%s " "$name"; done\n')

    def run_script(self, name, *arguments):
        return subprocess.run([self.folder / "tree/scripts" / name, *arguments], env=self.environment,
                              capture_output=True, text=True, timeout=120, check=False)

    def run_on_terminal(self, name, *arguments):
        """(exit code, what the terminal was sent)."""
        master, slave = pty.openpty()
        with subprocess.Popen([self.folder / "tree/scripts" / name, *arguments], env=self.environment, stdin=slave,
                              stdout=slave, stderr=slave) as process:
            os.close(slave)
            seen = b""
            try:
                while part := os.read(master, 4096):
                    seen += part
            except OSError:  # the last one has closed it
                pass
            os.close(master)
            return process.wait(timeout=120), seen.decode()

    def test_downloading_and_installing_are_told_apart(self):
        done = self.run_script("setup")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "octavo: reading package lists")
        self.assertIn("octavo: downloading and installing", lines[1])
        self.assertEqual(lines[2:], ["octavo: downloading packages 0%, file 1 of 2",
                                     "octavo: downloading packages 40%, file 1 of 2 (3s remaining)",
                                     "octavo: downloading packages 100%, file 2 of 2",
                                     *(f"octavo: installing packages {percent}%" for percent in (0, 60, 100))])

    def test_on_a_terminal_each_step_is_one_line_that_is_written_over(self):
        code, seen = self.run_on_terminal("setup")
        self.assertEqual(code, 0, seen)
        last = [line.split("\r\033[K")[-1] for line in seen.replace("\r\n", "\n").split("\n")]
        self.assertEqual(last[2:], ["octavo: downloading packages 100%, file 2 of 2",
                                    "octavo: installing packages 100%", ""])

    def test_packages_that_cannot_be_installed_end_it_with_what_apt_said(self):
        self.environment["BROKEN"] = str(self.folder)
        done = self.run_script("setup")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: disk is full\noctavo: could not install packages", done.stderr)

    def test_libraries_that_cannot_be_fetched_leave_nothing_behind(self):
        self.installed()
        self.script("bin/apt-get", '#!/bin/sh\necho "E: no such host" >&2\nexit 100\n')
        temporary = self.folder / "temporary"
        temporary.mkdir()
        self.environment["TMPDIR"] = str(temporary)
        done = self.run_script("setup", "--arm64")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("could not read the package lists for arm64", done.stderr)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_a_build_says_how_far_it_is_and_passes_on_what_compilers_say(self):
        self.installed()
        done = self.run_script("run", "Why", "not?", "-n", "3")  # what ninja does to its own file is not counted
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines()[1:],
                         ["octavo: building 25%, 1 of 4", "unit.cc:3: warning: mind this",
                          "octavo: building 50%, 2 of 4", "octavo: building 75%, 3 of 4",
                          "octavo: building 100%, 4 of 4"])
        self.assertEqual(done.stdout, "octavo run -p Why not? -n 3\n")

    def test_nothing_is_said_where_nothing_is_to_be_done(self):
        self.installed()
        self.environment["UP_TO_DATE"] = str(self.folder)
        done = self.run_script("run", "Hello")
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", "octavo run -p Hello\n"))

    def test_an_interrupted_build_answers_nothing_and_leaves_whole_lines(self):
        self.installed()
        waits = self.folder / "waits"
        self.environment["WAITS"] = str(waits)
        with subprocess.Popen([self.folder / "tree/scripts/run", "Hello"], env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            for _ in range(6000):
                if waits.exists():
                    break
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(out, "")
        self.assertTrue(err.endswith("octavo: building 50%, 2 of 4\nninja: build stopped: interrupted by user.\n"), err)

    def test_tests_close_with_the_processor_time_and_the_summary_and_fail_as_ctest_did(self):
        self.script("tree/scripts/setup", "#!/bin/sh\n")
        self.script("bin/cmake", "#!/bin/sh\n")
        self.script("bin/ctest", CTEST)
        shutil.copytree(ROOT / "tools", self.folder / "tree" / "tools")
        done = self.run_script("test")
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-4:], [
            "1 cases skipped:", "  base.A.B: no AVX", "cases of test programs: 9, 8 passed, 1 skipped, 0 failed or did not run",
            "99% tests passed, 1 tests failed out of 100"])
        self.assertIn("      1.5      2.0        -           layers", done.stdout.splitlines())
        said = re.fullmatch(r"octavo: processor time: build (\d+) s, clang-tidy 7 s, tests -?\d+ s, together (\d+) s "
                            r"\(docs/building.md\)", done.stderr.splitlines()[-1])
        self.assertTrue(said, done.stderr)
        self.assertLessEqual(int(said[1]), int(said[2]))

    def test_the_time_left_follows_from_what_was_done(self):
        def left(*numbers):
            command = '. "$0/scripts/progress.sh"; time_left "$@"'
            return subprocess.run(["bash", "-c", command, ROOT, *map(str, numbers)], capture_output=True, text=True,
                                  check=True).stdout

        self.assertEqual(left(60, 10, 100), "about 9 min left")
        self.assertEqual(left(60, 50, 100), "about 60 s left")
        self.assertEqual(left(2, 1, 100), "")
        self.assertEqual(left(60, 0, 100), "")


if __name__ == "__main__":
    unittest.main()
