"""A model in several files, cut by the gguf package, is the model in one: the same bits, whichever file is named."""
import json
import pathlib
import shutil
import tempfile
import unittest

import numpy as np

import split_model
import support

MODEL = "tiny-qwen3"
IDS = [1, 17, 300, 5]


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.whole = support.tiny_model(MODEL)
        num_tensors = json.loads(support.octavo_ok("info", cls.whole, "--json"))
        num_tensors = sum(row["tensors"] for row in num_tensors["by_type"])
        cls.shards = split_model.split_model(cls.whole, cls.folder / "cut.gguf", (num_tensors + 2) // 3)

    def test_any_file_opens_the_model_with_the_same_bits(self):
        self.assertEqual(len(self.shards), 3)
        expected = support.logits(self.whole, IDS)
        for shard in self.shards:
            for way in ((), ("--no-repack",)):
                with self.subTest(shard=shard.name, way=way):
                    np.testing.assert_array_equal(support.logits(shard, IDS, *way), expected)

    def test_info_counts_all_files(self):
        whole = json.loads(support.octavo_ok("info", self.whole, "--json"))
        cut = json.loads(support.octavo_ok("info", self.shards[1], "--json"))
        self.assertEqual(cut["files"], 3)
        self.assertEqual(cut["file_bytes"], sum(shard.stat().st_size for shard in self.shards))
        for key in ("weight_bytes", "num_weights", "by_type", "by_part", "shape"):
            self.assertEqual(cut[key], whole[key])
        self.assertIn("in 3 files", support.octavo_ok("info", self.shards[0]))

    def test_missing_and_foreign_files_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            copies = [pathlib.Path(shutil.copy(shard, folder)) for shard in self.shards]
            shutil.copy(self.shards[2], copies[1])
            done = support.octavo("run", "-m", copies[0], "Hello", timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("foreign shard", done.stderr)
            copies[1].unlink()
            done = support.octavo("run", "-m", copies[0], "Hello", timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("missing beside it: cut-00002-of-00003.gguf", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
