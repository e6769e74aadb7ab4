"""Terminal: what strangers wrote is printed as one line that cannot steer it."""


def harmless(text: str) -> str:
    """A text in one line: what is not printable, such as ESC or a line's end, is replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, with an ellipsis where the rest was."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
