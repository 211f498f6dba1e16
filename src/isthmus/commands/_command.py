"""How every command reads its words: an option of one value takes it once, and help shows what belongs to it."""

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from isthmus.errors import UsageError
from isthmus.registry import EXPERIMENTS, Experiment

if TYPE_CHECKING:
    from typer import Context

EXAMPLES = {
    "check": ("", "--device cuda:0 --for 10m", "--run run.json --strict"),
    "devices": ("", "--idle", "--json"),
    "measure": ("", "batching strided --device cuda:0", "all --full -o run.json.gz"),
    "calibrate": ("", "--quick --device cuda:0", "--show"),
    "plan": ("--bytes 64MiB --uses 10", "--pieces 10000 --piece-bytes 4KiB", "--bytes 1GiB --direction d2h --json"),
    "report": ("run.json", "run.json --all", "old.json new.json -o both.html"),
    "compare": ("old.json new.json", "old.json new.json --fail-if slower:5%", "reference:h100-pcie5 run.json"),
    "fleet": ("runs/", "runs/ --reference reference:h100-pcie5", "runs/ --fail-if outliers --format slurm"),
    "c-flags": ("", "--include", "--pkgconfigdir"),
    "trace": ("-- python train.py", "-o run.itrace -- ./solver", "--open run.itrace"),
    "advise": ("run.itrace", "run.itrace --run run.json", "run.itrace --fail-if gain:10%"),
    "races": ("-- ./program", "--fail-if any -- pytest tests", "--ignore known.txt -- python serve.py"),
    "accelerate": ("-- python train.py", "--report -- ./solver", "--paths all -- python serve.py"),
}


# Options and values that earlier versions took, and what to use in their place.
DROPPED = {
    "--scaling": "start isthmus measure stencil with 1, 2, 4, ... ranks, and give the runs to one isthmus report",
    "--source file": "isthmus.copy_from_file copies what is in a file",
}


class Command(TyperCommand):
    """A command that refuses a second value of an option that takes one; options of several values collect them."""

    def make_parser(self, ctx: Any) -> Any:
        """A parser that keeps every value it is given, to refuse what would silently be dropped."""
        parser: Any = super().make_parser(ctx)
        single = [each for each in self.get_params(ctx) if takes_one(each)]
        for each in single:
            parser.add_option(obj=each, opts=[*each.opts], dest=each.name, action="append", nargs=each.nargs)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
            values, rest, order = parse(args)
            for each in single:
                given = values.get(each.name)
                if given and len(given) > 1 and not ctx.resilient_parsing:
                    name = max(each.opts, key=len)
                    raise UsageError(
                        f"{name} is given {len(given)} times, as {' and as '.join(map(repr, given))}, and takes one "
                        "value; leave the others out"
                    )
                if given:
                    values[each.name] = given[0]
            return values, rest, order

        parser.parse_args = parse_once
        return parser


def _about(experiment: Experiment) -> tuple[str, str]:
    """What an experiment measures, which question its table answers and how long it takes; and an example."""
    from isthmus.experiment.engine.batch import planner
    from isthmus.language import capitalised, say

    efforts = planner(experiment).efforts
    quick, default, full = (f"{efforts[mode].budget_seconds:g} s" for mode in ("quick", "default", "full"))
    times = f"About {default}; {quick} with --quick, {full} with --full."
    measures, answers = capitalised(experiment.help), say(f"{experiment.name}_report.question")
    example = f"isthmus measure {experiment.name} --device cuda:0 -o {experiment.name}.json"
    return f"{measures}.\n\nIts table answers: {answers}\n\n{times}", f"Example: {example}"


class MeasureCommand(Command):
    """`isthmus measure`: options of one experiment are shown and taken where that is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; raises UsageError for an option of an experiment that is not among those that are measured."""
        words = {*args}
        asked = [each for each in EXPERIMENTS if each.name in words or "all" in words]
        shown = {name for each in asked for name in each.options}
        of_one = {name for each in EXPERIMENTS for name in each.options}
        params: list[Any] = self.get_params(ctx)
        for param in params:
            param.hidden = param.hidden if not of_one & {*param.opts} else not shown & {*param.opts}
        if len(asked) == 1 and words & {"-h", "--help"}:
            self.help, self.epilog = _about(asked[0])
        rest: list[str] = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            self._refuse_alien(ctx, of_one)
        return rest

    def _refuse_alien(self, ctx: "Context", of_one: set[str]) -> None:
        named = ctx.params["experiments"] or [each.name for each in EXPERIMENTS if each.is_default]
        if not {*named} <= {"all", *(each.name for each in EXPERIMENTS)}:
            return  # Which they may have been meant to be is stated elsewhere.
        for param in self.get_params(ctx):
            name = max(param.opts, key=len)
            takers = [each.name for each in EXPERIMENTS if name in each.options]
            if name in of_one and ctx.params[param.name or ""] and not {*takers, "all"} & {*named}:
                raise UsageError(
                    f"{name} is an option of {' and '.join(takers)}, and what is measured is {', '.join(named)}; "
                    f"leave it out, or: isthmus measure {takers[0]} {name} ..."
                )


def takes_one(param: Any) -> bool:
    """Whether this is an option with one value, and neither a switch nor one that collects several."""
    return param.param_type_name == "option" and not (param.multiple or param.is_flag or param.count)


def epilog(command: str) -> str:
    """A paragraph for each example of a command."""
    return "\n\n".join(["Examples:", *(f"isthmus {command} {words}".strip() for words in EXAMPLES[command])])
