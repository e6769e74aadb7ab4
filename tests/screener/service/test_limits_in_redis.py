"""The limits of several machines: one Redis counts for all, and its absence is told and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from screener.doctor.result import CheckResult
from screener.doctor.stores import limits
from screener.settings.settings import Settings, load_settings
from tests.redis_server import RedisServer
from tests.screener.process import ready, until
from tests.service import Service, copy_night, serving

SECRET = "hunter2"


def counters(live: Service) -> list[str]:
    """Why counters are degraded, as a probe reads it."""
    return [one["why"] for one in ready(live.url)["degraded"] if one["part"] == "counters"]


def calls(lives: tuple[Service, ...], key: str, times: int) -> list[int]:
    """The codes of calls with one key, each service in its turn."""
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        turns = [lives[n % len(lives)] for n in range(times)]
        return [client.get(f"{live.base}/me").status_code for live in turns]


@pytest.mark.engine
def test_two_services_share_the_quotas_of_a_key_an_address_and_a_sign_in(
    redis_server: RedisServer, night: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "database_url": f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}",
        "limits_url": redis_server.url,
        "key_per_minute": 7,
        "registrations_per_minute": 1,
    }
    for name in ("one", "other"):
        copy_night(night, tmp_path / name)
    with (
        serving(tmp_path / "one", **settings) as one,
        serving(tmp_path / "other", email="other@example.com", **settings) as other,
    ):
        assert calls((one, other), one.key, 9) == [200] * 7 + [429] * 2
        assert calls((other,), other.key, 1) == [200]
        app = {"redirect_uris": ["https://app.example.com/back"]}
        made = [httpx.post(f"{live.url}/oauth/register", json=app) for live in (one, other)]
        assert [answer.status_code for answer in made] == [201, 429]
        assert counters(one) == counters(other) == []


@pytest.mark.engine
def test_while_redis_is_away_calls_are_refused_if_the_operator_wants_that(
    redis_server: RedisServer, data_dir: Path
) -> None:
    redis_server.stop()
    with serving(data_dir, limits_url=redis_server.url, limits_away="refuse") as live:
        refused = live.get("/me")
        page = httpx.get(f"{live.url}/sign-in", timeout=30)
        app = {"redirect_uris": ["https://app.example.com/back"]}
        made = httpx.post(f"{live.url}/oauth/register", json=app, timeout=30)
        token = httpx.post(f"{live.url}/oauth/token", data={"grant_type": "x"}, timeout=30)
        challenged = httpx.post(live.mcp_url, json={}, timeout=30)

        assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
        assert refused.json()["details"] == {"retry_after_seconds": 2}
        answers = (refused, page, made, token, challenged)
        assert [answer.status_code for answer in answers] == [503] * 5
        assert {answer.headers["retry-after"] for answer in answers} == {"2"}
        assert made.json() == token.json() == {"error": "temporarily_unavailable"}
        assert httpx.get(f"{live.url}/health/live").status_code == 200
        assert counters(live)[0].endswith("calls are refused.")

        redis_server.start()
        until(lambda: counters(live) == [])
        assert live.get("/me").status_code == 200


@pytest.mark.engine
def test_a_redis_that_lost_everything_learns_the_day_from_the_usage_log(
    redis_server: RedisServer, data_dir: Path
) -> None:
    settings: dict[str, Any] = {"limits_url": redis_server.url, "key_per_day": 5}
    with serving(data_dir, **settings) as live:
        assert calls((live,), live.key, 3) == [200] * 3
    redis_server.stop()
    redis_server.empty()
    redis_server.start()

    with serving(data_dir, email="other@example.com", **settings) as again:
        assert calls((again,), live.key, 3) == [200] * 2 + [429]


def found(url: str, **settings: Any) -> list[CheckResult]:
    """What the doctor finds of a Redis."""
    return list(limits(load_settings(limits_url=url, **settings)))


@pytest.mark.engine
def test_the_doctor_says_what_a_redis_does_not_keep(redis_server: RedisServer) -> None:
    assert [one.level for one in found(redis_server.url)] == ["ok"]
    with redis.Redis(port=redis_server.port) as client:
        client.config_set("appendonly", "no")
        client.config_set("maxmemory-policy", "allkeys-lru")
        told = found(redis_server.url)
        assert [one.level for one in told] == ["ok", "warning", "warning"]
        assert "noeviction" in told[1].words
        assert "appendonly yes" in told[2].words

        client.replicaof("127.0.0.1", 1)
        assert found(redis_server.url)[0].level == "fault"
        client.replicaof("NO", "ONE")

        client.config_set("requirepass", SECRET)
        (wrong,) = found(redis_server.url)
        assert (wrong.level, "password" in wrong.words) == ("fault", True)
    redis_server.stop()
    with_password = redis_server.url.replace("//", f"//:{SECRET}@")
    (away,) = found(with_password, limits_away="refuse")
    assert away.level == "fault"
    assert "so calls are refused" in away.words
    assert SECRET not in away.words


def test_without_a_redis_the_doctor_says_where_calls_are_counted() -> None:
    assert list(limits(Settings())) == [
        CheckResult("ok", "limits", "counted in the memory of this machine, 100,000 keys a day")
    ]
