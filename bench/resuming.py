#!/usr/bin/env python3
"""How long the first new token of an answer that goes on takes, beside that of a prompt as long.

    resuming.py OCTAVO MODEL [--prompt 200] [--had 800] [--times 15]

By turns, with nothing cached: a prompt with the answer's tokens behind it, and the prompt with the same tokens as
`resume_from`. Prints the medians and the median ratio.
"""
import argparse
import http.client
import json
import random
import statistics
import time

import served


def stream(port, body):
    """(seconds to the first event that has tokens, the events)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    begin, first, events = time.perf_counter(), None, []
    connection.request("POST", "/v1/completions", json.dumps({**body, "stream": True, "return_token_ids": True}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(answer.read().decode())
    for line in answer:
        if line.startswith(b"data: {"):
            events.append(json.loads(line[6:]))
            if first is None and events[-1]["choices"] and events[-1]["choices"][0].get("token_ids"):
                first = time.perf_counter() - begin
    return first, events


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octavo")
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, default=200)
    parser.add_argument("--had", type=int, default=800)
    parser.add_argument("--times", type=int, default=15)
    args = parser.parse_args()
    with served.Server(args.octavo, "-m", args.model) as server:
        port, draw, prompts, resumed = server.port, random.Random(1), [], []
        for i in range(args.times + 1):
            prompt = [draw.randrange(1000, 9000) for _ in range(args.prompt)]
            had = [draw.randrange(1000, 9000) for _ in range(args.had)]
            fields = {"temperature": 1, "ignore_eos": True, "seed": i}
            whole = stream(port, {**fields, "prompt": prompt[:8], "max_tokens": 2})[1][0]
            told = {name: whole[name] for name in ("seed", "system_fingerprint")}
            alone, _ = stream(port, {**fields, "prompt": prompt + had, "max_tokens": 2, "cache_salt": f"a {i}"})
            again, _ = stream(port, {**fields, "prompt": prompt, "max_tokens": args.had + 2, "cache_salt": f"b {i}",
                                     "resume_from": {**told, "token_ids": had}})
            if i > 0:  # the first ones warm up
                prompts.append(alone)
                resumed.append(again)
    ratio = statistics.median(again / alone for again, alone in zip(resumed, prompts, strict=True))
    print(f"{args.prompt} + {args.had} tokens: a prompt {1000 * statistics.median(prompts):.1f} ms, resumed "
          f"{1000 * statistics.median(resumed):.1f} ms, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
