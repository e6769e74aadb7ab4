"""Terminal: what strangers wrote is printed as one line that cannot steer it."""


def harmless(text: str) -> str:
    """A text in one line: what is not printable, such as ESC or a line's end, is replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
