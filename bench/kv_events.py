#!/usr/bin/env python3
"""What the events about KV blocks cost the thread that computes, in instructions, which no other program disturbs.

    kv_events.py OCTAVO MODEL [--prompts 12] [--words 400] [--kv-memory 16MiB]

Serves the model under callgrind with one thread and AVX2, once without and once with --kv-events and a subscriber, and
asks for one token of each of some prompts that have nothing in common, more than the KV memory has room for: blocks are
stored and removed. Counted are the engine's steps alone. Needs valgrind and pyzmq; the smaller the model, the larger the
share of a step.
"""
import argparse
import pathlib
import random
import re
import socket
import tempfile
import threading
import time

import zmq

import served

WORDS = "sea sun old new red sky day way man box car dog tea cup map key sun ice oil gas".split()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def read_events(port, is_over, told):
    """Reads along as a router would."""
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        subscriber.linger = 0
        subscriber.setsockopt(zmq.SUBSCRIBE, b"")
        subscriber.connect(f"tcp://127.0.0.1:{port}")
        while not is_over.is_set():
            if subscriber.poll(200):
                told.append(len(subscriber.recv_multipart()[2]))


def count_of(server, prompt):
    """Has a token made, and gives the number of the prompt's."""
    status, answer = server.ask("/v1/completions", {"prompt": prompt, "max_tokens": 1, "temperature": 0}, timeout=3600)
    if status != 200:
        raise RuntimeError(f"status {status}: {answer}")
    return answer["usage"]["prompt_tokens"]


def counted(args, tells):
    """(instructions of all steps, tokens of the prompts, bytes that were told)"""
    events, is_over, told = free_port(), threading.Event(), []
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "counts")
        under = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                 "--toggle-collect=octavo::Step::run*"]
        settings = ["-m", args.model, "--threads", "1", "--isa", "avx2", "--itl-target-ms", "0", "--kv-memory",
                    args.kv_memory]
        settings += ["--kv-events", str(events), "--kv-events-topic", ""] if tells else []
        reader = threading.Thread(target=read_events, args=(events, is_over, told))
        with served.Server(args.octavo, *settings, under=under, start_s=600) as server:
            reader.start()
            try:
                draw, num_tokens = random.Random(1), 0
                for _ in range(args.prompts):
                    prompt = " ".join(draw.choices(WORDS, k=args.words))
                    num_tokens += count_of(server, prompt)
                time.sleep(2)
            finally:
                is_over.set()
                reader.join()
            server.terminate()
            server.process.wait()
        total = re.search(r"^(?:totals|summary): (\d+)", out.read_text(encoding="utf-8", errors="replace"), re.M)
        return int(total.group(1)), num_tokens, sum(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octavo")
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--kv-memory", default="16MiB")
    args = parser.parse_args()
    (plain, num_tokens, _), (told, same, num_bytes) = counted(args, False), counted(args, True)
    if num_tokens != same:
        raise RuntimeError(f"found {same} tokens in the second run, expected {num_tokens}")
    num_blocks = num_tokens // 16
    per_block = (told - plain) / num_blocks
    print(f"{num_blocks} blocks of {num_tokens} tokens, {num_bytes} bytes of events")
    print(f"instructions of the steps: {plain} without events, {told} with them: {100 * (told - plain) / plain:.3f} %")
    print(f"{per_block:.0f} instructions for each block that is stored, with the removal of another; "
          f"10,000 blocks a second are {per_block * 1e4 / 1e6:.1f} million instructions a second")


if __name__ == "__main__":
    main()
