"""Pictures in messages: PIL images, files, bytes and arrays of numpy as the parts that the server's chats have."""
from __future__ import annotations

import base64
import io
import os
import struct
import zlib
from typing import Any, Dict, List, Mapping

_EXPECTED = "a PIL image, a path, bytes, an array [height, width, 3] of uint8, or a data URL"


def _png(array: Any, place: str) -> bytes:
    """The bytes of a PNG of an array [height, width, 3] of uint8."""
    if len(array.shape) != 3 or array.shape[2] != 3 or str(array.dtype) != "uint8" or 0 in array.shape:
        raise ValueError(f"{place}: found an array {list(array.shape)} of {array.dtype}, expected [height, width, 3] of "
                         "uint8")

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = int(array.shape[0]), int(array.shape[1])
    rows = b"".join(b"\0" + array[i].tobytes() for i in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def is_picture(value: Any) -> bool:
    """Whether a value is a picture by its type alone; a text is none."""
    return (isinstance(value, (bytes, bytearray, os.PathLike)) or (hasattr(value, "save") and hasattr(value, "mode"))
            or (hasattr(value, "dtype") and hasattr(value, "shape")))


def picture_bytes(value: Any, place: str) -> bytes:
    """The bytes of a picture's file. Raises TypeError, ValueError, OSError."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return file.read()
    if hasattr(value, "save") and hasattr(value, "mode"):
        file = io.BytesIO()
        mode = value.mode if value.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16") else "RGB"
        (value if mode == value.mode else value.convert(mode)).save(file, format="PNG")
        return file.getvalue()
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _png(value, place)
    raise TypeError(f"{place}: found {value!r:.60} ({type(value).__name__}), expected {_EXPECTED}")


def _part(part: Any, place: str) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if is_picture(part):
        part = {"type": "image", "image": part}
    if not isinstance(part, Mapping) or part.get("type") != "image" or isinstance(part.get("image"), str):
        return part
    url = "data:;base64," + base64.b64encode(picture_bytes(part.get("image"), place + ".image")).decode("ascii")
    detail = {"detail": part["detail"]} if "detail" in part else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def with_pictures(message: Mapping[str, Any], place: str) -> Dict[str, Any]:
    """A message whose content, if it is a list, has texts and pictures as parts. Raises as picture_bytes()."""
    content = message.get("content")
    if is_picture(content):
        content = [content]
    if not isinstance(content, (list, tuple)):
        return dict(message)
    parts: List[Any] = [_part(part, f"{place}.content[{i}]") for i, part in enumerate(content)]
    return dict(message, content=parts)
