"""Agents: the browser or program that a User-Agent names, in words for people."""

from __future__ import annotations

import re

MOST_LETTERS = 60
"""Characters that are shown of what a program calls itself."""

BROWSERS = {
    "Edge": r"\bEdg(A|iOS)?/",
    "Opera": r"\bOPR/",
    "Samsung Internet": r"\bSamsungBrowser/",
    "Firefox": r"\b(Firefox|FxiOS)/",
    "Chrome": r"\b(Chrome|Chromium|CriOS)/",
    "Safari": r"\bSafari/",
}
"""What the User-Agent of each browser has, the first that fits: most name others beside it."""

SYSTEMS = {
    "iPhone": r"\biPhone\b",
    "iPad": r"\biPad\b",
    "Android": r"\bAndroid\b",
    "Windows": r"\bWindows\b",
    "ChromeOS": r"\bCrOS\b",
    "macOS": r"\bMacintosh\b",
    "Linux": r"\bLinux\b",
}


def browser_of(agent: str) -> str:
    """The browser and the system that a User-Agent names, in plain words."""
    browser, system = _first(BROWSERS, agent), _first(SYSTEMS, agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "An unknown browser"


def agent_name(agent: str) -> str:
    """The browser and the system; of what is no browser, the beginning of its own words."""
    return browser_of(agent) if agent.startswith("Mozilla/") else agent[:MOST_LETTERS]


def _first(patterns: dict[str, str], agent: str) -> str | None:
    return next((name for name, pattern in patterns.items() if re.search(pattern, agent)), None)
