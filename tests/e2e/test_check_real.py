"""tools/check_real.py: from names of a local hub to a table, beside a llama-server. Octavo by that name is the llama.cpp
here: it gives the same tokens, and others where it is made to serve another model."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_real
import hub_server
import real_questions
import support
import tiny_tower

TOOL = pathlib.Path(check_real.__file__)
REPO = "test/Tiny-GGUF"


class CheckReal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.model = support.tiny_model("tiny-qwen3")
        self.hub = hub_server.Hub({REPO: {"Tiny-Q8_0.gguf": self.model.read_bytes()}})
        self.enterContext(self.hub)

    def check(self, *args):
        """(exit code, rows by column, all of standard error)"""
        done = subprocess.run([sys.executable, TOOL, "--octavo", support.OCTAVO, *map(str, args)], capture_output=True,
                              text=True, check=False, env={**os.environ, **self.hub.environment(self.home)}, timeout=600)
        cells = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in done.stdout.splitlines() if line.startswith("|")]
        return done.returncode, [dict(zip(cells[0], row)) for row in cells[2:]], done.stderr

    def llama_server(self, model=None):
        """A folder with a llama-server, which may serve this model whatever it is asked for."""
        (self.home / "bin").mkdir()
        program = self.home / "bin/llama-server"
        if model is None:
            program.symlink_to(support.OCTAVO)
        else:
            (self.home / "real").mkdir()
            (self.home / "real/llama-server").symlink_to(support.OCTAVO)
            program.write_text(f'#!/bin/sh\nshift 2\nexec {self.home}/real/llama-server -m "{model}" "$@"\n')
            program.chmod(0o755)
        return self.home

    def test_a_model_of_the_hub_is_a_row_and_one_that_is_not_there_another(self):
        code, rows, said = self.check("hf.co/test/Missing-GGUF", REPO + ":Q8_0", "--llama-cpp", self.llama_server())
        self.assertEqual(code, 1)
        missing, tiny = rows
        self.assertIn("**no**: ", missing["loads"])
        self.assertIn("test/Missing-GGUF", missing["loads"])
        self.assertEqual(tiny["model"], REPO + ":Q8_0")
        self.assertIn("Tiny-Q8_0.gguf", tiny["file"])
        self.assertEqual(tiny["architecture"], "qwen3")
        self.assertRegex(tiny["loads"], r"^[0-9.]+ s$")
        self.assertIn("**no**", tiny["answer"])  # its weights are random
        self.assertEqual((tiny["schema"], tiny["prompt"]), ("yes", "same"))
        self.assertRegex(tiny["greedy tokens"], r"^all [0-9]+ same$")
        self.assertLess(float(tiny["KL mean, max"].split(",")[0]), 1e-6)
        self.assertRegex(tiny["prompt t/s"], r"^[0-9.]+ / [0-9.]+$")
        self.assertIn(REPO, said)

    def test_other_tokens_and_distributions_are_told(self):
        other = support.tiny_model("tiny-qwen3", seed=2)
        code, (row,), _ = self.check(self.model, "--llama-cpp", self.llama_server(other))
        self.assertEqual(code, 1)
        self.assertRegex(row["greedy tokens"], r"^[0-9]+ of [0-9]+ same$")
        self.assertIn("**no**: ", row["KL mean, max"])

    def test_a_llama_cpp_that_fails_leaves_the_row_what_octavo_did(self):
        code, (row,), _ = self.check(self.model, "--llama-cpp", self.llama_server(self.home / "absent.gguf"))
        self.assertEqual(code, 1)
        self.assertIn("llama.cpp: exit code", row["prompt"])
        self.assertEqual((row["schema"], row["greedy tokens"]), ("yes", check_real.NONE))
        self.assertRegex(row["prompt t/s"], r"^[0-9.]+$")

    def test_the_default_model_passes_without_a_llama_cpp(self):
        code, (row,), _ = self.check(support.SMOLLM2)
        self.assertEqual(code, 0, row)
        self.assertTrue(row["answer"] and "**no**" not in row["answer"], row["answer"])
        self.assertIn(row["tool call"], ("yes", "required"))
        self.assertEqual((row["schema"], row["prompt"], row["KL mean, max"]), ("yes", check_real.NONE, check_real.NONE))

    def test_a_model_that_sees_is_asked_about_a_drawn_picture(self):
        model = support.tiny_model("tiny-qwen35", support.TEST_DATA / "ggml-vocab-qwen35.gguf", types=("F32",),
                                   words=support.FEW_WORDS, sees=True)
        (self.home / "m-F32.gguf").symlink_to(model)
        tiny_tower.write(self.home / "mmproj-F32.gguf", tiny_tower.SEEING["tiny-qwen35"])
        code, (row,), _ = self.check(self.home / "m-F32.gguf")
        self.assertEqual(code, 1)
        self.assertRegex(row["pictures"], r"^\*\*no\*\*: 0 of 3 right: ")  # its weights are random

    def test_a_folder_without_a_llama_server_is_wrong_usage(self):
        code, rows, said = self.check(self.model, "--llama-cpp", self.home)
        self.assertEqual((code, rows), (2, []))
        self.assertIn("found no llama-server", said)


class Figures(unittest.TestCase):
    def test_the_divergence_counts_unnamed_tokens_as_one(self):
        even = [0.0, 0.0, 0.0, 0.0]
        self.assertAlmostEqual(real_questions.divergence({0: -1.3862944, 1: -1.3862944}, even), 0, places=6)
        self.assertAlmostEqual(real_questions.divergence({0: -0.6931472, 1: -0.6931472}, even), 0.6931472, places=6)

    def test_an_end_that_one_of_them_tells_is_no_difference(self):
        self.assertIsNone(real_questions.first_difference([1, 2, 3], [1, 2]))
        self.assertEqual(real_questions.first_difference([1, 2, 3], [1, 5, 3]), 1)
        self.assertEqual(real_questions.first_difference([1, 2, 3, 4], [1, 2]), 2)

    def test_what_llama_cpp_tells_of_tokens_that_begin_a_character_is_enough(self):
        class LlamaCpp:
            def post(self, _, body):
                return {"tokens": [7, 8]} if body.get("return_tokens") else {"content": ""}

        self.assertEqual(real_questions.greedy_tokens(LlamaCpp(), [1]), [7, 8])
        self.assertEqual(real_questions.divergences(LlamaCpp(), [1, 7, 8], 1, None), [])

    def test_a_text_that_repeats_itself_is_not_sane(self):
        self.assertTrue(real_questions.is_sane("The air scatters blue light more than red light."))
        self.assertFalse(real_questions.is_sane("light of the sky " * 20))
        self.assertFalse(real_questions.is_sane("The light<|im_end|> is blue"))


if __name__ == "__main__":
    unittest.main()
