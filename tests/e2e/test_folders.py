"""A folder of safetensors is the model that it was made of: the same bits, and the same file when it is converted."""
import json
import pathlib
import tempfile
import unittest

import gguf
import numpy as np

import model_folder
import support
import tokenizer_truth
from gguf_file import GgufFile

IDS = [1, 17, 300, 5, 1900, 42]
# shape -> options of write_model(); a window of 8 is as in the original's truth
SHAPES = {"tiny-llama": {"untied": True, "biases": True}, "tiny-mixtral": {}, "tiny-mistral3": {"yarn": 256.0}, "tiny-qwen2": {},
          "tiny-qwen3": {}, "tiny-qwen3moe": {}, "tiny-qwen35": {}, "tiny-qwen35moe": {},
          "tiny-gpt-oss": {"window": 8, "yarn": 4.0}, "tiny-gemma2": {"window": 8}, "tiny-gemma3": {"window": 8},
          "tiny-seed-oss": {}, "tiny-ernie": {"biases": True}, "tiny-hunyuan": {}, "tiny-olmo2": {"window": 8, "yarn": 8.0},
          "tiny-exaone4": {"window": 8}, "tiny-command-r": {}, "tiny-command-r-plus": {}, "tiny-cohere2": {"window": 8}, "tiny-glm4": {},
          "tiny-granite": {"biases": True}, "tiny-smollm3": {}, "tiny-arcee": {}, "tiny-minicpm": {},
          "tiny-nanbeige": {}, "tiny-nanbeige-unnormed": {},
          "tiny-qwen2vl": {}, "tiny-muse-glimmer": {"window": 8}, "tiny-phi3": {}, "tiny-phi3-short": {}, "tiny-starcoder2": {},
          "tiny-stablelm": {"biases": True}, "tiny-stablelm-12b": {}, "tiny-apertus": {}, "tiny-lfm2": {"window": 0}, "tiny-lfm3": {"window": 8},
          "tiny-step35": {"window": 8}, "tiny-llama4": {"window": 8}, "tiny-llama4-dense": {"window": 8},
          "tiny-granite-hybrid": {}, "tiny-granite-hybrid-experts": {}, "tiny-nemotron-h": {}, "tiny-nemotron-h-experts": {}, "tiny-nemotron-h-latent": {},
          "tiny-falcon-h1": {},
          "tiny-glm4moe": {}, "tiny-ernie-moe": {}, "tiny-mellum": {"window": 8, "yarn": 4.0}, "tiny-hy-v3": {}, "tiny-qwen3next": {},
          "tiny-laguna": {"window": 8, "yarn": 4.0}, "tiny-laguna-elements": {"window": 0}, "tiny-north": {"window": 8},
          "tiny-north-rms": {"window": 8}, "tiny-ling": {}, "tiny-spark": {"window": 8},
          "tiny-deepseek2": {"yarn": 4.0}, "tiny-deepseek2-v3": {}, "tiny-mistral4": {"yarn": 256.0}, "tiny-minicpm3": {},
          "tiny-gemma4": {"window": 8}, "tiny-gemma4-dense": {"window": 8}, "tiny-gemma4-experts": {"window": 8}}
# A norm's weight less one, and one more again, is rounded; so is the logarithm of a decay.
ROUNDED = ("tiny-gemma2", "tiny-gemma3", "tiny-qwen35", "tiny-qwen35moe", "tiny-qwen3next", "tiny-muse-glimmer",
           "tiny-step35", "tiny-granite-hybrid", "tiny-granite-hybrid-experts", "tiny-nemotron-h", "tiny-nemotron-h-experts",
           "tiny-nemotron-h-latent", "tiny-falcon-h1")
# Families that transformers 4 wrote in another form, and those whose models on the hub have other parts beside the one of language.
OLD_FORMS = ("tiny-mixtral", "tiny-qwen3moe", "tiny-gpt-oss", "tiny-gemma4-experts", "tiny-glm4moe", "tiny-ernie-moe", "tiny-mellum",
             "tiny-hy-v3", "tiny-qwen3next", "tiny-laguna", "tiny-north", "tiny-ling", "tiny-step35",
             "tiny-granite-hybrid-experts", "tiny-nemotron-h", "tiny-nemotron-h-experts", "tiny-nemotron-h-latent")
OTHER_PARTS = {"tiny-mistral3": "Mistral3ForConditionalGeneration", "tiny-qwen35": "Qwen3_5ForConditionalGeneration",
               "tiny-qwen35moe": "Qwen3_5MoeForConditionalGeneration", "tiny-gemma3": "Gemma3ForConditionalGeneration",
               "tiny-gemma4": "Gemma4ForConditionalGeneration", "tiny-qwen2vl": "Qwen2VLForConditionalGeneration",
               "tiny-llama4": "Llama4ForConditionalGeneration",
               "tiny-muse-glimmer": "MuseGlimmerForConditionalGeneration"}


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, shape, vocab_from=None, **options):
        """The model as a file, and as a folder; with few words unless it is asked for those of a file."""
        known = {"types": ("F32",), **SHAPES[shape]}
        model = support.tiny_model(shape, vocab_from, **known) if vocab_from else support.few_words_model(shape, **known)
        place = self.folder / shape
        model_folder.write_folder(model, place, **options)
        if shape == "tiny-gemma2":  # caps so low that they are met, see synth_model.py
            path = place / "config.json"
            config = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps({**config, "query_pre_attn_scalar": 128}), encoding="utf-8")
        return model, place

    def check_same(self, shape, folder, model):
        bound = 5e-4 if shape in ROUNDED else 0
        np.testing.assert_allclose(support.logits(folder, IDS), support.logits(model, IDS), rtol=0, atol=bound)

    def test_every_family_has_the_same_bits_as_its_file(self):
        for shape in SHAPES:
            with self.subTest(shape=shape):
                model, folder = self.make(shape)
                self.check_same(shape, folder, model)

    def test_the_old_form_and_models_with_other_parts_are_read(self):
        for shape, name in {**OTHER_PARTS, **dict.fromkeys(OLD_FORMS)}.items():
            for old_form in (False, True) if name else (True,):
                with self.subTest(shape=shape, old_form=old_form):
                    model, folder = self.make(shape, old_form=old_form, other_parts=name)
                    self.check_same(shape, folder, model)

    def test_experts_in_mxfp4_are_laid_out_as_ggml_has_them(self):
        model, folder = self.make("tiny-gpt-oss", mxfp4=True, files=2)
        copy = self.folder / "copy.gguf"
        support.octavo_ok("convert", folder, copy)
        np.testing.assert_array_equal(support.logits(copy, IDS), support.logits(folder, IDS))
        converted = {tensor.name: tensor for tensor in GgufFile(copy).tensors}
        for tensor in GgufFile(model).tensors:
            if tensor.name.endswith("_exps.weight"):
                expected = gguf.quants.quantize(np.array(tensor.data), gguf.GGMLQuantizationType.MXFP4)
                np.testing.assert_array_equal(converted[tensor.name].data, expected, tensor.name)

    def test_several_files_halfs_and_the_old_form_of_config_are_read(self):
        for dtype in ("F16", "BF16"):
            model, folder = self.make("tiny-qwen3", dtype=dtype, files=3, old_form=True)
            copy = self.folder / "copy.gguf"
            support.octavo_ok("quantize", model, copy, dtype, "--force")
            np.testing.assert_allclose(support.logits(folder, IDS), support.logits(copy, IDS), rtol=0, atol=0.1)
        info = json.loads(support.octavo_ok("info", folder, "--json"))
        self.assertEqual(info["files"], 3)

    def test_a_folder_is_quantized_as_its_file_is(self):
        model, folder = self.make("tiny-llama")
        copies = []
        for source, name in ((model, "a.gguf"), (folder, "b.gguf")):
            support.octavo_ok("quantize", source, self.folder / name, "Q4_K_M")
            copies.append({t.name: (t.tensor_type, t.data.tobytes()) for t in GgufFile(self.folder / name).tensors})
        self.assertEqual(copies[0], copies[1])
        needs = [json.loads(support.octavo_ok("info", folder, "--json", *args))["memory"]
                 for args in ((), ("--quantize", "q8_0"))]
        self.assertEqual(needs[1]["quantize"], "Q8_0")
        self.assertLess(needs[1]["weight_bytes"], 0.3 * needs[0]["weight_bytes"])
        for mix in ("Q4_K_M", "Q8_0"):
            support.octavo_ok("quantize", model, self.folder / "a.gguf", mix, "--force")
            np.testing.assert_array_equal(support.logits(folder, IDS, "--quantize", mix),
                                          support.logits(self.folder / "a.gguf", IDS))

    def test_a_converted_folder_is_the_same_model_with_words_that_others_read(self):
        _, folder = self.make("tiny-llama", dtype="BF16")
        words = {"type": "BPE", "unk_token": None, "vocab": {chr(i): i - 33 for i in range(33, 127)}, "merges": []}
        cut = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": cut, "post_processor": None,
                     "decoder": cut, "model": words}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        (folder / "generation_config.json").write_text(
            '{"eos_token_id": [1, 2], "temperature": 0.5, "bad_words_ids": [[7], [8, 9]]}', encoding="utf-8")
        copy = self.folder / "copy.gguf"
        support.octavo_ok("convert", folder, copy)
        np.testing.assert_array_equal(support.logits(copy, IDS), support.logits(folder, IDS))
        self.assertEqual(support.tokenize(copy, "Hello42"), support.tokenize(folder, "Hello42"))
        reader = GgufFile(copy)
        self.assertEqual(reader.get_field("tokenizer.ggml.pre").contents(), "gpt-2")
        self.assertEqual(len(reader.get_field("tokenizer.ggml.tokens").contents()), 94)
        self.assertEqual(reader.get_field("tokenizer.ggml.eos_token_ids").contents(), [1, 2])
        self.assertAlmostEqual(reader.get_field("general.sampling.temp").contents(), 0.5)
        self.assertEqual(reader.get_field("general.sampling.bad_words_ids").contents(), [7, -1, 8, 9, -1])
        for model in (folder, copy):
            self.assertIn("bad_words", support.octavo_ok("info", model))
        matrix = next(t for t in reader.tensors if t.name == "blk.0.attn_q.weight")
        self.assertEqual(matrix.tensor_type, gguf.GGMLQuantizationType.BF16)
        support.octavo_ok("convert", folder, copy, "--type", "q4_k_m", "--force")
        done = support.octavo("convert", copy, self.folder / "twice.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("octavo quantize writes it with other types", done.stderr)

    def test_sentencepiece_words_become_scores_that_others_read(self):
        vocabulary = support.TEST_DATA / "ggml-vocab-llama-spm.gguf"
        _, folder = self.make("tiny-llama", vocab_from=vocabulary)
        reference = tokenizer_truth.reference(tokenizer_truth.FAMILIES["llama (SentencePiece)"],
                                              tokenizer_truth.read_gguf(vocabulary))
        reference.save(str(folder / "tokenizer.json"))
        copy = self.folder / "copy.gguf"
        support.octavo_ok("convert", folder, copy)
        reader = GgufFile(copy)
        self.assertEqual(reader.get_field("tokenizer.ggml.model").contents(), "llama")
        self.assertIs(reader.get_field("tokenizer.ggml.add_space_prefix").contents(), True)
        for text in (support.SOURCE_DATA / "text/english.txt").read_text(encoding="utf-8").split("\n")[:40]:
            if text:
                self.assertEqual(support.tokenize(copy, text), reference.encode(text, add_special_tokens=False).ids)

    def test_errors_name_the_file_and_what_is_wrong(self):
        _, folder = self.make("tiny-qwen3")
        done = support.octavo("logits", "-m", folder, "--ids", "1", "--json", "--no-repack")
        self.assertEqual(done.returncode, 1)
        self.assertIn("without repacking only GGUF files run", done.stderr)
        with open(folder / "model.safetensors", "r+b") as file:
            file.truncate(100_000)
        done = support.octavo("run", "-m", folder, "Hello")
        self.assertEqual(done.returncode, 1)
        self.assertIn("model.safetensors: tensor '", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        (folder / "config.json").unlink()
        done = support.octavo("run", "-m", folder, "Hello")
        self.assertIn("is a folder without config.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
