"""The transfer library against its bars: every case beside the pinned rate, the driver and what users call today.

python benchmarks/transfer.py [--device cuda:0] [--quick] [--only NAME,NAME] [-o FOLDER]

Prints a line a case; -o writes transfer.md, a table, and transfer.json.gz, all samples. Exit code 1: a bar was missed
or data was wrong. On devices whose memory is the host's figures mean nothing, and no bar is met or missed. Power-of-two
and scattered cases run through the C interface, for which a C compiler and the installed package are needed.
"""

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import transfer_buffers
import transfer_idle
import transfer_pieces
import transfer_small
from finding import Finding, measured
from finding_table import line, summary, write
from transfer_bench import Bench, Case

from isthmus.errors import IsthmusError, exit_code
from isthmus.machine.devices import open_device
from isthmus.machine.fingerprint import read_fingerprint
from isthmus.record import GIB, MIB, Fingerprint, format_bytes, parse_bytes

# In this order: what the session holds is looked at when all else has used it.
CASES: dict[str, Case] = {
    **transfer_buffers.cases(),
    **transfer_small.cases(),
    **transfer_pieces.cases(),
    **transfer_idle.cases(),
}
SECONDS, QUICK_SECONDS = 4.0, 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 where a bar was missed."""
    given = _parse(arguments)
    begin = time.monotonic()
    device = open_device(given.device, bind=True)
    fingerprint = read_fingerprint(device)
    shared = device.description.shares_host_memory
    largest = given.largest or (16 * MIB if shared else 64 * MIB if given.quick else GIB)
    seconds = given.time if given.time is not None else QUICK_SECONDS if given.quick or shared else SECONDS
    command = shlex.join(["benchmarks/transfer.py", *(sys.argv[1:] if arguments is None else arguments)])
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(device, largest, seconds, given.seed, Path(scratch))
        table = bench.session.table_origin
        print(f"{device.description.name}: copies up to {format_bytes(largest)}, {seconds:g} s a case, by {table}")
        for name in given.only or CASES:
            case = CASES[name]
            findings.append(measured(name, case.bar, case.measure, bench))
            print(line(findings[-1]), flush=True)
            # After each, lest a later one ends the process.
            if given.output:
                about = {"command": command, "table": table, "fingerprint": msgspec.to_builtins(fingerprint)}
                write(given.output, "transfer", _heading(fingerprint, command, table), about, findings)
    print(f"{summary(findings)}, {time.monotonic() - begin:.0f} s")
    if not given.output:
        print("not kept: -o FOLDER writes the table and all samples", file=sys.stderr)
    return 1 if any(finding.met is False for finding in findings) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--device", help="cuda:0, opencl:0, host; the best one present by default")
    parser.add_argument("--quick", action="store_true", help="up to 64 MiB, and an eighth of the time")
    parser.add_argument("--only", type=_names, help=f"cases, separated by commas: {', '.join(CASES)}")
    parser.add_argument("--largest", type=parse_bytes, help="bytes of the largest buffer")
    parser.add_argument("--time", type=float, help="seconds for a case, in which its contenders take turns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in CASES]:
        raise argparse.ArgumentTypeError(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return names


def _heading(fingerprint: Fingerprint, command: str, table: str) -> list[str]:
    device, host = fingerprint.device, fingerprint.host
    return [
        f"# Copies on {device.name}",
        "",
        f"`{command}`, Isthmus {fingerprint.isthmus_version}, driver {device.driver_version or 'unknown'}, "
        f"{host.cpu.model}. One process; what one case compares took turns. GB = 1e9 bytes; medians.",
        f"Methods from {table}.",
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IsthmusError as error:
        print(f"transfer: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
