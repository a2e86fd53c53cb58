"""The layer check and the symbol check catch what they are for."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import check_isa_leaks
import check_layers


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
        self.write("src/kv/block_table.cc", '#include "base/error.h"\n\n#include "engine/sequence.h"\n')
        self.assertEqual(check_layers.check_tree(self.root),
                         ['src/kv/block_table.cc:3: kv must not include engine ("engine/sequence.h")'])

    def test_a_sideways_include_that_is_not_listed_fails(self):
        self.write("src/sampler/sampler.cc", '#  include "model/config.h"\n')
        self.assertEqual(len(check_layers.check_tree(self.root)), 1)

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
