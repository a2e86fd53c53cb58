#!/usr/bin/env python3
"""Checks that every #include of the sources points down, as the layers of the design allow.

    check_layers.py ROOT        reads ROOT/src and ROOT/include; prints each wrong include, exit code 1 if there is one

A layer is a folder of src/. "public" is include/octavo/, which every layer may use and which itself uses nothing
else. A layer may always include itself; where it has a row in FOLDERS, its folders may include what stands there.
"""
import pathlib
import re
import sys

# layer -> layers it may include, each one explicit: a sideways edge is a decision, not an accident
ALLOWED = {
    "public": set(),
    "base": {"public"},
    "json": {"public", "base"},
    "vision": {"public", "base"},
    "template": {"public", "base", "json"},
    "toolcalls": {"public", "base", "json"},
    "tensor": {"public", "base"},
    "source": {"public", "base", "json", "tensor"},
    # tokenizer: the words of a tokenizer.json, to be written as GGUF has them.
    "convert": {"public", "base", "json", "tensor", "source", "tokenizer"},
    "kernels": {"public", "base", "tensor"},
    "kv": {"public", "base", "tensor", "kernels"},
    "kv_store": {"public", "base", "kv"},
    "kv_events": {"public", "base", "kv"},
    "attention": {"public", "base", "tensor", "kernels", "kv"},
    # For people who have an engine of their own: ours uses kv and attention by themselves.
    "kv_library": {"public", "base", "tensor", "kernels", "kv", "attention"},
    "tokenizer": {"public", "base", "json", "tensor", "source"},
    "chat": {"public", "base", "json", "source", "template", "toolcalls", "tokenizer"},
    "constraint": {"public", "base", "json", "tokenizer"},
    # kernels: the sizes of packed weights and of a recurrent state.
    "model": {"public", "base", "tensor", "source", "kernels", "kv"},
    # The seam between the devices that layers lie on, and what every one of them makes of a step.
    "stage": {"public", "base", "tensor", "source", "kernels", "kv", "model"},
    # sampler: guesses of a draft head are drawn as the tokens that they guess; vision: the pixels that an encoder reads.
    "cpu": {"public", "base", "vision", "tensor", "source", "kernels", "kv", "attention", "model", "stage", "sampler"},
    "gpu": {"public", "base", "tensor", "source", "kernels", "kv", "attention", "model", "stage", "sampler"},
    "sampler": {"public", "base", "tensor", "kernels"},
    # convert: the types of a model that is quantized as it is loaded.
    "engine": {"public", "base", "json", "tensor", "source", "convert", "tokenizer", "chat", "toolcalls", "constraint", "kernels", "kv",
               "kv_events", "kv_store", "attention", "model", "stage", "cpu", "gpu", "sampler", "vision"},
    # chat: the names by which templates are told whether to think; sampler: a prompt's log-probabilities are those of drawn tokens,
    # reduced by the same functions.
    "api": {"public", "base", "json", "tokenizer", "chat", "toolcalls", "sampler"},
    # api: the errors that a connection answers by itself.
    "http": {"public", "base", "json", "api"},
    "server": {"public", "base", "json", "api", "http"},
    # source: the names of shards.
    "hub": {"public", "base", "json", "source"},
    # model: `octavo info` says what a file will need in memory, which its hyperparameters tell without loading it; gpu: and what
    # of it a card has room for.
    "cli": {"public", "base", "json", "vision", "template", "tensor", "source", "convert", "tokenizer", "chat", "toolcalls", "model", "gpu",
            "sampler", "kv_store", "engine", "api", "http", "server", "hub"},
    # The C interface: everything that the program has, for other languages. constraint: masks for those who draw alone.
    "capi": {"public", "base", "json", "constraint", "engine", "api", "server", "cli"},
}
# folders that only their own layer may include: the forms of files behind source/model_source.h
PRIVATE = ("source/gguf/", "source/folder/")
# layer -> its folders, lowest first -> folders of the same layer that each may include; "" is the layer's own folder
FOLDERS = {
    "api": {
        "call": set(),
        "fields": {"call"},
        "prepare": {"call", "fields"},
        "answers": {"call"},
        "openai": {"call", "fields", "prepare", "answers"},
        "ollama": {"call", "fields", "answers"},
        "messages": {"call", "fields", "answers"},
        "responses": {"call", "fields", "prepare", "answers"},
        "llama": {"call", "fields", "answers", "openai"},
        "vectors": {"call", "fields", "prepare", "answers", "openai", "ollama"},
        "": {"call", "fields", "prepare", "answers", "openai", "ollama", "messages", "responses", "llama", "vectors"},
    },
    "engine": {
        "drafts": set(),
        "schedule": {"drafts"},
        "text": set(),
        "pictures": {"schedule"},
        "answers": {"drafts", "schedule", "text"},
        "drive": {"schedule", "answers", "pictures"},
        "": {"schedule", "text", "answers", "drive", "pictures"},
        "load": {"text", "pictures", ""},
    },
    "constraint": {
        "grammar": set(),
        "regex": {"grammar"},
        "schema": {"grammar", "regex"},
        "trie": set(),
        "automaton": {"grammar", "trie"},
        "masks": {"trie", "automaton"},
        "": {"grammar", "regex", "schema", "trie", "automaton", "masks"},
    },
    "tokenizer": {
        "words": set(),
        "text": {"words"},
        "pretokenize": {"words", "text"},
        "json": {"words", "text", "pretokenize"},
        "": {"words", "text", "pretokenize", "json"},
    },
    "template": {
        "values": set(),
        "builtins": {"values"},
        "parse": {"values", "builtins"},
        "run": {"values", "builtins", "parse"},
        "": {"values", "parse", "run"},
    },
    "cli": {
        "terminal": set(),
        "options": {"terminal"},
        "batch": {"terminal", "options"},
        "llama": {"terminal", "options"},
        "": {"terminal", "options", "batch", "llama"},
        "chat": {"terminal", "options", ""},
        "bench": {"terminal", "options", ""},
        "serve": {"terminal", "options", ""},
    },
}
C_INTERFACE = "octavo.h"  # include/octavo.h, which includes nothing of ours
SUFFIXES = {".h", ".cc", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(octavo/[^>]+)>)')


def layer_of_file(root, path):
    parts = path.relative_to(root).parts
    if parts[0] == "include":
        return "public"
    return parts[1] if len(parts) > 2 else None


def folder_of(parts):
    """The folder below a layer's own; "": that itself. `parts` of a path from src/."""
    return parts[1] if len(parts) > 2 else ""


def layer_of_include(name):
    first = name.split("/")[0]
    return "public" if first == "octavo" else first


def may_include(layer, folder, target):
    return folder == target or layer not in FOLDERS or target in FOLDERS[layer][folder]


def check_file(root, path):
    """Messages about one file's includes."""
    where, layer = path.relative_to(root), layer_of_file(root, path)
    if layer not in ALLOWED:
        return [f"{where}: belongs to no layer; the layers are {', '.join(ALLOWED)}"]
    folder = folder_of(where.parts[1:])
    if folder not in FOLDERS.get(layer, {folder}):
        return [f"{where}: belongs to no folder of {layer}; they are {', '.join(filter(None, FOLDERS[layer]))}"]
    problems = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(1) or match.group(2)
        target = layer_of_include(name)
        if name == C_INTERFACE:
            continue
        if "/" not in name or ".." in name.split("/"):
            problems.append(f'{where}:{number}: "{name}" is not a path from src/ or include/')
        elif target not in ALLOWED:
            problems.append(f'{where}:{number}: "{name}" belongs to no layer')
        elif target != layer and target not in ALLOWED[layer]:
            problems.append(f'{where}:{number}: {layer} must not include {target} ("{name}")')
        elif target == layer and not may_include(layer, folder, folder_of(name.split("/"))):
            problems.append(f'{where}:{number}: the folder "{folder}" of {layer} must not include "{name}"')
        elif target != layer and name.startswith(PRIVATE):
            problems.append(f'{where}:{number}: only {target} may include "{name}"')
    return problems


def check_tree(root):
    root = pathlib.Path(root)
    files = sorted(p for top in ("src", "include") for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    if not files:
        return [f"{root}: no sources under src/ or include/"]
    return [problem for path in files for problem in check_file(root, path)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check_tree(sys.argv[1])
    print("\n".join(problems) if problems else "every include points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
