"""Mutants of the code that decides who may call, how often, and whose answer it is.

mutmut changes one thing at a time in the files that `[tool.mutmut]` of pyproject.toml names, and
runs the tests that reach it. A mutant that no test notices has survived: either a test is missing,
or the mutant does the same and `mutants.toml` says why. Run it with `make mutate`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
import libcst as cst
from mutmut.__main__ import cli
from mutmut.configuration import config
from mutmut.mutation import mutators
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

FOLDER = Path("mutants")
NIGHT = FOLDER / "night"
EQUIVALENTS = Path(__file__).with_name("mutants.toml")

LENIENT = {"oauth/authorization.py", "oauth/endpoints.py"}
"""Files in which some mutants may survive; the others decide on expiry, revocation, limits or whose
answer it is, and let none through."""

MAX_SURVIVORS = 0.10
"""Of the mutants that the type check lets through."""

TYPE_CHECK = [
    *("-m", "mypy", "--config-file=", "--strict", "--ignore-missing-imports", "--output=json"),
    # What the code around the mutants gives rise to, and not a mutant itself.
    *("--disable-error-code=unused-ignore", "--disable-error-code=ignore-without-code"),
    *("--disable-error-code=type-arg", "--disable-error-code=has-type"),
    "--disable-error-code=no-redef",
    *("mcp_server/operations", "oauth", "store"),
]
"""`make test` runs mypy, so a mutant that mypy refuses needs no test."""

DEAD = {"killed", "timeout", "caught by type check"}

SEAL = """
import sys
from pathlib import Path
from tests.conftest import seal_night
seal_night(Path(sys.argv[1]))
"""


class Mutant(NamedTuple):
    """One change of one function."""

    file: str
    function: str
    diff: str
    status: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What `mutants.toml` names it by."""
        return self.file, self.function, self.change

    @property
    def change(self) -> str:
        """The lines that differ, as `mutants.toml` spells them."""
        return "\n".join(
            line[0] + " " + line[1:].strip()
            for line in self.diff.splitlines()[2:]
            if line[0] in "+-"
        )


def main(names: list[str]) -> int:
    """Test all mutants anew, or again those whose names match; 1 if too many survive."""
    if not names:
        shutil.rmtree(FOLDER, ignore_errors=True)
    if not NIGHT.exists():
        subprocess.run([sys.executable, "-c", SEAL, str(NIGHT)], check=True)
    os.environ["SCREENER_TEST_NIGHT"] = str(NIGHT.absolute())
    _leave_texts_alone(cast("list[Any]", mutators.mutation_operators))
    config().type_check_command = [sys.executable, *TYPE_CHECK]
    cli(["run", *names], standalone_mode=False)
    return _judge(list(_mutants()))


def _leave_texts_alone(operators: list[Any]) -> None:
    operators[:] = [
        (kind, _without_texts if operator is mutators.operator_arg_removal else operator)
        for kind, operator in operators
        if operator is not mutators.operator_string
    ]


def _without_texts(call: cst.Call) -> Iterator[cst.Call]:
    """The calls with one argument less, except where it is a sentence for people."""
    texts = {id(argument) for argument in call.args if _is_text(argument.value)}
    for mutated in mutators.operator_arg_removal(call):
        if texts <= {id(argument) for argument in mutated.args}:
            yield mutated


def _is_text(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.SimpleString):
        return isinstance(value.evaluated_value, str) and " " in value.evaluated_value
    return isinstance(value, cst.ConcatenatedString | cst.FormattedString)


def _mutants() -> Iterator[Mutant]:
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            method, owner = orig_function_and_class_names_from_key(name)
            function = f"{owner}.{method}" if owner else method
            diff = get_diff_for_mutant(name, path=path)
            yield Mutant(str(path), function, diff, status_by_exit_code[code])


def _judge(mutants: list[Mutant]) -> int:
    rows = tomllib.loads(EQUIVALENTS.read_text())["equivalent"]
    argued = {(row["file"], row["function"], row["change"].strip()) for row in rows}
    alive = [one for one in mutants if one.status not in DEAD]
    missed = [one for one in alive if one.key not in argued]
    for one in missed:
        click.echo(f"\n{one.file} {one.function} {one.status}\n{one.diff}")
    for file, function, change in sorted(argued - {one.key for one in alive}):
        click.echo(f"\nNo longer alive: {file} {function}\n{change}")
    click.echo("\nmutants  by types  by tests  equivalent  missed")
    files = sorted({one.file for one in mutants})
    for file in files:
        click.echo(_row([one for one in mutants if one.file == file], alive, missed) + file)
    click.echo(_row(mutants, alive, missed) + "in all")
    tested = [one for one in mutants if one.status != "caught by type check"]
    too_many = len(missed) > MAX_SURVIVORS * len(tested)
    return int(too_many or any(one.file not in LENIENT for one in missed))


def _row(mutants: list[Mutant], alive: list[Mutant], missed: list[Mutant]) -> str:
    """How mutants ended, as a row of the last table."""
    lived, by_nobody = (sum(one in some for one in mutants) for some in (alive, missed))
    by_types = sum(one.status == "caught by type check" for one in mutants)
    by_tests = len(mutants) - by_types - lived
    ends = (len(mutants), by_types, by_tests, lived - by_nobody, by_nobody)
    return "{:7}  {:8}  {:8}  {:10}  {:6}  ".format(*ends)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
