#!/usr/bin/env python3
"""Writes what the tests of pictures compare with: sizes as the models' makers choose them, and Pillow's resizes.

    make_picture_truth.py FOLDER        e.g. tests/data/pictures

sizes.tsv has, for each family and range of tokens, the digest of the sizes of 20,000 random pictures; resized.tsv has a
digest of each of some resized pictures of noise. The random numbers and the digest (FNV-1a of 64 bits) are those of
tests/vision/picture_truth.h. Needs numpy and Pillow 12: Pillow 13 resizes in another order.
"""
import argparse
import itertools
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


def gemma4_resize(height, width, side, most):
    """The formula of Gemma4ImageProcessor for a budget of tokens; its sides of tokens have `side` pixels."""
    factor = math.sqrt(most * side * side / (height * width))
    new_height = math.floor(factor * height / side) * side
    new_width = math.floor(factor * width / side) * side
    if new_height == 0:
        new_height, new_width = side, min(math.floor(width / height) * side, most * side)
    elif new_width == 0:
        new_height, new_width = min(math.floor(height / width) * side, most * side), side
    return new_height, new_width


def smolvlm_resize(height, width, longest, tile):
    """The formulas of SmolVLMImageProcessor: both sizes, and the tiles."""
    aspect = width / height
    if width >= height:
        width, height = longest, int(longest / aspect)
        height += height % 2
    else:
        width, height = int(longest * aspect), longest
        width += width % 2
    first = max(height, 1), max(width, 1)
    height, width = first
    aspect = width / height
    if width >= height:
        width = math.ceil(width / tile) * tile
        height = math.ceil(int(width / aspect) / tile) * tile
    else:
        height = math.ceil(height / tile) * tile
        width = math.ceil(int(height * aspect) / tile) * tile
    return first, (height, width), height * width // tile ** 2


def lfm2_sizes(height, width):
    """The formulas of Lfm2VlImageProcessor: the size of the tiles together, if there are any, and that of the overview."""
    unit, most = 32, 256 * 1024
    new = [max(unit, round(side / unit) * unit) for side in (height, width)]
    if new[0] * new[1] > most:
        beta = math.sqrt(height * width / most)
        new = [max(unit, math.floor(side / beta / unit) * unit) for side in (height, width)]
    elif new[0] * new[1] < most // 4:
        beta = math.sqrt(most // 4 / (height * width))
        new = [math.ceil(side * beta / unit) * unit for side in (height, width)]
    large = [max(16, round(side / unit) * unit) for side in (height, width)]
    if large[0] * large[1] <= most * 2:
        return None, new
    best, difference = (1, 1), float("inf")
    for count in range(2, 11):
        for columns in (n for n in range(1, count + 1) if count % n == 0):
            ratio = abs(width / height - columns / (count // columns))
            if ratio < difference or (ratio == difference and width * height > 0.5 * 512 * 512 * count):
                best, difference = (count // columns, columns), ratio
    return [512 * n for n in best], new


def pixtral_resize(height, width, longest, unit):
    """The formula of PixtralImageProcessor; a side has at least a token."""
    ratio = max(height / longest, width / longest)
    if ratio > 1:
        height, width = math.floor(height / ratio), math.floor(width / ratio)
    return [max((side - 1) // unit + 1, 1) * unit for side in (height, width)]


def minicpm_best_resize(height, width, side, unit, enlarges):
    """The size at which MiniCPMV4_6ImageProcessor sees a picture or a slice."""
    if height * width > side * side or enlarges:
        aspect = width / height
        height = int(side / math.sqrt(aspect))
        width = int(height * aspect)
    return [max(round(length / unit) * unit, unit) for length in (height, width)]


def minicpm_grid(height, width, side, most):
    """The rows and columns of slices of MiniCPMV4_6ImageProcessor; none: the picture is whole."""
    log_ratio = math.log(width / height)
    wanted = min(math.ceil(width * height / (side * side)), most)
    if wanted <= 1:
        return None
    best, least = [1, 1], float("inf")
    for count in (wanted - 1, wanted, wanted + 1):
        if count == 1 or count > most:
            continue
        for rows in (rows for rows in range(1, count + 1) if count % rows == 0):
            error = abs(log_ratio - math.log(count // rows / rows))
            if error < least or (error == least and rows > best[0]):
                best, least = [rows, count // rows], error
    return best


def minicpm_sizes(height, width, side=448, unit=56, most=9):
    """The formulas of MiniCPMV4_6ImageProcessor: the grid and the size of all slices, if there are any, and that of the
    overview."""
    grid = minicpm_grid(height, width, side, most)
    overview = minicpm_best_resize(height, width, side, unit, grid is None)
    if grid is None:
        return None, None, overview
    refined = [max(round(length / count) * count, count) / count
               for length, count in zip((height, width), grid, strict=True)]
    return grid, minicpm_best_resize(*refined, side, unit, True), overview


def muse_resize(height, width, side, most):
    """The formula of MuseGlimmerImageProcessor. Of equally good grids the first of a set is taken."""
    rows, columns = height / side, width / side
    ratio = columns / rows
    if rows * columns > most:
        rows = (most / ratio) ** 0.5
        columns = rows * ratio
    grids = list(set(itertools.product([math.floor(rows), math.ceil(rows)], [math.floor(columns), math.ceil(columns)])))
    grids = [grid for grid in grids if grid[0] >= 1 and grid[1] >= 1 and grid[0] * grid[1] <= most]
    grids = grids or [(max(1, round(rows)), max(1, round(columns)))]
    best = min(grids, key=lambda grid: abs(grid[0] / grid[1] - height / width))
    return best[0] * side, best[1] * side


def random_size(random):
    """Sides of any order of magnitude, a third of them halves of a token's side, at most 200 to 1."""
    while True:
        sides = []
        for _ in range(2):
            side = 1 + random.below(1 << (3 + random.below(12)))
            sides.append(max(side // 16, 1) * 16 if random.below(3) == 0 else side)
        if max(sides) <= 200 * min(sides):
            return sides


def tiles_of_smolvlm(height, width, *_):
    first, second, tiles = smolvlm_resize(height, width, 2048, 512)
    return [*first[::-1], *second[::-1], 512, 512, *([64 * (tiles + 1)] if tiles > 1 else [])]


def tiles_of_lfm2(height, width, *_):
    tiles, overview = lfm2_sizes(height, width)
    tokens = overview[0] * overview[1] // 1024
    return [*(tiles[::-1] if tiles else []), *overview[::-1], *([tokens + tiles[0] * tiles[1] // 1024] if tiles else [])]


def tiles_of_minicpm(height, width, *_):
    grid, size, overview = minicpm_sizes(height, width)
    tokens = overview[0] * overview[1] // 56 ** 2
    if grid is None:
        return overview[::-1]
    tokens += grid[0] * grid[1] * size[0] * size[1] // 56 ** 2
    return [size[1] * grid[1], size[0] * grid[0], *size[::-1], tokens]


# What a family makes of a height, a width and a range of tokens; widths come first.
SIZES = {"qwen3vl_merger": lambda height, width, least, most: smart_resize(height, width, 32, least * 1024,
                                                                           most * 1024)[::-1],
         "gemma3": lambda *_: (896, 896), "gemma4v": lambda height, width, _, most: gemma4_resize(height, width, 48, most)[::-1],
         "idefics3": tiles_of_smolvlm, "lfm2": tiles_of_lfm2,
         "pixtral": lambda height, width, *_: pixtral_resize(height, width, 1540, 28)[::-1],
         "qwen2vl_merger": lambda height, width, least, most: smart_resize(height, width, 28, least * 784,
                                                                           most * 784)[::-1],
         "minicpmv4_6": tiles_of_minicpm,
         "muse-glimmer": lambda height, width, _, most: muse_resize(height, width, 28, most)[::-1]}
SIZES["qwen2.5vl_merger"] = SIZES["qwen2vl_merger"]
SIZES["gemma4uv"] = SIZES["gemma4v"]  # transformers has the same rule in both families' processors
RANGES = {"qwen3vl_merger": ((64, 16384), (8, 4096), (64, 1280), (1, 1)),
          "gemma3": ((1, 256),), "gemma4v": ((1, 70), (1, 140), (1, 280), (1, 560), (1, 1120)),
          "gemma4uv": ((1, 280), (1, 1120)), "idefics3": ((1, 4096),),
          "lfm2": ((64, 2816),), "pixtral": ((1, 4096),),
          "qwen2vl_merger": ((4, 16384), (4, 1280)), "qwen2.5vl_merger": ((4, 16384), (4, 1280)),
          "minicpmv4_6": ((1, 4096),), "muse-glimmer": ((1, 4096), (1, 256))}


def sizes_of(family, least, most):
    """Digest of a family's sizes for a range of tokens."""
    random, value = Random(1), digest(b"")
    for _ in range(NUM_SIZES):
        width, height = random_size(random)
        value = digest(np.array(SIZES[family](height, width, least, most), "<i4").tobytes(), value)
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
    rows = [f"{family}\t{least}\t{most}\t{sizes_of(family, least, most):016x}"
            for family, ranges in RANGES.items() for least, most in ranges]
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
