"""Tracing: whether OpenTelemetry's own variables ask for traces, which it reads as its SDK does."""

from __future__ import annotations

import os
from importlib.util import find_spec

from screener.errors import SettingsError


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def traces_wanted() -> bool:
    """Whether OpenTelemetry's own variables name a collector; its SDK reads all the others.

    Raises:
        SettingsError: traces cannot be sent in the way that they say.
    """
    given = os.environ.get
    endpoints = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    named = next((name for name in endpoints if given(name)), None)
    disabled = given("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if named is None or disabled or _exporters() == {"none"}:
        return False
    if _exporters() != {"otlp"}:
        raise SettingsError(
            "OTEL_TRACES_EXPORTER: only otlp or none can be chosen; unset the rest."
        )
    if not all(map(_is_installed, ("opentelemetry.sdk", "opentelemetry.exporter.otlp"))):
        raise SettingsError(
            f"{named} is set, and what sends traces is not installed: install "
            "pattern-screener[traces], or unset it."
        )
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if given(name, "http/protobuf") != "http/protobuf":
            raise SettingsError(f"{name}: only http/protobuf is spoken; unset it or set that.")
    return True


def _exporters() -> set[str]:
    """What is chosen to send traces by: a list, and OTLP if it is empty."""
    words = os.environ.get("OTEL_TRACES_EXPORTER", "").split(",")
    return {word.strip() for word in words if word.strip()} or {"otlp"}
