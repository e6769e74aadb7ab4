"""Groups: commands that share a name, whose help ends with an example."""

from __future__ import annotations

import typer


def group(summary: str, example: str) -> typer.Typer:
    """A group of commands, which prints its help when none of them is named."""
    return typer.Typer(no_args_is_help=True, help=f"{summary}\n\n\b\n{example}")
