"""tools/compare_packages.py: packages of the same bytes are, and of others it says where they begin to differ."""
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

TOOL = pathlib.Path(__file__).parents[2] / "tools/compare_packages.py"
CXX = os.environ["OCTAVO_CXX"]


def tar(*files, **said):
    """A tar file of (name, bytes) whose entries have these dates, modes and owners."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            for key, value in said.items():
                setattr(entry, key, value)
            packed.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zipped(name, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def compressed(data):
    return gzip.compress(data, mtime=0)


class ComparePackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def compare(self, first="first", second="second"):
        """(exit code, lines)"""
        done = subprocess.run([sys.executable, TOOL, self.root / first, self.root / second], capture_output=True,
                              text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).splitlines()

    def difference(self, first, second):
        self.write("first/octavo.x", first)
        self.write("second/octavo.x", second)
        code, (line,) = self.compare()
        self.assertEqual(code, 1)
        return line.removeprefix("octavo.x: ")

    def test_the_same_bytes_are_the_same(self):
        for folder in ("first", "second"):
            self.write(f"{folder}/octavo.deb", b"bytes")
            self.write(f"{folder}/SHA256SUMS", b"sums")
        self.assertEqual(self.compare(), (0, ["SHA256SUMS: the same bytes", "octavo.deb: the same bytes"]))

    def test_files_are_compared_whatever_their_names(self):
        self.write("a.deb", b"1")
        self.write("b.deb", b"2")
        self.assertEqual(self.compare("a.deb", "b.deb"), (1, ["a.deb: byte 0 is 0x31, then 0x32"]))

    def test_a_file_that_one_folder_alone_has_is_named(self):
        self.write("first/a", b"1")
        self.write("second/a", b"1")
        self.write("second/b", b"1")
        code, lines = self.compare()
        self.assertEqual((code, lines[0]), (1, "a: the same bytes"))
        self.assertRegex(lines[1], r"^b: is in .*/second alone$")

    def test_an_empty_folder_is_an_error(self):
        self.write("first/a", b"1")
        (self.root / "second").mkdir()
        code, (line,) = self.compare()
        self.assertEqual(code, 1)
        self.assertRegex(line, r"found no file in .*/second, expected packages")

    def test_a_difference_is_told_through_what_is_packed(self):
        deb = [b"!<arch>\n" + f"{'data.tar.gz':16}{'0':12}{'0':6}{'0':6}{'100644':8}{len(data):<10}`\n".encode() + data
               for data in (compressed(tar(("usr/bin/octavo", text))) for text in (b"one", b"on2"))]
        self.assertEqual(self.difference(*deb), "data.tar.gz: unpacked: usr/bin/octavo: byte 2 is 0x65, then 0x32")
        self.assertEqual(self.difference(zipped("octavo/a.py", b"long"), zipped("octavo/a.py", b"longer")),
                         "octavo/a.py: 4 bytes, then 6")

    def test_dates_owners_and_order_are_differences(self):
        self.assertRegex(self.difference(tar(("a", b"1"), mtime=5), tar(("a", b"1"), mtime=6)),
                         r"^a: mode 644, date 5, .*, then mode 644, date 6, ")
        self.assertRegex(self.difference(tar(("a", b"1")), tar(("a", b"1"), uname="me")), r"^a: .*owner 0:0 me:")
        self.assertEqual(self.difference(tar(("a", b""), ("b", b"")), tar(("b", b""), ("a", b""))),
                         "a, then b in its place")
        self.assertEqual(self.difference(tar(("a", b"")), tar(("a", b""), ("b", b""))), "b is in one alone")

    def test_the_section_of_a_program_is_named(self):
        libraries = []
        for number in (1, 2):
            source = self.write("a.cc", f"extern const int answer = {number};".encode())
            library = self.root / "a.so"
            subprocess.run([CXX, "-nostdlib", "-shared", "-Wl,--build-id=none", source, "-o", library], check=True)
            libraries.append(library.read_bytes())
        self.assertEqual(self.difference(*libraries), "section .rodata: byte 0 is 0x01, then 0x02")

    def test_a_compressor_that_writes_other_bytes_of_the_same_is_a_difference(self):
        self.assertEqual(self.difference(gzip.compress(b"same", mtime=1), gzip.compress(b"same", mtime=2)),
                         "byte 4 is 0x01, then 0x02")


if __name__ == "__main__":
    unittest.main()
