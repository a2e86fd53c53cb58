"""tools/needed_libraries.py: a program's libraries and theirs are copied, a missing one is named."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools/needed_libraries.py"
CXX = os.environ["OCTAVO_CXX"]


class NeededLibraries(unittest.TestCase):
    """A program that needs libouter.so, which needs libinner.so, in a root of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.libraries = self.root / "usr/lib/some-linux-gnu"
        self.libraries.mkdir(parents=True)
        for name, text, needs in (("inner", "int inner() { return 1; }", ()),
                                  ("outer", "int inner(); int outer() { return inner(); }", ("inner",))):
            self.link(self.libraries / f"lib{name}.so", text, needs, "-shared", "-fPIC")
        self.link(self.root / "program", 'int outer(); extern "C" void _start() { outer(); }', ("outer",))

    def link(self, out, text, needs, *options):
        source = self.root / "source.cc"
        source.write_text(text, encoding="ascii")
        subprocess.run([CXX, "-nostdlib", *options, source, "-o", out, f"-L{self.libraries}",
                        f"-Wl,-rpath-link,{self.libraries}", *(f"-l{name}" for name in needs)], check=True)

    def run_tool(self, *args):
        return subprocess.run([sys.executable, TOOL, self.root / "program", "--triplet", "some-linux-gnu", "--root", self.root,
                               *args], capture_output=True, text=True, check=False)

    def test_copies_what_is_needed_directly_and_beyond(self):
        copies = self.root / "copies"
        done = self.run_tool("--copy-to", copies)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in copies.iterdir()), ["libinner.so", "libouter.so"])
        self.assertTrue(os.access(copies / "libinner.so", os.X_OK))

    def test_names_a_library_that_is_missing(self):
        (self.libraries / "libinner.so").unlink()
        done = self.run_tool("--copy-to", self.root / "copies")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("libinner.so is in none of", done.stderr)

    def test_names_the_packages_of_what_the_program_itself_needs(self):
        owners = self.root / "owners.txt"
        owners.write_text("libinner.so inner1 1.0\nlibouter.so outer2 2.0\n- outer-dev 2.0\n", encoding="ascii")
        self.assertEqual(self.run_tool("--owners", owners).stdout, "outer2\n")


if __name__ == "__main__":
    unittest.main()
