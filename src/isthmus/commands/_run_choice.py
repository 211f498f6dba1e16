"""The run that a plan or advice rests on: a file, what the cache holds of this machine, a quick one, or a reference."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isthmus.cache import reason
from isthmus.compare import PREFIX, Reference, known_references, read_reference
from isthmus.errors import DeviceAbsent, UsageError
from isthmus.language import enumerated, say, sentences
from isthmus.messages import to_stderr_once
from isthmus.record import Device, Host, Run, cached_run, read_run

if TYPE_CHECKING:
    from isthmus.advice import Advice
    from isthmus.trace import Trace


_PRICED = {"allocation", "bandwidth", "breakeven"}


class Rates(NamedTuple):
    """The run to price with; `reference` names the reference that replaces a run of this machine, if one does.

    `unmeasured` are then the devices with memory of their own here, of which none has a run that is kept; where
    `is_unfit` the one whose kept run does not price by itself.
    """

    run: Run
    reference: str = ""
    unmeasured: tuple[str, ...] = ()
    # What it was named by; empty for what is kept of this machine.
    source: str = ""
    is_unfit: bool = False


def read_named(named: str | Path) -> Run:
    """The run in a file, or that of ``reference:NAME``."""
    if str(named).startswith(PREFIX):
        return read_reference(str(named)).run
    return read_run(Path(named))


def rates_for(named: str | None, device: str | None, traced: Collection[str], backend: str) -> Rates:
    """The run that prices advice: the one in a file, the one kept of this machine, else a reference.

    `named` is a file or ``reference:NAME``; `traced` are the names of the devices of the traces, like which the
    reference is chosen, and `backend` what they were used through, of which a kept run comes first. Raises UsageError
    where `device` names one of which nothing is kept.
    """
    if named is not None and device is not None:
        raise UsageError("--run says what was measured and --device where to look for it; leave one of them out")
    if named is not None:
        # Whoever names a reference knows that it is no run of this machine.
        return Rates(read_named(named), source=named)
    from isthmus.advice import prices_by_itself

    if device is not None:
        # A device that is named is priced with what is kept of it.
        if (run := kept_run(device, backend)) is not None:
            return Rates(run)
        raise UsageError(
            f"no run of {device} on this machine is kept yet; measure what changes are priced with: "
            f"isthmus measure all --device {device}"
        )
    kept = next(_kept_runs(backend), None)
    if kept is not None and prices_by_itself(kept[1]):
        return Rates(kept[1])
    references = _references()
    if not references:
        raise UsageError(
            "no run of a device with memory of its own is kept here yet, and there is no reference; measure first: "
            "isthmus measure all"
        )
    chosen = next((each for each in references if _is_like(each, traced)), references[0])
    reference = _instead(chosen, backend)
    return reference if kept is None else reference._replace(unmeasured=(kept[0].spec,), is_unfit=True)


def advice_on(traces: "Sequence[Trace]", rates: Rates) -> "Advice":
    """The advice, which says where the rates are a reference's, in the language spoken now."""
    from isthmus.advice import advise

    kept = say("advice_report.kept_run", date=rates.run.run[:8])
    source = rates.source or (f"{PREFIX}{rates.reference}" if rates.reference else kept)
    advice = advise(traces, rates.run, _of_library(rates.run), source)
    if not rates.reference:
        return advice
    devices = rates.unmeasured
    why = "advice_report.reference" if devices else "advice_report.reference_no_device"
    note = say(
        "advice_report.reference_unfit" if rates.is_unfit else why,
        name=rates.reference,
        devices=enumerated(devices),
        command=f"isthmus measure all --device {devices[0] if devices else ''}",
    )
    return replace(advice, priced_elsewhere=sentences([note, advice.priced_elsewhere]))


def _of_library(run: Run) -> Run | None:
    """A reference on such a link that has what the library reaches, where the run itself has not."""
    from isthmus.advice import generation_of, has_library

    generation = generation_of(run.fingerprint.device.name)
    if has_library(run) or generation is None:
        return None
    references = (read_reference(f"{PREFIX}{name}").run for name in known_references())
    return next(
        (
            each
            for each in references
            if has_library(each) and generation_of(each.fingerprint.device.name) == generation
        ),
        None,
    )


def kept_run(device: str | None, backend: str) -> Run | None:
    """What is kept of a device of this machine.

    Without a name that of the backend's first one, else of the best of all, if it has memory of its own.
    """
    from isthmus.machine.devices import choose_device
    from isthmus.machine.host import read_host

    if device is not None:
        return _kept_of(read_host(), choose_device(device))
    return next((kept for _, kept in _kept_runs(backend)), None)


def _kept_runs(backend: str) -> Iterator[tuple[Device, Run]]:
    """The devices of which a run is kept, the backend's first, each with what is kept of it."""
    from isthmus.machine.host import read_host

    for device in _with_a_link(backend):
        if (kept := _kept_of(read_host(), device)) is not None:
            yield device, kept


def _with_a_link(backend: str) -> list[Device]:
    """The backend's first device, and the best of all; not those that share the host's memory.

    They have no link whose rates would say anything of a program that uses one.
    """
    from isthmus.machine.devices import choose_device

    devices: list[Device] = []
    for each in (backend, None):
        with suppress(DeviceAbsent):
            devices.append(choose_device(each))
    return [each for place, each in enumerate(devices) if not each.shares_host_memory and each not in devices[:place]]


def _kept_of(host: Host, device: Device) -> Run | None:
    try:
        return cached_run(host, device)
    except OSError as error:
        to_stderr_once(f"isthmus: kept runs are not used: {reason(error)}")
        return None


def rates_of_like(traced: Collection[str], backend: str) -> Rates | None:
    """The run kept of this machine, else a reference of the same device; None where there is neither."""
    if (kept := kept_run(None, backend)) is not None:
        return Rates(kept)
    like = next((each for each in _references() if _is_like(each, traced)), None)
    return None if like is None else _instead(like, backend)


def _instead(reference: Reference, backend: str) -> Rates:
    return Rates(reference.run, reference.name, tuple(each.spec for each in _with_a_link(backend)))


def _references() -> list[Reference]:
    """Those with what most changes are priced with: of others, most advice would say that it cannot tell."""
    references = [read_reference(name) for name in known_references()]
    return [each for each in references if {case.experiment for case in each.run.cases} >= _PRICED]


def _is_like(reference: Reference, traced: Collection[str]) -> bool:
    from isthmus.advice import are_alike

    return any(are_alike(name, reference.run.fingerprint.device.name) for name in traced)
