"""A drawn picture and three questions about it, which tools/check_real.py asks models that see.

Nothing here needs a package: the picture is drawn and written as PNG by hand.
"""
import base64
import re
import struct
import zlib

import real_questions

SIDE = 448  # a multiple of the sides of all encoders' tokens, or near one
WHITE, RED, BLUE, BLACK = (255, 255, 255), (220, 20, 20), (20, 60, 220), (0, 0, 0)
SEGMENTS = {"4": "bcfg", "7": "abc"}  # of a digit: a is the upper one, then clockwise, g the middle one
NUMBER = "47"
# Each with words of which a right answer has one.
QUESTIONS = (("What colour is the circle? Answer with one word.", ("red",)),
             ("How many blue squares are there? Answer with a number.", ("3", "three")),
             ("Which number is written on the picture? Answer with the number alone.", (NUMBER, "forty-seven")))
FEWEST_RIGHT = 2  # small models miscount


class Drawing:
    def __init__(self):
        self.rows = [bytearray(bytes(WHITE) * SIDE) for _ in range(SIDE)]

    def rectangle(self, left, top, width, height, colour):
        for row in self.rows[top:top + height]:
            row[3 * left:3 * (left + width)] = bytes(colour) * width

    def circle(self, x, y, radius, colour):
        for dy in range(-radius, radius + 1):
            half = int((radius ** 2 - dy ** 2) ** 0.5)
            self.rectangle(x - half, y + dy, 2 * half, 1, colour)

    def digit(self, digit, left, top, size):
        """Of seven segments; twice as high as wide."""
        thick, end = size // 6, size - size // 6
        places = {"a": (0, 0, size, thick), "g": (0, end, size, thick), "d": (0, 2 * end, size, thick),
                  "f": (0, 0, thick, size), "b": (end, 0, thick, size), "e": (0, end, thick, size),
                  "c": (end, end, thick, size)}
        for segment in SEGMENTS[digit]:
            x, y, width, height = places[segment]
            self.rectangle(left + x, top + y, width, height, BLACK)

    def png(self):
        def chunk(name, data):
            return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

        rows = b"".join(b"\0" + row for row in self.rows)
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def picture():
    """A PNG: a red circle, three blue squares in a row below it, and a number beside it."""
    drawing = Drawing()
    drawing.circle(120, 130, 80, RED)
    for i in range(3):
        drawing.rectangle(50 + 130 * i, 320, 80, 80, BLUE)
    for i, digit in enumerate(NUMBER):
        drawing.digit(digit, 250 + 90 * i, 70, 64)
    return drawing.png()


def sees(server):
    return bool(server.get("/props").get("modalities", {}).get("vision"))


def answers(server):
    """Whether enough of them are right, and what to show of it."""
    url = "data:image/png;base64," + base64.b64encode(picture()).decode()
    said, right = [], 0
    for question, words in QUESTIONS:
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
        message = real_questions.chat(server, [{"role": "user", "content": content}])["message"]
        text = (message.get("content") or "").strip()
        right += not set(words).isdisjoint(re.findall(r"[a-z0-9-]+", text.lower()))
        said.append(text[:20] or "nothing")
    return right >= FEWEST_RIGHT, f"{right} of {len(QUESTIONS)} right: {'; '.join(said)}"
