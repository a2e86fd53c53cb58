"""Values in place of text: python schema.py [MODEL]"""
import sys

import octavo

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "likes": {"type": "array", "items": {"enum": ["music", "books", "sport"]}, "maxItems": 2},
    },
    "required": ["name", "age", "likes"],
}


def main(model=None):
    text = "Maria, who is 31 years old, likes to read. Who is it about?"
    with octavo.LLM(model) as llm:  # a pydantic class may stand in the place of the schema
        output = llm.chat(text, response_format=PERSON, sampling_params=octavo.SamplingParams(max_tokens=120))
        print(output.parsed["name"], output.parsed["age"], output.parsed["likes"])


if __name__ == "__main__":
    main(*sys.argv[1:])
