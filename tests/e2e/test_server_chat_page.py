"""The chat page in a real browser, against the real server; and pages of other sites, which may not call it."""
import contextlib
import http.server
import json
import pathlib
import re
import tempfile
import threading
import unittest

import support
from browser import PROGRAM, Browser
from server_support import Server

HOSTILE = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'


@unittest.skipUnless(PROGRAM, "no Chromium: scripts/setup --test installs it")
class ChatPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        self.browser = self.enterContext(Browser("--window-size=1000,800"))
        self.browser.open(self.server.url + "/")
        self.browser.wait_for("model !== null")

    def set(self, **settings):
        for name, value in settings.items():
            self.browser.run(f"$('{name}').value = {json.dumps(str(value))}")

    def say(self, text):
        self.browser.run("$('input').focus()")
        self.browser.type(text)
        self.browser.press("Enter")

    def answer(self, number=1):
        """The text and the figures of an answer, once it is complete."""
        done = f"running === null && document.querySelectorAll('article.assistant').length === {number}"
        self.browser.wait_for(done)
        last = "document.querySelector('article.assistant:last-of-type')"
        return (self.browser.run(f"{last}.querySelector('.body').textContent"),
                self.browser.run(f"{last}.querySelector('.figures').textContent"))

    def bodies(self):
        """What the page has sent to the server."""
        return [json.loads(event["params"]["request"]["postData"]) for event in self.browser.events
                if event.get("method") == "Network.requestWillBeSent" and "postData" in event["params"]["request"]]

    def test_it_names_the_model_and_loads_nothing_from_elsewhere(self):
        self.assertEqual(self.browser.run("$('model').textContent"), self.browser.run("model"))
        for url in self.browser.requested_urls():
            self.assertTrue(url.startswith((self.server.url, "data:")), url)
        self.assertEqual(self.browser.mistakes(), [])

    def test_its_policy_is_kept_and_lets_nothing_else_in(self):
        self.browser.run("""window.violations = []; document.addEventListener("securitypolicyviolation",
            event => violations.push(event.effectiveDirective))""")
        self.set(max_tokens=8)
        self.say("Hello.")
        self.answer()
        self.browser.run("$('toggle').click(); $('new').click()")
        self.assertEqual(self.browser.run("violations"), [])
        self.assertEqual(self.browser.mistakes(), [])
        for tag, fields, directive in (("script", "{textContent: 'hacked = 1'}", "script-src-elem"),
                                       ("style", "{textContent: 'p {}'}", "style-src-elem"),
                                       ("img", "{src: 'http://127.0.0.1:9/x'}", "img-src")):
            self.browser.run(f"violations.length = 0; "
                             f"document.body.append(Object.assign(document.createElement('{tag}'), {fields}))")
            self.browser.wait_for(f"violations.join() === '{directive}'")
        self.browser.run("violations.length = 0; $('log').insertAdjacentHTML('beforeend', "
                         "'<b onclick=\"hacked = 1\" id=evil></b>'); $('evil').click()")
        self.browser.wait_for("violations.join() === 'script-src-attr'")
        self.browser.run("violations.length = 0; fetch('http://127.0.0.1:9/').catch(() => null)")
        self.browser.wait_for("violations.join() === 'connect-src'")
        self.assertIsNone(self.browser.run("window.hacked"))

    def test_no_page_shows_it_in_a_frame(self):
        # Of the same origin, so that the frame's document could be seen; a refused one is of none.
        self.browser.open(self.server.url + "/version")
        for path, is_shown in (("/health", True), ("/", False)):
            self.browser.run(f"""window.loaded = null; frame = document.createElement("iframe"); frame.src = "{path}";
                frame.onload = () => {{ loaded = frame.contentDocument !== null; }}; document.body.append(frame)""")
            self.browser.wait_for("loaded !== null")
            self.assertIs(self.browser.run("loaded"), is_shown, path)

    def test_of_several_models_one_can_be_picked_and_is_kept(self):
        self.assertTrue(self.browser.run("$('models').hidden"))
        with tempfile.TemporaryDirectory() as folder:
            for name in ("one", "two"):
                pathlib.Path(folder, f"{name}.gguf").symlink_to(support.SMOLLM2)
            with Server("--kv-memory", "64MiB", "--models-dir", folder, model=f"{folder}/one.gguf") as server:
                self.browser.open(server.url + "/")
                self.browser.wait_for("model !== null")
                self.assertEqual(self.browser.run("[...$('models').options].map(o => o.value).join()"), "one,two")
                self.browser.run("$('models').value = 'two'; $('models').dispatchEvent(new Event('change'))")
                self.set(max_tokens=4)
                self.say("Hi")
                self.answer()
                self.assertEqual(self.bodies()[-1]["model"], "two")
                self.browser.open(server.url + "/")
                self.browser.wait_for("model === 'two'")
                self.assertTrue(self.browser.run("$('model').hidden"))
                self.assertEqual(self.browser.mistakes(), [])

    def test_an_answer_is_streamed_with_its_figures(self):
        self.set(max_tokens=40, temperature=0)
        self.browser.run("""window.sizes = new Set(); new MutationObserver(() =>
            sizes.add(document.querySelector('article.assistant .body')?.textContent.length))
            .observe($('log'), {subtree: true, childList: true, characterData: true})""")
        self.say("Write one sentence about the sea.")
        text, figures = self.answer()
        expected = self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Write one sentence about the sea."}], "temperature": 0,
            "max_tokens": 40})
        self.assertEqual(text, expected["choices"][0]["message"]["content"])
        self.assertGreater(self.browser.run("sizes.size"), 5)
        self.assertIn(f"{expected['usage']['completion_tokens']} tokens", figures)
        self.assertRegex(figures, r"\d+\.\d tokens/s")
        self.assertRegex(figures, rf"\d+ of {expected['usage']['prompt_tokens']} prompt tokens cached")
        self.assertEqual(self.browser.mistakes(), [])

    def test_an_answer_that_repeats_says_how_much_was_drafted(self):
        self.set(temperature="0", max_tokens="120")
        self.say("Repeat word by word: " + "the harbour of the old town lies in a wide bay, " * 3)
        _, figures = self.answer()
        self.assertRegex(figures, r"\d+ of \d+ drafted")

    def test_the_conversation_is_kept_and_found_cached(self):
        self.set(max_tokens=24, temperature=0, system="You are a sailor with a long and wordy history at sea. " * 4)
        self.say("Hello.")
        first, _ = self.answer(1)
        self.say("Go on.")
        _, figures = self.answer(2)
        self.assertGreater(int(re.search(r"(\d+) of \d+ prompt tokens cached", figures).group(1)), 32)
        self.assertEqual([m["role"] for m in self.bodies()[-1]["messages"]], ["system", "user", "assistant", "user"])
        self.assertEqual(self.bodies()[-1]["messages"][2]["content"], first)
        self.browser.run("$('new').click()")
        self.assertEqual(self.browser.run("document.querySelectorAll('article').length"), 0)
        self.say("Hello.")
        self.answer(1)
        self.assertEqual(len(self.bodies()[-1]["messages"]), 2)

    def test_settings_are_sent_and_empty_ones_are_not(self):
        self.set(temperature=0.5, top_k=3, seed=7, max_tokens=4, top_p="", min_p="2")  # 2 is out of range
        self.say("Hello.")
        self.answer()
        body = self.bodies()[-1]
        self.assertEqual({name: body.get(name) for name in ("temperature", "top_k", "seed", "max_tokens")},
                         {"temperature": 0.5, "top_k": 3, "seed": 7, "max_tokens": 4})
        self.assertIs(body["return_progress"], True)
        self.assertNotIn("top_p", body)
        self.assertNotIn("min_p", body)

    def test_the_button_and_escape_stop_an_answer(self):
        for number, stop in enumerate((lambda: self.browser.run("$('send').click()"),
                                       lambda: self.browser.press("Escape")), 1):
            self.set(max_tokens=4000, temperature=0)
            self.browser.run("Object.assign(window, {plain: window.plain ?? requestBody}); "
                             "requestBody = () => ({...plain(), ignore_eos: true})")
            self.say("Count to a thousand.")
            self.browser.wait_for("document.querySelector('article.writing .body')?.textContent.length > 20")
            self.assertEqual(self.browser.run("$('send').textContent"), "Stop")
            stop()
            text, figures = self.answer(number)
            self.assertGreater(len(text), 20)
            self.assertIn("stopped", figures)
            self.server.wait_until(lambda: self.server.metric("num_requests_running") == 0)
            self.assertEqual(self.browser.run("$('send').textContent"), "Send")

    def test_html_of_users_and_models_is_text(self):
        # A model may say anything, and the server sends it: the page is given an answer that tries.
        chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": HOSTILE + "\n```html\n" + HOSTILE + "\n```\n"}}]})
        stream = f"data: {chunk}\n\ndata: [DONE]\n\n"
        self.browser.run(f"fetch = async () => new Response({json.dumps(stream)})")
        self.say(HOSTILE)
        text, _ = self.answer()
        self.assertEqual(text.count(HOSTILE), 2)
        self.assertEqual(self.browser.run("document.querySelector('article.user .body').textContent"), HOSTILE)
        self.assertEqual(self.browser.run("document.querySelector('article.assistant pre code').textContent.trim()"),
                         HOSTILE)
        self.assertIsNone(self.browser.run("window.hacked"))
        self.assertEqual(self.browser.run("document.querySelectorAll('#log img, #log script').length"), 0)

    def test_a_long_prompt_shows_how_far_it_has_come(self):
        progress = {"total": 7500, "cache": 0, "processed": 4096, "time_ms": 20000}
        chunks = [{"choices": [{"index": 0, "delta": {}}], "prompt_progress": progress},
                  {"choices": [{"index": 0, "delta": {"content": "Well"}}]}]
        first, second = (json.dumps(f": waiting\n\ndata: {json.dumps(chunk)}\n\n") for chunk in chunks)
        self.browser.run(f"""fetch = async () => new Response(new ReadableStream({{start(stream) {{
            const send = text => stream.enqueue(new TextEncoder().encode(text));
            send({first});
            window.go = () => {{ send({second}); stream.close(); }};
        }}}}))""")
        self.say("A long one.")
        self.browser.wait_for("document.querySelector('article.writing .foot')?.textContent === "
                              "'reading: 4096 of 7500 tokens'")
        self.browser.run("go()")
        text, _ = self.answer()
        self.assertEqual(text, "Well")

    def test_an_error_is_shown_and_can_be_tried_again(self):
        self.set(max_tokens=3)
        self.say("word " * 9000)
        self.browser.wait_for("document.querySelector('article.error') !== null")
        self.assertIn("maximum context length", self.browser.run("document.querySelector('article.error').textContent"))
        self.browser.run("conversation.at(-1).content = 'Hello.'; "
                         "document.querySelector('article.error button').click()")
        text, _ = self.answer()
        self.assertTrue(text)
        self.assertFalse(self.browser.run("document.querySelector('article.error') !== null"))

    def test_enter_sends_and_shift_enter_does_not(self):
        self.set(max_tokens=2)
        self.browser.run("$('input').focus()")
        self.browser.type("one")
        self.browser.press("Enter", modifiers=8)
        self.browser.type("two")
        self.browser.press("Enter")
        self.answer()
        self.assertEqual(self.bodies()[-1]["messages"][-1]["content"], "one\ntwo")

    def test_everything_has_a_name_and_enough_contrast(self):
        unnamed = self.browser.run("""[...document.querySelectorAll('button, input, textarea, select')].filter(node =>
            !(node.textContent.trim() && node.tagName === 'BUTTON') && node.labels.length === 0).map(n => n.id)""")
        self.assertEqual(unnamed, [])
        self.assertEqual(self.browser.run("$('log').getAttribute('role')"), "log")
        for scheme in ("light", "dark"):
            self.browser.send("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            for text, ground in (("ink", "paper"), ("faint", "paper"), ("ink", "mine"), ("ink", "code"),
                                 ("bad", "paper"), ("on-accent", "accent"), ("faint", "sheet")):
                self.assertGreaterEqual(self.contrast(text, ground), 4.5, (scheme, text, ground))

    def contrast(self, text, ground):
        """As WCAG defines it, of two of the page's colours."""
        def luminance(name):
            value = self.browser.run(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')").strip()
            parts = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        bright, dark = sorted((luminance(text), luminance(ground)), reverse=True)
        return (bright + 0.05) / (dark + 0.05)

    def test_it_fits_a_telephone(self):
        self.browser.send("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=2, mobile=True)
        self.set(max_tokens=8)
        self.say("word" * 60)
        self.answer()
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360)
        self.assertTrue(self.browser.run("$('send').getBoundingClientRect().bottom <= innerHeight"))


class OtherSite(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>another site</p>")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def other_site():
    """Its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site.server_address[1]
        finally:
            site.shutdown()
            thread.join()


# Everything that a page can have sent without the server's consent, as functions of an address.
FORM = """url => {{ const form = Object.assign(document.createElement("form"),
    {{method: "POST", action: url, enctype: "{}", target: "answer"}});
    form.append(Object.assign(document.createElement("input"), {{name: '{{"prompt": "a", "x": "', value: '"}}'}}));
    document.body.insertAdjacentHTML("beforeend", "<iframe name=answer></iframe>");
    document.body.append(form);
    form.submit(); }}"""
SENT_WITHOUT_ASKING = [
    *(FORM.format(kind) for kind in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")),
    """url => fetch(url, {method: "POST", mode: "no-cors", body: '{"prompt": "a"}'}).then(answer => answer.type)""",
    """url => navigator.sendBeacon(url, '{"prompt": "a"}')""",
    # In a frame with a sandbox, whose origin is "null".
    """url => { const frame = Object.assign(document.createElement("iframe"), {sandbox: "allow-scripts", srcdoc:
        `<script>fetch("${url}", {method: "POST", mode: "no-cors", body: '{"prompt": "a"}'})</` + "script>"});
        document.body.append(frame); }"""]


@unittest.skipUnless(PROGRAM, "no Chromium: scripts/setup --test installs it")
class OtherPages(unittest.TestCase):
    def test_what_they_can_send_without_asking_is_refused(self):
        with Server(model=support.tiny_model("tiny-qwen3")) as server, other_site() as port, \
                Browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
            url = server.url + "/v1/completions"
            number = 0
            for host in ("evil.example", "localhost", "127.0.0.1"):
                for send in SENT_WITHOUT_ASKING:
                    browser.open(f"http://{host}:{port}/")
                    browser.run(f"({send})({json.dumps(url)})")
                    number += 1
                    line = server.access_log(number)[-1]
                    self.assertEqual((line["method"], line["status"]), ("POST", 403), (host, send))
            self.assertEqual(server.metric("prompt_tokens_total"), 0)

    def test_an_origin_that_is_let_in_gets_its_answer(self):
        with other_site() as port, Browser("--host-resolver-rules=MAP page.example 127.0.0.1") as browser, \
                Server("--cors-origin", f"http://page.example:{port}", model=support.tiny_model("tiny-qwen3")) as server:
            call = f"""fetch("{server.url}/v1/completions", {{method: "POST", body: '{{"prompt": "a", "max_tokens": 2}}',
                headers: {{"Content-Type": "application/json"}}}}).then(answer => answer.json())"""
            browser.open(f"http://page.example:{port}/")
            self.assertEqual(browser.run(call)["usage"]["completion_tokens"], 2)
            browser.open(f"http://localhost:{port}/")
            self.assertEqual(browser.run(call + ".catch(error => error.name)"), "TypeError")


if __name__ == "__main__":
    unittest.main()
