"""Markdown: texts of the service about itself, from the templates beside the code that fills them.

Nothing is escaped: what they name comes from the code and from the operator's settings.
"""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined


def render_markdown(package: str, name: str, **context: object) -> str:
    """A template of a package, with what it names in its places."""
    environment = Environment(  # noqa: S701 # nosec B701 - Markdown, and no visitor's words in it
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["days"] = _days
    template = files(package).joinpath(name).read_text("utf-8")
    return environment.from_string(template).render(context)


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} days"
