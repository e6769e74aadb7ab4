"""Evidence: what stands behind a setup and is stored beside it, which charts and people read."""

from __future__ import annotations

from nightly.bars import Bars, to_date
from nightly.detector import Parameters, line_values
from nightly.events import Rows
from nightly.numbers import percent, price
from nightly.poles import pole_of


def score_of(bars: Bars, version: Rows, end: int) -> dict[str, float | int | str]:
    """The score of a version with its parts, as they are at the bar `end`."""
    upper, lower = line_values(version, end)
    return {
        "quality": round(float(version["quality"]), 2),
        "upper_touches": int(version["upper_touches"]),
        "lower_touches": int(version["lower_touches"]),
        "crossings": int(version["crossings"]),
        "progress": round(1 - (upper - lower) / float(version["width"]), 4),
        "height_pct": percent(100 * float(version["height"])),
        "attempt": int(version["attempt"]),
        "served_since": to_date(bars.date[version["first_served"]]).isoformat(),
    }


def pole_points(bars: Bars, version: Rows, parameters: Parameters) -> dict[str, float | str]:
    """Base and tip of a version's pole; empty without one."""
    pole = pole_of(bars, version, parameters)
    if pole is None:
        return {}
    return {
        "pole_start_date": to_date(bars.date[pole.base]).isoformat(),
        "pole_start_price": price(pole.base_price),
        "pole_tip_date": to_date(bars.date[pole.tip]).isoformat(),
        "pole_tip_price": price(pole.tip_price),
    }
