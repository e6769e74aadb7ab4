"""`screener listing`: what it writes, and what it says."""

from __future__ import annotations

from pathlib import Path

from mcp_server.limits.limits import Quotas
from rest_facade.listing import listing_files
from rest_facade.reference import reference, skill
from screener.settings.settings import Settings
from tests.screener.command import check_refusal, run

PUBLIC = "https://screener.example.com"


def written(folder: Path) -> dict[str, bytes]:
    files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    return {str(Path(name).relative_to(folder)): Path(name).read_bytes() for name in files}


def test_it_writes_the_listing_of_this_service_and_names_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "listing"
    done = run(tmp_path, "listing", str(folder), SCREENER_PUBLIC_URL=PUBLIC)

    offer = Settings(public_url=PUBLIC).offer
    assert done.returncode == 0
    assert written(folder) == listing_files(offer, skill(reference(offer, Quotas())))
    assert sorted(done.stdout.splitlines()) == sorted(
        str(folder / name) for name in written(folder)
    )
    assert "com.example.screener/pattern-screener" in done.stderr


def test_without_https_it_says_that_registries_want_it(tmp_path: Path) -> None:
    done = run(tmp_path, "listing", str(tmp_path / "out"))

    assert done.returncode == 0
    assert "SCREENER_PUBLIC_URL" in done.stderr


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    check_refusal(run(tmp_path, "listing", str(tmp_path / "file")), "cannot be written")
