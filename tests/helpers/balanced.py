"""HTML that objects write, read as a browser would read it."""

from html.parser import HTMLParser

__all__ = ["Balanced"]

_EMPTY = "br", "meta", "polyline"
"""Tags without an end."""


class Balanced(HTMLParser):
    """The `text` of a page, and the addresses and programs that a browser `loads`.

    Fails where a tag is closed that is not open, or left open.
    """

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str | None] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in _EMPTY:
            self.open.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href")]
        self.loads += [tag] if tag in ("script", "link", "img") else []

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
