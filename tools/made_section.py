"""The part of a page of the docs that a script makes: from one mark to the other, both included."""


def problem_of_section(page, begin, end, made, writes):
    """Why the page's section is not the one that was made, or None. `writes`: puts it there instead."""
    text = page.read_text(encoding="utf-8")
    first, last = text.find(begin), text.find(end)
    if first < 0 or last < first:
        return f"{page}: has no '{begin}' and '{end}'"
    last += len(end)
    if writes:
        page.write_text(text[:first] + made + text[last:], encoding="utf-8")
    elif text[first:last] != made:
        return f"{page}: the section '{begin}' is another; --write puts this one there:\n{made}"
    return None
