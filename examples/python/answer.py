"""An answer, as it is made: python answer.py [MODEL] [QUESTION]"""
import sys

import octavo


def main(model=None, question="Name three colours."):
    with octavo.LLM(model) as llm:
        messages = [{"role": "user", "content": question}]
        for piece in llm.stream(messages, octavo.SamplingParams(max_tokens=60)):
            print(piece.text, end="", flush=True)
            if piece.usage:
                print(f"\n{piece.usage['completion_tokens']} tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
