"""Agents: the browser and the system that a User-Agent names, in words for people.

A browser also names those that it descends from, so the order of the names matters.
"""

from __future__ import annotations

BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}

MOST_LETTERS = 60


def agent_name(agent: str) -> str:
    """Such as `Firefox on Linux`; what is no browser, in its own words, cut; empty if unnamed."""
    if not agent.startswith("Mozilla/"):
        return agent if len(agent) <= MOST_LETTERS else f"{agent[: MOST_LETTERS - 1]}…"
    browser = _first(BROWSERS, agent) or "A browser"
    system = _first(SYSTEMS, agent)
    return f"{browser} on {system}" if system else browser


def _first(names: dict[str, str], agent: str) -> str | None:
    return next((name for mark, name in names.items() if mark in agent), None)
