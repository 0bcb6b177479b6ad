"""What a page says and what its document holds, for tests that compare the two."""

from __future__ import annotations

from html.parser import HTMLParser
from string import Formatter


def placeholders(sentence):
    """Names in the braces of a sentence that is still to be filled in."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def numbers_of(part, path=""):
    """Every path of the document that holds a number."""
    if isinstance(part, bool | str) or part is None:
        return
    if isinstance(part, int | float):
        yield path
        return
    for name, below in part.items() if isinstance(part, dict) else enumerate(part):
        yield from numbers_of(below, f"{path}.{name}" if path else str(name))


class Page(HTMLParser):
    """Tags, attributes, and the words outside `<data>`, charts, style and script."""

    SILENT = ("data", "svg", "style", "script", "title")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.silent = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag in self.SILENT:
            self.silent.append(tag)

    def handle_endtag(self, tag):
        if self.silent and self.silent[-1] == tag:
            self.silent.pop()

    def handle_data(self, data):
        if not self.silent:
            self.words.append(data)
