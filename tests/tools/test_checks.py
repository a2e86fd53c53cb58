"""The checks of includes, sizes, symbols and hardening catch what they are for."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import check_hardening
import check_isa_leaks
import check_layers
import check_sizes


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.write("include/octavo/engine.h", '#include "octavo/result.h"\n#include <vector>\n')
        self.write("src/base/error.h", '#include "octavo/result.h"\n')
        self.write("src/kv/block_pool.cc", '#include "kv/block_pool.h"\n#include "base/error.h"\n')

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_a_good_tree_passes(self):
        self.assertEqual(check_layers.check_tree(self.root), [])

    def test_an_include_that_points_up_is_named_with_its_line(self):
        self.write("src/kv/block_table.cc", '#include "base/error.h"\n\n#include "engine/schedule/sequence.h"\n')
        self.assertEqual(check_layers.check_tree(self.root),
                         ['src/kv/block_table.cc:3: kv must not include engine ("engine/schedule/sequence.h")'])

    def test_a_sideways_include_that_is_not_listed_fails(self):
        self.write("src/sampler/sampler.cc", '#  include "model/config.h"\n')
        self.assertEqual(len(check_layers.check_tree(self.root)), 1)

    def test_only_sources_know_the_forms_of_files(self):
        self.write("src/model/config.h", '#include "source/model_source.h"\n#include "source/gguf/gguf_file.h"\n')
        self.write("src/source/open_model.cc", '#include "source/gguf/gguf_file.h"\n')
        self.assertEqual(check_layers.check_tree(self.root),
                         ['src/model/config.h:2: only source may include "source/gguf/gguf_file.h"'])

    def test_folders_of_a_layer_include_what_their_table_says(self):
        self.write("src/engine/schedule/a.h", '#include "engine/drafts/draft.h"\n#include "engine/schedule/b.h"\n')
        self.write("src/engine/engine_impl.cc", '#include "engine/schedule/a.h"\n')
        self.assertEqual(check_layers.check_tree(self.root), [])
        self.write("src/engine/drafts/draft.cc", '#include "engine/schedule/a.h"\n')
        self.write("src/engine/text/words.cc", '#include "engine/engine_impl.h"\n')
        self.assertEqual(check_layers.check_tree(self.root),
                         ['src/engine/drafts/draft.cc:1: the folder "drafts" of engine must not include '
                          '"engine/schedule/a.h"',
                          'src/engine/text/words.cc:1: the folder "text" of engine must not include '
                          '"engine/engine_impl.h"'])

    def test_a_folder_that_the_table_of_its_layer_lacks_fails(self):
        self.write("src/engine/misc/a.h", "")
        self.assertEqual(len(check_layers.check_tree(self.root)), 1)

    def test_the_folders_of_a_layer_make_no_circle(self):
        for layer, folders in check_layers.FOLDERS.items():
            seen = set()
            for folder, below in folders.items():
                self.assertLessEqual(below, seen, f"{layer}/{folder}")
                seen.add(folder)

    def test_the_public_headers_include_no_layer(self):
        self.write("include/octavo/engine.h", '#include "base/error.h"\n')
        self.assertEqual(len(check_layers.check_tree(self.root)), 1)

    def test_a_folder_that_is_no_layer_fails(self):
        self.write("src/misc/util.h", "")
        self.assertEqual(len(check_layers.check_tree(self.root)), 1)

    def test_relative_includes_fail(self):
        self.write("src/kv/a.cc", '#include "block_pool.h"\n#include "kv/../engine/engine.h"\n')
        self.assertEqual(len(check_layers.check_tree(self.root)), 2)

    def test_a_folder_without_sources_fails(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(len(check_layers.check_tree(empty)), 1)


def lines(count, line="  ++n;\n"):
    return line * count


class CheckSizes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def problems(self, *files, exceptions=None):
        """Problems of a tree that has these files besides those of earlier calls."""
        for path, text in files:
            path = self.root / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_sizes.check_tree(self.root, exceptions or {})

    def test_a_file_of_600_lines_passes_and_one_of_601_does_not(self):
        self.assertEqual(self.problems(("src/base/a.h", "\n" * 600)), [])
        self.assertEqual(self.problems(("src/base/a.h", "\n" * 601)),
                         ["src/base/a.h: 601 lines, expected at most 600"])

    def test_a_header_and_its_source_count_together(self):
        self.assertEqual(self.problems(("src/cli/pool.h", "\n" * 200), ("src/cli/pool.cc", "\n" * 501)),
                         ["src/cli/pool: header and source have 701 lines together, expected at most 700"])
        self.assertEqual(self.problems(("src/cli/pool.cc", "\n" * 500)), [])

    def test_a_function_counts_from_its_first_line_to_its_brace(self):
        for head in ("void f(int n) {\n", "template <class T>\nT A<T>::f(std::vector<T> n) const {\n",
                     "A::A(int n)\n    : b_{n}, c_(n) {\n", "bool operator==(const A& a, const A& b) {\n",
                     "auto f() -> Result<void> {\n", "class A {\n  int x_ = 0;\n\n public:\n  int f() {\n"):
            with self.subTest(head=head):
                end = "}\n" + ("};\n" if head.startswith("class") else "")
                first = head.count("\n") if not head.startswith("class") else 1
                text = "namespace octavo {\n" + head
                self.assertEqual(self.problems(("src/base/a.cc", text + lines(59 - first) + end + "}\n")), [])
                found = self.problems(("src/base/a.cc", text + lines(60 - first) + end + "}\n"))
                self.assertEqual(len(found), 1)
                self.assertRegex(found[0], r"^src/base/a.cc:\d+: [\w:=]+\(\) has 61 lines, expected at most 60$")

    def test_tables_and_texts_are_no_functions(self):
        table = "constexpr Row kRows[] = {\n" + lines(80, "    {1, f(2)},\n") + "};\n"
        text = 'const char* kText = R"x(\nvoid f() {\n' + lines(80) + ')x";\n'
        self.assertEqual(self.problems(("src/base/a.cc", table + text + "// {\n/* { */ char c = \'{\';\n")), [])

    def test_a_class_has_its_member_functions_in_one_file(self):
        first = "namespace octavo {\n\nint Pool::take() { return 1; }\n}\n"
        for definition in ("void Pool::give(int n) { }", "Pool::Pool(int n) : n_(n) { }", "Pool::~Pool() { }",
                           "bool Pool::operator==(const Pool& other) const { }", "Pool::operator bool() const { }",
                           "int Pool::operator()(int n) { }", "template <class T>\nvoid Pool<T>::give(T n) { }",
                           "Result<std::map<int, Pool::Id>> Pool::give() { }"):
            with self.subTest(definition=definition):
                second = f"namespace octavo {{\n{definition}\n}}\n"
                self.assertEqual(self.problems(("src/kv/pool.cc", first), ("src/kv/more.cc", second)),
                                 ["octavo::Pool has member functions in src/kv/more.cc:2 and src/kv/pool.cc:3, "
                                  "expected one .cc for a class"])

    def test_classes_of_other_names_and_headers_may_be_anywhere(self):
        first = "namespace octavo {\nint Pool::take() { return Pool::give(); }\n}\n"
        for text in ("namespace octavo {\nint Pool::Block::take() { return 1; }\n}\n",
                     "namespace octavo::kv {\nint Pool::take() { return 1; }\n}\n",
                     "namespace octavo {\nnamespace {\nint Pool::take() { return 1; }\n}\n}\n",
                     "namespace octavo {\nint kv::take(Pool::Id id) { return Pool::take(id); }\n}\n",
                     "namespace octavo {\nclass Other {\n  int take() { return Pool::take(); }\n};\n}\n"):
            with self.subTest(text=text):
                self.assertEqual(self.problems(("src/kv/pool.cc", first), ("src/kv/other.cc", text)), [])
        inline = "namespace octavo {\ninline int Pool::size() const { return 1; }\n}\n"
        self.assertEqual(self.problems(("src/kv/pool.h", inline), ("src/kv/other.cc", "")), [])

    def test_an_index_is_cast_by_to_size(self):
        cast = "void f() {\n  g(static_cast<std::size_t>(i));\n}\n"
        self.assertEqual(self.problems(("src/kv/a.cc", cast)),
                         ["src/kv/a.cc:2: static_cast<std::size_t>(...), expected to_size() of base/to_size.h"])
        self.assertEqual(len(self.problems(("src/kernels/a.cc", cast), ("include/octavo/a.h", cast))), 1)

    def test_an_exception_has_a_limit(self):
        file = ("src/base/a.h", "\n" * 610)
        exceptions = {"src/base/a.h": check_sizes.Longer(610, "a table")}
        self.assertEqual(self.problems(file, exceptions=exceptions), [])
        exceptions = {"src/base/a.h": check_sizes.Longer(609, "a table")}
        self.assertEqual(len(self.problems(file, exceptions=exceptions)), 1)

    def test_an_exception_that_nothing_needs_is_named(self):
        exceptions = {"src/base/a.h": check_sizes.Longer(610, "a table")}
        self.assertEqual(self.problems(("src/base/a.h", "\n" * 600), exceptions=exceptions),
                         ["EXCEPTIONS: src/base/a.h needs none"])

    def test_a_folder_without_sources_fails(self):
        self.assertEqual(len(self.problems()), 1)


class CheckHardening(unittest.TestCase):
    SOURCE = """
        #include <cstring>
        #include <vector>
        int main(int argc, char** argv) {
          char text[64];
          std::strcpy(text, argv[0]);
          std::vector<int> numbers(5);
          return numbers[static_cast<unsigned>(argc)] + text[argc];
        }"""
    FLAGS = {"-O2": None,
             "-fstack-protector-strong": "-fno-stack-protector",
             "-D_FORTIFY_SOURCE=2": "-D_FORTIFY_SOURCE=0",
             "-D_GLIBCXX_ASSERTIONS": "-U_GLIBCXX_ASSERTIONS",
             "-fPIE": "-fno-pie",
             "-pie": "-no-pie",
             "-Wl,-z,relro": "-Wl,-z,norelro",
             "-Wl,-z,now": "-Wl,-z,lazy",
             "-Wl,-z,noexecstack": "-Wl,-z,execstack"}

    def problems(self, *instead, extra=()):
        flags = [next((i for i in instead if i == off), on) for on, off in self.FLAGS.items()]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program")
            subprocess.run([os.environ["OCTAVO_CXX"], "-x", "c++", "-U_FORTIFY_SOURCE", *flags, *extra, "-", "-o", path],
                           input=self.SOURCE, text=True, check=True, stderr=subprocess.DEVNULL)
            return check_hardening.problems_of_program("readelf", str(path))

    def test_a_protected_program_passes(self):
        self.assertEqual(self.problems(), [])

    def test_each_protection_that_is_missing_is_named(self):
        for off, name in (("-fno-stack-protector", "stack protector"), ("-D_FORTIFY_SOURCE=0", "checked copies"),
                          ("-U_GLIBCXX_ASSERTIONS", "checked accesses"), ("-Wl,-z,norelro", "GNU_RELRO"),
                          ("-Wl,-z,lazy", "BIND_NOW"), ("-Wl,-z,execstack", "executable stack")):
            with self.subTest(off):
                self.assertIn(name, " ".join(self.problems(off)))
        self.assertEqual(self.problems(extra=("-Wl,-rpath,$ORIGIN/../lib",)), [])
        self.assertIn("where it is started", " ".join(self.problems(extra=("-Wl,-rpath,::",))))
        self.assertIn("position-independent", " ".join(self.problems("-fno-pie", "-no-pie")))

    def test_an_object_without_marks_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "unit.o")
            for flags, count in ((["-fcf-protection=none"], 2), (["-fcf-protection=branch"], 1),
                                 (["-fcf-protection=full"], 0)):
                compiled = subprocess.run([os.environ["OCTAVO_CXX"], "-x", "c++", *flags, "-c", "-", "-o", path],
                                          input="int f() { return 1; }", text=True, check=False, capture_output=True)
                if compiled.returncode != 0:
                    self.skipTest("a processor without these marks")
                self.assertEqual(len(check_hardening.problems_of_object("readelf", str(path))), count, flags)


class CheckIsaLeaks(unittest.TestCase):
    def check(self, source):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "unit.o")
            subprocess.run([os.environ["OCTAVO_CXX"], "-x", "c++", "-O0", "-c", "-", "-o", path],
                           input=source, text=True, check=True)
            return check_isa_leaks.check_object(os.environ["OCTAVO_NM"], path)

    def test_one_exported_symbol_and_local_bodies_pass(self):
        source = """
          namespace { int half(int x) { return x / 2; } const int kTable[] = {1, 2}; }
          extern void elsewhere();
          extern "C" int entry(int x) { elsewhere(); return half(kTable[x]); }"""
        self.assertEqual(self.check(source), [])

    def test_an_inline_function_is_a_leak(self):
        problems = self.check('inline int twice(int x) { return 2 * x; } extern "C" int entry(int x) { return twice(x); }')
        self.assertEqual(len(problems), 1)
        self.assertIn("twice", problems[0])

    def test_a_template_instance_is_a_leak(self):
        problems = self.check('template <class T> T twice(T x) { return 2 * x; } extern "C" int entry(int x) { return twice(x); }')
        self.assertEqual(len(problems), 1)

    def test_a_static_in_an_inline_function_is_a_leak(self):
        source = "inline int& counter() { static int n = 0; return n; } extern \"C\" int entry() { return ++counter(); }"
        self.assertEqual(len(self.check(source)), 2)

    def test_a_second_exported_function_fails(self):
        problems = self.check("int one() { return 1; } int two() { return 2; }")
        self.assertEqual(len(problems), 1)
        self.assertIn("exports 2 symbols", problems[0])

    def test_an_object_without_exports_fails(self):
        self.assertEqual(len(self.check("namespace { [[maybe_unused]] int x; }")), 1)

    def test_an_unreadable_object_raises(self):
        with self.assertRaises(subprocess.CalledProcessError):
            check_isa_leaks.check_object(os.environ["OCTAVO_NM"], "/does/not/exist.o")


if __name__ == "__main__":
    unittest.main()
