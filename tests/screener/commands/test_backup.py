"""Backup and restore: what is put back is the same, all of it or nothing, on both databases.

Over 400 lines, because every way to break a backup is tried on the same installation.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from screener.commands.backup import DRAFT
from screener.settings.settings import load_settings
from store.backup.archive import ArchiveReader, ArchiveWriter
from store.backup.restore import check
from store.errors import BackupError
from store.folder.layout import STAGE
from store.folder.lock import locked
from store.ledger.ledger import Ledger
from store.ledger.objects import NEWEST
from store.nights.nights import Nights
from tests.screener.command import check_refusal, run, run_process, succeed
from tests.screener.installation import backup as backup
from tests.screener.installation import files_of, options, state_of
from tests.screener.installation import new_url as new_url
from tests.screener.installation import sealed as sealed
from tests.screener.process import until
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, serving


def test_what_is_restored_serves_the_same_from_either_database_to_either(
    product_night: Path, tmp_path: Path, new_url: Callable[[], str | None]
) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar.zst"
    shutil.copytree(product_night, data)
    with serving(data, database_url=new_url()) as live:
        person = new_person(live, tracked=("AAPL", "IBM"))
        browser = signed_in(live, person)
        expected = {path: live.get(path).json() for path in ("/tickers", "/scan", "/families")}
        calls = remaining(live, live.key)
        form = browser.form("/screen?status=all", "/screens")
        screen = browser.submit(form, name="Everything").headers["location"]
        page = browser.submit(browser.form(screen), feed="new").text
        [feed] = re.findall(r"/feeds/pso_feed_\w+", page)
    url = live.settings.database_url
    given = options(url.get_secret_value() if url else None)
    assert run(data, "backup", str(file), **given).returncode == 0

    for target in (None, new_url()):
        folder = tmp_path / f"to-{target is None}-{len(list(tmp_path.iterdir()))}"
        succeed(folder, "restore", str(file), **options(target))
        settings = load_settings(data_dir=folder, database_url=target)
        assert state_of(settings) == state_of(live.settings)
        with serving(folder, database_url=target, email="later@example.com") as restored:
            for path, answer in expected.items():
                assert restored.get(path, key=live.key).json() == answer
            assert remaining(restored, live.key) == calls - len(expected) - 1
            again = Browser(restored)
            assert again.get("/keys").status_code == 303
            again.cookies.update(browser.cookies)
            assert again.get("/keys").status_code == 200
            assert "Everything" in again.get(screen).text
            assert "<title>Everything</title>" in again.get(feed).text


def remaining(service: Service, key: str) -> int:
    """The calls that a key has left today."""
    answer = service.get("/me", key=key)
    return int(re.findall(r"r=(\d+)", answer.headers["ratelimit"])[-1])


def test_a_backup_is_private_and_replaces_nothing_unless_told(sealed: Path, backup: Path) -> None:
    before = backup.read_bytes()

    assert backup.stat().st_mode & 0o777 == 0o600
    check_refusal(run(sealed, "backup", str(backup)), "--force")
    assert backup.read_bytes() == before
    assert run(sealed, "backup", "--force", str(backup)).returncode == 0
    assert [path.name for path in sealed.parent.iterdir() if "draft" in path.name] == []
    check_refusal(run(sealed, "backup", str(sealed / "no" / "folder")), "cannot be written")


def test_a_backup_unpacks_with_common_tools(backup: Path) -> None:
    unpack = zstandard.ZstdDecompressor()
    stream = unpack.stream_reader(backup.read_bytes(), read_across_frames=True)
    with tarfile.open(fileobj=io.BytesIO(stream.read())) as tar:
        names = tar.getnames()

    assert names[0] == "backup.json"
    assert names[-1] == "contents.json"
    assert {"night/manifest.json", "ledger/head.json"} < set(names)


def test_nothing_is_replaced_unless_told(sealed: Path, backup: Path, tmp_path: Path) -> None:
    shutil.copytree(sealed, tmp_path / "data")
    before = files_of(tmp_path / "data")

    check_refusal(run(tmp_path / "data", "restore", str(backup)), "--replace")
    for path in ("manifest.json", "nights", "ledger"):
        moved = tmp_path / "data" / path
        moved.rename(tmp_path / path)
    check_refusal(run(tmp_path / "data", "restore", str(backup)), "accounts already")
    assert run(tmp_path / "data", "restore", str(backup), "--replace").returncode == 0
    assert files_of(tmp_path / "data") == before


def test_a_running_service_goes_over_to_the_restored_state(
    night: Path, backup: Path, sealed: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(night, data)
    with serving(data) as live:
        assert live.get("/me").status_code == 200
        old = live.get("/scan").json()["data_version"]
        assert run(data, "restore", str(backup), "--replace").returncode == 0
        assert live.get("/me").status_code == 401
        new = Nights(sealed).check_active().data_version
        assert new != old
        until(lambda: bool(live.get("/families", key="").json()["data_version"] == new))


def test_a_restore_waits_for_no_nightly_and_does_not_disturb_it(
    backup: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with locked(data, dt.datetime.now(dt.UTC)):
        done = run(data, "restore", str(backup))

    assert done.returncode == 3
    assert "wait for it to end" in done.stderr
    assert not (data / "manifest.json").exists()


@examples(max_examples=90)
@given(data=st.data())
def test_a_file_that_was_cut_or_continued_or_holds_anything_else_is_noticed(
    backup: Path, data: st.DataObject
) -> None:
    body = backup.read_bytes()
    place = data.draw(st.integers(0, len(body) - 1))
    for wrong in (body[:place], body + data.draw(st.binary(min_size=1, max_size=50))):
        with pytest.raises(BackupError):
            held_by(backup.with_name("wrong"), wrong)
    changed = bytearray(body)
    changed[place] ^= data.draw(st.integers(1, 255))
    with suppress(BackupError):  # what is unpacked is the same, if it is anything
        assert held_by(backup.with_name("wrong"), bytes(changed)) == held_by(backup, body)


def test_damage_far_into_a_large_file_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    rows = [f'["name"]\n["{os.urandom(2**20).hex()}"]'.encode() for _ in range(3)]
    files = {f"database/accounts/{number:06}.jsonl": body for number, body in enumerate(rows)}
    path = written(tmp_path / "large", {"backup.json": header()[1], **files})
    body = path.read_bytes()

    for place in range(1, len(body), len(body) // 10):
        changed = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
        for wrong in (body[:place], changed):
            with pytest.raises(BackupError):
                held_by(path, wrong)


def written(path: Path, members: Mapping[str, bytes]) -> Path:
    """A backup of some members, whose digest is right."""
    with path.open("wb") as file:
        writer = ArchiveWriter(file)
        for name, body in members.items():
            writer.add(name, body)
        writer.end()
    return path


def held_by(path: Path, body: bytes) -> dict[str, bytes]:
    """What a backup of some bytes holds, after it was checked."""
    path.write_bytes(body)
    with ArchiveReader(path) as archive:
        check(archive)
        return {member.name: member.read(member.size) for member in archive.members()}


def test_a_file_that_goes_on_after_its_contents_is_refused(backup: Path, tmp_path: Path) -> None:
    unpacked = zstandard.ZstdDecompressor().stream_reader(backup.read_bytes()).read()
    packer = zstandard.ZstdCompressor(write_checksum=True)
    (tmp_path / "more").write_bytes(packer.compress(unpacked + bytes(4 * 2**20)))

    check_refusal(run(tmp_path / "data", "restore", str(tmp_path / "more")), "damaged")


def test_a_damaged_file_touches_nothing_and_is_one_line(backup: Path, tmp_path: Path) -> None:
    body = bytearray(backup.read_bytes())
    body[len(body) // 2] ^= 1
    (tmp_path / "bad").write_bytes(body)
    data = tmp_path / "data"

    check_refusal(run(data, "restore", str(tmp_path / "bad")), "damaged")
    check_refusal(run(data, "restore", "--check", str(tmp_path / "bad")), "damaged")
    check_refusal(run(data, "restore", str(tmp_path / "none")), "cannot be read")
    assert not (data / "accounts.sqlite").exists()
    assert not (data / "nights").exists()


def member(name: str, body: bytes = b"{}", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(body)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, body


HOSTILE = {
    "a path out": member("../../etc/passwd"),
    "an absolute path": member("/tmp/x"),  # noqa: S108
    "a path within": member("ledger/../../x"),
    "a link": member("night/manifest.json", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": member("night/manifest.json", b"", type=tarfile.LNKTYPE, linkname="backup.json"),
    "a device": member("night/manifest.json", b"", type=tarfile.CHRTYPE),
    "a folder": member("night/manifest.json", b"", type=tarfile.DIRTYPE),
    "another file": member("accounts.sqlite"),
    "a long name": member("n" * 5000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_however_right_its_digest(name: str, tmp_path: Path) -> None:
    path, plain = tmp_path / "hostile", io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry, body in (header(), HOSTILE[name]):
            tar.addfile(entry, io.BytesIO(body))
    write_archive(path, plain.getvalue())

    check_refusal(run(tmp_path / "data", "restore", str(path)), "which no backup has")
    assert not (tmp_path / "data" / "accounts.sqlite").exists()


ACCOUNT = [1, "ada@example.com", "premium", True, None, "2026-01-01T00:00:00Z"]
NAMES = ["id", "email", "plan", "active", "password_hash", "created_at"]
ROWS: dict[str, tuple[dict[str, object], str]] = {
    "a plan": ({"plan": "god"}, "accounts.plan is 'god'; it must be one of none, premium"),
    "an address": ({"email": "nobody"}, "accounts.email"),
    "a long text": ({"password_hash": "x" * 256}, "accounts.password_hash"),
    "a NUL": ({"email": "a@b.c\0"}, "accounts.email"),
    "a number": ({"id": "1"}, "accounts.id"),
    "a negative number": ({"id": -1}, "accounts.id"),
    "a truth": ({"active": 1}, "accounts.active"),
    "a time": ({"created_at": 5}, "accounts.created_at"),
    "a long row": ({"password_hash": "x" * 200_000}, "row of the backup is too large"),
    "many rows": ({}, "accounts/000001.jsonl in the backup is too large"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_no_command_writes_are_refused_by_name(name: str, tmp_path: Path) -> None:
    changed, words = ROWS[name]
    row = orjson.dumps(list((dict(zip(NAMES, ACCOUNT, strict=True)) | changed).values()))
    number = 40_000 if name == "many rows" else 1
    body = b"\n".join([orjson.dumps(NAMES), *[row] * number])
    members = {"backup.json": header()[1], "database/accounts/000001.jsonl": body}
    path = written(tmp_path / "rows", members)

    for more in ((), ("--check",)):
        check_refusal(run(tmp_path / "data", "restore", str(path), *more), words)
    assert not (tmp_path / "data" / "accounts.sqlite").exists()


def header(revision: str = "0007") -> tuple[tarfile.TarInfo, bytes]:
    made = f'"made_at":"2026-01-01T00:00:00Z","revision":"{revision}"'
    return member("backup.json", f'{{"format":1,{made},"night":null,"ledger":0}}'.encode())


def write_archive(path: Path, plain: bytes) -> None:
    """A file whose digest is right, whatever is in it."""
    with path.open("wb") as file:
        writer = ArchiveWriter(file)
        writer._packed.write(plain)
        writer.end()


@pytest.mark.parametrize(
    ("revision", "words"),
    [("0099", "newer than this program's"), ("0006", "an earlier version")],
)
def test_a_schema_that_is_not_known_is_refused_in_one_line(
    revision: str, words: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "b", {"backup.json": header(revision)[1]})

    check_refusal(run(tmp_path / "data", "restore", str(path)), words)


def test_a_backup_removes_the_drafts_of_killed_ones_and_no_other_file(
    sealed: Path, tmp_path: Path
) -> None:
    stale, fresh = tmp_path / f".a.tar.zst.x{DRAFT}", tmp_path / f".b.tar.zst.y{DRAFT}"
    other = tmp_path / ".manifest.json.z.draft"
    for path in (stale, fresh, other):
        path.touch()
    for path in (stale, other):
        os.utime(path, (0, 0))

    assert run(sealed, "backup", str(tmp_path / "b.tar.zst")).returncode == 0
    assert not stale.exists()
    assert fresh.exists()
    assert other.exists()


def test_a_backup_never_replaces_one_of_the_same_name_that_ended_first(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "b.tar.zst"
    file.write_bytes(b"another's")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path != file and exists(path))

    check_refusal(run(sealed, "backup", str(file)), f"{file} exists")
    assert file.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [file]


def test_a_backup_that_ends_in_a_digest_as_older_ones_do_is_restored(
    sealed: Path, backup: Path, tmp_path: Path
) -> None:
    body, older = backup.read_bytes(), tmp_path / "older"
    older.write_bytes(body + bytes.fromhex("502a4d1820000000") + sha256(body).digest())

    assert run(tmp_path / "data", "restore", str(older)).returncode == 0
    assert files_of(tmp_path / "data") == files_of(sealed)


def test_a_damaged_book_or_ledger_makes_no_backup(sealed: Path, tmp_path: Path) -> None:
    for pattern in ("nights/*.book", "ledger/0*"):
        data = tmp_path / pattern[:6]
        shutil.copytree(sealed, data)
        path = next(data.glob(pattern))
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.write_bytes(body)

        check_refusal(run(data, "backup", str(tmp_path / "b")), path.name)
        assert not (tmp_path / "b").exists()


def rewritten(backup: Path, path: Path, suffix: str, change: Callable[[bytes], bytes]) -> Path:
    """A backup with other bytes in the members of a suffix, and a digest that is right."""
    with ArchiveReader(backup) as archive:
        bodies = {member.name: member.read(member.size) for member in archive.members()}
    changed = {name: change(body) for name, body in bodies.items() if name.endswith(suffix)}
    return written(path, bodies | changed)


def test_a_ledger_whose_newest_object_is_another_is_refused_by_the_check_too(
    backup: Path, tmp_path: Path
) -> None:
    def at_another_time(body: bytes) -> bytes:
        return bytes([*body[:4], body[4] ^ 1, *body[5:]])  # as gzip keeps it

    path = rewritten(backup, tmp_path / "b", ".jsonl.gz", at_another_time)

    for more in (("--check",), ()):
        check_refusal(run(tmp_path / "data", "restore", *more, str(path)), "was appended")


def test_a_book_larger_than_its_manifest_says_is_not_unpacked(backup: Path, tmp_path: Path) -> None:
    path = rewritten(backup, tmp_path / "b", ".book", lambda body: body + b"x")

    check_refusal(run(tmp_path / "data", "restore", str(path)), "too large")
    assert not (tmp_path / "data" / STAGE).exists()


def publish_by_half(data: Path) -> Ledger:
    """As a nightly leaves it that was stopped between appending to the ledger and activating."""
    ledger = Ledger(data)
    newest = ledger.newest()
    (ledger.folder / NEWEST).write_bytes(newest.model_copy(update={"pending": True}).encode())
    return ledger


def test_a_backup_waits_while_a_night_is_published_by_half(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = list[float]()

    def published(seconds: float) -> None:
        waits.append(seconds)
        ledger.settle()

    shutil.copytree(sealed, tmp_path / "data")
    ledger = publish_by_half(tmp_path / "data")
    monkeypatch.setattr("store.backup.backup.time.sleep", published)
    assert run(tmp_path / "data", "backup", str(tmp_path / "b")).returncode == 0
    assert run(tmp_path / "restored", "restore", str(tmp_path / "b")).returncode == 0

    assert len(waits) == 1
    assert files_of(tmp_path / "restored") == files_of(sealed)


def test_a_backup_during_which_a_restore_ends_is_refused(
    sealed: Path, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restored(_data_dir: Path) -> None:
        assert run_process(data, "restore", str(backup), "--replace").returncode == 0

    data = tmp_path / "data"
    shutil.copytree(sealed, data)
    monkeypatch.setattr("store.backup.backup.refuse_over_restore", restored)

    check_refusal(run(data, "backup", str(tmp_path / "b")), "A restore ended while", 3)
    assert not (tmp_path / "b").exists()


def test_a_night_that_stays_published_by_half_makes_no_backup(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.backup.backup.SETTLE_SECONDS", 0.0)
    shutil.copytree(sealed, tmp_path / "data")
    publish_by_half(tmp_path / "data")

    check_refusal(run(tmp_path / "data", "backup", str(tmp_path / "b")), "screener nightly")
    assert not (tmp_path / "b").exists()
