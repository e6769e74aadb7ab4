"""The controls of a form that is sent by GET: what a browser without scripts would send."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode


@dataclass
class Control:
    """One field, its value, and the values that it offers if it is a menu."""

    name: str
    value: str
    options: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


class Controls(HTMLParser):
    """The fields of the form with an id, in their order."""

    def __init__(self, page: str, form_id: str) -> None:
        super().__init__()
        self.found: list[Control] = []
        self._id, self._inside = form_id, False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = given.get("id") == self._id
        if not self._inside:
            return
        if tag in ("input", "select"):
            control = Control(given["name"], given.get("value", ""), attributes=given)
            self.found.append(control)
        elif tag == "option":
            menu, value = self.found[-1], given["value"]
            # Without a choice a browser sends the first one.
            if "selected" in given or not menu.options:
                menu.value = value
            menu.options.append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False

    def named(self, name: str) -> list[Control]:
        """The fields of a name."""
        return [control for control in self.found if control.name == name]

    @property
    def query(self) -> str:
        """What is sent."""
        return urlencode([(control.name, control.value) for control in self.found])
