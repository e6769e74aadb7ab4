"""The way in: a process that this program starts runs it again, and needs no command line."""

from __future__ import annotations


def main() -> None:
    """The `screener` command."""
    from screener.commands.cli import main

    main()


if __name__ == "__main__":
    main()
