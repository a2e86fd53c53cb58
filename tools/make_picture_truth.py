#!/usr/bin/env python3
"""Writes what the tests of pictures compare with: sizes as the models' makers choose them, and Pillow's resizes.

    make_picture_truth.py FOLDER        e.g. tests/data/pictures

sizes.tsv has, for each family and range of tokens, the digest of the sizes of 20,000 random pictures; resized.tsv has a
digest of each of some resized pictures of noise. The random numbers and the digest (FNV-1a of 64 bits) are those of
tests/vision/picture_truth.h. Needs numpy and Pillow 12: Pillow 13 resizes in another order.
"""
import argparse
import math
import pathlib

import numpy as np
import PIL
from PIL import Image

NUM_SIZES = 20_000
MASK = (1 << 64) - 1
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
RESIZES = [(1, 1, 7, 5), (7, 5, 1, 1), (64, 48, 64, 20), (64, 48, 20, 48), (37, 23, 64, 96), (200, 1, 96, 32),
           (1, 200, 32, 640), (333, 251, 96, 64), (333, 251, 320, 256), (640, 100, 32, 160), (511, 17, 512, 16),
           (100, 90, 101, 91), (300, 200, 299, 199)]


class Random:
    """A linear congruential generator, whose high bits are taken."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state >> 33

    def below(self, limit):
        return self.next() % limit


def digest(data, start=0xCBF29CE484222325):
    for byte in data:
        start = (start ^ byte) * 0x100000001B3 & MASK
    return start


def smart_resize(height, width, factor, min_pixels, max_pixels):
    """The formula of Qwen2VLImageProcessor."""
    new_height, new_width = round(height / factor) * factor, round(width / factor) * factor
    if new_height * new_width > max_pixels:
        beta = math.sqrt((height * width) / max_pixels)
        new_height = max(factor, math.floor(height / beta / factor) * factor)
        new_width = max(factor, math.floor(width / beta / factor) * factor)
    elif new_height * new_width < min_pixels:
        beta = math.sqrt(min_pixels / (height * width))
        new_height = math.ceil(height * beta / factor) * factor
        new_width = math.ceil(width * beta / factor) * factor
    return new_height, new_width


def random_size(random):
    """Sides of any order of magnitude, a third of them halves of a token's side, at most 200 to 1."""
    while True:
        sides = []
        for _ in range(2):
            side = 1 + random.below(1 << (3 + random.below(12)))
            sides.append(max(side // 16, 1) * 16 if random.below(3) == 0 else side)
        if max(sides) <= 200 * min(sides):
            return sides


def sizes_of(least, most):
    """Digest of the sizes of qwen3vl_merger for a range of tokens."""
    random, value = Random(1), digest(b"")
    for _ in range(NUM_SIZES):
        width, height = random_size(random)
        new_height, new_width = smart_resize(height, width, 32, least * 1024, most * 1024)
        value = digest(np.array([new_width, new_height], "<i4").tobytes(), value)
    return value


def noise(width, height):
    random = Random(width * 65536 + height)
    values = np.array([random.next() >> 23 for _ in range(width * height * 3)], np.uint8)
    return Image.fromarray(values.reshape(height, width, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    if int(PIL.__version__.split(".")[0]) > 12:
        parser.error(f"needs Pillow 12 or older, found {PIL.__version__}")
    args.folder.mkdir(parents=True, exist_ok=True)
    rows = [f"qwen3vl_merger\t{least}\t{most}\t{sizes_of(least, most):016x}"
            for least, most in ((64, 16384), (8, 4096), (64, 1280), (1, 1))]
    (args.folder / "sizes.tsv").write_text("\n".join(rows) + "\n")
    rows = []
    for width, height, to_width, to_height in RESIZES:
        picture = noise(width, height)
        for name, kind in FILTERS.items():
            data = picture.resize((to_width, to_height), kind).tobytes()
            rows.append(f"{name}\t{width}\t{height}\t{to_width}\t{to_height}\t{digest(data):016x}")
    (args.folder / "resized.tsv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
