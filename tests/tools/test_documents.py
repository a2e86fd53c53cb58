"""The pages of the repository: their pictures are there, and their links lead to pages and headings that are."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text_of(page):
    """Without blocks of code, in which brackets are no links and a number sign opens no heading."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors_of(page):
    """The names that GitHub gives to the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.add(next(f"{name}{suffix}" for suffix in ("", "-1", "-2", "-3") if f"{name}{suffix}" not in found))
    return found


class Documents(unittest.TestCase):
    def test_every_picture_that_a_page_shows_is_there(self):
        shown = [(page, picture) for page in PAGES for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text_of(page))]
        self.assertIn("docs/pictures/terminal.svg", [picture for _, picture in shown])
        self.assertEqual([str(page.parent / picture) for page, picture in shown
                          if not (page.parent / picture).is_file()], [])

    def test_every_link_leads_to_a_page_and_a_heading_that_are_there(self):
        links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page))
                 if not re.match(r"[a-z]+:", link)]
        self.assertGreater(len(links), 300)
        lost = []
        for page, link in links:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in anchors_of(target)):
                lost.append(f"{page.relative_to(ROOT)}: {link}")
        self.assertEqual(lost, [])

    def test_every_promise_of_reliability_links_to_a_test(self):
        page = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
        promises = re.findall(r"^\* (?:.+\n)+?(?=\* |\n|\Z)", page[:page.index("## What is not held")], re.MULTILINE)
        self.assertGreater(len(promises), 70)
        self.assertEqual([promise for promise in promises if not re.search(r"\]\(\.\./(?:tests|fuzz)/", promise)], [])

    def test_a_decision_has_at_most_three_lines(self):
        decisions = (ROOT / "docs/decisions.md").read_text(encoding="utf-8").split("\n### ")[1:]
        self.assertGreater(len(decisions), 100)
        texts = {title: text.partition("\n## ")[0].strip() for title, _, text in (d.partition("\n") for d in decisions)}
        self.assertEqual([title for title, text in texts.items() if len(text.splitlines()) > 3], [])


if __name__ == "__main__":
    unittest.main()
