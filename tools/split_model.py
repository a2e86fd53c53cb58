#!/usr/bin/env python3
"""Writes a GGUF model again as several files, each with at most so many tensors: OUT-00001-of-00003.gguf and so on.

    split_model.py MODEL.gguf OUT.gguf MAX_TENSORS

The files are the gguf package's own; they are as llama.cpp's gguf-split makes them. Needs: gguf. As a module:
`split_model(source, out, max_tensors)` returns the paths of the files, in their order.
"""
import argparse
import pathlib

import gguf

import dequantize_model
from gguf_file import GgufFile


def split_model(source, out, max_tensors):
    out = pathlib.Path(out)
    reader = GgufFile(source)
    writer = gguf.GGUFWriter(out, reader.fields["general.architecture"].contents(), split_max_tensors=max_tensors)
    dequantize_model.copy_metadata(reader, writer)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(out.parent.glob(f"{out.stem}-*-of-*.gguf"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("max_tensors", type=int)
    args = parser.parse_args()
    for path in split_model(args.model, args.out, args.max_tensors):
        print(path)


if __name__ == "__main__":
    main()
