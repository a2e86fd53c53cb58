"""A thousand ways to go on with one text, which is read once: python thousand_branches.py [MODEL]"""
import collections
import sys
import time

import octavo


def main(model=None):
    text = "The old man looked at the sea for a long time. Then he said one word: \"" * 20
    with octavo.LLM(model) as llm, llm.context(text) as ctx:
        begin = time.monotonic()
        branches = [octavo.SamplingParams(n=100, seed=seed, max_tokens=4, stop='"') for seed in range(10)]
        outputs = ctx.generate([""] * len(branches), branches)
        words = collections.Counter(answer.text for output in outputs for answer in output.outputs)
        print(f"{sum(words.values())} branches of {len(ctx.tokens)} tokens in {time.monotonic() - begin:.1f} s")
        for word, count in words.most_common(5):
            print(f"{count:5} {word!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
