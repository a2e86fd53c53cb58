"""The commands as a script uses them: what goes to stdout, what to stderr, exit codes, JSON, pipes."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import support

GREEDY = ("--temp", 0, "-n", 12)


class Help(unittest.TestCase):
    def test_every_command_explains_itself(self):
        top = support.octavo_ok("--help")
        for command in ("run", "chat", "serve", "info", "tokenize", "logits"):
            self.assertIn(command, top)
            text = support.octavo_ok(command, "--help")
            self.assertIn("--help", text)
            self.assertGreater(len(text.splitlines()), 4)


class Run(unittest.TestCase):
    def test_greedy_answer_is_the_golden_one(self):
        # The first five steps of this case have gaps that rounding cannot close.
        case = support.golden("smollm2-135m")["cases"][0]
        answer = support.octavo_ok("run", "--raw", "--temp", 0, "-n", 5, "-p", case["text"])
        self.assertEqual(answer.removesuffix("\n"), " Paris.\n\nThe")

    def test_chat_template_is_used_without_raw(self):
        question = "What is the capital of France?"
        turn = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
                f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
        result = json.loads(support.octavo_ok("run", "-p", question, "--json", *GREEDY))
        self.assertEqual(result["prompt_tokens"], len(support.tokenize(support.SMOLLM2, turn)))
        raw = json.loads(support.octavo_ok("run", "--raw", "-p", turn, "--json", *GREEDY))
        self.assertEqual(raw["tokens"], result["tokens"])

    def test_prompt_from_a_file_and_from_stdin(self):
        text = "Once upon a time, in a village by the sea,"
        wanted = support.octavo_ok("run", "--raw", "-p", text, *GREEDY)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "prompt.txt")
            path.write_text(text)
            self.assertEqual(support.octavo_ok("run", "--raw", "-f", path, *GREEDY), wanted)
        self.assertEqual(support.octavo_ok("run", "--raw", *GREEDY, stdin=text), wanted)

    def test_a_seed_repeats_the_answer_and_another_changes_it(self):
        args = ("run", "--raw", "-p", "The weather", "--temp", 1.5, "-n", 20)
        first = support.octavo_ok(*args, "--seed", 7)
        self.assertEqual(support.octavo_ok(*args, "--seed", 7), first)
        self.assertEqual(support.octavo_ok(*args, "--seed", 7, "--threads", 1), first)
        self.assertNotEqual(support.octavo_ok(*args, "--seed", 8), first)

    def test_top_k_one_is_greedy(self):
        args = ("run", "--raw", "-p", "The weather", "-n", 12)
        self.assertEqual(support.octavo_ok(*args, "--temp", 2, "--top-k", 1), support.octavo_ok(*args, "--temp", 0))

    def test_json_is_one_object_with_timings(self):
        done = support.octavo("run", "--raw", "-p", "The capital of France is", "--json", *GREEDY)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertIn("Paris", result["text"])
        self.assertEqual(result["prompt_tokens"], 5)
        self.assertEqual(result["generated_tokens"], 12)
        self.assertEqual(result["finish_reason"], "length")
        self.assertGreater(result["timings"]["time_to_first_token_s"], 0)

    def test_nothing_but_the_answer_is_written_to_a_pipe(self):
        done = support.octavo("run", "--raw", "-p", "The capital of France is", *GREEDY)
        self.assertEqual(done.stderr, "")

    def test_the_end_token_ends_the_answer(self):
        result = json.loads(support.octavo_ok("run", "-p", "Say only the word yes.", "--temp", 0, "-n", 400, "--json"))
        self.assertEqual(result["finish_reason"], "stop")
        self.assertNotIn("<|im_end|>", result["text"])

    def test_a_stop_text_ends_the_answer_before_it(self):
        args = ("run", "--raw", "-p", "1, 2, 3, 4,", "--temp", 0, "-n", 24, "--json")
        whole = json.loads(support.octavo_ok(*args))["text"]
        stop = whole[7:12]  # across tokens
        result = json.loads(support.octavo_ok(*args, "--stop", "not in it", "--stop", stop))
        self.assertEqual(result["text"], whole[:whole.index(stop)])
        self.assertEqual(result["finish_reason"], "stop")
        held = json.loads(support.octavo_ok(*args, "--stop", whole[-3:] + "not there"))
        self.assertEqual((held["text"], held["finish_reason"]), (whole, "length"))
        late = json.loads(support.octavo_ok(*args, "--stop", stop, "--min-tokens", 24))
        self.assertEqual(late["text"], whole)

    def test_objects_are_closed_unless_told(self):
        prompt = "List the colours of the rainbow as JSON."
        schema = {"type": "object", "properties": {}}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "schema.json")
            file.write_text(json.dumps(schema))
            command = ("run", "-p", prompt, "--json-schema", file, *GREEDY)
            self.assertEqual(json.loads(support.octavo_ok(*command)), {})
            written = support.octavo_ok(*command, "--additional-properties", "as_written").strip()
            self.assertRegex(written, r'^\{\s*"')
            lines = pathlib.Path(folder, "lines.jsonl")
            lines.write_text(json.dumps({"messages": [{"role": "user", "content": prompt}], "max_tokens": 12,
                                         "temperature": 0, "guided_json": schema}))
            batch = ("run", "--batch", lines)
            for extra, pattern in (((), r"^\{\s*\}$"), (("--additional-properties", "as_written"), r'^\{\s*"')):
                body = json.loads(support.octavo_ok(*batch, *extra))["response"]["body"]
                self.assertRegex(body["choices"][0]["message"]["content"], pattern)

    def test_a_constraint_that_the_model_cannot_write_is_an_error(self):
        run = support.octavo("run", "-p", "Hi", "--regex", "a+\U000B0061")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("no token of its vocabulary has the byte 0xF2", run.stderr)

    def test_lines_of_a_batch_are_held_to_their_constraints(self):
        line = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20, "temperature": 0}
        lines = [{**line, "guided_choice": ["violet"]}, {**line, "guided_regex": "("}]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "lines.jsonl")
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            run = support.octavo("run", "--batch", file)
            held, refused = map(json.loads, run.stdout.splitlines())
        self.assertEqual(held["response"]["body"]["choices"][0]["message"]["content"], "violet")
        self.assertEqual(held["response"]["body"]["choices"][0]["finish_reason"], "stop")
        self.assertIn("guided_regex: ", refused["error"]["message"])

    def test_a_repeat_penalty_breaks_a_repetition(self):
        args = ("run", "--raw", "-p", "1, 2, 3, 4,", "--temp", 0, "-n", 12, "--json")
        plain = json.loads(support.octavo_ok(*args))["tokens"]
        penalized = json.loads(support.octavo_ok(*args, "--repeat-penalty", 100))["tokens"]
        self.assertLess(len(set(plain)), len(plain), "the comma comes again")
        self.assertEqual(len(set(penalized)), len(penalized))

    def test_the_context_ends_the_answer(self):
        result = json.loads(support.octavo_ok("run", "--raw", "-p", "1, 2, 3, 4,", "--temp", 0, "--max-context", 32,
                                              "--json"))
        self.assertEqual(result["finish_reason"], "context")
        self.assertEqual(result["prompt_tokens"] + result["generated_tokens"], 32)

    def test_pieces_of_text_are_whole_characters(self):
        process = subprocess.Popen(
            [support.OCTAVO, "run", "-m", support.SMOLLM2, "--raw", "-p", "日本語の文字: 語 漢字 ひらがな 😀 🎉", "--temp", "1.2",
             "--seed", "3", "-n", "60"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        pieces = []
        while piece := os.read(process.stdout.fileno(), 1 << 16):
            pieces.append(piece)
        process.stdout.close()
        self.assertEqual(process.wait(), 0)
        self.assertGreater(len(pieces), 5)  # it streams
        for piece in pieces:
            piece.decode("utf-8")  # raises on a cut character

    def test_a_reader_that_leaves_early_ends_the_program(self):
        process = subprocess.Popen(
            [support.OCTAVO, "run", "-m", support.SMOLLM2, "--raw", "-p", "Count: 1, 2, 3,", "--temp", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.assertTrue(os.read(process.stdout.fileno(), 1))
        process.stdout.close()
        started = time.monotonic()
        stderr = process.stderr.read()
        process.stderr.close()
        code = process.wait(timeout=60)
        self.assertLess(time.monotonic() - started, 60 if support.SANITIZED else 10)
        self.assertIn(code, (0, 1, 141, -13), stderr)
        self.assertNotIn(b"terminate", stderr)

    def test_a_model_without_a_known_template_says_how_to_go_on(self):
        done = support.octavo("run", "-m", support.GEMMA3, "-p", "Hello", "-n", 4)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--raw", done.stderr)
        support.octavo_ok("run", "-m", support.GEMMA3, "--raw", "-p", "The capital of France is", "-n", 4)


class Info(unittest.TestCase):
    def test_json_says_what_is_in_the_file(self):
        info = json.loads(support.octavo_ok("info", support.SMOLLM2, "--json"))
        text = json.dumps(info)
        self.assertIn("llama", text)
        self.assertIn("Q4_1", text)
        self.assertIn("49152", text)

    def test_memory_grows_with_the_context(self):
        small = json.loads(support.octavo_ok("info", support.SMOLLM2, "--json", "--context", 1024))
        large = json.loads(support.octavo_ok("info", support.SMOLLM2, "--json", "--context", 4096))
        self.assertNotEqual(small, large)

    def test_table_names_architecture_and_types(self):
        text = support.octavo_ok("info", support.GEMMA3)
        for word in ("gemma3", "Q4_K", "Q6_K"):
            self.assertIn(word, text)

    def test_a_vocabulary_alone_can_be_shown(self):
        self.assertIn("qwen2", support.octavo_ok("info", support.TEST_DATA / "ggml-vocab-qwen2.gguf"))


class Tokenize(unittest.TestCase):
    def test_ids_of_the_golden_prompts(self):
        for name, model in (("smollm2-135m", support.SMOLLM2), ("gemma-3-270m", support.GEMMA3)):
            for case in support.golden(name)["cases"]:
                with self.subTest(model=name, text=case["text"]):
                    self.assertEqual(support.tokenize(model, case["text"]), case["ids"])

    def test_no_special_leaves_out_bos(self):
        with_bos = support.tokenize(support.GEMMA3, "Hello")
        self.assertEqual(support.tokenize(support.GEMMA3, "Hello", "--no-special"), with_bos[1:])

    def test_decoding_gives_the_text_back(self):
        text = "Grüße, 世界! 👩‍🚀\n\tdef f(x): return x  # 42"
        for model in (support.SMOLLM2, support.TEST_DATA / "ggml-vocab-qwen2.gguf",
                      support.TEST_DATA / "ggml-vocab-llama-bpe.gguf"):
            ids = support.tokenize(model, text, "--no-special")
            done = support.octavo_ok("tokenize", "-m", model, "--decode", ",".join(map(str, ids)))
            self.assertEqual(done.removesuffix("\n"), text)

    def test_vocabulary_only_files(self):
        for name in ("qwen2", "llama-bpe", "gpt-2", "llama-spm"):
            self.assertTrue(support.tokenize(support.TEST_DATA / f"ggml-vocab-{name}.gguf", "Hello world"))


class FirstMinutes(unittest.TestCase):
    """As somebody would try it who has read nothing."""

    TURN = ("<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n")
    SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

    def prompt_tokens(self, user, system=SYSTEM):
        return len(support.tokenize(support.SMOLLM2, self.TURN.format(system, user)))

    def test_words_are_the_prompt_and_the_model_may_be_the_first(self):
        flagged = json.loads(support.octavo_ok("run", "-m", support.SMOLLM2, "-p", "Say hello", "--json", *GREEDY))
        for words in (("Say hello",), ("Say", "hello"), (support.SMOLLM2, "Say hello"), (support.SMOLLM2, "Say", "hello")):
            result = json.loads(support.octavo_ok("run", *words, "--json", *GREEDY))
            self.assertEqual(result["tokens"], flagged["tokens"])
        self.assertEqual(support.octavo_ok("tokenize", support.GEMMA3, "--ids", "Hello"),
                         support.octavo_ok("tokenize", "-m", support.GEMMA3, "--ids", "Hello"))
        infos = [support.octavo_ok("info", *words, support.GEMMA3) for words in (("-m",), ())]
        self.assertEqual(*(info.split("\nhere ")[0] for info in infos))  # memory that is free is another each time
        self.assertTrue(support.octavo_ok("chat", support.SMOLLM2, *GREEDY, stdin="Say hello\n/bye\n").strip())

    def test_a_document_that_is_piped_in_is_part_of_the_prompt(self):
        document, question = "Ada wrote the first program.\nIt was 1843.", "Sum this up:"
        result = json.loads(support.octavo_ok("run", question, "--json", *GREEDY, stdin=document + "\n"))
        self.assertEqual(result["prompt_tokens"], self.prompt_tokens(f"{document}\n\n{question}"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "document.txt")
            path.write_text(document + "\n")
            of_file = json.loads(support.octavo_ok("run", "-f", path, "-p", question, "--json", *GREEDY))
        self.assertEqual(of_file["tokens"], result["tokens"])

    def test_an_input_that_is_no_text_changes_nothing(self):
        args = [support.OCTAVO, "run", "Say hello", "--json", *map(str, GREEDY)]
        alone = json.loads(support.octavo_ok(*args[1:]))
        for options in ({"stdin": subprocess.DEVNULL}, {"preexec_fn": lambda: os.close(0)}):
            done = subprocess.run(args, capture_output=True, text=True, timeout=support.TIMEOUT_S, check=True, **options)
            self.assertEqual(json.loads(done.stdout)["tokens"], alone["tokens"])
            self.assertEqual(done.stderr, "")

    def test_an_idle_pipe_that_was_inherited_does_not_stop_the_answer(self):
        process = subprocess.Popen([support.OCTAVO, "run", "Say hello", *map(str, GREEDY)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        answer, notes = process.stdout.read(), process.stderr.read()  # nothing is ever written to it
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        self.assertEqual(process.wait(timeout=support.TIMEOUT_S), 0)
        self.assertTrue(answer.strip())
        self.assertIn("nothing has come from standard input", notes)

    def test_a_system_message_takes_the_place_of_the_templates(self):
        result = json.loads(support.octavo_ok("run", "Hi", "--system", "Answer in French.", "--json", *GREEDY))
        self.assertEqual(result["prompt_tokens"], self.prompt_tokens("Hi", system="Answer in French."))

    def test_slips_are_answered_with_what_may_have_been_meant(self):
        for args, meant in ((("rnu", "Hello"), "run"), (("run", "Hello", "--max-token", 3), "--max-tokens"),
                            (("run", "Hello", "--kv-type", "q8"), "q8_0")):
            done = support.octavo(*args)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"did you mean {meant}?", done.stderr)


class ReasoningBudget(unittest.TestCase):
    """A real model under a template whose prompts end behind <think>, which it never closes by itself."""

    TEMPLATE = ("{# both marks, as templates of models that reason have them: <think> </think> #}"
                "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
                "<|im_start|>assistant\n<think>\n")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        template = self.folder / "think.jinja"
        template.write_text(self.TEMPLATE)
        endless = self.folder / "generation_config.json"
        endless.write_text('{"suppress_tokens": [0, 2]}')  # its end tokens
        self.options = ("-m", support.SMOLLM2, "--chat-template", template, "--generation-config", endless, "--temp", 0,
                        "-n", 40)

    def test_run_closes_the_reasoning_and_prints_the_answer_alone(self):
        open_end = support.octavo("run", "Is 91 a prime?", *self.options)
        self.assertEqual((open_end.returncode, open_end.stdout), (0, ""))
        self.assertIn("the answer ended within its reasoning, after 40 tokens of it", open_end.stderr)
        answer = json.loads(support.octavo_ok("run", "Is 91 a prime?", *self.options, "--reasoning-budget", 10, "--json"))
        self.assertTrue(answer["text"] and answer["reasoning"])
        self.assertNotIn("think>", answer["text"] + answer["reasoning"])
        self.assertTrue(10 < answer["reasoning_tokens"] < 20, answer)  # and the closing mark, which is text here
        printed = support.octavo_ok("run", "Is 91 a prime?", *self.options, "--reasoning-budget", 10)
        self.assertEqual(printed.rstrip("\n"), answer["text"].rstrip("\n"))

    def test_a_batch_has_it_where_a_line_names_none(self):
        requests = self.folder / "requests.jsonl"
        body = {"messages": [{"role": "user", "content": "Is 91 a prime?"}]}
        requests.write_text(json.dumps(body) + "\n" + json.dumps({**body, "reasoning_budget": 0}) + "\n")
        lines = support.octavo_ok("run", *self.options, "--reasoning-budget", 10, "--batch", requests).splitlines()
        usages = [json.loads(line)["response"]["body"]["usage"]["completion_tokens_details"] for line in lines]
        self.assertTrue(10 < usages[0]["reasoning_tokens"] < 20, usages)
        self.assertLess(usages[1]["reasoning_tokens"], 10)

    def test_every_turn_of_a_chat_has_it(self):
        said = support.octavo_ok("chat", *self.options, "--reasoning-budget", 4, stdin="Is 91 a prime?\nAnd 97?\n")
        self.assertGreaterEqual(len(said.strip().splitlines()), 2)


class DefaultModel(unittest.TestCase):
    def test_without_m_a_missing_default_model_is_an_error_that_names_the_setup_script(self):
        with tempfile.TemporaryDirectory() as empty:
            done = support.octavo("run", "-p", "Hello", env={"XDG_CACHE_HOME": empty})
        self.assertEqual(done.returncode, 1)
        self.assertIn("scripts/setup", done.stderr)

    def test_an_installed_program_says_how_to_name_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(shutil.copy(support.OCTAVO, folder))
            done = subprocess.run([program, "run", "Hello"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**os.environ, "XDG_CACHE_HOME": folder}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('octavo run model.gguf "Hello"', done.stderr)
        self.assertNotIn("scripts/setup", done.stderr)


if __name__ == "__main__":
    unittest.main()
