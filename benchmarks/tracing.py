"""`isthmus trace` and `isthmus advise` against their bars, on programs whose copies and whose problems are known.

python benchmarks/tracing.py [--only NAME,NAME] [--run FILE] [--device cuda:0] [-o FOLDER]

Builds the programs of benchmarks/traced that are not of Python, for which nvcc is needed, and runs all of them untraced
and traced (see the README there). Prints a line a case; -o writes trace.md, a table, and trace.json.gz, all samples.
Without --run, what advice prices gains with is measured when it is first needed, quickly, and kept there as
trace-run.json.gz. Exit code 1: a bar was missed or data was wrong.
"""

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import trace_counts
import trace_lines
import trace_overhead
import trace_problems
import trace_python
from finding import Finding, measured
from finding_table import line, summary, write
from trace_programs import Case, Programs

from isthmus import __version__
from isthmus.errors import IsthmusError, UsageError, exit_code
from isthmus.machine.devices import choose_device
from isthmus.machine.host import read_host
from isthmus.record import Device

CASES: dict[str, Case] = {
    **trace_problems.cases(),
    **trace_counts.cases(),
    **trace_overhead.cases(),
    **trace_lines.cases(),
    **trace_python.cases(),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 where a bar was missed."""
    given = _parse(arguments)
    begin = time.monotonic()
    device = choose_device(given.device)
    if device.backend != "cuda":
        raise UsageError(f"the programs are of CUDA, and {device.spec} is not; name a device with --device cuda:0")
    command = shlex.join(["benchmarks/tracing.py", *(sys.argv[1:] if arguments is None else arguments)])
    about = {"command": command, "device": msgspec.to_builtins(device), "isthmus_version": __version__}
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as scratch:
        programs = Programs(Path(scratch), device.spec, given.run, given.output or Path(scratch))
        chosen = given.only or list(CASES)
        programs.build(sorted({each for name in chosen for each in CASES[name].programs}))
        for name in chosen:
            case = CASES[name]
            findings.append(measured(name, case.bar, case.measure, programs))
            print(line(findings[-1]), flush=True)
            # After each, lest a later one ends the process.
            if given.output:
                write(given.output, "trace", _heading(device, command), about, findings)
        for judged in (trace_problems.judged_gains, trace_python.judged_gains, trace_python.judged_accelerate):
            gains = judged(findings)
            if gains is not None:
                findings.append(gains)
                print(line(gains))
        if given.output:
            write(given.output, "trace", _heading(device, command), about, findings)
    print(f"{summary(findings)}, {time.monotonic() - begin:.0f} s")
    if not given.output:
        print("not kept: -o FOLDER writes the table and all samples", file=sys.stderr)
    return 1 if any(finding.met is False for finding in findings) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--only",
        type=_names,
        help=f"cases or what several begin with (counts, overhead), separated by commas: {', '.join(CASES)}",
    )
    parser.add_argument("--run", type=Path, help="what isthmus measure found on this machine")
    parser.add_argument("--device", help="cuda:0; the best one present by default")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    chosen: list[str] = []
    for name in text.split(","):
        names = [each for each in CASES if each == name or each.startswith(f"{name}-")]
        if not names:
            raise argparse.ArgumentTypeError(f"no case {name}; there are {', '.join(CASES)}")
        chosen += names
    return list(dict.fromkeys(chosen))


def _heading(device: Device, command: str) -> list[str]:
    return [
        f"# Traces and advice on {device.name}",
        "",
        f"`{command}`, Isthmus {__version__}, driver {device.driver_version or 'unknown'}, "
        f"{read_host().cpu.model}. Times are the programs' own; what one case compares took turns; medians.",
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IsthmusError as error:
        print(f"trace: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
