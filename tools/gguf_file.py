"""Reads GGUF files as gguf.GGUFReader does, in a twentieth of its time where they have a vocabulary; and teaches the
package the types that its release does not know."""
import struct

import gguf
import numpy as np

ARRAY, STRING = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.STRING
NEW_TYPES = {"Q2_0": (42, 64, 18)}  # name -> number, weights and bytes of a block


def teach_new_types():
    types = gguf.GGMLQuantizationType
    for name, (number, per_block, block_bytes) in NEW_TYPES.items():
        if name in types.__members__:
            continue
        kind = int.__new__(types, number)
        kind._name_, kind._value_ = name, number
        setattr(types, name, kind)
        types._member_names_.append(name)
        types._member_map_[name] = types._value2member_map_[number] = kind
        gguf.GGML_QUANT_SIZES[kind] = (per_block, block_bytes)


teach_new_types()


class GgufFile(gguf.GGUFReader):
    """A reader that takes the elements of an array in one pass; `parts` of a field of numbers has them as one array."""

    def _get_field_parts(self, orig_offs, raw_type):
        if raw_type != ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        kind, count = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
        inner, begin, length = gguf.GGUFValueType(kind[0]), int(orig_offs) + 12, int(count[0])
        types = [ARRAY, inner] if length else [ARRAY]
        if inner == STRING:
            texts, end = self._texts(begin, length)
            return end - int(orig_offs), [kind, count, *texts], list(range(2, 2 + length)), types
        if inner not in self.gguf_scalar_to_np:
            return super()._get_field_parts(orig_offs, raw_type)
        values = self._get(begin, self.gguf_scalar_to_np[inner], length)
        return 12 + int(values.nbytes), [kind, count, values], [2], types

    def _texts(self, begin, count):
        """The bytes of texts that lie behind one another, and where they end."""
        data, texts, place = memoryview(self.data), [], begin
        for _ in range(count):
            (size,) = struct.unpack_from("<Q", data, place)
            place += 8 + size
            texts.append(data[place - size:place])
        return texts, place
