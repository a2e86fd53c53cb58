"""Asks a model that sees what is on a picture, and goes on about it; the picture is encoded once.

    octavo serve qwen3.5-4b-Q4_K_M.gguf                       # mmproj-*.gguf lies beside it
    python examples/what_is_on_this_picture.py http://localhost:8080 photo.jpg "What colour is it?"
"""
import base64
import pathlib
import sys

from openai import OpenAI


def main(url, path, *further):
    client = OpenAI(base_url=f"{url}/v1", api_key="none")
    model = client.models.list().data[0].id
    picture = base64.b64encode(pathlib.Path(path).read_bytes()).decode()
    parts = [{"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}}]  # or any other kind
    messages = []
    for question in ["What is on this picture?", *further]:
        parts.append({"type": "text", "text": question})
        messages.append({"role": "user", "content": parts})
        parts = []
        answer = client.chat.completions.create(model=model, messages=messages, max_tokens=300)
        text = answer.choices[0].message.content
        tokens = answer.usage.prompt_tokens_details.model_dump()["image_tokens"]
        print(f"{text}\n[{tokens} of {answer.usage.prompt_tokens} tokens of the prompt are the picture's]")
        messages.append({"role": "assistant", "content": text})


if __name__ == "__main__":
    main(*sys.argv[1:])
