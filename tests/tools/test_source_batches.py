"""Sources in batches: names given twice do not meet, a batch names its files as every checkout does and is made once."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import source_batches


class Names(unittest.TestCase):
    def clash(self, a, b):
        return source_batches.clash(source_batches.names_given(a), source_batches.names_given(b))

    def test_files_that_give_a_name_twice_are_kept_apart(self):
        self.assertTrue(self.clash("struct Parser {\n", "class Parser : Base {\n"))
        self.assertTrue(self.clash("bool is_word(char c) {\n", "template <class T>\nbool is_word(T c) {\n"))
        self.assertTrue(self.clash("constexpr int kMost = 3;\n", "constexpr std::size_t kMost{4};\n"))
        self.assertTrue(self.clash("constexpr int kTable[] = {1};\n", "const char* const kTable[2] = {};\n"))
        self.assertTrue(self.clash("#define STEP 1\n", "#define STEP 2\n"))
        self.assertTrue(self.clash("using Clock = std::chrono::steady_clock;\n", "using Clock = Fake;\n"))

    def test_every_constant_of_a_declaration_is_a_name(self):
        self.assertTrue(self.clash("constexpr int kOne = 1,\n              kTwo = 2;\n", "constexpr int kTwo = 2;\n"))
        self.assertTrue(self.clash("const std::string kOld(40, 0), kNew(40, 1);\n", "const std::string kNew(2, 0);\n"))
        self.assertFalse(self.clash("constexpr int kOne = 1;\n", "constexpr int kTwo = 2 * kOne;\n"))

    def test_tests_are_told_apart_by_suite_and_name(self):
        self.assertFalse(self.clash("TEST(Reader, Reads) {\n", "TEST(Reader, Ends) {\n"))
        self.assertTrue(self.clash("TEST(Reader, Reads) {\n", "TEST_F(Reader, Reads) {\n"))
        self.assertTrue(self.clash("RC_GTEST_PROP(Reader, Reads, (int x)) {\n", "TEST(Reader, Reads) {\n"))

    def test_members_uses_and_equal_aliases_do_not_clash(self):
        self.assertFalse(self.clash("int Reader::next() {\n  return count(1);\n", "int Writer::next() {\n  count(2);\n"))
        self.assertFalse(self.clash("namespace octavo {\n", "namespace octavo {\n"))
        self.assertFalse(self.clash("using tcp = asio::ip::tcp;\n", "using tcp = asio::ip::tcp;\n"))

    def test_an_alias_that_is_also_given_in_another_way_clashes_whatever_the_order(self):
        one, other = ("using tcp = asio::ip::tcp;\n", "using tcp = ip::tcp;\n")
        for both in (one + other, other + one):
            self.assertTrue(self.clash(one, both))
            self.assertTrue(self.clash(other, both))


class Batches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.root, self.out = self.folder / "src", self.folder / "build"
        self.root.mkdir()

    def write(self, **sources):
        files = []
        for name, text in sources.items():
            files.append(self.root / f"{name}.cc")
            files[-1].write_text(text)
        return files

    def sources(self, *files):
        """Paths, of a batch's files a list of names, that are to be compiled in place of files."""
        out = io.StringIO()
        arguments = ["source_batches.py", "--root", str(self.root), "--out", str(self.out), *map(str, files)]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(out):
            source_batches.main()
        made = [pathlib.Path(path) for path in out.getvalue().split(";")]
        joined = [source_batches.files_of(path, self.root) if path.exists() else None for path in made]
        return [names and [name.stem for name in names] or path for path, names in zip(made, joined)]

    def test_files_are_joined_in_their_order_and_one_alone_stays_as_it_is(self):
        files = self.write(a="int a() {\n", b="int b() {\n", c="int a() {\n")
        self.assertEqual(self.sources(*files), [["a", "b"], files[2]])

    def test_what_only_anothers_header_gives_keeps_files_apart(self):
        (self.root / "deep.h").write_text("struct Answers {\n")
        (self.root / "wide.h").write_text('#include "deep.h"\n')
        sees, gives = self.write(sees='#include "wide.h"\nint a() {\n', gives="struct Answers {\n")
        self.assertEqual(self.sources(sees, gives), [sees, gives])
        self.assertEqual(self.sources(gives, sees), [gives, sees])
        defines, = self.write(defines='#include "deep.h"\nstruct Answers {\n')
        self.assertEqual(self.sources(sees, defines), [["sees", "defines"]])

    def test_a_batch_has_a_bound(self):
        most = source_batches.MOST_FILES
        files = self.write(**{f"f{i}": f"int f{i}() {{\n" for i in range(most + 2)})
        self.assertEqual([len(names) for names in self.sources(*files)], [most, 2])

    def test_files_that_are_made_later_or_lie_elsewhere_are_left_alone(self):
        files = self.write(a="int a() {\n", b="int b() {\n")
        elsewhere, later = self.folder / "elsewhere.cc", self.out / "page.cc"
        elsewhere.write_text("int c() {\n")
        self.assertEqual(self.sources(later, *files, elsewhere), [later, elsewhere, ["a", "b"]])

    def test_a_batch_names_no_checkout_and_is_written_when_it_changes(self):
        files = self.write(a="int a() {\n", b="int b() {\n")
        self.sources(*files)
        batch = self.out / "batch_0.cc"
        self.assertNotIn(str(self.folder), batch.read_text())
        made = batch.stat().st_mtime_ns
        self.sources(*files)
        self.assertEqual(batch.stat().st_mtime_ns, made)
        self.sources(files[1], files[0])
        self.assertLess(batch.read_text().index("b.cc"), batch.read_text().index("a.cc"))


if __name__ == "__main__":
    unittest.main()
