"""Families of encoders beside Qwen's: a model that sees answers as its original, whatever else runs and whoever asks; its
folder, its converted pair and what info tells."""
import base64
import json
import os
import pathlib
import sys
import unittest
from typing import NamedTuple

import numpy as np
from tokenizers import AddedToken

import model_folder
import support
import test_server_pictures as qwen
import tiny_tower
import tokenizer_truth
from gguf_file import GgufFile
from server_support import Server, in_threads
from test_server_pictures import MOST, TEXTS, VOCAB, image_part, png, text_part


CARD = {"LD_LIBRARY_PATH": str(pathlib.Path(os.environ["OCTAVO_STANDIN_CUDA"]).parent)}


class Family(NamedTuple):
    original: str  # the model's class
    grids: tuple  # patches of two pictures that need no resize, rows first (tools/original_pictures.py)
    place: str  # what a template writes for a picture
    image_tokens: int  # of both
    options: tuple  # so that neither is resized
    told: tuple  # words of info
    memory: str  # that holds the vectors of one picture or tile
    model: dict = {}  # options of the text model (tools/synth_model.py)
    shape: str = ""  # of the text model, where another has the name of this
    rounds: bool = False  # whether folders have numbers otherwise than files: norms less one, decays as logarithms


FAMILIES = {
    "tiny-gemma3": Family("Gemma3ForConditionalGeneration", ((24, 24), (24, 24)), "<start_of_image>", 72, (),
                          ("family gemma3", "at most 36"), "36KiB", {"window": 19}),
    "tiny-gemma4": Family("Gemma4ForConditionalGeneration", ((9, 12), (18, 6)), "<|image|>", 24,
                          ("--image-max-tokens", "12"), ("family gemma4v", "1 to 20 tokens unless told, at most 20"),
                          "13KiB"),
    "tiny-gemma4-dense": Family("Gemma4ForConditionalGeneration", ((9, 12), (18, 6)), "<|image|>", 24,
                                ("--image-max-tokens", "12"), ("family gemma4v",), "13KiB", {"window": 7}),
    "tiny-gemma4-experts": Family("Gemma4ForConditionalGeneration", ((9, 12), (18, 6)), "<|image|>", 24,
                                  ("--image-max-tokens", "12"), ("family gemma4v",), "13KiB", {"window": 7}),
    "tiny-gemma4-unified": Family("Gemma4UnifiedForConditionalGeneration", ((9, 12), (18, 6)), "<|image|>", 24,
                                  ("--image-max-tokens", "12"),
                                  ("family gemma4uv", "no layers, width 64", "1 to 20 tokens unless told, at most 20"),
                                  "13KiB", {"window": 7}, "tiny-gemma4-dense"),
    "tiny-llama": Family("SmolVLMForConditionalGeneration", ((8, 8), (4, 8)), "<image>", 20 + 12, (),
                         ("family idefics3",), "5KiB"),
    "tiny-lfm2": Family("Lfm2VlForConditionalGeneration", ((32, 96), (16, 16)), "<image>", 768 + 243 + 64, (),
                        ("family lfm2", "64 to 2816 tokens"), "300KiB", {"window": 0}),
    "tiny-mistral3": Family("Mistral3ForConditionalGeneration", ((6, 10), (8, 4)), "[IMG]", 15 + 8, (),
                            ("family pixtral",), "16KiB"),
    "tiny-qwen2vl": Family("Qwen2_5_VLForConditionalGeneration", ((4, 6), (20, 12)),
                           "<|vision_start|><|image_pad|><|vision_end|>", 6 + 60, (),
                           ("family qwen2.5vl_merger", "4 to 1280 tokens"), "64KiB"),
    "tiny-minicpmv": Family("MiniCPMV4_6ForConditionalGeneration", ((16, 16), (8, 8)), "<|image_pad|>", 4 + 4 * 4 + 4, (),
                            ("family minicpmv4_6",), "5KiB", rounds=True),
    "tiny-muse-glimmer": Family("MuseGlimmerForConditionalGeneration", ((4, 6), (10, 6)), "<|patch|>", 6 + 15, (),
                                ("family muse-glimmer",), "16KiB"),
}


class Seeing(qwen.Seeing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.of_families = {}
        for name, family in FAMILIES.items():
            shape = tiny_tower.SEEING[name]
            cls.towers[name] = cls.folder / f"mmproj-{name}.gguf"
            tiny_tower.write(cls.towers[name], shape)
            (cls.folder / f"{name}.jinja").write_text(qwen.TEMPLATE.replace(
                "<|vision_start|><|image_pad|><|vision_end|>", family.place))
            cls.of_families[name] = [png(rgb) for rgb in tiny_tower.pictures(shape, family.grids)]

    @staticmethod
    def model(name="tiny-gemma4"):
        family = FAMILIES[name]
        return support.tiny_model(family.shape or name, VOCAB, types=("F32",), words=support.FEW_WORDS, sees=True,
                                  **family.model)

    def options(self, name, kv_memory="64MiB"):
        return ("--chat-template-file", self.folder / f"{name}.jinja", "--kv-memory", kv_memory, *FAMILIES[name].options)

    def server(self, *args, name, model=None, env=None, kv_memory="64MiB"):
        args = (*self.options(name, kv_memory), *args)
        if model is None:
            model, args = self.model(name), ("--mmproj", self.towers[name], *args)
        return Server(*args, model=model, env=env)

    def question_of(self, name, pictures=None, texts=TEXTS):
        return self.question(self.of_families[name] if pictures is None else pictures, texts)


class Truth(Seeing):
    def test_answers_are_those_of_the_originals(self):
        kept = np.load(support.SOURCE_DATA / "original_pictures.npz")
        for name, family in FAMILIES.items():
            with self.subTest(name), self.server("--isa", "scalar", "--kv-type", "f32", name=name) as server:
                _, answer = self.ask(server, self.question_of(name), return_token_ids=True)
                self.assertEqual(answer["prompt_token_ids"], kept[f"{name}: prompt"].tolist())
                self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], family.image_tokens)
                self.assertNotIn("warnings", answer)
                tokens, logprobs = kept[f"{name}: tokens"], kept[f"{name}: logprobs"]
                self.assertEqual(answer["choices"][0]["token_ids"], tokens[:, 0].tolist())
                for step, given in enumerate(answer["choices"][0]["logprobs"]["content"]):
                    best = np.array([t["logprob"] for t in given["top_logprobs"]])
                    error = np.abs(best - logprobs[step][:len(best)]).max()
                    print(f"{name}: step {step}: off by {error:.1e}", file=sys.stderr)
                    self.assertLess(error, MOST)


class Bits(Seeing):
    def test_bits_are_those_of_a_picture_alone(self):
        """Whatever the chunks, threads, company, cache and memory of pictures; a second question encodes nothing."""
        other = png(np.full((96, 80, 3), 77, np.uint8))
        for name in FAMILIES:
            pictures = self.of_families[name]
            with self.subTest(name), self.server("--threads", "1", name=name) as server:
                expected, _ = self.ask(server, self.question_of(name))
                different, _ = self.ask(server, self.question_of(name, [pictures[0], other]))
                self.assertNotEqual(expected, different)
                again, answer = self.ask(server, self.question_of(name))
                self.assertEqual(again, expected)
                self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 16)
                self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 3)
            for args in (("--threads", "2", "--chunk", "7"), ("--no-prefix-cache",), ("--picture-memory", FAMILIES[name].memory)):
                with self.subTest(name, args=args), self.server(*args, name=name) as server:
                    asked = [self.question_of(name, None if i % 2 else [other, pictures[1]]) for i in range(8)]
                    bits = in_threads(lambda messages: self.ask(server, messages)[0], asked)
                    for i in range(1, 8, 2):
                        self.assertEqual(bits[i], expected)

    def test_what_a_killed_server_kept_has_the_same_bits_and_encodes_nothing(self):
        for name in FAMILIES:
            with self.subTest(name):
                store = ("--kv-store", self.folder / f"store-{name}", "--kv-store-min", "0", "--kv-store-cpu", "100")
                question = self.question_of(name, texts=["A" * 20, "B" * 20, "C" * 20])
                with self.server(*store, name=name) as server:
                    expected, _ = self.ask(server, question)
                    server.wait_until(lambda: server.metrics()["octavo:kv_store_writes_total"] >= 1)
                    server.process.kill()
                with self.server(*store, name=name) as server:
                    bits, answer = self.ask(server, question)
                    self.assertEqual(bits, expected)
                    self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["stored_tokens"], 32)
                    self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 0)

    def test_a_conversation_encodes_each_picture_once(self):
        """Six turns, three of them with a picture."""
        for name in FAMILIES:
            with self.subTest(name), self.server(name=name) as server:
                messages = []
                for turn in range(6):
                    parts = [text_part("ABCDEF"[turn])]
                    if turn % 2 == 0:
                        parts.append(image_part(png(np.full((64, 48, 3), 40 * turn, np.uint8))))
                    messages.append({"role": "user", "content": parts})
                    answer = self.ask(server, messages, count=3)[1]
                    messages.append({"role": "assistant",
                                     "content": [text_part(answer["choices"][0]["message"]["content"] or "x")]})
                self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 3)

    def test_a_raw_prompt_has_the_same_bits_and_no_likelihoods_of_rows(self):
        for name, family in FAMILIES.items():
            data = [base64.b64encode(picture).decode() for picture in self.of_families[name]]
            with self.subTest(name), self.server(name=name) as server:
                expected, _ = self.ask(server, self.question_of(name))
                marker = json.loads(server.get("/props")[2])["media_marker"]
                text = server.post("/apply-template", {"messages": self.question_of(name)})["prompt"]
                self.assertEqual(text.count(family.place), 2)
                body = {"prompt": {"prompt_string": text.replace(family.place, marker), "multimodal_data": data}}
                answer = server.post("/completion", {**body, "n_predict": 6, "temperature": 0, "ignore_eos": True,
                                                     "n_probs": 20})
                self.assertEqual([(t["logprob"], t["bytes"]) for t in answer["completion_probabilities"]], expected)
                body |= {"prompt_logprobs": 0, "max_tokens": 1}
                told = server.post("/v1/completions", body)["choices"][0]["prompt_logprobs"]
                self.assertEqual(sum(entry is None for entry in told), 1 + family.image_tokens)


class Folders(Seeing):
    def write_folder(self, name, **options):
        model, folder = self.model(name), self.folder / f"{self.id()}-{name}"
        model_folder.write_folder(model, folder, other_parts=FAMILIES[name].original, tower=tiny_tower.SEEING[name],
                                  **options)
        vocabulary = tokenizer_truth.read_gguf(model)
        words = tokenizer_truth.reference(tokenizer_truth.FAMILIES["qwen35"], vocabulary)
        words.add_special_tokens([AddedToken(token, normalized=False) for token, kind in
                                  zip(vocabulary.tokens, vocabulary.types) if kind == tokenizer_truth.CONTROL])
        words.save(str(folder / "tokenizer.json"))
        return folder

    def bits(self, name, model, *args):
        with self.server(*args, name=name, model=model) as server:
            self.assertTrue(json.loads(server.get("/props")[2])["modalities"]["vision"])
            return self.ask(server, self.question_of(name))[0]

    def test_a_folder_its_converted_pair_and_the_made_files_have_the_same_bits(self):
        for name, family in FAMILIES.items():
            with self.subTest(name):
                folder, pair = self.write_folder(name), self.folder / f"pair-{name}"
                pair.mkdir()
                expected = self.bits(name, folder)
                of_files = self.bits(name, self.model(name), "--mmproj", self.towers[name])
                if family.rounds:
                    self.assertEqual([row[1] for row in of_files], [row[1] for row in expected])
                    np.testing.assert_allclose([row[0] for row in of_files], [row[0] for row in expected], atol=MOST)
                else:
                    self.assertEqual(of_files, expected)
                support.octavo_ok("convert", folder, pair / "model.gguf")
                self.assertEqual(sorted(p.name for p in pair.iterdir()), ["mmproj-model.gguf", "model.gguf"])
                self.assertEqual(self.bits(name, pair / "model.gguf"), expected, "found beside the model")
                if name == "tiny-mistral3":
                    self.check_break_row(pair)

    def check_break_row(self, pair):
        """Files of Pixtral's encoders have the embedding of the token that ends rows."""
        model, encoder = GgufFile(pair / "model.gguf"), GgufFile(pair / "mmproj-model.gguf")
        number = model.fields["tokenizer.ggml.tokens"].contents().index("[IMG_BREAK]")
        table = next(tensor.data for tensor in model.tensors if tensor.name == "token_embd.weight")
        row = next(tensor for tensor in encoder.tensors if tensor.name == "v.token_embd.img_break")
        self.assertEqual((row.tensor_type.name, list(row.shape)), ("F32", [table.shape[1]]))
        np.testing.assert_array_equal(row.data, table[number])

    def test_quantize_makes_an_encoder_smaller_and_info_tells_of_it(self):
        for name, family in FAMILIES.items():
            with self.subTest(name):
                small = self.folder / f"mmproj-{name}-Q8_0.gguf"
                support.octavo_ok("quantize", self.towers[name], small, "Q8_0")
                types = {tensor.name: tensor.tensor_type.name for tensor in GgufFile(small).tensors}
                matrix = "v.blk.0.attn_q.weight" if "v.blk.0.attn_q.weight" in types else "mm.input_projection.weight"
                self.assertEqual({types[matrix], types["v.patch_embd.weight"]}, {"Q8_0", "F32"})
                text = support.octavo_ok("info", small)
                for words in family.told:
                    self.assertIn(words, text)
                with self.server(name=name, model=self.model(name)) as server:
                    self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
                expected = np.array([row[0] for row in self.bits(name, self.model(name), "--mmproj", self.towers[name])])
                found = np.array([row[0] for row in self.bits(name, self.model(name), "--mmproj", small)])
                self.assertLess(np.abs(expected - found)[0], 0.5)

    @staticmethod
    def changed(folder, change):
        path = folder / "config.json"
        config = json.loads(path.read_text())
        change(config)
        path.write_text(json.dumps(config))

    def test_a_line_says_why_the_encoder_of_a_folder_is_passed_over(self):
        changes = {
            "a size that is a text": (lambda config: config["vision_config"].update(patch_size="x"), "patch_size"),
            "a size that is missing": (lambda config: config.update(vision_config={"depth": 2}), "hidden_size is missing"),
            "another number of layers": (lambda config: config["vision_config"].update(depth=3), "v.blk.2"),
            "another width": (lambda config: config["vision_config"].update(hidden_size=32), "v.patch_embd.weight"),
        }
        name = "tiny-qwen2vl"
        for what, (change, words) in changes.items():
            with self.subTest(what):
                folder = self.write_folder(name)
                self.changed(folder, change)
                if what.startswith("a size"):
                    self.assertIn("passed over", support.octavo("info", folder).stderr)
                with self.server(name=name, model=folder) as server:
                    self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
                    self.assertRegex(server.messages(), f"an encoder of pictures was passed over: .*{words}")
                    server.complete("A", max_tokens=1)


class Joint(Seeing):
    """Families whose rows see each other, and go through the layers in passes of their own: in company of the same and of
    other pictures, with little memory, and beside another model."""
    NAMES = ("tiny-gemma3", "tiny-gemma4-dense", "tiny-gemma4-experts", "tiny-gemma4-unified")
    LITTLE = "1MiB"  # memory for a few of them

    def questions(self, name):
        """Sixteen: the picture first, in the middle, last, and two of them; with it and others."""
        first, second = self.of_families[name]
        other = png(np.full((48, 36, 3), 77, np.uint8))
        parts = [[image_part(first), text_part("A" * 9)], [text_part("A" * 30), image_part(first), text_part("B")],
                 [text_part("A" * 9), image_part(second)], [image_part(first), image_part(second), text_part("C")],
                 [text_part("A" * 30), image_part(other), text_part("B")], [image_part(other), text_part("A" * 40)],
                 [text_part("A" * 70)], [text_part("B"), image_part(second), text_part("A" * 20)]]
        return [[{"role": "user", "content": content}] for content in parts * 2]

    def test_sixteen_streams_with_little_memory_have_the_bits_that_each_has_alone(self):
        """Those of higher priority come while the others run, and take their memory, in a picture and behind it."""
        for name in self.NAMES:
            with self.subTest(name), self.server("--max-context", "160", kv_memory=self.LITTLE, name=name) as server:
                asked = self.questions(name)[:8]
                alone = [self.ask(server, messages, 40, cache_salt=str(i))[0] for i, messages in enumerate(asked)]
                before = server.metrics()["octavo:generation_tokens_total"]

                def ask(i):
                    if i < 8:
                        return self.ask(server, asked[i], 40, priority=1, cache_salt="first")[0]
                    server.wait_until(lambda: server.metrics()["octavo:generation_tokens_total"] > before)
                    return self.ask(server, asked[i % 8], 4, cache_salt="urgent")[0]

                for i, bits in enumerate(in_threads(ask, range(16))):
                    self.assertEqual(bits, alone[i % 8][:len(bits)], i)
                preemptions = server.metrics()["octavo:num_preemptions_total"]
                print(f"{name}: {preemptions:.0f} preemptions", file=sys.stderr)
                self.assertGreater(preemptions, 0)

    def test_two_models_of_one_process_have_the_bits_that_each_has_alone(self):
        names = ("tiny-gemma4-dense", "tiny-gemma4-experts")
        config = self.folder / "two.toml"
        config.write_text("".join(
            f'[model.{name}]\nmodel = "{self.model(name)}"\nmmproj = "{self.towers[name]}"\n'
            f'chat-template-file = "{self.folder / name}.jinja"\nkv-memory = "8MiB"\n' for name in names))
        alone = {}
        for name in names:
            with self.server(name=name) as server:
                alone[name] = [self.ask(server, messages, 4)[0] for messages in self.questions(name)[:8]]
        with Server("--config", config, *FAMILIES[names[0]].options, model=self.model(names[0])) as server:
            asked = [(name, i) for i in range(8) for name in names]
            bits = in_threads(lambda who: self.ask(server, self.questions(who[0])[who[1]], 4, model=who[0])[0], asked)
        for (name, i), found in zip(asked, bits, strict=True):
            self.assertEqual(found, alone[name][i], (name, i))


class OnACard(Seeing):
    """Rows that see each other are the processor's: kernels of a card do not know the end of sight."""
    NAMES = ("tiny-gemma3", "tiny-gemma4-dense", "tiny-gemma4-unified")

    def test_a_card_that_was_asked_for_is_refused_with_the_reason(self):
        for name in self.NAMES:
            with self.subTest(name):
                done = support.octavo("serve", "-m", self.model(name), "--mmproj", self.towers[name], "--device", "cuda",
                                      "--port", "0", env=CARD)
                self.assertEqual(done.returncode, 1)
                self.assertIn("computes no layer of this model: the rows of a picture see each other", done.stderr)

    def test_an_encoder_that_was_found_gives_way_to_a_card_with_a_line(self):
        for name in self.NAMES:
            beside = self.folder / f"beside-{name}"
            beside.mkdir()
            (beside / "model-F32.gguf").symlink_to(self.model(name))
            (beside / "mmproj-F32.gguf").symlink_to(self.towers[name])
            with self.subTest(name), Server("--kv-memory", "64MiB", "--device", "cuda", model=beside / "model-F32.gguf",
                                            env=CARD) as server:
                self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
                self.assertRegex(server.messages(), "passed over: .*the rows of a picture see each other, which a card "
                                                    "does not compute")


if __name__ == "__main__":
    unittest.main()
