"""tools/build_digest.py: the same objects, or sources, give the same digest, others another one."""
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
        root = self.sources("tree", src__a="one")
        command = [sys.executable, build_digest.__file__, output, "src", "--root", root, "--archives", archive]
        subprocess.run(command, check=True)
        written = output.stat().st_mtime_ns
        subprocess.run(command, check=True)
        self.assertEqual(output.stat().st_mtime_ns, written)
        self.assertIn(build_digest.digest_of([archive]), output.read_text())
        self.assertIn(build_digest.digest_of_sources(root, ["src"], []), output.read_text())

    def test_a_file_that_is_no_archive_is_refused(self):
        wrong = self.folder / "wrong"
        wrong.write_bytes(b"no archive")
        with self.assertRaisesRegex(ValueError, "found no archive"):
            build_digest.digest_of([wrong])

    def sources(self, root, **files):
        """A tree of sources; two underscores of a name are a slash."""
        for name, text in files.items():
            path = self.folder / root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
        return self.folder / root

    def test_sources_in_another_folder_have_the_same_digest(self):
        first = self.sources("first", src__a="one", src__b="two", flags="-O2", docs__c="not digested")
        second = self.sources("second/place", flags="-O2", src__b="two", src__a="one")
        for name in ("src/.swap", "src/a~"):
            (second / name).write_text("left by an editor", encoding="ascii")
        digests = {build_digest.digest_of_sources(root, ["src", "flags"], ["gcc", "x=1"]) for root in (first, second)}
        self.assertEqual(len(digests), 1)

    def test_sources_their_names_and_the_words_count(self):
        base = self.sources("base", src__a="one", src__b="two")
        seen = {build_digest.digest_of_sources(base, ["src"], words) for words in (["gcc"], [], ["gcc 13"])}
        for number, other in enumerate(({"src__a": "one", "src__b": "2"}, {"src__a": "one", "src__c": "two"},
                                        {"src__a": "one"}, {"src__a": "one", "src__b": "two", "src__c__d": ""})):
            seen.add(build_digest.digest_of_sources(self.sources(f"other{number}", **other), ["src"], ["gcc"]))
        self.assertEqual(len(seen), 7)

    def test_sources_that_are_not_there_are_refused(self):
        with self.assertRaisesRegex(ValueError, "nowhere: found no file, expected sources"):
            build_digest.digest_of_sources(self.folder, ["nowhere"], [])

    def test_the_command_takes_either_objects_or_sources(self):
        root, output = self.sources("tree", src__a="one"), self.folder / "digest.cc"
        command = [sys.executable, build_digest.__file__, output]
        subprocess.run([*command, "src", "--root", root, "--words", "gcc"], check=True)
        for words in (["gcc"], []):
            self.assertIn(build_digest.digest_of_sources(root, ["src"], words), output.read_text())
        whole = ["src", "--root", root]
        for words in ([], ["src"], whole, [*whole, "--words", "x", "--archives", "a.a"]):
            done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
