"""tools/make_sdist.py and pyproject.toml: what a source distribution has, the same bytes twice, and what is refused."""
import email
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/make_sdist.py"
sys.path.insert(0, str(ROOT / "packaging"))
import build_backend  # noqa: E402

VERSION_HEADER = "#define OCTAVO_VERSION_MAJOR 1\n#define OCTAVO_VERSION_MINOR 2\n#define OCTAVO_VERSION_PATCH 3\n"


class SourceDistribution(unittest.TestCase):
    """A repository of a few files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "tree"
        self.write("include/octavo/version.h", VERSION_HEADER)
        self.write("CMakeLists.txt", 'project(Octavo LANGUAGES CXX DESCRIPTION "Runs things")\n')
        self.write("scripts/wheel", "#!/bin/sh\n").chmod(0o755)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.write("untracked", "not a source\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
        return path

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, *words], check=True)

    def run_tool(self, to, root=None, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        return subprocess.run([sys.executable, TOOL, "--root", root or self.root, "--to", self.folder / to],
                              capture_output=True, text=True, check=False, env={**environment, **variables})

    def make(self, to="out", **variables):
        done = self.run_tool(to, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = pathlib.Path(done.stdout.strip())
        self.assertEqual(made, self.folder / to / "octavo-1.2.3.tar.gz")
        return made

    def test_it_has_the_tracked_files_and_what_installers_read(self):
        with tarfile.open(self.make(SOURCE_DATE_EPOCH="1700000000")) as packed:
            self.assertEqual({entry.name: entry.mode for entry in packed}, {
                "octavo-1.2.3/CMakeLists.txt": 0o644, "octavo-1.2.3/PKG-INFO": 0o644,
                "octavo-1.2.3/SOURCE_DATE_EPOCH": 0o644, "octavo-1.2.3/include/octavo/version.h": 0o644,
                "octavo-1.2.3/scripts/wheel": 0o755})
            self.assertEqual({(entry.mtime, entry.uid, entry.uname) for entry in packed}, {(1700000000, 0, "")})
            read = lambda name: packed.extractfile(f"octavo-1.2.3/{name}").read().decode()
            self.assertEqual(read("SOURCE_DATE_EPOCH"), "1700000000\n")
            info = email.message_from_string(read("PKG-INFO"))
            self.assertEqual((info["Name"], info["Version"], info["Summary"]), ("octavo", "1.2.3", "Runs things"))

    def test_the_same_files_give_the_same_bytes(self):
        first = self.make("first").read_bytes()
        for path in self.root.rglob("*"):
            os.utime(path, (1, 1))
        self.assertEqual(self.make("second").read_bytes(), first)

    def test_without_git_and_with_a_file_that_is_gone_there_is_none(self):
        done = self.run_tool("out", root=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"found no git repository, expected one")
        (self.root / "scripts/wheel").unlink()
        done = self.run_tool("out")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"scripts/wheel: found no file, expected a file")
        self.assertFalse((self.folder / "out").exists())

    def test_a_link_and_a_version_that_is_not_there_are_refused(self):
        (self.root / "link").symlink_to("/etc/hostname")
        self.git("add", "link")
        self.assertRegex(self.run_tool("out").stderr, r"link: found a link, expected a file")
        self.write("include/octavo/version.h", VERSION_HEADER.replace("PATCH 3", "PATCH"))
        self.assertRegex(self.run_tool("out").stderr, r"version\.h: found 0 times .*PATCH")


@unittest.skipUnless((ROOT / ".git").exists(), "these sources came without git")
class Ours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.name = build_backend.build_sdist(folder.name)
        subprocess.run(["tar", "-xzf", cls.folder / cls.name, "-C", folder.name], check=True)
        cls.root = cls.folder / cls.name.removesuffix(".tar.gz")

    def test_it_has_what_the_wheel_is_built_of(self):
        tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True,
                                 check=True).stdout
        packed = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        self.assertEqual(packed, {*filter(None, tracked.split("\0")), "PKG-INFO", "SOURCE_DATE_EPOCH"})
        for name in ("pyproject.toml", "scripts/wheel", "packaging/build_backend.py", "python/octavo/__init__.py",
                     "src/capi/octavo.map", "LICENSE"):
            self.assertIn(name, packed)
        self.assertTrue(os.access(self.root / "scripts/wheel", os.X_OK))

    def test_installers_find_the_backend_in_it_and_fetch_nothing(self):
        text = (self.root / "pyproject.toml").read_text(encoding="utf-8")
        self.assertIn("requires = []\n", text)
        (backend,), (folder,) = re.findall(r'^build-backend = "(.+)"$', text, re.M), re.findall(
            r'^backend-path = \["(.+)"\]$', text, re.M)
        command = [sys.executable, "-c", f"import {backend} as b; print(b.__file__, b.build_wheel, b.build_sdist)"]
        environment = {"PYTHONPATH": str(self.root / folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        self.assertIn(str(self.root / folder), done.stdout)

    def test_it_knows_the_date_of_the_sources_without_git(self):
        command = f'. "{self.root}/scripts/source_date.sh"; set_source_date "$1"; echo "$SOURCE_DATE_EPOCH"'
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        dates = [subprocess.run(["bash", "-c", command, "bash", root], env=environment, capture_output=True, text=True,
                                check=True).stdout for root in (self.root, ROOT)]
        self.assertEqual(*dates)
        self.assertRegex(dates[0], r"^\d+\n$")

    def test_no_file_names_a_folder_of_this_machine(self):
        places = [str(place).encode() for place in (ROOT, pathlib.Path.home()) if len(place.parts) > 2]
        for path in self.root.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for place in places:
                    self.assertNotIn(place, content, path)

    def test_options_that_the_wheel_does_not_have_are_refused(self):
        with self.assertRaisesRegex(ValueError, "found speed, expected none"):
            build_backend.build_sdist(str(self.folder), {"speed": "much"})


if __name__ == "__main__":
    unittest.main()
