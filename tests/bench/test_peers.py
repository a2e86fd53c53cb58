"""The comparison with peers: its arithmetic, its verdicts, and what it writes."""
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import compare
import files
import report

FILE = files.File("key", "A <model>", (files.Row("prefill", 512, goal=2, avx2_goal=1.5),))


def rounds(*pairs, limit=1000.0):
    machine = {"cpu": "a cpu", "isa": "avx2", "threads": 2, "read_gb_per_s": 20.0, "int8_gops": 400.0,
               "float_gflops": 90.0}
    return [{"octavo": ours, "llama_cpp": theirs, "limit": limit, "bound": "compute", "machine": machine}
            for ours, theirs in pairs]


class Builder(unittest.TestCase):
    def test_the_report_says_which_compiler_built_llama_cpp_where_that_is_known(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compare.built_by(pathlib.Path(folder)), [])
            pathlib.Path(folder, "built_by").write_text("llama.cpp was built by clang 19.\n", encoding="utf-8")
            self.assertEqual(compare.built_by(pathlib.Path(folder)), ["llama.cpp was built by clang 19."])


class Figures(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_rounds_ratios(self):
        f = report.figures(FILE, FILE.rows[0], rounds((100, 50), (60, 20), (90, 90)), avx2=False)
        self.assertEqual((f.ratio, f.low, f.high), (2, 1, 3))
        self.assertEqual((f.octavo, f.llama_cpp, f.rounds), (90, 50, 3))

    def test_a_goal_is_a_ratio_or_85_percent_of_the_limit_whichever_is_lower(self):
        row = FILE.rows[0]
        f = report.figures(FILE, row, rounds((90, 50), limit=1000), avx2=False)
        self.assertEqual(f.wanted, 100)
        self.assertFalse(f.met)
        self.assertEqual(report.verdict(f), ("2 ×", "missed: 90 %"))
        f = report.figures(FILE, row, rounds((90, 50), limit=100), avx2=False)
        self.assertEqual(f.wanted, 85)
        self.assertTrue(f.met)
        self.assertEqual(report.verdict(f), ("2 ×, or 85 % of the limit: 85", "met"))
        self.assertEqual(report.figures(FILE, row, rounds((90, 50)), avx2=True).wanted, 75)

    def test_a_row_without_a_goal_has_no_verdict(self):
        f = report.figures(FILE, files.Row("decode", 64), rounds((1, 1)), avx2=False)
        self.assertIsNone(f.met)
        self.assertEqual(report.verdict(f), ("-", "-"))


class Writing(unittest.TestCase):
    def setUp(self):
        self.figures = [report.figures(FILE, FILE.rows[0], rounds((100, 50)), avx2=False)]

    def test_every_row_of_the_table_has_as_many_cells_as_its_head(self):
        lines = report.table(self.figures)
        self.assertEqual({line.count("|") for line in lines}, {10})

    def test_loading_is_told_by_file_in_megabytes_and_seconds(self):
        loads = [{"load_s": s, "weight_bytes": 5_000_000} for s in (0.5, 0.25, 2.0)]
        self.assertEqual(report.load_table({"a file": loads})[-1], "| a file | 5 | 0.50 |")

    def test_the_drawing_is_well_formed(self):
        root = xml.etree.ElementTree.fromstring(report.drawing(self.figures, "Octavo & others"))
        self.assertTrue(root.tag.endswith("svg"))

    def test_only_the_section_between_its_marks_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.md")
            path.write_text("before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n", encoding="utf-8")
            for _ in range(2):
                report.replace_section(path, "x", ["new"])
                self.assertEqual(path.read_text(encoding="utf-8"),
                                 "before\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nafter\n")
            with self.assertRaises(SystemExit):
                report.replace_section(path, "y", ["new"])

    def test_the_pages_have_the_sections_that_are_written(self):
        for path, names in (("bench/results/peers.md", ("four_files", "peers", "peers_avx2")),
                            ("docs/benchmarks.md", ("accuracy",))):
            page = (files.ROOT / path).read_text(encoding="utf-8")
            for name in names:
                self.assertEqual(page.count(f"<!-- {name}: begin -->"), 1)
                self.assertEqual(page.count(f"<!-- {name}: end -->"), 1)


class KeptResults(unittest.TestCase):
    def test_rounds_are_kept_for_the_same_program_only(self):
        with tempfile.TemporaryDirectory() as folder:
            program, path = pathlib.Path(folder, "octavo"), pathlib.Path(folder, "results.json")
            program.write_bytes(b"1")
            results = compare.Results(path, program, [])
            results.rounds(FILE, FILE.rows[0]).append({"octavo": 1})
            results.save()
            self.assertEqual(len(compare.Results(path, program, []).rounds(FILE, FILE.rows[0])), 1)
            self.assertEqual(len(compare.Results(path, program, ["key"]).rounds(FILE, FILE.rows[0])), 0)
            program.write_bytes(b"2")
            self.assertEqual(len(compare.Results(path, program, []).rounds(FILE, FILE.rows[0])), 0)


class Rows(unittest.TestCase):
    def test_keys_are_unique_and_rows_of_a_file_have_different_names(self):
        self.assertEqual(len({f.key for f in files.FILES}), len(files.FILES))
        for file in files.FILES:
            self.assertEqual(len({r.name for r in file.rows}), len(file.rows))


if __name__ == "__main__":
    unittest.main()
