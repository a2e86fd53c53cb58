"""scripts/reproduce with a scripts/wheel and a scripts/package that only play their parts: what it builds and compares."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("scripts/reproduce", "scripts/progress.sh", "scripts/source_date.sh", "tools/compare_packages.py")
PACK = """#!/usr/bin/env bash
mkdir -p "$1"
printf '%s' "{text}" >"$1/octavo.$(basename "$0")"
"""


class Reproduce(unittest.TestCase):
    """A repository whose packages are one text each."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "tree")
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.write("wheel", "$SOURCE_DATE_EPOCH")
        self.write("package", "same")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.root / "scripts" / name
        path.write_text(PACK.format(text=text), encoding="ascii")
        path.chmod(0o755)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=tests", "-c", "user.email=tests@octavo.invalid", *words],
                       check=True, env={**os.environ, "GIT_COMMITTER_DATE": "1700000000 +0000"})

    def commit(self):
        self.git("add", "scripts", "tools")
        self.git("commit", "--quiet", "--message", "A state")

    def reproduce(self, *kinds):
        """(exit code, lines of standard output, standard error)"""
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        done = subprocess.run([self.root / "scripts/reproduce", *kinds], capture_output=True, text=True, check=False,
                              env=environment)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_packages_of_the_same_bytes_are(self):
        code, lines, errors = self.reproduce()
        self.assertEqual((code, lines), (0, ["octavo.package: the same bytes", "octavo.wheel: the same bytes"]), errors)
        made = self.root / "build/reproduce/packages/first/octavo.wheel"
        self.assertEqual(made.read_text(encoding="ascii"), "1700000000")  # the date of the commit

    def test_a_package_that_names_its_folder_is_told(self):
        self.write("wheel", "$0")
        self.commit()
        code, (line,), errors = self.reproduce("wheel")
        self.assertEqual(code, 1, errors)
        self.assertRegex(line, r"^octavo\.wheel: byte \d+ is 0x\w\w, then 0x\w\w$")

    def test_the_second_has_libraries_of_its_own(self):
        self.write("wheel", "$OCTAVO_STATIC_LIBRARIES")
        self.commit()
        self.assertEqual(self.reproduce("wheel")[:2], (1, ["octavo.wheel: 0 bytes, then "
                                                           f"{len(str(self.root / 'build/reproduce/libraries'))}"]))

    def test_the_last_commit_is_what_is_built_also_the_next_time(self):
        self.assertEqual(self.reproduce("package")[0], 0)
        self.write("package", "$0")
        code, lines, errors = self.reproduce("package")
        self.assertEqual((code, lines), (0, ["octavo.package: the same bytes"]))
        self.assertIn("files have changed since the last commit", errors)
        self.commit()
        self.assertEqual(self.reproduce("package")[0], 1)

    def test_another_word_is_a_usage_error(self):
        code, lines, errors = self.reproduce("wheels")
        self.assertEqual((code, lines, errors), (2, [], "octavo: usage: scripts/reproduce [wheel] [package]\n"))


if __name__ == "__main__":
    unittest.main()
