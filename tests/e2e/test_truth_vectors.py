"""Vectors and scores against sentence-transformers, as tools/original_vectors.py wrote them down: folders of every
family of encoders, their prompts and what stands behind the model; and the GGUF file that `octavo convert` makes."""
import json
import pathlib
import tempfile
import unittest

import huggingface_hub
import langchain_openai
import numpy as np
import ollama

import support
import vector_folders
from server_support import Server

LEAST_COSINE = 0.9999
MOST_SCORE_ERROR = 2e-3
EXACT = ("--kv-type", "f32", "--isa", "scalar")


def embed(model, *args):
    """The vectors of the texts as the model gives them."""
    lines = support.octavo_ok("embed", "-m", model, *EXACT, "--embd-normalize", -1, "--truncate", *args,
                              *vector_folders.TEXTS).splitlines()
    return np.array([json.loads(line)["embedding"] for line in lines], np.float64)


def scores(model):
    """The logits of the pairs."""
    found = []
    for query, document in vector_folders.PAIRS:
        line, = support.octavo_ok("rerank", "-m", model, *EXACT, "--raw", "--json", query, document).splitlines()
        found.append(json.loads(line)["score"])
    return np.array(found)


class Originals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = np.load(support.SOURCE_DATA / "original_vectors.npz")
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = pathlib.Path(place.name)

    def folder(self, name):
        folder = self.place / name
        if not folder.exists():
            vector_folders.write_folder(name, folder)
        return folder

    def check_vectors(self, what, found):
        expected = self.kept[what].astype(np.float64)
        cosines = (found * expected).sum(-1) / np.linalg.norm(found, axis=-1) / np.linalg.norm(expected, axis=-1)
        print(f"{what}: least cosine {cosines.min():.8f}, lengths off by {abs(found - expected).max():.1e}")
        self.assertGreater(cosines.min(), LEAST_COSINE, what)
        np.testing.assert_allclose(np.linalg.norm(found, axis=-1), np.linalg.norm(expected, axis=-1), rtol=1e-3)

    def check_scores(self, what, found):
        error = abs(found - self.kept[what]).max()
        print(f"{what}: off by {error:.1e}")
        self.assertLess(error, MOST_SCORE_ERROR)

    def check(self, name, model):
        if vector_folders.CASES[name].pooling in ("score", "logit"):
            self.check_scores(f"{name}: scores", scores(model))
            return
        self.check_vectors(f"{name}: plain", embed(model, "--prompt-name", ""))
        self.check_vectors(f"{name}: query", embed(model, "--prompt-name", "query"))
        if f"{name}: default" in self.kept:
            self.check_vectors(f"{name}: default", embed(model))

    def test_every_family_and_the_file_that_is_made_of_it(self):
        for name in vector_folders.CASES:
            with self.subTest(name=name):
                folder = self.folder(name)
                self.check(name, folder)
                copy = self.place / f"{name}.gguf"
                support.octavo_ok("convert", folder, copy)
                self.check(name, copy)

    def test_all_that_is_kept_is_compared(self):
        self.assertEqual({key.split(":")[0] for key in self.kept}, set(vector_folders.CASES))

    def test_prompts_that_are_not_there_are_refused_with_those_that_are(self):
        done = support.octavo("embed", "-m", self.folder("bert"), "--prompt-name", "questions", "a")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--prompt-name: found 'questions', expected one of query, passage", done.stderr)

    def test_a_longer_text_than_the_folder_allows_is_refused(self):
        done = support.octavo("embed", "-m", self.folder("bert"), vector_folders.TEXTS[2])
        self.assertIn("found more than 24 tokens", done.stderr)

    def test_a_server_puts_the_words_in_front_by_each_name(self):
        with Server("--kv-type", "f32", model=self.folder("bert")) as server:
            for path, body, what in (("/v1/embeddings", {"input": "TEXTS"}, "default"),
                                     ("/v1/embeddings", {"input": "TEXTS", "prompt_name": "query"}, "query"),
                                     ("/v1/embeddings", {"input": "TEXTS", "prompt_name": ""}, "plain"),
                                     ("/v1/embeddings", {"input": "TEXTS", "input_type": "query"}, "query"),
                                     ("/embed", {"inputs": "TEXTS", "prompt_name": "query"}, "query"),
                                     ("/embedding", {"content": "TEXTS", "prompt_name": "query"}, "query"),
                                     ("/api/embed", {"input": "TEXTS"}, "default"),
                                     ("/v2/embed", {"texts": "TEXTS", "input_type": "search_query"}, "query"),
                                     ("/v1/embed", {"texts": "TEXTS", "input_type": "search_document"}, "default"),
                                     ("/v1/embed", {"texts": "TEXTS", "input_type": "clustering"}, "default")):
                short = [text for text in vector_folders.TEXTS if len(text) < 40]
                body = {key: short if value == "TEXTS" else value for key, value in body.items()}
                answer = server.post(path, body)
                found = answer if isinstance(answer, list) else answer.get("embeddings") or answer["data"]
                found = found["float"] if isinstance(found, dict) else found
                found = np.array([one["embedding"] if isinstance(one, dict) else one for one in found]).reshape(3, -1)
                expected = self.kept[f"bert: {what}"][[0, 1, 3]]
                expected = expected / np.linalg.norm(expected, axis=-1, keepdims=True)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3, err_msg=str(body))

    def test_clients_of_others_get_them(self):
        short = [text for text in vector_folders.TEXTS if len(text) < 40]
        with Server("--kv-type", "f32", model=self.folder("bert")) as server:
            hub = huggingface_hub.InferenceClient(model=server.url + "/embed")
            chain = {"base_url": server.url + "/v1", "api_key": "none", "model": "bert"}
            texts = langchain_openai.OpenAIEmbeddings(**chain, check_embedding_ctx_length=False)
            query = langchain_openai.OpenAIEmbeddings(**chain, check_embedding_ctx_length=False,
                                                      model_kwargs={"extra_body": {"prompt_name": "query"}})
            client = ollama.Client(host=server.url)
            older = [client.embeddings(model="bert", prompt=text).embedding for text in short]
            made = {"ollama": ("default", client.embed(model="bert", input=short).embeddings),
                    "ollama, older": ("default", older),
                    "LangChain": ("default", texts.embed_documents(short)),
                    "LangChain with a prompt": ("query", query.embed_documents(short)),
                    "huggingface_hub": ("query", [hub.feature_extraction(text, prompt_name="query", truncate=True)[0]
                                                  for text in short])}
            hub = huggingface_hub.InferenceClient(model=server.url + "/similarity")
            cosines = hub.sentence_similarity(short[0], other_sentences=short[1:])
        for name, (what, found) in made.items():
            expected = self.kept[f"bert: {what}"][[0, 1, 3]]
            expected = expected / np.linalg.norm(expected, axis=-1, keepdims=True)
            np.testing.assert_allclose(np.array(found), expected, rtol=0, atol=1e-3, err_msg=name)
        expected = self.kept["bert: default"][[0, 1, 3]]
        expected = expected / np.linalg.norm(expected, axis=-1, keepdims=True)
        np.testing.assert_allclose(cosines, expected[1:] @ expected[0], rtol=0, atol=1e-3)


if __name__ == "__main__":
    unittest.main()
