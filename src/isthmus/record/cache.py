"""The user's cache of runs: a folder for each machine and device, whose runs together say what was measured there."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from isthmus.cache import cache_folder, found_folder
from isthmus.files import write_whole
from isthmus.record.fingerprint import Device, Host
from isthmus.record.run import Case, Run, case_key
from isthmus.record.store import read_run

_KIND = "runs"
# So many runs of each experiment stay, of quick ones and of others.
_KEPT = 3
_QUICK = "quick"
_SUFFIX = ".json.gz"


def keep_run(run: Run, root: Path | None = None) -> Path:
    """Copy a run into the cache and give its place; drops the oldest runs of the same machine and device.

    Brief experiments are left out: their cases would take the place of those of longer ones. Raises OSError where the
    cache cannot be written.
    """
    run = msgspec.structs.replace(run, cases=[case for case in run.cases if case.experiment not in run.brief])
    folder = (root or cache_folder(_KIND)) / _key(run.fingerprint.host, run.fingerprint.device)
    folder.mkdir(parents=True, exist_ok=True)
    measured = sorted({case.experiment for case in run.cases if not case.skipped})
    path = folder / f"{run.run}.{run.settings.mode}.{'+'.join(measured)}{_SUFFIX}"
    with write_whole(path, packed=True) as file:
        file.write(msgspec.json.encode(run))
    for old in set(_runs_in(folder)) - _worth_keeping(_runs_in(folder)):
        old.unlink(missing_ok=True)
    return path


def cached_run(host: Host, device: Device, root: Path | None = None) -> Run | None:
    """All that the cached runs of a device of this machine say together; None where there is none.

    Where several runs measured a case the newest counts, quick runs after all others. Raises RunFileError
    for a file that cannot be read, and OSError for a cache that may be somebody else's.
    """
    folder = root or found_folder(_KIND)
    paths = _runs_in(folder / _key(host, device)) if folder else []
    return joined([read_run(path) for path in paths]) if paths else None


def joined(runs: Iterable[Run]) -> Run:
    """One run with the cases of several of one device, of which there must be one; earlier runs come first.

    A case that an earlier run could measure is not replaced. Everything but cases is the first run's, but for the name.
    """
    runs = list(runs)
    cases: dict[tuple[object, ...], Case] = {}
    names = []
    for run in runs:
        new = {case_key(case): case for case in run.cases}
        used = {key: case for key, case in new.items() if key not in cases or (cases[key].skipped > case.skipped)}
        cases |= used
        if used:
            names.append(run.run)
    return msgspec.structs.replace(runs[0], run=", ".join(names) or runs[0].run, cases=list(cases.values()))


def _key(host: Host, device: Device) -> str:
    """The name of a device's folder: another driver is another machine, because it changes what is measured."""
    identity = (host.name, device.backend, device.name, device.uuid, device.pci_address, device.driver_version)
    digest = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:12]
    return f"{device.spec.replace(':', '-')}-{digest}"


def _runs_in(folder: Path) -> list[Path]:
    """The run files of a folder, quick ones last and otherwise the newest first."""
    newest = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.name, reverse=True)
    return sorted(newest, key=lambda path: _parts(path)[0] == _QUICK)


def _worth_keeping(paths: Iterable[Path]) -> set[Path]:
    counts: dict[tuple[bool, str], int] = {}
    worth = set()
    for path in paths:
        mode, experiments = _parts(path)
        for experiment in experiments:
            key = mode == _QUICK, experiment
            counts[key] = counts.get(key, 0) + 1
            if counts[key] <= _KEPT:
                worth.add(path)
    return worth


def _parts(path: Path) -> tuple[str, list[str]]:
    """Mode and experiments out of a name that `keep_run` made."""
    _, mode, experiments = path.name.removesuffix(_SUFFIX).rsplit(".", 2)
    return mode, experiments.split("+")
