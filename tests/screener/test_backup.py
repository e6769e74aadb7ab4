"""Backup and restore: what is put back is the same, all of it or nothing, on both databases.

Over 400 lines, because every way to break a backup is tried on the same installation.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pytest
import sqlalchemy as sa
import zstandard
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from screener.backup import DRAFT
from screener.settings import Settings
from store import tables
from store.archive import ArchiveReader, ArchiveWriter
from store.audit import Kind
from store.chain import Chain
from store.database import Database
from store.errors import BackupError, BusyError
from store.ledger import Ledger
from store.ledger_file import NEWEST
from store.lock import READY, STAGE, locked
from store.nights import Nights
from store.restore import check
from tests.postgres import ENGINES, fresh_database
from tests.screener.command import COMMAND, check_refusal, environment, run
from tests.service import Service, apart, new_key, serving
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

State = tuple[dict[str, bytes], dict[str, list[tuple[object, ...]]]]
"""The files of a data folder and the rows of its database."""

KILLED = """
import os, signal, sys
left = int(sys.argv.pop(1))
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "shutil.rmtree"}
def hook(event, arguments):
    global left
    if event in EVENTS and os.environ["SCREENER_DATA_DIR"] in str(arguments[0]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
from screener.cli import main
import store.restore, store.backup
sys.addaudithook(hook)
main()
"""
"""Kills itself just before its Nth step on the files of its data folder."""


@pytest.fixture(params=ENGINES)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str | None]:
    """Makes addresses of empty databases; None is SQLite in the data folder."""
    if request.param == "sqlite":
        return lambda: None
    server = request.getfixturevalue("postgres_url")
    return lambda: apart(lambda: fresh_database(server, tmp_path.name))


def options(url: str | None) -> dict[str, str]:
    return {"SCREENER_DATABASE_URL": url} if url else {}


def rows_of(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, as both databases give them; without what a restore adds."""

    async def read() -> dict[str, list[tuple[object, ...]]]:
        database, found = Database(settings.accounts_url), {}
        async with database.read() as connection:
            for table in tables.metadata.sorted_tables:
                if table.name in tables.OWN:
                    continue
                query = sa.select(table).order_by(*table.primary_key.columns)
                if table is tables.audit:
                    query = query.where(table.c.kind != Kind.RESTORED)
                rows = (await connection.execute(query)).all()
                found[table.name] = [tuple(map(in_utc, row)) for row in rows]
        await database.close()
        return found

    return apart(read)


def in_utc(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value


def files_of(data: Path) -> dict[str, bytes]:
    """The nights and the ledger of a data folder."""
    paths = [data / "manifest.json", *data.glob("nights/*"), *data.glob("ledger/*")]
    return {
        str(path.relative_to(data)): path.read_bytes()
        for path in paths
        if path.is_file() and path.suffix != ".verified"
    }


@pytest.fixture(scope="module")
def sealed(product_night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a night, its ledger, and accounts; to be read only."""
    folder = tmp_path_factory.mktemp("sealed") / "data"
    shutil.copytree(product_night, folder)
    new_key(Settings(data_dir=folder))
    return folder


@pytest.fixture(scope="module")
def backup(sealed: Path) -> Path:
    """A backup of it."""
    path = sealed.parent / "backup.tar.zst"
    assert run(sealed, "backup", str(path)).returncode == 0
    return path


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
    url = live.settings.database_url
    assert run(data, "backup", str(file), **options(url)).returncode == 0

    for target in (None, new_url()):
        folder = tmp_path / f"to-{target is None}-{len(list(tmp_path.iterdir()))}"
        done = run(folder, "restore", str(file), **options(target))
        assert done.returncode == 0, done.stderr
        settings = Settings(data_dir=folder, database_url=target)
        assert rows_of(settings) == rows_of(live.settings)
        assert files_of(folder) == files_of(data)
        with serving(folder, database_url=target, email="later@example.com") as restored:
            for path, answer in expected.items():
                assert restored.get(path, key=live.key).json() == answer
            assert remaining(restored, live.key) == calls - len(expected) - 1
            again = Browser(restored)
            assert again.get("/keys").status_code == 303
            again.cookies.update(browser.cookies)
            assert again.get("/keys").status_code == 200


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


def unpacked(file: Path) -> bytes:
    stream = zstandard.ZstdDecompressor().stream_reader(file.read_bytes(), read_across_frames=True)
    return stream.read()


def test_a_backup_unpacks_with_common_tools(backup: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(unpacked(backup))) as tar:
        names = tar.getnames()

    assert names[0] == "backup.json"
    assert names[-1] == "contents.json"
    assert {"night/manifest.json", "ledger/head.json"} < set(names)


def test_no_secret_is_in_a_backup(sealed: Path, tmp_path: Path) -> None:
    shutil.copytree(sealed, tmp_path / "data")
    secret = new_key(Settings(data_dir=tmp_path / "data"), "grace@example.com")
    run(tmp_path / "data", "backup", str(tmp_path / "b"))
    text = unpacked(tmp_path / "b")

    assert b"grace@example.com" in text
    assert secret[:16].encode() in text
    assert secret[16:].encode() not in text


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


def test_a_replaced_state_leaves_nothing_behind(
    night: Path, backup: Path, sealed: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(night, data)
    new_key(Settings(data_dir=data), "other@example.com")
    (data / "charts" / "x").mkdir(parents=True)

    assert run(data, "restore", str(backup), "--replace").returncode == 0

    assert files_of(data) == files_of(sealed)
    assert rows_of(Settings(data_dir=data)) == rows_of(Settings(data_dir=sealed))
    assert not (data / "charts").exists()
    assert not (data / STAGE).exists()


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
        assert wait_for_version(live, new) == new != old


def wait_for_version(live: Service, version: str) -> str:
    for _ in range(100):
        found: str = live.get("/families", key="").json()["data_version"]
        if found == version:
            break
        httpx.get(f"{live.url}/docs", timeout=30)
        anyio.run(anyio.sleep, 0.1)
    return found


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


@examples(max_examples=150)
@given(data=st.data())
def test_every_changed_byte_is_noticed_before_anything_is_touched(
    backup: Path, data: st.DataObject
) -> None:
    body = bytearray(backup.read_bytes())
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    changed = backup.with_name("changed")
    changed.write_bytes(body)

    with ArchiveReader(changed) as archive, pytest.raises(BackupError):
        check(archive)


@examples(max_examples=60)
@given(data=st.data())
def test_a_file_that_is_cut_or_continued_is_noticed(backup: Path, data: st.DataObject) -> None:
    body = backup.read_bytes()
    left = data.draw(st.integers(0, len(body) - 1))
    for wrong in (body[:left], body + data.draw(st.binary(min_size=1, max_size=50))):
        changed = backup.with_name("cut")
        changed.write_bytes(wrong)
        with ArchiveReader(changed) as archive, pytest.raises(BackupError):
            check(archive)


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


def header(revision: str = "0006") -> tuple[tarfile.TarInfo, bytes]:
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
    [("0099", "newer than this program's"), ("0000", "which never existed")],
)
def test_a_schema_that_is_not_known_is_refused_in_one_line(
    revision: str, words: str, tmp_path: Path
) -> None:
    with (tmp_path / "b").open("wb") as file:
        writer = ArchiveWriter(file)
        writer.add("backup.json", header(revision)[1])
        writer.end()

    check_refusal(run(tmp_path / "data", "restore", str(tmp_path / "b")), words)


def kill(data: Path, step: int, *arguments: str, **settings: str) -> bool:
    """Run a command that kills itself at its Nth step; whether it lived to its end."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(step), *arguments],
        env=environment(data, **settings),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == 0


STEPS = (4, 12, 18, *range(24, 40), *range(41, 58, 3), 80)
"""The rows are committed at about the 30th step; the last of these lives to the end."""


BETWEEN = 40
"""A step at which the rows are committed and not all files are in their places."""


@pytest.mark.parametrize("part", range(4))
def test_a_restore_that_is_killed_anywhere_leaves_the_old_state_or_the_new_one(
    part: int, night: Path, sealed: Path, backup: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(night, old)
    new_key(Settings(data_dir=old), "other@example.com")
    states = [(files_of(each), rows_of(Settings(data_dir=each))) for each in (old, sealed)]
    for step in STEPS[part::4]:
        data = tmp_path / f"data-{step}"
        shutil.copytree(old, data)
        lived = kill(data, step, "restore", str(backup), "--replace")
        check_backs_up_one_state(data, tmp_path / f"taken-{step}", states)

        ended = tmp_path / f"ended-{step}"
        shutil.copytree(data, ended)
        served = ended_by_a_start(Settings(data_dir=ended))
        assert served in states, step
        assert served == states[1] or not lived
        assert run(data, "restore", str(backup), "--replace").returncode == 0, step
        assert (files_of(data), rows_of(Settings(data_dir=data))) == states[1]
        assert not (data / STAGE).exists()


def check_backs_up_one_state(data: Path, taken: Path, states: list[State]) -> None:
    """Check that a backup over a restore that was killed is of one state, or is refused."""
    file = taken.with_suffix(".tar.zst")
    if (data / STAGE / READY).exists():
        done = run(data, "backup", str(file))
        assert done.returncode == 3
        assert "screener restore" in done.stderr
        return
    assert run(data, "backup", str(file)).returncode == 0
    assert run(taken, "restore", str(file)).returncode == 0
    held = files_of(taken)
    assert any(
        rows == rows_of(Settings(data_dir=taken)) and held.items() <= files.items()
        for files, rows in states
    )


def ended_by_a_start(settings: Settings) -> State:
    from screener.serving import check_active_night

    apart(lambda: anyio.to_thread.run_sync(check_active_night, settings))
    return files_of(settings.data_dir), rows_of(settings)


def test_a_killed_restore_is_ended_with_its_own_database_alone(
    night: Path, sealed: Path, backup: Path, tmp_path: Path, new_url: Callable[[], str | None]
) -> None:
    data, another = tmp_path / "data", f"sqlite+aiosqlite:///{tmp_path / 'another.sqlite'}"
    shutil.copytree(night, data)
    own = options(new_url())
    assert not kill(data, BETWEEN, "restore", str(backup), "--replace", **own)
    assert (data / STAGE / READY).exists()

    for command in (("serve",), ("restore", str(backup), "--replace")):
        refused = run(data, *command, SCREENER_DATABASE_URL=another)
        check_refusal(refused, "name that database again")
    assert (data / STAGE / READY).exists()
    settings = Settings(data_dir=data, database_url=own.get("SCREENER_DATABASE_URL"))
    assert ended_by_a_start(settings) == (files_of(sealed), rows_of(Settings(data_dir=sealed)))


def test_the_steps_of_the_killed_restores_reach_its_end(
    night: Path, backup: Path, tmp_path: Path
) -> None:
    shutil.copytree(night, tmp_path / "data")

    assert kill(tmp_path / "data", max(STEPS), "restore", str(backup), "--replace")


def test_a_nightly_does_not_begin_over_a_restore_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / STAGE).mkdir()
    (tmp_path / STAGE / READY).write_text("mark")

    with pytest.raises(BusyError, match="screener restore"), locked(tmp_path, NOW):
        pass


@pytest.mark.parametrize("step", [1, 3, 5, 8, 12, 16])
def test_a_backup_that_is_killed_leaves_no_file_that_looks_whole(
    step: int, sealed: Path, tmp_path: Path
) -> None:
    shutil.copytree(sealed, tmp_path / "data")
    target = tmp_path / "data" / "b.tar.zst"  # in the folder whose steps are counted
    lived = kill(tmp_path / "data", step, "backup", str(target))

    assert lived == (target.exists() and target.stat().st_size > 0)
    assert run(tmp_path / "data", "backup", str(target), "--force").returncode == 0
    assert run(tmp_path / "data", "restore", "--check", str(target)).returncode == 0
    assert files_of(tmp_path / "data") == files_of(sealed)


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


def test_a_backup_needs_no_links(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.link")
    assert run(sealed, "backup", str(tmp_path / "b")).returncode == 0
    assert run(sealed, "restore", "--check", str(tmp_path / "b")).returncode == 0


def test_a_backup_to_a_pipe_is_the_same(sealed: Path, tmp_path: Path) -> None:
    with (tmp_path / "piped").open("wb") as file:
        subprocess.run(
            [sys.executable, "-c", "from screener.cli import main; main()", "backup", "-"],
            env=environment(sealed),
            stdout=file,
            check=True,
            timeout=60,
        )

    assert run(sealed, "restore", "--check", str(tmp_path / "piped")).returncode == 0


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


def test_a_ledger_whose_newest_object_is_another_is_refused_by_the_check_too(
    backup: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b"
    with ArchiveReader(backup) as archive, path.open("wb") as file:
        writer = ArchiveWriter(file)
        for member in archive.members():
            body = member.read()
            if member.name.endswith(".jsonl.gz"):
                body = bytes([*body[:4], body[4] ^ 1, *body[5:]])  # its time, as gzip keeps it
            writer.add(member.name, body)
        writer.end()

    check_refusal(run(tmp_path / "data", "restore", "--check", str(path)), "was appended")
    check_refusal(run(tmp_path / "data", "restore", str(path)), "was appended")


def test_a_book_larger_than_its_manifest_says_is_not_unpacked(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "b"
    with ArchiveReader(backup) as archive, path.open("wb") as file:
        writer = ArchiveWriter(file)
        for member in archive.members():
            body = member.read()
            writer.add(member.name, body + b"x" if member.name.endswith(".book") else body)
        writer.end()

    check_refusal(run(tmp_path / "data", "restore", str(path)), "too large")
    assert not (tmp_path / "data" / STAGE).exists()


def publish_by_half(data: Path) -> Ledger:
    """As a nightly leaves it that was stopped between appending to the ledger and activating."""
    ledger = Ledger(data)
    newest = ledger.newest()
    assert newest is not None
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
    monkeypatch.setattr("store.backup.time.sleep", published)
    assert run(tmp_path / "data", "backup", str(tmp_path / "b")).returncode == 0
    assert run(tmp_path / "restored", "restore", str(tmp_path / "b")).returncode == 0

    assert len(waits) == 1
    assert files_of(tmp_path / "restored") == files_of(sealed)


def test_a_night_that_stays_published_by_half_makes_no_backup(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.backup.SETTLE_SECONDS", 0.0)
    shutil.copytree(sealed, tmp_path / "data")
    publish_by_half(tmp_path / "data")

    check_refusal(run(tmp_path / "data", "backup", str(tmp_path / "b")), "screener nightly")
    assert not (tmp_path / "b").exists()


def test_backups_beside_a_nightly_are_each_of_one_moment(sealed: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(sealed, data)
    nightly = subprocess.Popen(
        [*COMMAND, "nightly", "--session", "2012-10-02", "--accept-fall"],
        env=environment(data),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    versions, number = set(), 0
    while True:
        over = nightly.poll() is not None
        number += 1
        file, target = tmp_path / f"b{number}", tmp_path / f"restored{number}"
        assert run(data, "backup", str(file)).returncode == 0
        done = run(target, "restore", str(file))
        assert done.returncode == 0, done.stderr
        active, ledger = Nights(target).check_active(), Nights(target).ledger
        assert Chain.of(ledger).faults == []
        assert active.data_version in ledger.recorded()
        versions.add(active.data_version)
        if over:
            break
    assert nightly.returncode == 0
    assert len(versions) == 2
