"""`octavo quantize`: its files are read by another program, are near the model, and appear only when they are whole."""
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import gguf
import numpy as np

import compare_logits
import oracle_model
import support
from gguf_file import GgufFile

# mix -> bound of the mean KL to the float model, in nats; what was measured is half of it or less
MEAN_KL = {"F16": 1e-4, "Q8_0": 0.01, "Q6_K": 0.02, "Q5_K_M": 0.02, "Q4_K_M": 0.1, "Q4_1": 0.01}
# type -> bound of the distance of any weight to the original, as a part of the greatest of its row
ERROR = {"F16": 1e-3, "BF16": 1e-2, "Q8_0": 0.01, "Q6_K": 0.05, "Q5_1": 0.1, "Q5_0": 0.1, "Q5_K": 0.1, "Q4_1": 0.15,
         "Q4_0": 0.2, "Q4_K": 0.15, "Q2_0": 0.75, "F32": 0}


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.gguf"

    def check_weights(self, before, after, name):
        original = oracle_model.dequantize_tensor(before)
        greatest = np.abs(original).max(axis=-1, keepdims=True)
        distance = np.abs(oracle_model.dequantize_tensor(after) - original)
        self.assertTrue((distance <= ERROR[after.tensor_type.name] * greatest + 1e-7).all(), name)

    def test_files_of_every_mix_are_read_by_the_gguf_package(self):
        model = support.few_words_model("tiny-qwen3", types=("F32",))
        before = GgufFile(model)
        for mix in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K",
                    "Q2_0"):
            with self.subTest(mix=mix):
                support.octavo_ok("quantize", model, self.out, mix, "--force")
                after = GgufFile(self.out)
                self.assertEqual([t.name for t in after.tensors], [t.name for t in before.tensors])
                for old, new in zip(before.tensors, after.tensors, strict=True):
                    self.check_weights(old, new, new.name)
                words = "tokenizer.ggml.tokens"
                self.assertEqual(after.get_field(words).contents(), before.get_field(words).contents())

    def test_copies_of_a_real_model_stay_near_it(self):
        model = support.float_model(support.SMOLLM2)
        ids = support.english_ids(model, 256)
        reference = compare_logits.SavedLogits(support.logits(model, ids))
        for mix, bound in MEAN_KL.items():
            with self.subTest(mix=mix):
                support.octavo_ok("quantize", model, self.out, mix, "--force")
                result = compare_logits.compare(reference, support.logits(self.out, ids), ids)
                self.assertLess(result["mean_kl"], bound)

    def test_a_model_that_is_quantized_as_it_is_loaded_has_the_bits_of_its_file(self):
        for shape in ("tiny-qwen3", "tiny-qwen3moe", "tiny-qwen35"):
            model = support.few_words_model(shape, types=("F32",))
            for mix in ("Q8_0", "Q4_0", "Q4_1", "Q4_K_M", "Q6_K"):
                with self.subTest(shape=shape, mix=mix):
                    support.octavo_ok("quantize", model, self.out, mix, "--force")
                    ids = list(range(20, 60))
                    loaded = support.logits(model, ids, "--quantize", mix.lower())
                    np.testing.assert_array_equal(loaded, support.logits(self.out, ids))
        before = support.few_words_model("tiny-qwen3", types=("Q8_0",))
        for model, args, code, message in (
                (before, ("Q4_0",), 1, "is Q8_0 already"), (before, ("Q9",), 2, "found type 'Q9', expected one of F32"),
                (support.few_words_model("tiny-qwen3", types=("F32",)), ("Q4_0", "--no-repack"), 1, "cannot be made other types")):
            done = support.octavo("logits", model, "--ids", "1,2", "--out", self.folder / "l.npy", "--quantize", *args)
            self.assertEqual((done.returncode, message in done.stderr), (code, True), done.stderr)

    def test_each_type_that_a_model_is_given_while_loading_has_a_fingerprint_of_its_own(self):
        model = support.float_model(support.SMOLLM2)
        prints = set()
        for args in ((), ("--quantize", "Q8_0"), ("--quantize", "Q4_0")):
            answer = json.loads(support.octavo_ok("run", "-m", model, "--json", "-n", "4", "--temperature", "0", *args, "Hi"))
            prints.add(answer["system_fingerprint"])
        self.assertEqual(len(prints), 3)

    def test_a_file_of_importance_is_taken(self):
        model = support.few_words_model("tiny-qwen3", types=("F32",))
        matrix = next(t for t in GgufFile(model).tensors if t.name == "blk.0.attn_q.weight")
        imatrix = self.folder / "imatrix.gguf"
        writer = gguf.GGUFWriter(imatrix, "")
        writer.add_type("imatrix")
        sums = np.ones((1, int(matrix.shape[0])), dtype=np.float32)
        sums[0, 3] = 1e6
        writer.add_tensor("blk.0.attn_q.weight.in_sum2", sums)
        writer.add_tensor("blk.0.attn_q.weight.counts", np.array([[2]], dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

        def error_of_column(*args):
            support.octavo_ok("quantize", model, self.out, "Q4_0", "--force", *args)
            after = next(t for t in GgufFile(self.out).tensors if t.name == matrix.name)
            return np.square(oracle_model.dequantize_tensor(after) - oracle_model.dequantize_tensor(matrix))[:, 3].mean()

        self.assertLess(error_of_column("--imatrix", imatrix), 0.5 * error_of_column())
        support.octavo_ok("quantize", model, self.out, "Q4_0", "--force", "--imatrix", imatrix)
        field = GgufFile(self.out).get_field("quantize.imatrix.file")
        self.assertEqual(field.contents(), "imatrix.gguf")

    def test_killed_in_the_middle_it_leaves_no_file_of_the_name(self):
        model = support.float_model(support.SMOLLM2)
        command = [support.OCTAVO, "quantize", str(model), str(self.out), "Q5_1", "-t", "1"]
        partial = self.out.with_name("out.gguf.partial")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while not (partial.exists() and partial.stat().st_size > 1 << 20) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        self.assertEqual(process.returncode, -signal.SIGKILL, "it had ended before it could be killed")
        self.assertFalse(self.out.exists())
        self.assertTrue(partial.exists())
        support.octavo_ok("quantize", model, self.out, "Q4_1")
        self.assertFalse(partial.exists())
        self.assertTrue(support.octavo_ok("run", "-m", self.out, "--temperature", "0", "-n", "8", "Hello").strip())

    def test_the_help_names_every_mix(self):
        refused = support.octavo("quantize", "in", self.out, "Q9").stderr
        mixes = re.search("expected one of (.*);", refused).group(1).split(", ")
        self.assertIn("Q2_0", mixes)
        described = support.octavo_ok("quantize", "--help").split("TYPE is")[1].split("Norms")[0]
        self.assertLessEqual(set(mixes), set(re.findall(r"\w+", described)))

    def test_errors_say_what_was_found_and_leave_nothing(self):
        model = support.few_words_model("tiny-qwen3", types=("Q8_0",))
        cases = [(("Q4_0",), 1, "is Q8_0 already"), (("Q9",), 2, "found type 'Q9', expected one of F32"), ((), 2, "found 2 words"),
                 (("Q8_0", "--tensor-type", "nothing=Q6_K"), 1, "no tensor whose type can change"),
                 (("Q8_0", "--tensor-type", "attn_q"), 2, "expected PATTERN=TYPE"),
                 (("Q8_0", "--imatrix", "/nonexistent"), 1, "/nonexistent")]
        for args, code, message in cases:
            with self.subTest(args=args):
                done = support.octavo("quantize", model, self.out, *args)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])
        self.out.write_text("precious", encoding="utf-8")
        done = support.octavo("quantize", model, self.out, "Q8_0", "--allow-requantize")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--force", done.stderr)
        self.assertEqual(self.out.read_text(encoding="utf-8"), "precious")


if __name__ == "__main__":
    unittest.main()
