"""The kernel's cache: named by its sources, private to its user."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from screener.nightly.detector.kernel import compiler


def test_an_edit_of_any_compiled_source_names_another_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache can be missing but never stale."""
    source = tmp_path / "lines.py"
    source.write_text("SLOPE = 0.6")
    monkeypatch.setattr(compiler, "COMPILED_IN", (*compiler.COMPILED_IN, source))
    before = compiler.source_digest()
    source.write_text("SLOPE = 0.7")
    assert compiler.source_digest() != before


def test_all_kernel_sources_and_their_constants_are_compiled_in() -> None:
    """The dtypes, enums and defaults live outside the kernel's folder."""
    names = {path.name for path in compiler.COMPILED_IN}
    assert names >= {"walk.py", "lines.py", "events.py", "parameters.py"}


def test_cache_goes_to_the_cache_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing folder is made, for its user only."""
    monkeypatch.setitem(compiler.SETTINGS, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = compiler.cache_folder()
    assert folder.is_relative_to(tmp_path / "cache" / "pattern-screener")
    assert folder.stat().st_mode & 0o077 == 0


def test_cache_goes_to_a_temporary_folder_where_no_other_is_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the place of the cache folder stands for a read-only home."""
    (tmp_path / "file").touch()
    monkeypatch.setitem(compiler.SETTINGS, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = compiler.cache_folder()
    assert folder.parent == tmp_path
    assert folder.name.startswith("pattern-screener-")
    assert folder.is_dir()
