"""A question answered from the nearest of some texts: python answers_from_documents.py [MODEL] [QUESTION]"""
import sys

import octavo

TEXTS = [
    "The lighthouse was built in 1874 of grey granite. It is 41 metres high.",
    "The harbour has room for 60 fishing boats, and a crane of the year 1902.",
    "Each August the village has a feast, with music in front of the church.",
]


def main(model=None, question="How high is the lighthouse?"):
    with octavo.LLM(model, embedding=True) as llm:
        near = llm.embed(TEXTS) @ llm.embed(question)[0]
        best = TEXTS[int(near.argmax())]
        print("source:", best)
        print(llm.chat(f"{best}\n\nAnswer from the text above: {question}",
                       sampling_params=octavo.SamplingParams(temperature=0, max_tokens=60)).text)


if __name__ == "__main__":
    main(*sys.argv[1:])
