"""A model that sees: its answers to two pictures are those of its original, whatever else runs and whoever asks; a picture
is encoded once; what is none is refused with its place."""
import base64
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np
from tokenizers import AddedToken

import model_folder
import support
import tiny_tower
import tokenizer_truth
from browser import PROGRAM, Browser
from gguf_file import GgufFile
from server_support import Server, in_threads

VOCAB = support.TEST_DATA / "ggml-vocab-qwen35.gguf"
GRIDS, TEXTS = ((4, 6), (8, 4)), ("A", "B", "C")  # tools/original_pictures.py's
TEMPLATE = ("{% for m in messages %}{% for p in m.content %}{% if p.type == 'image' %}<|vision_start|><|image_pad|>"
            "<|vision_end|>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}")
MOST = 2e-3
NAMES = ("tiny-qwen35", "tiny-qwen3vl")


def png(rgb):
    """A PNG of [height, width, 3] uint8."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def data_url(data):
    return "data:image/png;base64," + base64.b64encode(data).decode()


def image_part(data):
    return {"type": "image_url", "image_url": {"url": data_url(data)}}


def text_part(text):
    return {"type": "text", "text": text}


class Seeing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "template.jinja").write_text(TEMPLATE)
        cls.towers = {}
        for name in NAMES:
            shape = tiny_tower.SEEING[name]
            cls.towers[name] = cls.folder / f"mmproj-{name}.gguf"
            tiny_tower.write(cls.towers[name], shape)
        cls.pictures = [png(tiny_tower.picture(tiny_tower.SEEING["tiny-qwen35"], grid)) for grid in GRIDS]

    @staticmethod
    def model(name="tiny-qwen35"):
        return support.tiny_model(name, VOCAB, types=("F32",), words=support.FEW_WORDS, sees=True)

    def server(self, *args, name="tiny-qwen35", env=None):
        model = self.model(name)
        return Server("--mmproj", self.towers[name], "--image-min-tokens", "1", "--chat-template-file",
                      self.folder / "template.jinja", "--kv-memory", "64MiB", *args, model=model, env=env)

    def question(self, pictures=None, texts=TEXTS):
        pictures = self.pictures if pictures is None else pictures
        content = [text_part(texts[0])]
        for picture, text in zip(pictures, texts[1:], strict=True):
            content += [image_part(picture), text_part(text)]
        return [{"role": "user", "content": content}]

    def ask(self, server, messages, count=6, **fields):
        """(the bits of the answer, the answer)."""
        answer = server.post("/v1/chat/completions", {
            "messages": messages, "max_tokens": count, "temperature": 0, "ignore_eos": True, "logprobs": True,
            "top_logprobs": 20, **fields})
        choice = answer["choices"][0]
        return [(t["logprob"], t["bytes"]) for t in choice["logprobs"]["content"]], answer


class Truth(Seeing):
    def test_answers_are_those_of_the_originals(self):
        kept = np.load(support.SOURCE_DATA / "original_pictures.npz")
        for name in NAMES:
            with self.subTest(name), self.server("--isa", "scalar", "--kv-type", "f32", name=name) as server:
                _, answer = self.ask(server, self.question(), return_token_ids=True)
                self.assertEqual(answer["prompt_token_ids"], kept[f"{name}: prompt"].tolist())
                self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 6 + 8)
                tokens, logprobs = kept[f"{name}: tokens"], kept[f"{name}: logprobs"]
                self.assertEqual(answer["choices"][0]["token_ids"], tokens[:, 0].tolist())
                for step, given in enumerate(answer["choices"][0]["logprobs"]["content"]):
                    best = np.array([t["logprob"] for t in given["top_logprobs"]])
                    error = np.abs(best - logprobs[step][:len(best)]).max()
                    print(f"{name}: step {step}: off by {error:.1e}", file=sys.stderr)
                    self.assertLess(error, MOST)


class Bits(Seeing):
    def test_bits_are_those_of_a_picture_alone(self):
        """Whatever the chunks, threads, company, cache and memory of pictures."""
        other = png(np.full((64, 64, 3), 77, np.uint8))
        with self.server("--threads", "1") as server:
            expected, _ = self.ask(server, self.question())
            different, _ = self.ask(server, self.question([self.pictures[0], other]))
            self.assertNotEqual(expected, different)
            again, answer = self.ask(server, self.question())
            self.assertEqual(again, expected)
            self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 16)
            self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 3)
        row_bytes = 4 * 256
        for args in (("--threads", "2", "--chunk", "7"), ("--no-prefix-cache",),
                     ("--picture-memory", str(8 * row_bytes))):
            with self.subTest(args), self.server(*args) as server:
                asked = [self.question() if i % 2 else self.question([other, self.pictures[1]]) for i in range(8)]
                bits = in_threads(lambda messages: self.ask(server, messages)[0], asked)
                for i in range(1, 8, 2):
                    self.assertEqual(bits[i], expected)

    def test_what_a_killed_server_kept_has_the_same_bits_and_encodes_nothing(self):
        for name in NAMES:
            with self.subTest(name):
                store = ("--kv-store", self.folder / f"store-{name}", "--kv-store-min", "0", "--kv-store-cpu", "100")
                large = png(np.full((320, 320, 3), 77, np.uint8))  # 100 tokens
                question = self.question([large, self.pictures[0]], ["A" * 20, "B" * 20, "C" * 20])
                with self.server(*store, name=name) as server:
                    expected, _ = self.ask(server, question)
                    server.wait_until(lambda: server.metrics()["octavo:kv_store_writes_total"] >= 1)
                    server.process.kill()
                with self.server(*store, name=name) as server:
                    bits, answer = self.ask(server, question)
                    self.assertEqual(bits, expected)
                    self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["stored_tokens"], 128)
                    self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 0)
                    other = self.question([self.pictures[1], self.pictures[0]], ["A" * 20, "B" * 20, "C" * 20])
                    _, answer = self.ask(server, other)
                    self.assertLess(answer["usage"]["prompt_tokens_details"].get("stored_tokens", 0), 32)

    def test_a_raw_prompt_of_the_same_text_has_the_same_bits(self):
        mark = "<|vision_start|><|image_pad|><|vision_end|>"
        data = [base64.b64encode(picture).decode() for picture in self.pictures]
        with self.server() as server:
            expected, _ = self.ask(server, self.question())
            marker = json.loads(server.get("/props")[2])["media_marker"]
            text = server.post("/apply-template", {"messages": self.question()})["prompt"]
            self.assertEqual(text.count(mark), 2)
            first, second = text.replace(mark, "[img-7]", 1), text.replace(mark, marker)
            first = first.replace(mark, "[img-3]")
            for body in ({"prompt": {"prompt_string": second, "multimodal_data": data}},
                         {"prompt": first, "image_data": [{"id": i, "data": d} for i, d in zip((7, 3), data)]}):
                answer = server.post("/completion", {**body, "n_predict": 6, "temperature": 0, "ignore_eos": True,
                                                     "n_probs": 20})
                self.assertEqual([(t["logprob"], t["bytes"]) for t in answer["completion_probabilities"]], expected)
            body["prompt_logprobs"], body["max_tokens"] = 0, 1
            told = server.post("/v1/completions", body)["choices"][0]["prompt_logprobs"]
            self.assertEqual(sum(entry is None for entry in told), 1 + 6 + 8)

    def test_vectors_are_made_of_pictures(self):
        def vector(server, picture):
            parts = [text_part("A"), image_part(picture), text_part("B")]
            return server.post("/v1/embeddings", {"input": [{"content": parts}]})["data"][0]["embedding"]

        with self.server("--embedding", "--pooling", "last") as server:
            alone = [vector(server, picture) for picture in self.pictures]
            self.assertNotEqual(*alone)
            self.assertEqual([vector(server, picture) for picture in self.pictures], alone)
            data = base64.b64encode(self.pictures[0]).decode()
            raw = server.post("/embedding", {"content": {"prompt_string": "A<__media__>B", "multimodal_data": [data]}})
            self.assertEqual(raw[0]["embedding"][0], alone[0])

    def test_portable_bits_are_the_same_on_two_levels(self):
        levels = [level for level in ("scalar", *support.supported_isa_levels())][:2]
        bits = []
        for level in levels:
            with self.server("--isa", level, "--bits", "portable") as server:
                bits.append(self.ask(server, self.question())[0])
        self.assertEqual(bits[0], bits[-1])

    def test_a_conversation_encodes_each_picture_once(self):
        with self.server() as server:
            messages = []
            for turn in range(4):
                content = [text_part("AB"[turn % 2])]
                if turn < 2:
                    content.insert(0, image_part(self.pictures[turn]))
                messages.append({"role": "user", "content": content})
                _, answer = self.ask(server, messages)
                messages.append({"role": "assistant", "content": [text_part("C")]})
            metrics = server.metrics()
            self.assertEqual(metrics["octavo:pictures_encoded_total"], 2)

    def test_another_question_goes_on_behind_the_picture(self):
        """Also where layers have states, which are kept in few places."""
        large = png(np.full((320, 320, 3), 77, np.uint8))  # 100 tokens
        for name in NAMES:
            with self.subTest(name), self.server(name=name) as server:
                _, first = self.ask(server, self.question([large], ["A", "B" * 40]))
                _, second = self.ask(server, self.question([large], ["A", "C" * 40]))
                cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
                self.assertGreaterEqual(cached, 96)
                self.assertLess(cached, first["usage"]["prompt_tokens"])
                expected, _ = self.ask(server, self.question([large], ["A", "C" * 40]), cache_prompt=False)
                self.assertEqual(self.ask(server, self.question([large], ["A", "C" * 40]))[0], expected)

    def test_progress_is_told_while_a_picture_is_encoded(self):
        large = png(np.full((512, 512, 3), 77, np.uint8))  # 256 tokens
        with self.server() as server:
            _, _, text = server.request("POST", "/v1/chat/completions", {
                "messages": self.question([large], ["A", "B"]), "max_tokens": 2, "return_progress": True,
                "stream": True})
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        told = [event["prompt_progress"] for event in events if "prompt_progress" in event]
        self.assertEqual(told[-1]["processed"], told[-1]["total"])
        sums = [entry["processed"] + entry.get("encoded", 0) for entry in told]
        self.assertEqual(sums, sorted(sums))


class Found(Seeing):
    def test_an_encoder_beside_the_model_is_found_if_it_fits(self):
        folder = self.folder / "beside"
        folder.mkdir()
        (folder / "model-F32.gguf").symlink_to(self.model())
        tiny_tower.write(folder / "mmproj-another-F32.gguf", tiny_tower.SHAPES["plain"])
        (folder / "mmproj-damaged-F32.gguf").write_bytes(b"GGUF")
        options = ("--chat-template-file", self.folder / "template.jinja", "--image-min-tokens", "1")
        with Server(*options, model=folder / "model-F32.gguf") as server:
            self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
            told = [line for line in server.messages().splitlines() if "passed over" in line]
            self.assertEqual(len(told), 1, "another model's is no news")
            self.assertIn("mmproj-damaged-F32.gguf", told[0])
        (folder / "mmproj-F16.gguf").symlink_to(self.towers["tiny-qwen35"])
        with Server(*options, model=folder / "model-F32.gguf") as server:
            self.assertTrue(json.loads(server.get("/props")[2])["modalities"]["vision"])
            self.assertIn("pictures are read by mmproj-F16.gguf, beside the model", server.messages())
            self.ask(server, self.question())
            long = json.dumps({"messages": self.question(), "max_tokens": 1}) + " " * (20 << 20)
            self.assertEqual(server.request("POST", "/v1/chat/completions", long)[0], 200)  # 32 MiB are allowed
        for args, most in ((("--max-body-size", "1MiB"), 1 << 20), (("--max-received-size", "16MiB"), 8 << 20)):
            with self.subTest(args), Server(*options, *args, model=folder / "model-F32.gguf") as server:
                status, _, text = server.request("POST", "/v1/chat/completions", "{}" + " " * most)
                self.assertEqual(status, 413)
                self.assertIn(f"longer than {most} bytes", text)
        with Server("--no-mmproj", *options, model=folder / "model-F32.gguf") as server:
            self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])


class Folders(Seeing):
    """A model's folder of safetensors has its encoder inside."""
    ORIGINALS = {"tiny-qwen35": "Qwen3_5ForConditionalGeneration", "tiny-qwen3vl": "Qwen3VLForConditionalGeneration"}

    def write_folder(self, name, **options):
        model, folder = self.model(name), self.folder / f"{self.id()}-{name}"
        model_folder.write_folder(model, folder, other_parts=self.ORIGINALS[name], tower=tiny_tower.SEEING[name],
                                  **options)
        vocabulary = tokenizer_truth.read_gguf(model)
        words = tokenizer_truth.reference(tokenizer_truth.FAMILIES["qwen35"], vocabulary)
        words.add_special_tokens([AddedToken(token, normalized=False) for token, kind in
                                  zip(vocabulary.tokens, vocabulary.types) if kind == tokenizer_truth.CONTROL])
        words.save(str(folder / "tokenizer.json"))
        return folder

    def bits(self, model, *args):
        with Server("--image-min-tokens", "1", "--chat-template-file", self.folder / "template.jinja", "--kv-memory",
                    "64MiB", *args, model=model) as server:
            self.assertTrue(json.loads(server.get("/props")[2])["modalities"]["vision"])
            return self.ask(server, self.question())[0], server.messages()

    def test_a_folder_sees_and_its_converted_pair_has_the_same_bits(self):
        for name, options in (("tiny-qwen35", {"files": 2}), ("tiny-qwen3vl", {"old_form": True}),
                              ("tiny-qwen3vl", {"dtype": "BF16"})):
            with self.subTest(name, **options):
                folder = self.write_folder(name, **options)
                expected, messages = self.bits(folder)
                self.assertNotIn("pictures are read by", messages)
                pair = self.folder / f"pair-{name}-{options}"
                pair.mkdir()
                support.octavo_ok("convert", folder, pair / "model.gguf")
                self.assertEqual(sorted(p.name for p in pair.iterdir()), ["mmproj-model.gguf", "model.gguf"])
                found, messages = self.bits(pair / "model.gguf")
                self.assertIn("pictures are read by mmproj-model.gguf", messages)
                self.assertEqual(found, expected)
                self.assertEqual(self.bits(pair / "model.gguf", "--mmproj", folder)[0], expected)
                if not options.get("dtype"):
                    self.assertEqual(self.bits(folder, "--mmproj", self.towers[name])[0], expected, "the made file")

    def test_without_its_encoder_a_folder_reads_text(self):
        folder = self.write_folder("tiny-qwen35")
        for args in (("--no-mmproj",), ()):
            if not args:
                config = json.loads((folder / "config.json").read_text())
                del config["vision_config"]
                (folder / "config.json").write_text(json.dumps(config))
            with Server(*args, "--chat-template-file", self.folder / "template.jinja", model=folder) as server:
                self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
                self.ask(server, [{"role": "user", "content": [text_part("A")]}])
                self.assertNotIn("passed over", server.messages())

    def test_a_damaged_encoder_in_a_folder_is_told_and_the_text_is_read(self):
        folder = self.write_folder("tiny-qwen35")
        config = json.loads((folder / "config.json").read_text())
        config["vision_config"]["depth"] = "two"
        (folder / "config.json").write_text(json.dumps(config))
        with Server("--chat-template-file", self.folder / "template.jinja", model=folder) as server:
            self.assertFalse(json.loads(server.get("/props")[2])["modalities"]["vision"])
            self.ask(server, [{"role": "user", "content": [text_part("A")]}])
            self.assertRegex(server.messages(), "an encoder of pictures was passed over: .*depth")

    def test_convert_writes_either_or_both_and_quantize_makes_encoders_smaller(self):
        folder, out = self.write_folder("tiny-qwen3vl"), self.folder / "converted"
        out.mkdir()
        support.octavo_ok("convert", folder, out / "a.gguf", "--no-mmproj")
        support.octavo_ok("convert", folder, out / "mmproj-b.gguf", "--mmproj", "--type", "Q8_0")
        support.octavo_ok("convert", folder, out / "c.gguf", "--type", "Q4_K_M")
        self.assertEqual(sorted(p.name for p in out.iterdir()), ["a.gguf", "c.gguf", "mmproj-b.gguf", "mmproj-c.gguf"])
        types = {name: {str(t["type"]) for t in json.loads(support.octavo_ok("info", out / name, "--json"))["by_type"]}
                 for name in ("mmproj-b.gguf", "mmproj-c.gguf")}
        self.assertEqual(types, {"mmproj-b.gguf": {"F32", "Q8_0"}, "mmproj-c.gguf": {"F32"}})
        support.octavo_ok("quantize", out / "mmproj-c.gguf", out / "mmproj-d.gguf", "Q8_0")
        tensors = [{t.name: t.data.tobytes() for t in GgufFile(out / name).tensors}
                   for name in ("mmproj-b.gguf", "mmproj-d.gguf")]
        self.assertEqual(tensors[0], tensors[1])
        (out / "d.gguf").write_bytes(b"")
        done = support.octavo("convert", folder, out / "e.gguf", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("c.gguf", "d.gguf"):
            done = support.octavo("convert", folder, out / name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"mmproj-{name}: it is there", done.stderr)

    def test_info_tells_of_the_encoder_too(self):
        folder = self.write_folder("tiny-qwen3vl")
        text = support.octavo_ok("info", folder)
        for words in ("pictures are read by", "family qwen3vl_merger", "1 to 1280 tokens unless told, at most 4096",
                      "3 more vectors of each token", "a picture, 1280 tokens"):
            self.assertIn(words, text)
        encoder = json.loads(support.octavo_ok("info", folder, "--json"))["vision_encoder"]
        self.assertEqual((encoder["family"], encoder["min_tokens"], encoder["model_width"]), ("qwen3vl_merger", 1, 256))
        self.assertGreater(encoder["memory"]["picture_bytes"], 0)
        named = json.loads(support.octavo_ok("info", self.model(), "--mmproj", self.towers["tiny-qwen35"], "--json"))
        self.assertEqual(named["vision_encoder"]["min_tokens"], 64)
        self.assertNotIn("vision_encoder", json.loads(support.octavo_ok("info", self.model(), "--json")))


class Example(Seeing):
    def test_the_example_asks_what_is_on_a_picture_and_goes_on(self):
        path = self.folder / "photo.jpg"  # the name of a file is not asked
        path.write_bytes(self.pictures[0])
        example = pathlib.Path(support.__file__).parent.parent.parent / "examples/what_is_on_this_picture.py"
        with self.server() as server:
            done = subprocess.run([sys.executable, example, server.url, path, "B"], capture_output=True, text=True,
                                  timeout=support.TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(re.findall(r"(?m)^\[6 of \d+ tokens of the prompt", done.stdout)), 2, done.stdout)
            self.assertEqual(server.metrics()["octavo:pictures_encoded_total"], 1)


@unittest.skipUnless(PROGRAM, "no Chromium: scripts/setup --test installs it")
class Page(Seeing):
    def bodies(self, browser):
        return [json.loads(event["params"]["request"]["postData"]) for event in browser.events
                if event.get("method") == "Network.requestWillBeSent" and "postData" in event["params"]["request"]]

    def give(self, browser, event, script):
        """A file that the script makes is pasted or dropped."""
        where = "$('input')" if event == "paste" else "document"
        kind, data = ("ClipboardEvent", "clipboardData") if event == "paste" else ("DragEvent", "dataTransfer")
        browser.run(f"""(async () => {{
            const blob = await ({script});
            const data = new DataTransfer();
            data.items.add(new File([blob], "a.png", {{type: "image/png"}}));
            {where}.dispatchEvent(new {kind}("{event}", {{{data}: data, bubbles: true, cancelable: true}}));
        }})()""")

    def test_pictures_are_pasted_and_dropped_and_a_large_one_is_made_smaller(self):
        bytes_of = ",".join(str(byte) for byte in self.pictures[0])
        small = f"new Blob([new Uint8Array([{bytes_of}])])"
        large = """new Promise(resolve => { const canvas = document.createElement("canvas"); canvas.width = 4096;
            canvas.height = 64; canvas.getContext("2d").fillRect(0, 0, 99, 99); canvas.toBlob(resolve); })"""
        with self.server() as server, Browser("--window-size=1000,800") as browser:
            browser.open(server.url + "/")
            browser.wait_for("model !== null && !$('add').hidden")
            self.give(browser, "paste", small)
            browser.wait_for("pictures.length === 1")
            self.give(browser, "drop", large)
            browser.wait_for("pictures.length === 2 && document.querySelectorAll('#pictures img').length === 2")
            browser.run("$('max_tokens').value = '4'")
            browser.run("$('input').focus()")
            browser.type("A")
            browser.press("Enter")
            browser.wait_for("running === null && document.querySelectorAll('article.assistant').length === 1")
            self.assertEqual(browser.run("document.querySelectorAll('article.error').length"), 0)
            self.assertEqual(browser.run("document.querySelectorAll('article.user img').length"), 2)
            parts = self.bodies(browser)[-1]["messages"][-1]["content"]
            self.assertEqual([part["type"] for part in parts], ["image_url", "image_url", "text"])
            self.assertEqual(parts[0]["image_url"]["url"], data_url(self.pictures[0]))
            self.assertTrue(parts[1]["image_url"]["url"].startswith("data:image/jpeg"))
            width = browser.run("document.querySelectorAll('article.user img')[1].naturalWidth")
            self.assertEqual(width, 2048)
            self.assertEqual(browser.mistakes(), [])

    def test_a_model_that_reads_text_offers_none(self):
        with Server(model=self.model()) as server, Browser("--window-size=1000,800") as browser:
            browser.open(server.url + "/")
            browser.wait_for("model !== null")
            self.assertTrue(browser.run("$('add').hidden"))


class Refused(Seeing):
    def test_what_is_no_picture_is_refused_with_its_place(self):
        bomb = png(np.zeros((1, 1, 3), np.uint8)).replace(struct.pack(">II", 1, 1), struct.pack(">II", 20000, 20000))
        with self.server() as server:
            for data, code, words in ((b"GIF8", "invalid_image", "no picture"), (b"%PDF-1.7", "invalid_image", "PDF"),
                                      (bomb, "invalid_image", ""), (b"", "invalid_image", "")):
                messages = self.question([self.pictures[0], data])
                status, _, text = server.request("POST", "/v1/chat/completions", {"messages": messages})
                with self.subTest(data[:8]):
                    self.assertEqual(status, 400)
                    answer = json.loads(text)
                    self.assertIn(answer["error"]["code"], (code, "image_too_large"))
                    self.assertIn("messages[0].content[3]", answer["error"]["message"])
                    self.assertIn(words, answer["error"]["message"])
            self.ask(server, self.question())

    def test_an_encoder_is_no_text_model(self):
        for command in (("run", "A"), ("serve", "--port", "0")):
            result = support.octavo(*command, "-m", self.towers["tiny-qwen35"])
            self.assertEqual(result.returncode, 1)
            self.assertIn("found an encoder of pictures, expected a text model", result.stderr)

    def test_another_models_encoder_is_refused_with_both_widths(self):
        wrong = self.folder / "mmproj-wrong.gguf"
        tiny_tower.write(wrong, tiny_tower.SHAPES["plain"])
        model = self.model()
        result = support.octavo("serve", "-m", model, "--mmproj", wrong, "--port", "0")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rows of 32 numbers, expected 256", result.stderr)


if __name__ == "__main__":
    unittest.main()
