"""Compiled code and its digest are the same wherever the sources and the build lie, and for the program and the wheel.

The layer `base` is compiled in two folders: in one as for the program, in the other as for the wheel (scripts/wheel).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["OCTAVO_BUILD"])
LEFT_OUT = (".git", "build", "tests", "docs", "bench", "examples", "fuzz")
DIGEST = "src/engine/build_digest.cc"


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def digests_in(build):
    """The digest of the build, and that of its sources alone."""
    of_build, of_sources = re.findall(r'"([0-9a-f]{32})"', (build / DIGEST).read_text(encoding="ascii"))
    return of_build, of_sources


class SameBytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        libraries = cls.folder / "libraries"
        (libraries / "lib").mkdir(parents=True)
        for name in ("libraries.tsv", "lib/libfmt.a"):  # empty, for nothing is linked
            (libraries / name).touch()
        cls.first = cls.compile(cls.folder / "first", "build")
        cls.second = cls.compile(cls.folder / "second" / "of_another_name", "somewhere/wheel",
                                 "-DOCTAVO_STATIC_DEPENDENCIES=ON", f"-DOCTAVO_STATIC_LIBRARIES={libraries}")
        cls.digests = digests_in(cls.first)

    @classmethod
    def compile(cls, source, build, *options):
        """The build folder of a copy of the sources."""
        shutil.copytree(ROOT, source, ignore=lambda folder, names: LEFT_OUT if pathlib.Path(folder) == ROOT else ())
        build = source / build
        run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={os.environ['OCTAVO_CXX']}",
            "-DCMAKE_BUILD_TYPE=Release", "-DOCTAVO_ISA_LEVELS=all", "-DOCTAVO_BUILD_TESTS=OFF",
            "-DOCTAVO_BUILD_EXAMPLES=OFF", "-DOCTAVO_BUILD_BENCH=OFF", *options)
        run("ninja", "-C", build, "octavo_base", DIGEST)
        return build

    def test_an_archive_has_the_same_bytes_and_no_folder_of_its_builder(self):
        archives = [build / "src/base/liboctavo_base.a" for build in (self.first, self.second)]
        run(sys.executable, ROOT / "tools/compare_packages.py", *archives)
        content = archives[0].read_bytes()
        self.assertIn(b"./src/base/", content)  # what failed checks name
        self.assertNotIn(str(self.folder).encode(), content)

    def test_the_digest_is_that_of_the_build_which_the_program_and_the_library_have_inside(self):
        self.assertEqual(digests_in(self.second), self.digests)
        self.assertEqual(digests_in(BUILD), self.digests)
        for name in ("octavo", "liboctavo.so"):
            for digest in self.digests:
                self.assertIn(digest.encode(), (BUILD / name).read_bytes(), name)

    def test_other_sources_and_options_have_another_digest(self):
        seen = [self.digests]
        source = self.folder / "first/src/engine/engine_impl.cc"
        source.write_text(source.read_text(encoding="utf-8") + "// another\n", encoding="utf-8")
        run("ninja", "-C", self.first, DIGEST)
        seen.append(digests_in(self.first))
        run("cmake", self.first, "-DCMAKE_CXX_FLAGS=-ffast-math")
        run("ninja", "-C", self.first, DIGEST)
        seen.append(digests_in(self.first))
        self.assertEqual(len({of_build for of_build, _ in seen}), 3)
        self.assertEqual(seen[1][1], seen[2][1])  # options are no sources


if __name__ == "__main__":
    unittest.main()
