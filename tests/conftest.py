"""Fixtures that many tests share: one sealed sample night, and one live service over it."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import make_and_publish, order_of
from screener.nightly.detector.parameters import Parameters
from screener.settings.settings import Settings
from tests.counting import backend as backend
from tests.counting import clock as clock
from tests.counting import counting as counting
from tests.counting import patience as patience
from tests.node import without_authorities
from tests.once import made_once
from tests.postgres import postgres as postgres
from tests.postgres import postgres_url as postgres_url
from tests.postgres import shared_url as shared_url
from tests.redis_server import redis_server as redis_server
from tests.redis_server import shared_redis as shared_redis
from tests.resealed import reseal_next
from tests.s3 import bucket_url as bucket_url
from tests.s3 import nights_url as nights_url
from tests.s3 import s3 as s3
from tests.service import Service, copy_night, serving

# No test speaks TLS with a stranger, and each client of httpx would load every authority of the
# world for it, which takes longer than most tests.
without_authorities()

# A slow machine must not fail a test.
hypothesis_settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("steady")


PROCESS: Final = Path(__file__).with_name("qa") / "process"
NIGHT_SESSION: Final = dt.date(2012, 10, 3)
"""On this day the tests' night shows six setups, of three families, in four symbols."""
CROWDED: Final = Parameters(
    detector=1,
    quality_min=20.0,
    nearness_min=0.0,
    replace_margin=0.5,
    refit_touches=99,
    level_move=0.0,
    progress_min=0.4,
    height_min=3.5,
    crossings_min=4,
    triangle_touches=5,
    start_offset_max=0.38,
    recency_max=0.45,
    touch_gap_max=0.5,
    squeeze_slope_min=-99.0,
    pole_bars=12,
)
"""Lenient rules, with a version of their own, by which few bars have setups of several families."""


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: many tests wait for a process, a server or a time."""
    return max(2, 3 * (os.cpu_count() or 1) // 2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts, kills and restarts processes, wherever it is selected."""
    for item in items:
        if item.path.is_relative_to(PROCESS):
            item.add_marker("process")


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a night of the sample's bars in it; to be read only.

    Its rules are lenient. The default's serve three setups of two symbols in so few, which is not
    enough for tests of filters, families and lists.
    """
    if sealed := os.environ.get("SCREENER_TEST_NIGHT"):
        return Path(sealed)
    return made_once(tmp_path_factory, "night", seal_night)


def seal_night(folder: Path) -> None:
    """Seal the tests' night: the sample's bars, by lenient rules."""
    settings = Settings(data_dir=folder)
    order = order_of(settings, BarsOptions(session=NIGHT_SESSION))
    make_and_publish(settings, replace(order, parameters=CROWDED))


def seal_sample(folder: Path) -> None:
    """Seal the sample night in a folder as the product makes it."""
    settings = Settings(data_dir=folder)
    make_and_publish(settings, order_of(settings))


@pytest.fixture(scope="session")
def product_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the sample night as the product makes it; to be read only."""
    return made_once(tmp_path_factory, "product", seal_sample)


@pytest.fixture(scope="session")
def later_night(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the tests' night and, active, the one after it; to be read only."""

    def seal_both(folder: Path) -> None:
        copy_night(night, folder)
        reseal_next(folder, lambda _: None, NIGHT_SESSION + dt.timedelta(days=1))

    return made_once(tmp_path_factory, "later", seal_both)


@pytest.fixture
def data_dir(night: Path, tmp_path: Path) -> Path:
    """The test's own data folder, with the sample night in it."""
    copy_night(night, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="session")
def service(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over the sample night; tests leave its watchlist as they found it."""
    folder = tmp_path_factory.mktemp("service")
    copy_night(night, folder)
    with serving(folder) as live:
        yield live
