"""The pages of the repository: they stay short, and their pictures and links lead to what is there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "bench/results").glob("*.md"))]
MAX_LINES, MAX_WIDTH = 250, 120
# What tests and scripts write between marks: fields of APIs, templates and models, figures.
MADE = re.compile(r"^<!-- (?:fields of .+|made by .+|\w+: begin) -->\n.*?^<!-- (?:end of .+|\w+: end) -->\n",
                  re.MULTILINE | re.DOTALL)


def lines_by_hand(page):
    return MADE.sub("", page.read_text(encoding="utf-8")).splitlines()


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
        shown = [(page, picture) for page in LINKING for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text_of(page))]
        self.assertIn("docs/pictures/terminal.svg", [picture for _, picture in shown])
        self.assertEqual([str(page.parent / picture) for page, picture in shown
                          if not (page.parent / picture).is_file()], [])

    def test_every_link_leads_to_a_page_and_a_heading_that_are_there(self):
        links = [(page, link) for page in LINKING for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page))
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
        self.assertGreater(len(promises), 60)
        self.assertEqual([promise for promise in promises if not re.search(r"\]\(\.\./(?:tests|fuzz)/", promise)], [])

    def test_a_decision_has_at_most_three_lines(self):
        page = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
        decisions = re.findall(r"^\* (?:.+\n)+?(?=\* |\n|\Z)", page, re.MULTILINE)
        self.assertGreater(len(decisions), 60)
        self.assertEqual([decision for decision in decisions if decision.count("\n") > 3], [])

    def test_a_page_has_at_most_250_lines_that_are_written_by_hand(self):
        long = {str(page.relative_to(ROOT)): len(lines) for page in PAGES
                if len(lines := lines_by_hand(page)) > MAX_LINES}
        self.assertEqual(long, {})

    def test_a_line_of_a_page_has_at_most_120_characters_but_in_tables(self):
        wide = [f"{page.relative_to(ROOT)}: {line}" for page in PAGES for line in lines_by_hand(page)
                if len(line) > MAX_WIDTH and not line.lstrip().startswith("|")]
        self.assertEqual(wide, [])


if __name__ == "__main__":
    unittest.main()
