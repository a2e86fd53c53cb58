"""A model that sees: its answers to two pictures are those of its original, whatever else runs and whoever asks; a picture
is encoded once; what is none is refused with its place."""
import base64
import json
import pathlib
import struct
import sys
import tempfile
import unittest
import zlib

import numpy as np

import support
import tiny_tower
from browser import PROGRAM, Browser
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
