"""A headless Chromium, driven through the DevTools protocol over a pipe: JSON messages that end with a zero byte."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page; a context manager."""

    def __init__(self, *args):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()
        # The browser reads at descriptor 3 and writes at 4. No end made here is below 3, so none is overwritten too early.
        wiring = f"exec 3<&{commands_read} 4>&{answers_write}; exec \"$0\" \"$@\""
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
                 f"--user-data-dir={self.profile.name}", *args, "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", wiring, PROGRAM, *flags], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, pass_fds=(commands_read, answers_write))
        os.close(commands_read)
        os.close(answers_write)
        self.rest, self.last_id, self.session, self.events = b"", 0, None, []
        page = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.profile.cleanup()

    def send(self, method, **params):
        """The result of a command; events that come meanwhile are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self, timeout=60):
        end = time.monotonic() + timeout
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            data = os.read(self.answers, 1 << 16) if ready else b""
            if not data:
                raise AssertionError(f"the browser said nothing for {timeout} s")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def run(self, script):
        """The value of a JavaScript expression; of a promise, what it becomes."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, condition, timeout=60):
        """Until the JavaScript expression is true."""
        end = time.monotonic() + timeout
        while not self.run(condition):
            if time.monotonic() > end:
                raise AssertionError(f"waited {timeout} s for {condition}; the page: "
                                     f"{self.run('document.body.innerText')}")
            time.sleep(0.02)

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def press(self, key, modifiers=0):
        code = {"Enter": 13, "Escape": 27}[key]
        fields = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **fields, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def mistakes(self):
        """Exceptions and error messages of the page so far."""
        self.run("1")
        names = {"Runtime.exceptionThrown", "Log.entryAdded"}
        found = [event["params"] for event in self.events if event.get("method") in names]
        return [entry for entry in found if entry.get("entry", {}).get("level", "error") == "error"]

    def requested_urls(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
