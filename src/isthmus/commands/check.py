"""`isthmus check`: is this link all right? A verdict a device, with what to do, and an exit code for scripts."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.commands import _completions
from isthmus.commands._choices import ForceOption, JsonOption, LanguageOption, flag, language_of, option
from isthmus.commands._output import format_of, format_option, write_report
from isthmus.commands._own_files import check_place
from isthmus.errors import CallFailed, IsthmusError, UsageError
from isthmus.messages import heard_enough, to_stderr

if TYPE_CHECKING:
    from isthmus.compare import Health, Reference
    from isthmus.record import Run

    # The worst run of a device, the verdict on it, and the name of the reference.
    Checked = tuple[Run, Health, str]

_DEVICE = "cuda:0, opencl:0, host; cuda is all of that kind. By default all of the best kind."
_REFERENCE = "Reference to judge by: a name, such as h200-pcie5, or a file; by default the one for this device."
_FOR = "Check again and again for so long, such as 10m, all devices together: for a link that flaps."
_RUN = "Judge a kept run in place of a device of this machine."
_STYLE = "One line and exit codes for: plain, nagios (and Meta GCM), npd, nhc, prometheus, json."
_FROM = "Judge what nvbandwidth, bandwidthTest, dcgmi, nvidia-smi -q, lspci -vv, ... printed; - for standard input."


def check(
    device: str | None = option("--device", "DEVICE", _DEVICE, autocompletion=_completions.devices),
    reference: str = option("--reference", "NAME", _REFERENCE, autocompletion=_completions.references, default=""),
    duration: str = option("--for", "TIME", _FOR, default=""),
    strict: bool = flag("--strict", "Exit with 1 on ATTENTION, too."),
    run: Path | None = option("--run", "FILE", _RUN, autocompletion=_completions.runs),
    outputs: list[Path] | None = option("--from", "FILE", _FROM),
    output: Path | None = option("--output", "FILE", "Keep the run that the verdict rests on.", "-o"),
    force: ForceOption = False,
    format_name: str | None = format_option("check"),
    style: str = option("--style", "STYLE", _STYLE, autocompletion=_completions.styles, default=""),
    as_json: JsonOption = False,
    language: LanguageOption = "",
) -> None:
    """Say whether the link of each device is all right, in at most 15 lines each; exit code 1 on any FAULT."""
    from isthmus.commands._run_choice import read_named
    from isthmus.language import speaking
    from isthmus.record import parse_seconds

    spoken, chosen = language_of(language), format_of("check", format_name, None, as_json=as_json)
    seconds = parse_seconds(duration) if duration else 0.0
    if (run is not None or outputs) and (device is not None or seconds or output is not None):
        name = "--from" if outputs else "--run"
        raise UsageError(f"{name} judges what was measured before; leave out --device, --for and -o")
    if run is not None and outputs:
        raise UsageError("--run judges a run, and --from outputs of other tools; leave out one of them")
    named = _reference(reference)
    if output is not None:
        check_place(output, force=force)
    if style:
        with speaking(spoken):
            text, code = _styled(style, outputs, run, named, device, seconds, output, strict=strict)
        print(text)
        raise typer.Exit(code)
    with speaking(spoken):
        if outputs:
            levels = _shown_outputs(outputs, named, chosen)
        elif run is not None:
            levels = _shown(iter([_judged([read_named(run)], named)]), chosen)
        else:
            failed: list[IsthmusError] = []
            levels = _shown(_checks(device, seconds, output, named, failed), chosen)
            if failed:
                raise failed[0]
    if "FAULT" in levels or (strict and "ATTENTION" in levels):
        raise typer.Exit(1)


def _styled(
    style: str,
    outputs: list[Path] | None,
    run: Path | None,
    named: "Reference | None",
    device: str | None,
    seconds: float,
    output: Path | None,
    *,
    strict: bool,
) -> tuple[str, int]:
    """What a program that watches nodes is to read, and the exit code; what fails is a line, too, and no error."""
    from isthmus.commands._run_choice import read_named
    from isthmus.compare import judge_together
    from isthmus.outputs import read_outputs
    from isthmus.report.styles import STYLES, styled

    if style not in STYLES:
        raise UsageError(f"no style {style!r}; there are {', '.join(STYLES)}")
    failed: list[IsthmusError] = []
    unread: Sequence[str] = ()
    checked: list[Checked] = []
    try:
        if outputs:
            runs, unread = read_outputs(outputs)
            checked = judge_together(runs, named)
        elif run is not None:
            checked = [_judged([read_named(run)], named)]
        else:
            for one in _checks(device, seconds, output, named, failed):
                checked += [one]  # those before one that fails are kept
    except IsthmusError as error:
        to_stderr(f"isthmus: {error}")
        failed.append(error)
    for each in unread:
        to_stderr(f"isthmus: {each}")
    # What other tools printed may be of any machine.
    here = "-" if outputs else socket.gethostname()
    return styled(checked, [*unread, *map(str, failed)], style, here, strict=strict)


def _checks(
    device: str | None, seconds: float, output: Path | None, named: "Reference | None", failed: list[IsthmusError]
) -> "Iterator[Checked]":
    """Check the devices; adds to `failed` the errors of those that cannot be, which end no other."""
    from isthmus.record import RunWriter

    measured = _measured(device, seconds, is_single=output is not None)
    several = [] if seconds else [runs[0] for runs in measured.values() if isinstance(runs, list)]
    for spec, runs in measured.items():
        if isinstance(runs, list):
            checked = _judged(runs, named, several)
            yield checked
            if output is not None:  # behind the verdict, which stays where the file cannot be written
                RunWriter.write(output, checked[0])
        elif len(measured) == 1:
            raise runs
        else:
            to_stderr(f"isthmus: {spec} was not checked: {runs}")
            failed.append(runs)


def _reference(name: str) -> "Reference | None":
    from isthmus.compare import read_reference

    return read_reference(name) if name else None


def _measured(device: str | None, seconds: float, *, is_single: bool) -> "dict[str, list[Run] | IsthmusError]":
    """The runs of each device, one or one after the other until the time is over; or why there is none.

    Under a launcher it is the device of this process's place on the machine. Ctrl-C ends the watching of links early.
    """
    from isthmus.commands._progress import ProgressBar
    from isthmus.experiment.check import measure_links
    from isthmus.experiment.mpi.launcher import launched

    if device and (device.isdecimal() or ("," in device and not device.startswith("host:"))):
        raise UsageError(f"no device {device!r}; expected such as cuda:0 (one) or cuda (all)")
    spec, ours = None if device == "all" else device, launched(os.environ)
    rank = ours.local_rank if ours.ranks > 1 else None
    measured: dict[str, list[Run] | IsthmusError] = {}
    until = time.monotonic() + seconds
    with suppress(KeyboardInterrupt) if seconds else nullcontext(), ProgressBar() as progress:
        while not measured or time.monotonic() < until:
            quietly = bool(measured)
            try:
                latest = measure_links(spec, rank, sys.argv, progress.show, is_single=is_single, quietly=quietly)
            except IsthmusError as error:
                if not measured:
                    raise
                latest = dict.fromkeys(measured, error)
            for each in {**measured, **latest}:
                runs = measured.get(each, [])
                if isinstance(runs, list):
                    measured[each] = _with_latest(each, runs, latest.get(each))
            if not any(isinstance(runs, list) for runs in measured.values()):
                break
    if not measured:
        raise KeyboardInterrupt
    return measured


def _with_latest(spec: str, runs: "list[Run]", latest: "Run | IsthmusError | None") -> "list[Run] | IsthmusError":
    """The runs of a device with one more; an error where it could not be measured again, or another has its number."""
    if latest is None:
        return CallFailed(f"{spec} is not there any more; nvidia-smi, and the kernel's log (dmesg), may say why")
    if isinstance(latest, IsthmusError):
        return latest
    before, now = (each.fingerprint.device for each in (runs[0] if runs else latest, latest))
    if (before.uuid, before.pci_address) != (now.uuid, now.pci_address):
        return CallFailed(
            f"{spec} was {before.pci_address or before.uuid} and is {now.pci_address or now.uuid} now: a device has "
            "gone, and the others have new numbers; nvidia-smi, and the kernel's log (dmesg), may say why"
        )
    return [*runs, latest]


def _judged(runs: "list[Run]", named: "Reference | None", several: "Sequence[Run]" = ()) -> "Checked":
    """The worst of some runs of a device, judged; `several` are runs of all devices that were measured with it."""
    from isthmus.compare import judge_all, reference_for

    reference = named or reference_for(runs[0].fingerprint.device)
    alike = [each for each in several if each.fingerprint.device.name == runs[0].fingerprint.device.name]
    worst, health = judge_all(runs, reference, alike)
    return worst, health, reference.name if reference else ""


def _shown_outputs(paths: list[Path], named: "Reference | None", chosen: str) -> list[str]:
    """Judge and show what other tools printed of devices; gives their levels."""
    from isthmus.compare import judge_together
    from isthmus.outputs import read_outputs
    from isthmus.report.outputs import outputs_document

    runs, unread = read_outputs(paths)
    checked = judge_together(runs, named)
    columns = shutil.get_terminal_size((100, 24)).columns if chosen == "terminal" else 0
    write_report(outputs_document(checked, unread, columns=columns), chosen, None)
    return [health.level for _, health, _ in checked]


def _shown(checked: "Iterator[Checked]", chosen: str) -> list[str]:
    """Show the devices, in a terminal each as its check ends; gives their levels."""
    import msgspec

    from isthmus.experiment.mpi.launcher import launched
    from isthmus.report.check import check_data, check_document, check_line

    in_lines = launched(os.environ).ranks > 1
    ended: list[Checked] = []
    for each in checked:
        with heard_enough():
            if chosen == "terminal" and in_lines:
                print(check_line(*each[:2]))
            elif chosen == "terminal":
                if ended:
                    print()
                columns = shutil.get_terminal_size((100, 24)).columns
                write_report(check_document([each], columns=columns), chosen, None)
        ended.append(each)
    if chosen == "json" and in_lines:
        print(msgspec.json.format(msgspec.json.encode(check_data(*ended[0])), indent=0).decode())
    elif chosen != "terminal":
        write_report(check_document(ended), chosen, None)
    return [health.level for _, health, _ in ended]
