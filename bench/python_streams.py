#!/usr/bin/env python3
"""32 asyncio tasks over one octavo.LLM against 32 streams of `octavo serve`, the same work, in turns.

    OCTAVO=build/release/octavo OCTAVO_LIBRARY=build/release/liboctavo.so PYTHONPATH=python \\
        bench/python_streams.py MODEL.gguf [ROUNDS]

Prints tokens/s of both in each round, and the median of the ratios. Needs the package openai.
"""
import asyncio
import os
import statistics
import subprocess
import sys
import time

import openai

import octavo

STREAMS, TOKENS = 32, 200
PROMPT = "Tell me something about the number {}."


def fields(i):
    return {"temperature": 0.8, "seed": i, "max_tokens": TOKENS}


async def library_streams(llm):
    async def one(i):
        params = octavo.SamplingParams(ignore_eos=True, **fields(i))
        text = ""
        async for piece in llm.astream(PROMPT.format(i), sampling_params=params):
            text += piece.text
        return text
    return await asyncio.gather(*(one(i) for i in range(STREAMS)))


async def server_streams(url):
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none") as client:
        async def one(i):
            text = ""
            stream = await client.completions.create(model="m", prompt=PROMPT.format(i), stream=True,
                                                     extra_body={"ignore_eos": True}, **fields(i))
            async for chunk in stream:
                text += chunk.choices[0].text if chunk.choices else ""
            return text
        return await asyncio.gather(*(one(i) for i in range(STREAMS)))


def timed(work):
    begin = time.perf_counter()
    texts = asyncio.run(work)
    return STREAMS * TOKENS / (time.perf_counter() - begin), texts


def by_library(model):
    with octavo.LLM(model, progress=False) as llm:
        asyncio.run(library_streams(llm))  # fills the prefix cache, as the other does
        return timed(library_streams(llm))


def by_server(model):
    command = [os.environ["OCTAVO"], "serve", "-m", model, "--port", "0", "--access-log", "off",
               "--served-model-name", "*"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        url = next(line.split()[-1] for line in server.stderr if "ready at" in line)
        asyncio.run(server_streams(url))
        result = timed(server_streams(url))
        server.terminate()
    return result


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ratios = []
    for turn in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        (library, first), (server, second) = by_library(sys.argv[1]), by_server(sys.argv[1])
        ratios.append(library / server)
        print(f"round {turn + 1}: library {library:.0f} tokens/s, server {server:.0f}, "
              f"{'equal texts' if first == second else 'OTHER TEXTS'}", flush=True)
    print(f"median of library / server: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
