"""Lines: what strangers wrote, such as the name of a file, as one line that steers no reader."""


def harmless(text: str) -> str:
    """A text in one line: what is not printable, such as ESC, a line's end or a character that
    turns the direction of writing, is replaced.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(text: str, longest: int) -> str:
    """A text as one harmless line with single spaces, cut where it is too long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
