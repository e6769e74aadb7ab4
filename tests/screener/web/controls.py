"""The controls of a form that is sent by GET: what a browser without scripts would send."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.screener.web.tree import Document, Element


class Control:
    """One field, its value, and the values that it offers if it is a menu."""

    def __init__(self, element: Element) -> None:
        self.attributes = element.attributes
        self.name, self.value = element.attributes["name"], element.attributes.get("value", "")
        choices = [one.attributes for one in element.all("option")]
        self.options = [choice["value"] for choice in choices]
        if choices:  # without a choice a browser sends the first one
            self.value = next((c for c in choices if "selected" in c), choices[0])["value"]


class Controls:
    """The fields of the form with an id, in their order."""

    def __init__(self, page: str, form_id: str) -> None:
        forms = Document(page).root.all("form")
        form = next(form for form in forms if form.attributes.get("id") == form_id)
        self.found = [Control(one) for one in form.all("input", "select") if _is_sent(one)]

    def named(self, name: str) -> list[Control]:
        """The fields of a name."""
        return [control for control in self.found if control.name == name]

    @property
    def query(self) -> str:
        """What is sent."""
        return urlencode([(control.name, control.value) for control in self.found])


def _is_sent(field: Element) -> bool:
    """A box that is not ticked is not sent."""
    return field.attributes.get("type") != "checkbox" or "checked" in field.attributes
