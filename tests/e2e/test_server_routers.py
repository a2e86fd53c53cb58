"""octavo serve as routers meet it: what they ask before they choose a replica, the names of metrics, the headers that they
send, and how a server leaves them."""
import json
import signal
import time
import unittest

from server_support import Server, noise

CHAT = {"messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 4, "temperature": 0,
        "return_token_ids": True}
ORCA = "endpoint-load-metrics"


class Asked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--served-model-name", "small", "--max-sequences", 7, "--kv-memory", "64MiB",
                            "--metrics-names", "both", model=noise())
        cls.addClassCleanup(cls.server.__exit__)

    def get(self, path):
        status, _, text = self.server.get(path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_the_server_and_the_model_say_what_they_are(self):
        for path in ("/server_info", "/get_server_info", "/v1/server_info", "/server_info?model=small"):
            info = self.get(path)
            self.assertEqual(info["served_model_name"], "small")
            self.assertEqual((info["block_size"], info["max_running_requests"], info["dp_size"]), (16, 7, 1))
            self.assertEqual(info["context_length"], self.get("/v1/models")["data"][0]["max_model_len"])
            self.assertGreater(info["max_total_tokens"], 1000)
        for path in ("/model_info", "/get_model_info"):
            info = self.get(path)
            self.assertTrue(info["is_generation"])
            self.assertEqual((info["model_type"], info["has_image_understanding"]), ("llama", False))

    def test_loads_have_the_counts_of_what_runs(self):
        self.server.post("/v1/chat/completions", CHAT)
        idle = self.get("/v1/loads")["loads"]
        self.assertEqual([load["dp_rank"] for load in idle], [0])
        self.assertEqual((idle[0]["num_running_reqs"], idle[0]["num_waiting_reqs"], idle[0]["num_used_tokens"]), (0, 0, 0))
        chunks = self.server.stream("Once", max_tokens=4000, ignore_eos=True)
        next(chunks)
        # What another thread computes is told once in 20 ms.
        self.server.wait_until(lambda: self.get("/loads")["loads"][0]["num_running_reqs"] == 1)
        load = self.get("/loads?include=core,queues")["loads"][0]
        self.assertEqual((load["num_running_reqs"], load["num_total_reqs"], load["max_running_requests"]), (1, 1, 7))
        self.assertGreater(load["num_used_tokens"], 0)
        self.assertAlmostEqual(load["token_usage"], load["num_used_tokens"] / load["max_total_num_tokens"], places=2)
        chunks.close()

    def test_the_wait_of_a_new_prompt_counts_those_that_go_before_it(self):
        waits = self.get("/v1/loads")["loads"][0]["predicted_wait"]
        self.assertEqual([wait["prompt_tokens"] for wait in waits], [128, 1024, 8192, 65536])
        self.assertEqual([wait["seconds"] for wait in waits], [0, 0, 0, 0])
        one = self.get("/v1/loads?prompt_tokens=77")["loads"][0]["predicted_wait"]
        self.assertEqual([wait["prompt_tokens"] for wait in one], [77])
        for wrong in ("0", "-1", "many", "99999999999"):
            status, _, text = self.server.request("GET", f"/v1/loads?prompt_tokens={wrong}")
            self.assertEqual(status, 400)
            self.assertIn(f"prompt_tokens: found '{wrong}', expected 1 to 2147483647", text)

    def test_another_model_is_a_404(self):
        for path in ("/server_info", "/model_info", "/v1/loads"):
            self.assertEqual(self.server.request("GET", path + "?model=none")[0], 404)

    def test_a_rendered_chat_has_the_tokens_that_the_chat_has(self):
        answer = self.server.post("/v1/chat/completions", CHAT)
        rendered = self.server.post("/v1/chat/completions/render", CHAT)
        self.assertEqual(rendered["token_ids"], answer["prompt_token_ids"])
        self.assertEqual((rendered["model"], rendered["features"]), ("small", None))
        self.assertEqual(rendered["sampling_params"]["max_tokens"], 4)
        self.assertIsNone(rendered["sampling_params"]["seed"])
        self.assertRegex(rendered["request_id"], "^chatcmpl-[0-9a-f]{16}$")

    def test_rendered_completions_have_one_entry_a_prompt(self):
        body = {"prompt": ["Once", "upon a time"], "max_tokens": 2, "seed": 7}
        rendered = self.server.post("/v1/completions/render", body)
        tokens = [self.server.post("/tokenize", {"prompt": prompt})["tokens"] for prompt in body["prompt"]]
        self.assertEqual([entry["token_ids"] for entry in rendered], tokens)
        self.assertEqual({entry["sampling_params"]["max_tokens"] for entry in rendered}, {2})
        self.assertEqual(rendered[0]["sampling_params"]["seed"], 7)

    def test_bodies_of_responses_and_messages_are_rendered_too(self):
        responses = {"input": "Name three colours.", "instructions": "Be brief."}
        rendered = self.server.post("/v1/responses/render", responses)
        self.assertEqual(len(rendered["token_ids"]),
                         self.server.post("/v1/responses/input_tokens", responses)["input_tokens"])
        messages = {"messages": CHAT["messages"], "max_tokens": 4}
        self.assertEqual(self.server.post("/v1/messages/render", messages)["token_ids"],
                         self.server.post("/v1/chat/completions/render", CHAT)["token_ids"])

    def test_what_the_api_refuses_is_not_rendered(self):
        status, _, text = self.server.request("POST", "/v1/chat/completions/render", {**CHAT, "temperature": -1})
        self.assertEqual(status, 400)
        self.assertIn("temperature: found the number -1", text)

    def test_the_tokens_of_a_body_of_responses_are_those_that_are_counted(self):
        body = {"input": "Name three colours.", "instructions": "Be brief."}
        tokens = self.server.post("/tokenize", body)
        self.assertEqual(tokens["count"], self.server.post("/v1/responses/input_tokens", body)["input_tokens"])
        self.assertEqual(tokens["count"], len(tokens["tokens"]))

    def test_metrics_have_vllms_names_too(self):
        self.server.post("/v1/chat/completions", CHAT)
        text = self.server.request("GET", "/metrics")[2]
        for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prefix_cache_queries_total",
                     "prefix_cache_hits_total", "time_to_first_token_seconds_count", "request_success_total"):
            self.assertRegex(text, rf'(?m)^vllm:{name}{{[^}}]*model_name="small"[^}}]*engine="0"')
            self.assertRegex(text, rf"(?m)^octavo:{name}{{")
        self.assertRegex(text, r'(?m)^vllm:cache_config_info{[^}]*block_size="16",num_gpu_blocks="\d+"[^}]*} 1$')

    def test_an_answer_has_the_load_where_it_is_asked_for(self):
        for stream in (False, True):
            body = {**CHAT, "stream": stream}
            headers = self.server.request("POST", "/v1/chat/completions", body,
                                          headers={ORCA + "-format": "JSON"})[1]
            self.assertRegex(headers[ORCA], r'^{"named_metrics":{"kv_cache_usage_perc":[\d.eE-]+,"num_requests_waiting":0}}$')
            headers = self.server.request("POST", "/v1/chat/completions", body, headers={ORCA + "-format": "text"})[1]
            self.assertRegex(headers[ORCA], r"^named_metrics.kv_cache_usage_perc=[\d.eE-]+,named_metrics.num_requests_waiting=0$")
            for other in ({}, {ORCA + "-format": "BIN"}):
                self.assertNotIn(ORCA, self.server.request("POST", "/v1/chat/completions", body, headers=other)[1])

    def test_objectives_shorten_a_deadline_and_make_none(self):
        body = {**CHAT, "max_tokens": 3000, "ignore_eos": True}
        pace = {"x-llm-d-slo-ttft-ms": "20", "x-llm-d-slo-tpot-ms": "0.001"}
        status, _, text = self.server.request("POST", "/v1/chat/completions", body,
                                              headers={**pace, "X-Request-Timeout": "600"})
        self.assertEqual(status, 408, text)
        for headers in (pace, {"X-Request-Timeout": "600"}, {"x-llm-d-slo-ttft-ms": "20", "X-Request-Timeout": "600"}):
            self.assertEqual(self.server.request("POST", "/v1/chat/completions", {**CHAT, "max_tokens": 30},
                                                 headers=headers)[0], 200)
        for name in pace:
            status, _, text = self.server.request("POST", "/v1/chat/completions", CHAT, headers={name: "soon"})
            self.assertEqual(status, 400)
            self.assertIn(f"{name}: found 'soon', expected milliseconds above 0", text)

    def test_names_of_sessions_are_logged_and_change_nothing(self):
        plain = self.server.post("/v1/chat/completions", CHAT)["choices"]
        for name in ("X-Session-ID", "x-session-affinity"):
            answer = self.server.post("/v1/chat/completions", {**CHAT, "prompt_cache_key": "a"}, headers={name: name})
            self.assertEqual(answer["choices"], plain)
        self.server.wait_until(lambda: {record.get("session") for record in self.server.access_log()}
                               >= {"X-Session-ID", "x-session-affinity"})


class Names(unittest.TestCase):
    def test_vllms_take_the_place_of_those_that_it_has(self):
        with Server("--metrics-names", "vllm", model=noise()) as server:
            text = server.request("GET", "/metrics")[2]
            self.assertIn("\nvllm:num_requests_running{", text)
            self.assertNotIn("octavo:num_requests_running", text)
            self.assertIn("\noctavo:kv_blocks_total{", text)


class Leaving(unittest.TestCase):
    def test_readiness_fails_before_the_drain_and_everything_is_served_meanwhile(self):
        with Server("--drain-delay", 3, model=noise()) as server:
            server.process.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            server.wait_until(lambda: server.request("GET", "/ready")[0] == 503)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            self.assertEqual(server.request("POST", "/v1/completions", {"prompt": "Once", "max_tokens": 2})[0], 200)
            self.assertIsNone(server.process.poll())
            self.assertEqual(server.process.wait(60), 0)
            self.assertGreater(time.monotonic() - begin, 2.5)


if __name__ == "__main__":
    unittest.main()
