"""Opening: the store of objects at an address."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from store.errors import ObjectsError
from store.remote.objects import Objects
from store.remote.shared_folder import SharedFolder

BUCKETS: Final = ("s3", "gs", "az")

NIGHTS: Final = "SCREENER_NIGHTS_URL"


def open_objects(url: str, setting: str = NIGHTS) -> Objects:
    """The store at an address: s3://, gs://, az://, or file:/// of a shared folder.

    Nothing in it is asked for yet; errors name the setting that holds the address.

    Raises:
        ObjectsError: the address is malformed or of another kind, or a package is missing.
    """
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ObjectsError(
            f"{setting} must name only a place; credentials belong in the variables of the "
            "provider (docs/nights-store.md)."
        )
    if parts.scheme == "file":
        return _folder(url, setting)
    if parts.scheme not in BUCKETS or not parts.netloc:
        raise ObjectsError(
            f"{setting} {url} is not a place for objects; write s3://BUCKET/PREFIX, "
            "gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///SHARED/FOLDER."
        )
    if find_spec("obstore") is None:
        raise ObjectsError(
            f"{setting} {url} needs obstore; pip install 'pattern-screener[objects]'."
        )
    from store.remote.buckets import Bucket

    return Bucket(url)


def _folder(url: str, setting: str) -> Objects:
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise ObjectsError(
            f"{setting} {url} names a host; write file:///SHARED/FOLDER, three slashes."
        )
    return SharedFolder(Path(unquote(parts.path)))
