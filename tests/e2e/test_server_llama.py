"""llama.cpp's routes: /completion, /infill and /props; and gaps in texts through the unchanged `openai` and `ollama`
packages. A small model with random weights and the words of one that fills gaps."""
import json
import unittest

import ollama
import openai

import support
from server_support import noise, Server

CODER = support.TEST_DATA / "ggml-vocab-deepseek-coder.gguf"
GAP = {"input_prefix": "def f(x):\n    return ", "input_suffix": "\n\nprint(f(1))\n"}


class Llama(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(model=support.tiny_model("tiny-llama", CODER))
        cls.addClassCleanup(cls.server.__exit__)

    def post(self, path, body, status=200):
        found, _, text = self.server.request("POST", path, body)
        self.assertEqual(found, status, text)
        return text

    def test_a_completion_whole_and_streamed(self):
        asked = {"prompt": "Once upon a time", "n_predict": 8, "temperature": 0, "ignore_eos": True}
        whole = json.loads(self.post("/completion", asked))
        self.assertEqual((whole["tokens_predicted"], whole["stop_type"], whole["stop"]), (8, "limit", True))
        chunks = [json.loads(line.removeprefix("data: "))
                  for line in self.post("/completion", {**asked, "stream": True}).split("\n\n") if line]
        self.assertEqual("".join(chunk["content"] for chunk in chunks), whole["content"])
        self.assertEqual([chunk["stop"] for chunk in chunks], [False] * (len(chunks) - 1) + [True])
        client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none")
        again = client.completions.create(model=client.models.list().data[0].id, prompt=asked["prompt"], max_tokens=8,
                                          temperature=0, extra_body={"ignore_eos": True})
        self.assertEqual(again.choices[0].text, whole["content"])

    def test_tokens_become_text_for_both_apis(self):
        tokens = json.loads(self.post("/tokenize", {"content": "Once upon a time"}))["tokens"]
        self.assertEqual(json.loads(self.post("/detokenize", {"tokens": tokens}))["content"], "Once upon a time")
        model = json.loads(self.server.get("/v1/models")[2])["data"][0]["id"]
        self.assertEqual(json.loads(self.post("/detokenize", {"model": model, "tokens": tokens})),
                         {"prompt": "Once upon a time"})
        pieces = json.loads(self.post("/tokenize", {"content": "Once upon a time", "with_pieces": True}))["tokens"]
        self.assertEqual([piece["id"] for piece in pieces], tokens)
        self.assertEqual("".join(piece["piece"] for piece in pieces), "Once upon a time")

    def test_probabilities_are_alike_by_every_api(self):
        asked = {"prompt": "Once upon a time", "temperature": 0, "ignore_eos": True}
        ours = json.loads(self.post("/completion", {**asked, "n_predict": 4, "n_probs": 2}))["completion_probabilities"]
        tokens = json.loads(self.post("/v1/completions", {**asked, "max_tokens": 4, "return_token_ids": True, "logprobs": 2}))
        choice = tokens["choices"][0]
        self.assertEqual([entry["id"] for entry in ours], choice["token_ids"])
        self.assertEqual([entry["logprob"] for entry in ours], choice["logprobs"]["token_logprobs"])
        self.assertEqual([entry["id"] for entry in ours], [entry["top_logprobs"][0]["id"] for entry in ours])
        model = json.loads(self.server.get("/v1/models")[2])["data"][0]["id"]
        answer = ollama.Client(self.server.url).generate(model, asked["prompt"], raw=True, logprobs=True, top_logprobs=2,
                                                         options={"temperature": 0, "num_predict": 4})
        self.assertEqual([entry.logprob for entry in answer.logprobs],
                         [entry["logprob"] for entry in ours[:len(answer.logprobs)]])

    def test_the_stop_text_is_told(self):
        asked = {"prompt": "Once upon a time", "n_predict": 8, "temperature": 0, "ignore_eos": True}
        word = json.loads(self.post("/completion", asked))["content"][2:4]
        ended = json.loads(self.post("/completion", {**asked, "stop": ["no such text", word]}))
        self.assertEqual((ended["stop_type"], ended["stopping_word"]), ("word", word))
        choice = json.loads(self.post("/v1/completions", {"prompt": asked["prompt"], "max_tokens": 8, "stop": word,
                                                          "temperature": 0, "ignore_eos": True}))["choices"][0]
        self.assertEqual((choice["finish_reason"], choice["stop_reason"]), ("stop", word))

    def test_a_gap_is_filled_alike_by_every_api(self):
        prompt = f"<｜fim▁begin｜>{GAP['input_prefix']}<｜fim▁hole｜>{GAP['input_suffix']}<｜fim▁end｜>"
        fields = {"temperature": 0, "ignore_eos": True}
        expected = json.loads(self.post("/completion", {"prompt": prompt, "n_predict": 8, **fields}))["content"]
        self.assertEqual(json.loads(self.post("/infill", {**GAP, "n_predict": 8, **fields}))["content"], expected)
        client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none")
        model = client.models.list().data[0].id
        answer = client.completions.create(model=model, prompt=GAP["input_prefix"], suffix=GAP["input_suffix"],
                                           max_tokens=8, temperature=0, extra_body={"ignore_eos": True})
        self.assertEqual(answer.choices[0].text, expected)
        text = ollama.Client(self.server.url).generate(model, GAP["input_prefix"], suffix=GAP["input_suffix"],
                                                       options={"temperature": 0, "num_predict": 8}).response
        self.assertTrue(expected.startswith(text))  # ollama's own fields end it where the model does
        self.assertIn("insert", ollama.Client(self.server.url).show(model).capabilities)

    def test_files_that_do_not_fit_are_left_out_with_a_warning(self):
        files = [{"filename": f"{i}.py", "text": "x = 1\n" * 300} for i in range(5)]
        answer = json.loads(self.post("/infill", {**GAP, "input_extra": files, "n_predict": 8}))
        self.assertRegex(answer["warnings"][0], r"the first \d of 5 files are left out")
        self.assertLessEqual(answer["tokens_evaluated"] + 8, 2048)

    def test_props(self):
        status, _, text = self.server.request("GET", "/props")
        props = json.loads(text)
        self.assertEqual((status, props["default_generation_settings"]["n_ctx"]), (200, 2048))
        self.assertEqual(props["modalities"], {"vision": False, "audio": False})

    def test_a_model_that_fills_no_gaps_says_so(self):
        with Server(model=noise()) as server:
            status, _, text = server.request("POST", "/infill", GAP)
            self.assertEqual((status, json.loads(text)["error"]["code"]), (501, "unsupported_model"))
            self.assertTrue(json.loads(server.request("GET", "/props")[2])["chat_template"])

    def test_show_knows_its_own_model_alone(self):
        with self.assertRaises(ollama.ResponseError) as raised:
            ollama.Client(self.server.url).show("another")
        self.assertEqual(raised.exception.status_code, 404)


if __name__ == "__main__":
    unittest.main()
