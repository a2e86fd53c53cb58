"""Documents in, a question answered with its sources: the vectors and the answer come from one server.

    octavo serve -m chat.gguf -m vectors.gguf                 # or of one model: octavo serve chat.gguf --embedding
    python examples/answers_with_sources.py URL "How tall is the tower?" FILE...
"""
import base64
import pathlib
import sys

import numpy as np
from openai import OpenAI


def vectors(client, model, texts):
    """float32 [texts, width], each of length 1."""
    answer = client.embeddings.create(model=model, input=texts, encoding_format="base64")
    return np.stack([np.frombuffer(base64.b64decode(item.embedding), "<f4") for item in answer.data])


def main(url, question, *files):
    client = OpenAI(base_url=f"{url}/v1", api_key="none")
    models = {kind: model.id for model in client.models.list().data for kind in getattr(model, "capabilities", [])}
    parts = [(name, part) for name in files for part in pathlib.Path(name).read_text(encoding="utf-8").split("\n\n")
             if part.strip()]
    near = vectors(client, models["embedding"], [part for _, part in parts]) @ vectors(client, models["embedding"],
                                                                                       [question])[0]
    best = [parts[i] for i in np.argsort(-near)[:3]]
    sources = "\n\n".join(f"[{i}] {part}" for i, (_, part) in enumerate(best, 1))
    answer = client.chat.completions.create(
        model=models["completion"], max_tokens=100, temperature=0,
        messages=[{"role": "user", "content": f"{sources}\n\nAnswer from the texts above: {question}"}])
    print(answer.choices[0].message.content)
    for i, (name, part) in enumerate(best, 1):
        print(f"[{i}] {name}: {part[:60]!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
