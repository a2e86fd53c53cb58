#!/usr/bin/env python3
"""Photographs the chat page of a running `octavo serve`: a headless Chromium asks it a question and waits for
the answer.

    OCTAVO=build/release/octavo OCTAVO_TEST_DATA=FOLDER tools/picture_chat_page.py docs/pictures/chat_page.png
"""
import argparse
import base64
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "e2e"))
from browser import PROGRAM, Browser  # noqa: E402
from server_support import Server  # noqa: E402

WIDTH, HEIGHT, SCALE = 860, 520, 1.5
LARGEST_BYTES = 150 << 10
QUESTION = "Why is the sky blue?"
SETTINGS = {"temperature": 0.7, "seed": 1, "max_tokens": 200}  # the answer that the picture of the terminal shows


def photograph(url):
    """The page with a question and its answer, as PNG."""
    with Browser(f"--window-size={WIDTH},{HEIGHT}") as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=SCALE,
                     mobile=False)
        browser.open(url + "/")
        browser.wait_for("model !== null")
        for name, value in SETTINGS.items():
            browser.run(f"$('{name}').value = {json.dumps(str(value))}")
        browser.run("$('input').focus()")
        browser.type(QUESTION)
        browser.press("Enter")
        browser.wait_for("running === null && document.querySelectorAll('article.assistant').length === 1", timeout=300)
        if mistakes := browser.mistakes():
            sys.exit(f"the page reports errors: {mistakes}")
        browser.run("document.activeElement.blur()")  # no blinking cursor: the same page gives the same picture
        return base64.b64decode(browser.send("Page.captureScreenshot", format="png")["data"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the PNG to write")
    out = parser.parse_args().out
    if PROGRAM is None:
        sys.exit("no Chromium: scripts/setup --test installs it")
    with Server() as server:
        picture = photograph(server.url)
    if len(picture) > LARGEST_BYTES:
        sys.exit(f"{out}: found a picture of {len(picture)} bytes, expected at most {LARGEST_BYTES}")
    out.write_bytes(picture)


if __name__ == "__main__":
    main()
