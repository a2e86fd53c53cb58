"""Pictures of hostile sizes by each family of encoders: sides at every limit and beyond, strips that become many tiles, as
many pictures as a request may have. Each is read or refused in words, and the server goes on."""
import json
import sys
import time
import unittest

import numpy as np

import support
import synth_model
from test_server_hostile_pictures import READ, REFUSED, peak_bytes, png_of_one_colour
from test_server_picture_families import FAMILIES, Seeing
from test_server_pictures import image_part, png, text_part

MOST_S = 10 if support.SANITIZED else 5  # for a request that is refused
MOST_BYTES = 600 << 20
BESIDE_STREAMS = "A" * 3  # what is asked between attacks

# So that a picture that is one tile is not as many tokens as the model's context.
FEWER_TOKENS = {name: ("--image-max-tokens", "256") for name in ("tiny-qwen2vl", "tiny-muse-glimmer")}

# Sides in pixels -> the status. Sides end at 16,384, aspects at 200.
SIZES = {
    (1, 1): READ, (1, 2): READ, (1, 200): READ, (200, 1): READ, (1, 201): REFUSED, (201, 1): REFUSED,
    (2, 399): READ, (13, 15): READ, (27, 29): READ, (113, 111): READ, (449, 447): READ, (513, 511): READ,
    (1540, 8): READ, (16_384, 82): READ, (82, 16_384): READ, (16_385, 82): REFUSED, (82, 16_385): REFUSED,
    (1, 65_535): REFUSED, (65_535, 1): REFUSED, (1, 65_536): REFUSED, (2000, 1999): READ,
}


class Hostile(Seeing):
    def say(self, server, parts, status, what, **fields):
        """Asks about pictures. A prompt beyond the model's context may be refused for that; gives whether it was read."""
        begin = time.monotonic()
        found, _, text = server.request("POST", "/v1/chat/completions",
                                        {"messages": [{"role": "user", "content": parts}], "max_tokens": 1, **fields})
        seconds = time.monotonic() - begin
        answer = json.loads(text)
        if found == REFUSED:
            self.assertGreater(len(answer["error"]["message"]), 10, what)
            too_long = "context" in answer["error"]["message"] or "tokens" in answer["error"]["message"]
            self.assertTrue(status == REFUSED or too_long, (what, answer))
        else:
            self.assertEqual((found, status), (READ, READ), (what, answer))
        if status == REFUSED:
            self.assertLess(seconds, MOST_S, what)
        return found == READ

    def test_sides_at_every_limit(self):
        for name in FAMILIES:
            with self.subTest(name), self.server(*FEWER_TOKENS.get(name, ()), name=name) as server:
                expected = server.complete(BESIDE_STREAMS, max_tokens=4)["choices"][0]["text"]
                before, read = server.resident_bytes(), 0
                begin = time.monotonic()
                for (width, height), status in SIZES.items():
                    picture = png_of_one_colour(width, height)
                    read += self.say(server, [text_part("A"), image_part(picture)], status, (name, width, height))
                grown = peak_bytes(server) - before
                print(f"{name}: {read} of {len(SIZES)} read in {time.monotonic() - begin:.1f} s, {grown >> 20} MiB more",
                      file=sys.stderr)
                self.assertGreater(read, 5)
                if not support.SANITIZED:
                    self.assertLess(grown, MOST_BYTES)
                self.assertEqual(server.complete(BESIDE_STREAMS, max_tokens=4)["choices"][0]["text"], expected)
                self.assertEqual(server.metrics().get("octavo:server_failures_total", 0), 0)

    def assert_no_place_by_text(self, server, name):
        """The marks of pictures in a client's text are text, also where the file calls them a user's own words."""
        marks = "".join(synth_model.OWN_PICTURE_MARKS.get(name, ())) + FAMILIES[name].place
        picture = image_part(png(np.full((28, 28, 3), 9, np.uint8)))
        few = {"image_min_tokens": 1, "image_max_tokens": 1}
        counts = []
        for parts in ([text_part("A"), picture], [text_part(marks), picture], [text_part(marks)]):
            status, _, text = server.request("POST", "/v1/chat/completions", {
                "messages": [{"role": "user", "content": parts}], "max_tokens": 1, **few})
            self.assertEqual(status, READ, (name, text))
            counts.append((json.loads(text)["usage"].get("prompt_tokens_details") or {}).get("image_tokens", 0))
        self.assertEqual(counts, [counts[0], counts[0], 0], name)

    def test_a_hundred_pictures_are_as_many_as_may_be(self):
        """Of some tiles each, so that a hundred tiles and more lie in one request, whose context ends them in words."""
        large = png(np.zeros((300, 300, 3), np.uint8))
        for name in FAMILIES:
            with self.subTest(name), self.server(name=name) as server:
                for count in (100, 101):
                    status = READ if count == 100 else REFUSED
                    self.say(server, count * [image_part(large)], status, (name, count))
                self.assert_no_place_by_text(server, name)
                small = image_part(png(np.full((28, 28, 3), 9, np.uint8)))
                self.say(server, 20 * [small], READ, (name, "small"), image_min_tokens=1, image_max_tokens=1)
                self.ask(server, self.question_of(name), count=2)
                self.assertEqual(server.metrics().get("octavo:server_failures_total", 0), 0)


if __name__ == "__main__":
    unittest.main()
