"""What --changed selects: by the layers' table, by a table of scripts, and by what a file is itself."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import changed_tests
import check_layers

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ["engine.1of4", "engine.2of4", "engine_allocations", "cli", "capi", "api", "json", "template", "toolcalls", "source",
         "chat", "chat.ModelsPageIsMadeOfTheTests", "serving.1of3", "server", "kernels.IsaUnitsShareNoCode",
         "fuzz.fuzz_json_on_random_inputs", "fuzz.fuzz_engine_generation_config_on_random_inputs", "tools.scripts",
         "tools.check_tidy", "tools.checks", "e2e.hub", "e2e.server_operation", "e2e.server_record", "e2e.terminal"]


def selected(*files):
    """(entries of NAMES, what is left out) for these changed files of the tree."""
    chosen = changed_tests.select(ROOT, files)
    wanted = re.compile("|".join(f"(?:{pattern})" for pattern in chosen.patterns))
    return {name for name in NAMES if wanted.fullmatch(name)}, "\n".join(chosen.left_out)


class Layers(unittest.TestCase):
    def test_a_layer_that_few_depend_on_has_all_of_their_tests_and_scripts_of_its_own(self):
        entries, left_out = selected("src/engine/drafts/drafter.cc")
        self.assertEqual(entries, {
            "engine.1of4", "engine.2of4", "engine_allocations", "cli", "capi", "e2e.server_operation",
            "fuzz.fuzz_engine_generation_config_on_random_inputs"})
        self.assertEqual(left_out, "")

    def test_a_layer_that_many_depend_on_has_the_nearest_and_says_what_it_leaves_out(self):
        entries, left_out = selected("src/json/json_cursor.cc")
        self.assertEqual(entries, {"json", "template", "toolcalls", "source", "fuzz.fuzz_json_on_random_inputs",
                                   "e2e.server_record"})
        self.assertRegex(left_out, r"^json: tests of .*\bchat\b.*\bengine\b.*, which depend on it through others$")

    def test_depending_is_handed_on(self):
        self.assertEqual(changed_tests.dependents("server"), {"cli", "capi"})
        self.assertLess({"server", "cli", "capi"}, changed_tests.dependents("api"))
        self.assertIn("capi", changed_tests.dependents("http"))  # through server
        self.assertEqual(changed_tests.nearest({"cli", "capi", "server"}), {"server"})

    def test_the_table_of_scripts_has_every_layer_and_scripts_that_are_there(self):
        scripts = changed_tests.scripts_of_layers(ROOT)
        self.assertEqual(sorted(scripts), sorted(check_layers.ALLOWED))
        there = {path.stem.removeprefix("test_") for path in (ROOT / "tests/e2e").glob("test_*.py")}
        self.assertLessEqual({name for names in scripts.values() for name in names}, there)

    def test_every_layer_with_tests_has_a_program(self):
        for layer in check_layers.ALLOWED:
            if (ROOT / "tests" / layer / "CMakeLists.txt").exists():
                self.assertTrue(changed_tests.programs_of(ROOT, layer), layer)


class Files(unittest.TestCase):
    def test_a_changed_test_runs_itself(self):
        self.assertEqual(selected("tests/server/log_test.cc")[0], {"server", "serving.1of3"})
        self.assertEqual(selected("tests/e2e/test_hub.py")[0], {"e2e.hub"})
        self.assertEqual(selected("tests/e2e/record/names.tsv")[0], {"e2e.server_record"})
        self.assertEqual(selected("tests/tools/test_scripts.py")[0], {"tools.scripts"})

    def test_a_tool_has_its_test_and_a_module_the_scripts_that_import_it(self):
        self.assertEqual(selected("tools/check_tidy.py")[0], {"tools.check_tidy", "tools.checks"})
        self.assertEqual(selected("tests/e2e/server_record.py")[0], {"e2e.server_record"})
        entries, left_out = selected("tests/e2e/support.py")
        self.assertEqual(entries, set())
        self.assertRegex(left_out, r"^tests/e2e/support.py: \d+ scripts of end-to-end tests import it$")

    def test_what_all_may_depend_on_is_left_out_in_words(self):
        for file in ("CMakeLists.txt", "cmake/layer.cmake", "tests/support/temp_file.h", "tests/CMakeLists.txt"):
            self.assertEqual(selected(file), (set(), f"{file}: all tests may depend on it"))

    def test_a_public_header_has_the_layers_that_include_it(self):
        entries, left_out = selected("include/octavo/engine.h")
        self.assertLessEqual({"engine.1of4", "engine.2of4", "e2e.server_operation"}, entries)
        self.assertIn("include/octavo/engine.h: tests of cli", left_out)

    def test_linters_read_changed_sources_alone(self):
        files = ["src/engine/drafts/drafter.cc", "src/engine/drafts/drafter.h", "src/engine/gone.cc", "tests/api/vectors_test.cc", "README.md"]
        self.assertEqual(changed_tests.read_by_tidy(ROOT, files), ["src/engine/drafts/drafter.cc"])
        self.assertEqual(changed_tests.read_by_format(ROOT, files), [
            file for file in (*files[:2], files[3]) if (ROOT / file).exists()])

    def test_targets_are_the_files_of_the_build_that_entries_name(self):
        entries = [changed_tests.Entry("engine", ["python3", "/b/release/times.tsv", "/b/release/test_engine"]),
                   changed_tests.Entry("bench", ["-D", "PROGRAM=/b/release/bench_attention", "/b/octavo"])]
        known = {"test_engine", "bench_attention", "octavo"}
        self.assertEqual(changed_tests.targets_of(pathlib.Path("/b/release"), entries, known),
                         ["bench_attention", "test_engine"])


class Changed(unittest.TestCase):
    def test_files_of_commits_uncommitted_and_new_ones_are_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def git(*words):
                subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a", *words], check=True,
                               capture_output=True)

            git("init", "-b", "main")
            for name in ("kept", "committed", "edited", "removed"):
                (root / name).write_text("old")
            (root / ".gitignore").write_text("ignored\n")
            git("add", "-A")
            git("commit", "-m", "one")
            git("checkout", "-b", "work")
            (root / "committed").write_text("new")
            git("commit", "-am", "two")
            git("checkout", "main")
            (root / "kept").write_text("main went on")
            git("commit", "-am", "three")
            git("checkout", "work")
            (root / "edited").write_text("new")
            (root / "removed").unlink()
            for name in ("new", "ignored"):
                (root / name).touch()
            self.assertEqual(changed_tests.changed_files(root), ["committed", "edited", "new", "removed"])

    def test_a_tree_without_main_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "-C", folder, "init", "-b", "other"], check=True, capture_output=True)
            with self.assertRaises(SystemExit) as left:
                changed_tests.changed_files(pathlib.Path(folder))
            self.assertIn("main", str(left.exception))


if __name__ == "__main__":
    unittest.main()
