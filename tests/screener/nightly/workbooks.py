"""Workbooks: the least that is an Excel workbook, as spreadsheets write it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

NS = "http://schemas.openxmlformats.org"
MAIN, OFFICE = f"{NS}/spreadsheetml/2006/main", f"{NS}/officeDocument/2006/relationships"
TYPES = f"{NS}/package/2006/content-types"
LINKS = f"{NS}/package/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def workbook(sheets: Sequence[Iterable[Sequence[object]]]) -> bytes:
    """A workbook of some sheets of texts and numbers."""
    numbers = range(1, len(sheets) + 1)
    names = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
    links = "".join(_link(f"r{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in numbers)
    part = f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}">{part}</Types>',
        "_rels/.rels": _links(_link("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": _links(links),
        **{f"xl/worksheets/sheet{n}.xml": _sheet(sheets[n - 1]) for n in numbers},
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def _links(inner: str) -> str:
    return f'<Relationships xmlns="{LINKS}">{inner}</Relationships>'


def _link(name: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"/>'


def _sheet(rows: Iterable[Sequence[object]]) -> str:
    cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    return f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"
