"""Help that fits a terminal of 80 columns: options by panels, each titled with an example."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

#: Examples of panels that are the same for every question, and conditions of each.
SHARED = {"Sampling": "--prob .9 --draws 2000 --seed 7", "Output": "--out folder --html page.html"}
#: Letters of what represents a value.
MOST_METAVAR = 14
#: What an option takes in Python alone, up to the end of its sentence.
_OF_PYTHON = re.compile(r"[;,] in Python also .*?(?=\.(?: [A-Z]|$))")
#: What is between a panel's name and its example.
_AS_IN = ", as in: "
#: Title of the options that say how a log is read, where a command has them next to others.
READING = f"Data{_AS_IN}--column verdict=score --where prompt=short"
CONDITIONS = {
    "accuracy": "accuracy(new) < .8",
    "elo": "elo(new) < 1000",
    "audit": "agreement < .7",
    "reliability": "flip_rate(*) > .2",
    "compare": "difference(after, before) < -.1",
}


def panel_title(panel: str, examples: dict[str, str]) -> str:
    """A panel's name with its example.

    Examples
    --------
    >>> panel_title("Output", SHARED)
    'Output, as in: --out folder --html page.html'
    """
    return f"{panel}{_AS_IN}{examples[panel]}" if examples.get(panel) else panel


def narrow(metavar: str) -> str:
    """The placeholder of a value, where it leaves room for the descriptions."""
    return metavar if len(metavar) <= MOST_METAVAR else "<name=value>"


def choices_words(help_text: str, choices: Iterable[str]) -> str:
    """A help text that names all choices, without what only Python takes.

    Examples
    --------
    >>> choices_words("How similar.", ["partial", "shared"]), choices_words("a or b.", ["a", "b"])
    ('How similar: partial or shared.', 'a or b.')
    >>> choices_words("A name; in Python also {'a': .5}. Or two.", [])
    'A name. Or two.'
    """
    known, help_text = [word for word in choices if word], _OF_PYTHON.sub("", help_text)
    if all(word in help_text for word in known):
        return help_text
    *most, last = known
    return f"{help_text.removesuffix('.')}: {', '.join(most)} or {last}."


class Command(TyperCommand):
    """A command whose help is narrow: no types of switches, no limits of numbers, no columns of ``--no-x``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give the command's example where an option or argument is missing, which no other error leaves unsaid."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message or _example(self)
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of a copy whose options, ``--help`` among them, are as they are shown."""
        shown: Any = copy.copy(self)
        options = [_narrow(one) if isinstance(one, TyperOption) else one for one in self.get_params(ctx)]
        shown.get_params = lambda _: options
        TyperCommand.format_help(shown, ctx, formatter)


def _example(command: TyperCommand) -> str:
    """The example of a command's help, or of the panel that says how its log is read, as it is typed."""
    if found := re.search(r"^Example: (.+)$", command.help or "", re.MULTILINE):
        return f"For instance: {found[1]}"
    panels = [str(getattr(one, "rich_help_panel", "")).partition(f"Data{_AS_IN}")[2] for one in command.params]
    shown = next(filter(None, panels), "")
    return f"For instance: bayesjudge {command.name} {shown}" if shown else ""


def _narrow(option: TyperOption) -> Any:
    """A copy of an option without what its line in the help leaves out."""
    one: Any = copy.copy(option)
    one.metavar = "" if one.is_flag else one.metavar or ("<text>" if one.multiple else None)
    if one.default is not False and one.secondary_opts:
        one.help = f"{one.help} Off: {one.secondary_opts[0]}."
    one.secondary_opts = []
    one.min = one.max = None
    return one
