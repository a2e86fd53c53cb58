#!/usr/bin/env python3
"""The time of pictures in a server, and what they cost the streams beside them.

    pictures.py --program build/release/octavo -m MODEL.gguf --mmproj MMPROJ.gguf [--family qwen|gemma] [--streams 8]
                [--pictures 6] [-- ARGS]

Pictures of noise, 1024 x 1024 pixels, of 1024 tokens for a tower with patches of 16 and 2 x 2 of them a token, of 256
for Gemma 3's, which makes every picture 896 x 896. First
each alone: the time to the first token, that of the encoder, and that of the same question again. Then streams of texts
go on, for as long as pictures come one after another: the time between their tokens without and with pictures.
Models of noise serve: synth_model.py --shape qwen3vl-0.6b, tiny_tower.py OUT qwen3vl-0.6b; with rows that see each
other, in joint passes between steps, synth_model.py --shape gemma-3-1b --sees, tiny_tower.py OUT gemma-3-1b.
"""
import argparse
import base64
import http.client
import json
import statistics
import struct
import threading
import time
import zlib

import numpy as np

import served

SIDE = 1024
PLACES = {"qwen": "<|vision_start|><|image_pad|><|vision_end|>", "gemma": "<start_of_image>"}
TEMPLATE = ("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
            "{% if p.type == 'image' %}PLACE{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}")


def picture_url(seed):
    rgb = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3), np.uint8)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(data).decode()


class Seeing(served.Server):
    def __init__(self, args):
        super().__init__(args.program, "-m", args.model, "--mmproj", args.mmproj, "--max-body-size", "32MiB",
                         "--chat-template", TEMPLATE.replace("PLACE", PLACES[args.family]), *args.args)
        self.address = f"127.0.0.1:{self.port}"

    def post(self, messages, count, on_token=None):
        """Seconds to the first token; each token's time is given to `on_token`."""
        connection = http.client.HTTPConnection(self.address, timeout=600)
        body = {"messages": messages, "max_tokens": count, "temperature": 0, "ignore_eos": True, "stream": True}
        begin, first = time.perf_counter(), None
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode()[:300])
        for line in response:
            if not line.startswith(b"data: {") or b'"content"' not in line and b'"reasoning' not in line:
                continue
            now = time.perf_counter()
            first = first or now - begin
            if on_token:
                on_token(now)
        connection.close()
        return first

    def metric(self, name):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def question(url, text="What is it?"):
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]}]


def alone(server, urls):
    first, again = [], []
    before = server.metric("octavo:picture_encode_seconds_total")
    for url in urls:
        first.append(server.post(question(url), 2))
        again.append(server.post(question(url, "And that?"), 2))
    encode = (server.metric("octavo:picture_encode_seconds_total") - before) / len(urls)
    print(f"alone: first token {statistics.median(first):.2f} s, of which the encoder {encode:.2f} s; "
          f"asked again {statistics.median(again):.2f} s")


def gaps(server, num_streams, work):
    """Milliseconds between tokens of the streams while `work` goes on."""
    times, stop = [[] for _ in range(num_streams)], threading.Event()

    def stream(i):
        while not stop.is_set():
            server.post([{"role": "user", "content": f"{i} tells a story"}], 100, times[i].append)

    threads = [threading.Thread(target=stream, args=(i,)) for i in range(num_streams)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    begin = time.perf_counter()
    work()
    end = time.perf_counter()
    stop.set()
    for thread in threads:
        thread.join()
    return [1000 * (b - a) for one in times for a, b in zip(one, one[1:]) if begin <= a and b <= end]


def show(name, found):
    found.sort()
    print(f"{name}: between tokens p50 {found[len(found) // 2]:.0f} ms, p99 {found[int(len(found) * 0.99)]:.0f} ms, "
          f"longest {found[-1]:.0f} ms, of {len(found)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--mmproj", required=True)
    parser.add_argument("--family", choices=PLACES, default="qwen")
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--pictures", type=int, default=6)
    parser.add_argument("args", nargs="*")
    args = parser.parse_args()
    with Seeing(args) as server:
        urls = [picture_url(seed) for seed in range(2 * args.pictures)]
        alone(server, urls[:3])
        show("without pictures", gaps(server, args.streams, lambda: time.sleep(10)))
        show("with pictures", gaps(server, args.streams,
                                   lambda: [server.post(question(url), 1) for url in urls[3:3 + args.pictures]]))

if __name__ == "__main__":
    main()
