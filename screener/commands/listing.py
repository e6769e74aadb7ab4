"""`screener listing`: the files with which a registry or a marketplace lists the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from screener.settings.console import err, fail, out, settings

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="It is made if it does not exist.")]


def listing(folder: Folder) -> None:
    """Write what registries and marketplaces keep, with this service's own address.

    `server.json` is for the MCP registry (`mcp-publisher publish`).

    The folder is a Claude marketplace, with a plugin of skill and connector: push it to git.

    Set SCREENER_PUBLIC_URL and SCREENER_OPERATOR first. More in docs/being-found.md.
    """
    from mcp_server.operations.identity import registry_name
    from rest_facade.listing import listing_files
    from rest_facade.reference import reference, skill

    chosen = settings()
    offer = chosen.offer
    files = listing_files(offer, skill(reference(offer, chosen.quotas)))
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            out.print(str(path))
    except OSError as error:
        fail(f"{error.filename or folder} cannot be written ({error.strerror}).")
    if offer.public_url.startswith("https:"):
        err.print(
            f"Registries call it {registry_name(offer)}; SCREENER_REGISTRY_NAME sets another name."
        )
    else:
        err.print(
            "Registries and most hosts want https: set SCREENER_PUBLIC_URL, and run it again."
        )
