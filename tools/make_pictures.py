#!/usr/bin/env python3
"""Writes small pictures of every kind that is read, and what they are.

    make_pictures.py FOLDER        e.g. tests/data/pictures

pictures.tsv has a line for each: its name, its width and height, and a digest of its pixels (FNV-1a of 64 bits). JPEG,
WebP and GIF are what Pillow reads in them; PNG is written here and what it is follows from what was written. What is
transparent lies on white. Names that end in -1 to -8 are one picture in the orientations of EXIF. Needs numpy and
Pillow 12.
"""
import argparse
import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

from make_picture_truth import digest

WIDTH, HEIGHT = 23, 17
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6  # PNG's colour types
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), RGBA: (8, 16)}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def scene():
    """Gradients with an edge, so that a picture on its side is another one."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    rgb = np.stack([x * 255 // (WIDTH - 1), y * 255 // (HEIGHT - 1), (x * y) % 256], axis=2).astype(np.uint8)
    rgb[2:6, 3:9] = (250, 20, 40)
    return rgb


def rounded(values, most):
    """values * 255 / most, halves up."""
    return ((2 * values.astype(np.int64) * 255 + most) // (2 * most)).astype(np.uint8)


def on_white(values, alpha, most):
    """Rounded to the nearest, in the depth of the file."""
    values, alpha = values.astype(np.int64), alpha.astype(np.int64)
    return (2 * (values * alpha + most * (most - alpha)) + most) // (2 * most)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed_rows(samples, depth):
    """PNG's bytes of samples [height, width, channels], each row behind a filter of 0."""
    rows = []
    for row in samples:
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            bits = np.unpackbits(row.astype(np.uint8).reshape(-1, 1), axis=1)[:, 8 - depth:]
            data = np.packbits(bits.reshape(-1)).tobytes()
        rows.append(b"\0" + data)
    return b"".join(rows)


def png(samples, kind, depth, interlaced=False, before=()):
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        data = b"".join(packed_rows(part, depth) for part in parts if part.size)
    else:
        data = packed_rows(samples, depth)
    header = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], depth, kind, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*one) for one in before) +
            chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def png_of(kind, depth, has_key, interlaced):
    """A PNG, and its pixels."""
    rng = np.random.default_rng(kind * 100 + depth)
    most = (1 << depth) - 1
    samples = rng.integers(0, most + 1, (HEIGHT, WIDTH, CHANNELS[kind]))
    samples[::3, ::2] = samples[0, 0]
    before, alpha, colour_most = [], None, most
    colours = samples
    if kind in (GREY_ALPHA, RGBA):
        colours, alpha = samples[..., :-1], samples[..., -1:]
    if kind == PALETTE:
        palette = rng.integers(0, 256, (most + 1, 3))
        before.append((b"PLTE", palette.astype(np.uint8).tobytes()))
        colours, colour_most = palette[samples[..., 0]], 255
    if has_key and kind == PALETTE:
        opacity = rng.integers(0, 256, most + 1)
        before.append((b"tRNS", opacity.astype(np.uint8).tobytes()))
        alpha = opacity[samples]
    elif has_key:
        before.append((b"tRNS", samples[0, 0].astype(">u2").tobytes()))
        alpha = np.where((samples == samples[0, 0]).all(axis=2, keepdims=True), 0, most)
    if alpha is not None:
        colours = on_white(colours, alpha, colour_most)
    pixels = rounded(np.asarray(colours), colour_most)
    return png(samples, kind, depth, interlaced, before), np.repeat(pixels, 3 // pixels.shape[2], axis=2)


def all_pngs():
    names = {GREY: "grey", RGB: "rgb", PALETTE: "palette", GREY_ALPHA: "grey-alpha", RGBA: "rgba"}
    for kind, depths in DEPTHS.items():
        for depth in depths:
            for has_key in (False, True) if kind in (GREY, RGB, PALETTE) else (False,):
                for interlaced in (False, True):
                    name = f"{names[kind]}{depth}{'-key' if has_key else ''}{'-interlaced' if interlaced else ''}.png"
                    yield name, *png_of(kind, depth, has_key, interlaced)


def saved(picture, kind, **options):
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def pillow_pixels(data):
    """What Pillow reads, the first frame, upright and on white."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        rgba = np.asarray(picture.convert("RGBA"))
        return on_white(rgba[..., :3], rgba[..., 3:], 255).astype(np.uint8)
    return np.asarray(picture.convert("RGB"))


def all_jpegs(picture):
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        yield f"{name}.jpg", saved(picture, "JPEG", quality=80, subsampling=sampling)
        yield f"{name}-progressive.jpg", saved(picture, "JPEG", quality=80, subsampling=sampling, progressive=True)
    yield "grey.jpg", saved(picture.convert("L"), "JPEG")
    yield "grey-progressive.jpg", saved(picture.convert("L"), "JPEG", progressive=True)
    cmyk = saved(picture.convert("CMYK"), "JPEG", quality=90)
    yield "cmyk.jpg", cmyk
    place = cmyk.index(b"Adobe") + 11  # the transformation of colours: YCCK
    yield "ycck.jpg", cmyk[:place] + b"\2" + cmyk[place + 1:]
    yield "restarts.jpg", saved(picture, "JPEG", restart_marker_blocks=1)


def patchwork():
    """Parts of many kinds, for which an encoder without loss makes several groups of codes."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[0:128, 0:128]
    rgb = np.stack([x * 2, y * 2, (x * y // 37) % 256], axis=2).astype(np.int64)
    rgb[:48, :48] += rng.integers(-3, 4, (48, 48, 3))
    rgb[64:100, 20:60] = rng.integers(0, 2, (36, 40, 1)) * 255
    rgb[20:60, 70:120] = rng.integers(0, 40, (40, 50, 3))
    rgb[80:, 80:] = 77
    return Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8))


def all_webps(picture, clear):
    yield "groups.webp", saved(patchwork(), "WEBP", lossless=True, method=6)
    yield "lossy.webp", saved(picture, "WEBP", quality=80)
    yield "lossless.webp", saved(picture, "WEBP", lossless=True)
    yield "lossy-alpha.webp", saved(clear, "WEBP", quality=80)
    yield "lossless-alpha.webp", saved(clear, "WEBP", lossless=True, exact=True)
    frames = [picture, ImageOps.mirror(picture), ImageOps.flip(picture)]
    yield "animated.webp", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    clear_frames = [clear, ImageOps.mirror(clear)]
    yield "animated-alpha.webp", saved(clear, "WEBP", save_all=True, append_images=clear_frames[1:], quality=80)


def all_gifs(picture, clear):
    plain = saved(picture, "GIF", interlace=0)
    yield "plain.gif", plain
    yield "interlaced.gif", saved(picture, "GIF", interlace=1)
    yield "clear.gif", saved(clear, "GIF")
    frames = [picture, ImageOps.mirror(picture), ImageOps.flip(picture)]
    yield "animated.gif", saved(frames[0], "GIF", save_all=True, append_images=frames[1:], disposal=[2, 3, 1])


def offset_gif(picture):
    """A frame on a larger screen, and one that is larger than its screen, both white around."""
    plain = saved(picture, "GIF", interlace=0)
    frame = plain.index(b",\0\0\0\0" + struct.pack("<HH", WIDTH, HEIGHT))
    for name, screen in (("offset.gif", (40, 30)), ("beyond.gif", (10, 10))):
        data = bytearray(plain)
        data[6:10] = struct.pack("<HH", *screen)
        data[frame + 1:frame + 5] = struct.pack("<HH", 5, 4)
        width, height = max(screen[0], WIDTH + 5), max(screen[1], HEIGHT + 4)
        pixels = np.full((height, width, 3), 255, np.uint8)
        pixels[4:4 + HEIGHT, 5:5 + WIDTH] = pillow_pixels(plain)
        yield name, bytes(data), pixels


def exif_block(orientation, order):
    """A block of EXIF with two entries, in either order of bytes."""
    head = b"II*\0" if order == "<" else b"MM\0*"
    entries = struct.pack(order + "HHIHH", 0x0100, 3, 1, WIDTH, 0) + struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return head + struct.pack(order + "IH", 8, 2) + entries + bytes(4)


def all_orientations(picture):
    """The scene in 8 orientations: its pixels are stored otherwise each time, and upright always the same."""
    stored = {1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
              4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90,
              7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270}
    for orientation, change in stored.items():
        lying = picture if change is None else picture.transpose(change)
        exif = exif_block(orientation, "<" if orientation % 2 else ">")
        data = np.asarray(lying)
        yield f"turned-{orientation}.png", png(data, RGB, 8, before=[(b"eXIf", exif)]), np.asarray(picture)
        end = png(data, RGB, 8)
        yield f"turned-late-{orientation}.png", end[:-12] + chunk(b"eXIf", exif) + end[-12:], np.asarray(picture)
        yield f"turned-{orientation}.webp", saved(lying, "WEBP", lossless=True, exif=exif), np.asarray(picture)
        jpeg = saved(lying, "JPEG", quality=90, subsampling=0, exif=b"Exif\0\0" + exif)
        yield f"turned-{orientation}.jpg", jpeg, pillow_pixels(jpeg)


def all_pictures():
    picture = Image.fromarray(scene())
    alpha = np.full((HEIGHT, WIDTH), 255, np.uint8)
    alpha[:, 12:] = (np.arange(WIDTH - 12) * 20)[None, :]
    clear = Image.fromarray(np.dstack([scene(), alpha]))
    yield from all_pngs()
    for files in (all_jpegs(picture), all_webps(picture, clear), all_gifs(picture, clear)):
        for name, data in files:
            yield name, data, pillow_pixels(data)
    yield from offset_gif(picture)
    yield from all_orientations(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, data, pixels in all_pictures():
        (args.folder / name).write_bytes(data)
        height, width, _ = pixels.shape
        rows.append(f"{name}\t{width}\t{height}\t{digest(pixels.astype(np.uint8).tobytes()):016x}")
    (args.folder / "pictures.tsv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
