#!/usr/bin/env python3
"""Writes a GGUF model again with float weights: every matrix dequantized and rounded to F16, all else as it was.

    dequantize_model.py MODEL.gguf OUT.gguf

With float weights an engine has no reason to quantize activations, so that the effect of something smaller than their
rounding, such as the element type of the KV memory, can be seen.
Needs: numpy, gguf. As a module: `dequantize_model(source, out)`.
"""
import argparse
import os

import gguf
import numpy as np

import oracle_model
from gguf_file import GgufFile

NOT_COPIED = ("GGUF.", "general.architecture", "general.file_type", "general.quantization_version")


def copy_metadata(reader, writer):
    for name, field in reader.fields.items():
        if name.startswith(NOT_COPIED):
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, field.contents())
        else:
            writer.add_key_value(name, field.contents(), field.types[0])


def dequantize_model(source, out):
    reader = GgufFile(source)
    partial = f"{out}.{os.getpid()}.partial"
    writer = gguf.GGUFWriter(partial, reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    for tensor in reader.tensors:
        weights = oracle_model.dequantize_tensor(tensor)
        writer.add_tensor(tensor.name, weights.astype(np.float16) if weights.ndim > 1 else weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, out)  # a run that is cut short leaves no half-written model under the final name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    args = parser.parse_args()
    dequantize_model(args.model, args.out)


if __name__ == "__main__":
    main()
