"""`autotune diff`: what differs between two ways to serve, concurrency by concurrency."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from autotune.cli.importing import points
from autotune.diff import Difference, Point, differences, grouped
from autotune.sides import Side, Subject, subject
from search_spaces import SpaceError

DIFFERENT = 11
WHAT = "A space, a recipe.yaml, a launch script, or a command line in quotes."


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=WHAT)],
    b: Annotated[str, typer.Argument(metavar="B", help=WHAT)],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A variable or a knob of both; repeatable.")
    ] = None,
    settings_a: Annotated[list[str] | None, typer.Option("--set-a", metavar="NAME=VALUE", help="One of A.")] = None,
    settings_b: Annotated[list[str] | None, typer.Option("--set-b", metavar="NAME=VALUE", help="One of B.")] = None,
    concurrency: Annotated[
        str | None, typer.Option(help="As 4,16,64; default: those that both sides are about.")
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 11 where they differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Compare how two servers are started: every option and variable, however it is written."""
    left, right = (
        subject(a, [*(settings or []), *(settings_a or [])]),
        subject(b, [*(settings or []), *(settings_b or [])]),
    )
    at = list[Point](points(concurrency)) if concurrency else _common(left, right)
    sides = left.at(at), right.at(at)
    found = {point: differences(sides[0].served[point], sides[1].served[point]) for point in at}
    if as_json:
        typer.echo(json.dumps(_data(sides, found), indent=2))
    else:
        _show(sides, found)
    if exit_code and any(not each.by_default for point in found.values() for each in point):
        raise typer.Exit(DIFFERENT)


def _common(left: Subject, right: Subject) -> list[Point]:
    """Return the concurrencies that both sides are about, saying which only one is."""
    if not left.ladder or not right.ladder:
        return list(left.ladder or right.ladder or (None,))
    common = [point for point in left.ladder if point in right.ladder]
    for one, other in ((left, right), (right, left)):
        if apart := [str(point) for point in one.ladder if point not in other.ladder]:
            typer.echo(f"autotune: only {one.name} is about concurrency {', '.join(apart)}", err=True)
    if not common:
        raise SpaceError(f"{left.name} and {right.name} have no concurrency in common; choose with --concurrency")
    return list(common)


def _show(sides: tuple[Side, Side], found: Mapping[Point, Sequence[Difference]]) -> None:
    for side in sides:
        for doubt in side.doubts:
            if doubt.kind != "not run":
                typer.echo(f"{side.name}: {doubt}", err=True)
        if left_out := sum(doubt.kind == "not run" for doubt in side.doubts):
            typer.echo(f"{side.name}: {left_out} commands are not run; `autotune import` lists them", err=True)
    for at, group in grouped(found):
        typer.echo(_where(at, len(found)))
        width = max(len(_title(each)) for each in group)
        for each in group:
            note = "  (the same, by the engine's default)" if each.by_default else ""
            typer.echo(f"  {_title(each):<{width}}  {_value(each.left)} | {_value(each.right)}{note}")
    if not any(found.values()):
        typer.echo(f"no difference{'' if list(found) == [None] else f' at concurrency {_numbers(found)}'}")


def _where(at: Sequence[Point], of: int) -> str:
    if list(at) == [None]:
        return "A | B"
    return "A | B at every concurrency" if len(at) == of else f"A | B at concurrency {_numbers(at)}"


def _numbers(at: Sequence[Point] | Mapping[Point, object]) -> str:
    return ", ".join(map(str, at))


def _title(difference: Difference) -> str:
    return f"{difference.kind} {difference.name}".rstrip() if difference.kind != "option" else difference.name


def _value(value: str | None) -> str:
    return "-" if value is None else " ".join(value.split()) or "''"


def _data(sides: tuple[Side, Side], found: Mapping[Point, Sequence[Difference]]) -> dict[str, object]:
    """Return the comparison as plain data."""
    return {
        "sides": [
            {"name": side.name, "doubts": [{"line": d.line, "kind": d.kind, "said": d.said} for d in side.doubts]}
            for side in sides
        ],
        "points": [
            {
                "concurrency": point,
                "differences": [
                    {
                        "kind": each.kind,
                        "name": each.name,
                        "a": each.left,
                        "b": each.right,
                        "by_default": each.by_default,
                    }
                    for each in group
                ],
            }
            for point, group in found.items()
        ],
    }
