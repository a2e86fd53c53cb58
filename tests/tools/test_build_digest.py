"""tools/build_digest.py: the same objects give the same digest, others another one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import build_digest  # noqa: E402


class BuildDigest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def archive(self, name, **members):
        """An archive of members of these contents."""
        paths = []
        for member, content in members.items():
            path = self.folder / member
            path.write_bytes(content)
            paths.append(path)
        archive = self.folder / name
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "qcU", archive, *paths], check=True)
        return archive

    def test_times_and_owners_of_members_do_not_count(self):
        first = build_digest.digest_of([self.archive("a.a", one=b"code", two=b"odd")])
        later = self.folder / "one"
        later.touch()
        self.assertEqual(first, build_digest.digest_of([self.archive("b.a", one=b"code", two=b"odd")]))

    def test_contents_names_and_order_count(self):
        base = build_digest.digest_of([self.archive("a.a", one=b"code", two=b"more")])
        for other in ({"one": b"code", "two": b"less"}, {"one": b"code", "three": b"more"},
                      {"two": b"more", "one": b"code"}, {"one": b"codemore"}):
            self.assertNotEqual(base, build_digest.digest_of([self.archive("b.a", **other)]), other)

    def test_a_file_that_is_right_stays_as_it_is(self):
        archive, output = self.archive("a.a", one=b"code"), self.folder / "digest.cc"
        command = [sys.executable, build_digest.__file__, output, archive]
        subprocess.run(command, check=True)
        written = output.stat().st_mtime_ns
        subprocess.run(command, check=True)
        self.assertEqual(output.stat().st_mtime_ns, written)
        self.assertIn(build_digest.digest_of([archive]), output.read_text())

    def test_a_file_that_is_no_archive_is_refused(self):
        wrong = self.folder / "wrong"
        wrong.write_bytes(b"no archive")
        with self.assertRaisesRegex(ValueError, "found no archive"):
            build_digest.digest_of([wrong])


if __name__ == "__main__":
    unittest.main()
