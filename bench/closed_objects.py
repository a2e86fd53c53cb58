#!/usr/bin/env python3
"""How many answers to schemas as pydantic writes them end, with valid JSON: objects read as written, and closed.

    closed_objects.py OCTAVO [MODEL] [--count 200] [--max-tokens 300] [--seed 1]

Makes schemas of everyday models, each with a prompt that asks for such an object, answers them by `octavo run --batch`
with both readings of `additional_properties`, and prints a line for each. Needs jsonschema.
"""
import argparse
import json
import random
import subprocess
import tempfile

import jsonschema

THINGS = {
    "Person": ["name", "age", "email", "occupation", "city", "hobbies", "is_married"],
    "Recipe": ["title", "servings", "ingredients", "steps", "minutes", "is_vegetarian", "cuisine"],
    "Invoice": ["number", "customer", "items", "total", "currency", "is_paid", "due_date"],
    "Movie": ["title", "year", "director", "genres", "rating", "runtime_minutes", "summary"],
    "Event": ["name", "date", "location", "guests", "is_public", "description", "capacity"],
    "Product": ["name", "price", "in_stock", "tags", "description", "brand", "weight_kg"],
    "Ticket": ["subject", "priority", "assignee", "labels", "is_open", "description", "votes"],
    "Trip": ["destination", "days", "budget", "activities", "needs_visa", "season", "notes"],
    "Review": ["product", "stars", "pros", "cons", "would_recommend", "summary", "author"],
    "Animal": ["species", "habitat", "diet", "weight_kg", "is_endangered", "predators", "lifespan_years"],
}
LISTS = {"hobbies", "ingredients", "steps", "items", "genres", "guests", "tags", "labels", "activities", "pros", "cons",
         "predators"}
INTEGERS = {"age", "servings", "minutes", "number", "year", "runtime_minutes", "capacity", "votes", "days", "stars",
            "lifespan_years"}
NUMBERS = {"total", "rating", "price", "weight_kg", "budget"}
CHOICES = {"priority": ["low", "medium", "high"], "currency": ["EUR", "USD", "GBP"],
           "season": ["spring", "summer", "autumn", "winter"], "diet": ["herbivore", "carnivore", "omnivore"]}
PARTS = {
    "Address": {"street": {"type": "string"}, "city": {"type": "string"}, "zip_code": {"type": "string"}},
    "Contact": {"name": {"type": "string"}, "phone": {"type": "string"}},
    "Money": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}


def title_of(name):
    return name.replace("_", " ").title()


def object_of(name, properties, required):
    titled = {key: value if "$ref" in value else {**value, "title": title_of(key)} for key, value in properties.items()}
    return {"properties": titled, "required": required, "title": name, "type": "object"}


def field_of(name, draw):
    if name in LISTS:
        return {"items": {"type": "string"}, "type": "array"}
    if name in CHOICES:
        return {"enum": CHOICES[name], "type": "string"}
    if name in INTEGERS:
        return {"type": "integer", **({"minimum": 0} if draw.random() < 0.3 else {})}
    if name in NUMBERS:
        return {"type": "number"}
    if name.startswith(("is_", "in_", "needs_", "would_")):
        return {"type": "boolean"}
    return {"type": "string", **({"maxLength": 80} if draw.random() < 0.2 else {})}


def schema_and_prompt(draw):
    thing = draw.choice(sorted(THINGS))
    names = [name for name in THINGS[thing] if draw.random() < 0.6] or THINGS[thing][:3]
    properties, required, definitions = {}, [], {}
    for name in names:
        field = field_of(name, draw)
        if draw.random() < 0.25:
            field = {"anyOf": [field, {"type": "null"}], "default": None}
        else:
            required.append(name)
        properties[name] = field
    if draw.random() < 0.4:
        part = draw.choice(sorted(PARTS))
        definitions[part] = object_of(part, PARTS[part], list(PARTS[part]))
        reference = {"$ref": f"#/$defs/{part}"}
        is_list = draw.random() < 0.3
        properties[part.lower()] = {"items": reference, "type": "array"} if is_list else reference
        required.append(part.lower())
    schema = object_of(thing, properties, required)
    if definitions:
        schema = {"$defs": definitions, **schema}
    wanted = ", ".join(name.replace("_", " ") for name in properties)
    return schema, f"Make up a {thing.lower()} and write it as a JSON object with these fields: {wanted}."


def answers_of(options, lines):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
        file.flush()
        model = [options.model] if options.model else []
        run = subprocess.run([options.octavo, "run", *model, "--batch", file.name], stdout=subprocess.PIPE, text=True,
                             check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    refused = [answer["error"] for answer in answers if answer["error"]]
    if refused or len(answers) != len(lines):
        raise SystemExit(f"{len(answers)} answers to {len(lines)} requests, refused: {refused[:1]}")
    return [answer["response"]["body"] for answer in answers]


def is_valid(choice, schema):
    if choice["finish_reason"] != "stop":
        return False
    try:
        jsonschema.validate(json.loads(choice["message"]["content"]), schema)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octavo")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    asked = [schema_and_prompt(draw) for _ in range(options.count)]
    for reading in ("as_written", "closed"):
        lines = [{"messages": [{"role": "user", "content": prompt}], "max_tokens": options.max_tokens, "seed": number,
                  "additional_properties": reading,
                  "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}
                 for number, (schema, prompt) in enumerate(asked)]
        answers = answers_of(options, lines)
        valid = sum(is_valid(answer["choices"][0], schema) for answer, (schema, _) in zip(answers, asked))
        tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
        print(f"{reading}: {valid} of {len(asked)} end with valid JSON, {tokens / len(asked):.0f} tokens in the mean",
              flush=True)


if __name__ == "__main__":
    main()
