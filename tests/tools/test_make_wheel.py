"""tools/make_wheel.py: the same bytes twice, a right RECORD, and libraries and sizes that are refused."""
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

TOOL = pathlib.Path(__file__).parents[2] / "tools/make_wheel.py"
CXX = os.environ["OCTAVO_CXX"]
WHEEL = "octavo-1.2.3-py3-none-manylinux_2_34_x86_64.whl"
INFO = "octavo-1.2.3.dist-info"
MAIN = 'extern "C" int octavo_main(int, char**) { return 0; }'
ZIPS_OLDEST = (1980, 1, 1, 0, 0, 0)


class MakeWheel(unittest.TestCase):
    """A package of three files, and a library that needs nothing but what a test gives it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.package = self.root / "package"
        for name, text in (("__init__.py", "name = 1\n"), ("__main__.py", "def main(): pass\n"), ("py.typed", ""),
                           ("parts/__init__.py", "part = 2\n"), ("__pycache__/x.pyc", "?"), ("liboctavo.so", "old")):
            self.write(f"package/{name}", text)
        self.write("LICENSE", "Terms\n")
        self.write("libraries/libraries.tsv", "curl\tcurl\t7.88.1-10+deb12u9\tsource\nfmt\tfmtlib\t9.1\tsource\n")
        self.write("libraries/licenses/curl.txt", "Terms of curl\n")
        self.library = self.link(MAIN)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
        return path

    def link(self, text, *options, name="liboctavo.so"):
        source = self.write("source.cc", text)
        library = self.root / name
        subprocess.run([CXX, "-nostdlib", "-shared", "-fPIC", source, "-o", library, *options], check=True)
        return library

    def run_tool(self, to="out", platform="manylinux_2_34_x86_64", **variables):
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        return subprocess.run(
            [sys.executable, TOOL, "--package", self.package, "--library", self.library, "--version", "1.2.3",
             "--summary", "Runs things", "--license", self.root / "LICENSE", "--libraries", self.root / "libraries",
             "--platform", platform, "--to", self.root / to],
            capture_output=True, text=True, check=False, env={**environment, **variables})

    def make(self, to="out", **variables):
        done = self.run_tool(to, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.root / to / WHEEL

    def assert_refused(self, words, **options):
        done = self.run_tool(**options)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, words)
        out = self.root / "out"
        self.assertEqual(list(out.glob("*.whl*")) if out.exists() else [], [])

    def link_with_glibc(self, version):
        """A library that needs a symbol of a C library of that version."""
        versions = self.write("libc.map", f"GLIBC_2.4 {{ global: elder; }};\nGLIBC_{version} {{ global: newest; }};\n")
        self.link('extern "C" void newest() {} extern "C" void elder() {}', f"-Wl,--version-script={versions}",
                  "-Wl,-soname,libc.so.6", name="libc.so.6")
        main = 'extern "C" { void newest(); void elder(); void octavo_main() { newest(); elder(); } }'
        self.library = self.link(main, self.root / "libc.so.6")

    def test_the_same_files_give_the_same_bytes(self):
        first = self.make("first").read_bytes()
        for path in self.package.rglob("*"):
            os.utime(path, (1, 1))
            path.chmod(0o700)
        self.assertEqual(self.make("second").read_bytes(), first)
        self.assertEqual((self.root / f"first/{WHEEL}.cdx.json").read_bytes(),
                         (self.root / f"second/{WHEEL}.cdx.json").read_bytes())

    def test_record_has_every_file_with_its_digest_and_size(self):
        with zipfile.ZipFile(self.make()) as wheel:
            rows = list(csv.reader(io.StringIO(wheel.read(f"{INFO}/RECORD").decode())))
            self.assertEqual([row[0] for row in rows], wheel.namelist())
            self.assertEqual(rows.pop(), [f"{INFO}/RECORD", "", ""])
            for name, digest, size in rows:
                content = wheel.read(name)
                self.assertEqual(int(size), len(content))
                method, _, code = digest.partition("=")
                self.assertEqual(method, "sha256")
                decoded = base64.urlsafe_b64decode(code + "=="[:-len(code) % 4])
                self.assertEqual(decoded, hashlib.sha256(content).digest())

    def test_has_the_package_the_library_and_what_installers_read(self):
        with zipfile.ZipFile(self.make()) as wheel:
            self.assertEqual(wheel.namelist(), [
                f"{INFO}/METADATA", f"{INFO}/WHEEL", f"{INFO}/entry_points.txt", f"{INFO}/licenses/LICENSE",
                f"{INFO}/licenses/curl.txt", f"{INFO}/sboms/octavo.cdx.json", "octavo/__init__.py",
                "octavo/__main__.py", "octavo/liboctavo.so", "octavo/parts/__init__.py", "octavo/py.typed",
                f"{INFO}/RECORD"])
            self.assertEqual(wheel.read("octavo/liboctavo.so"), self.library.read_bytes())
            lines = wheel.read(f"{INFO}/METADATA").decode().splitlines()
            for line in ("Name: octavo", "Version: 1.2.3", "Summary: Runs things", "Requires-Python: >=3.9",
                         "Requires-Dist: numpy", "License-File: LICENSE"):
                self.assertIn(line, lines)
            self.assertIn(b"Root-Is-Purelib: false\nTag: py3-none-manylinux_2_34_x86_64\n", wheel.read(f"{INFO}/WHEEL"))
            self.assertEqual(wheel.read(f"{INFO}/entry_points.txt"),
                             b"[console_scripts]\noctavo = octavo.__main__:main\n")

    def test_dates_and_modes_are_fixed(self):
        for variables, date in (({}, ZIPS_OLDEST), ({"SOURCE_DATE_EPOCH": "86400"}, ZIPS_OLDEST),
                                ({"SOURCE_DATE_EPOCH": "1700000000"}, (2023, 11, 14, 22, 13, 20))):
            with zipfile.ZipFile(self.make(**variables)) as wheel:
                self.assertEqual({entry.date_time for entry in wheel.infolist()}, {date})
                programs = [entry.filename for entry in wheel.infolist() if entry.external_attr >> 16 == 0o100755]
                self.assertEqual(programs, ["octavo/liboctavo.so"])

    def test_the_bill_of_materials_names_what_is_inside(self):
        self.make()
        bill = json.loads((self.root / f"out/{WHEEL}.cdx.json").read_text(encoding="ascii"))
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        octavo = bill["metadata"]["component"]
        self.assertEqual((octavo["name"], octavo["version"]), ("octavo", "1.2.3"))
        self.assertEqual(octavo["components"][0]["hashes"][0]["content"],
                         hashlib.sha256(self.library.read_bytes()).hexdigest())
        self.assertEqual([(part["name"], part["purl"]) for part in bill["components"]], [
            ("curl", "pkg:deb/debian/curl@7.88.1-10%2Bdeb12u9?arch=source&distro=debian-12"),
            ("fmt", "pkg:deb/debian/fmtlib@9.1?arch=source&distro=debian-12")])

    def test_a_newer_c_library_than_the_platform_has_is_refused(self):
        self.link_with_glibc("2.34")
        self.make("fits")
        self.link_with_glibc("2.35")
        self.assert_refused(r"needs glibc 2\.35, but manylinux_2_34_x86_64 promises that 2\.34 is enough")
        self.assert_refused(r"found linux_x86_64, expected manylinux_", platform="linux_x86_64")

    def test_a_library_that_not_every_linux_has_is_refused(self):
        other = self.link("int other() { return 1; }", "-Wl,-soname,libother.so.1", name="libother.so.1")
        self.library = self.link('int other(); extern "C" int octavo_main() { return other(); }', other)
        self.assert_refused(r"needs libother\.so\.1, which not every Linux has")

    def test_a_library_that_looks_in_the_builders_folders_is_refused(self):
        self.library = self.link(MAIN, "-Wl,-rpath,/build/lib")
        self.assert_refused(r"looks for libraries in /build/lib, a folder of the machine that built it")

    def test_a_library_with_other_names_or_without_the_program_is_refused(self):
        self.library = self.link(MAIN + 'extern "C" void SSL_new() {}')
        self.assert_refused(r"exports SSL_new, expected octavo_main and its kin alone")
        self.library = self.link('extern "C" void octavo_answer() {}')
        self.assert_refused(r"exports no octavo_main, expected octavo_main and its kin alone")

    def test_a_wheel_beyond_the_bound_is_refused(self):
        (self.package / "noise").write_bytes(os.urandom(10_000_000))
        self.assert_refused(r"the wheel has 10\d{6} bytes, more than 10000000")

    def test_a_folder_without_the_package_is_refused(self):
        (self.package / "__main__.py").unlink()
        self.assert_refused(r"found no __init__\.py and __main__\.py")


if __name__ == "__main__":
    unittest.main()
