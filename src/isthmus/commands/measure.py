"""`isthmus measure`: run experiments on a device; ends with the first screen and where the rest is."""

import io
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import typer

from isthmus.commands import _completions
from isthmus.commands._choices import DeviceOption, ForceOption, LanguageOption, SeedOption, flag, language_of, option
from isthmus.commands._measure_fleet import measure_as_rank, open_in_turn
from isthmus.commands._measure_options import as_program_did, counts, mode, options_of, percents, stride_sizes, words
from isthmus.commands._output import where_more_is
from isthmus.commands._own_files import (
    check_output,
    check_replaceable,
    file_in,
    free_path,
    is_named,
    member_name,
    stamped,
)
from isthmus.commands._progress import ProgressBar, working_on
from isthmus.errors import IsthmusError, RunFileError, Terminated, UsageError, as_text
from isthmus.files import new_file, write_whole
from isthmus.messages import heard_enough, to_stderr
from isthmus.registry import MEASURED

if TYPE_CHECKING:
    from isthmus.document.document import Document
    from isthmus.experiment.engine.batch import Planner
    from isthmus.experiment.engine.options import Options
    from isthmus.experiment.mpi.ranks import Ranks
    from isthmus.machine.devices import OpenDevice
    from isthmus.record import Run


_AS = "bandwidth: as bandwidthTest: copies of 160 to 3040 MiB of pageable and pinned memory."
_ITERATIONS = "stencil: iterations of a sample, at most the paper's 20; fewer let large squares end in time."
_BUILD = "openacc: build the programs into a new folder, for machines without a compiler, and measure nothing."
_FRACTIONS = "managed: leading parts that are touched on demand: 10%,60%; with it nothing but whole copies is compared."
_STRIDES = "managed: one double touched in so many bytes: 4KiB:396KiB:4KiB; likewise."
_TOGETHER = "peers: also what the hosts' links of several devices give at once, per PCIe switch."
_OUTPUT = "The run file (.json, .json.gz), with the page beside it; or a folder that many share: runs/."
_LIMIT = "Under mpirun or srun: the time for one device in one phase, after which it is given up: 5min."
_NO_MPI = "Under mpirun or srun: measure as if alone, each rank its own device and file."
_EXPERIMENTS = ", ".join(each.name + " (the default)" * each.is_default for each in MEASURED) + ", or all."
# More than any machine has processors.
_MOST_THREADS = 1024
# Given several times they add up.
_Several = list[str] | None


def measure(
    experiments: list[str] | None = typer.Argument(
        None, metavar="EXPERIMENT", help=_EXPERIMENTS, autocompletion=_completions.experiments
    ),
    device: DeviceOption = None,
    quick: bool = flag("--quick", "A few sizes, a few seconds."),
    full: bool = flag("--full", "Larger sizes and more time for each case, minutes."),
    sizes: _Several = option("--sizes", "SIZES", "4KiB,64MiB or FIRST:LAST or FIRST:LAST:STEP."),
    memory: _Several = option(
        "--memory", "KINDS", "Kinds of memory, by commas: pageable,pinned; a wrong one lists them."
    ),
    direction: _Several = option("--direction", "WAYS", "h2d, d2h, both; by commas."),
    alignment: str = option(
        "--alignment", "SIZE", "bandwidth: addresses that are multiples of this and no more.", default=""
    ),
    as_program: str = option("--as", "PROGRAM", _AS, default=""),
    threads: _Several = option("--threads", "COUNTS", "threads: how many copy a buffer, by commas."),
    fractions: _Several = option("--fractions", "SHARES", _FRACTIONS),
    strides: _Several = option("--strides", "SIZES", _STRIDES),
    side: _Several = option("--side", "POINTS", "stencil, openacc: sides of the square: 30720,61440."),
    halo: _Several = option("--halo", "COLUMNS", "stencil, openacc: halo widths, by commas."),
    iterations: _Several = option("--iterations", "COUNT", _ITERATIONS),
    cut: _Several = option(
        "--cut", "WAYS", "stencil: how ranks share the square: strips (the default), grid; by commas."
    ),
    binaries: str = option("--binaries", "FOLDER", "openacc: programs that were built before.", default=""),
    build: str = option("--build", "FOLDER", _BUILD, default=""),
    together: bool = flag("--together", _TOGETHER),
    time: str = option("--time", "TIME", "Most time for one experiment, from 20s on.", default=""),
    memory_budget: str = option("--memory-budget", "SIZE", "Host memory that the run may take.", default=""),
    seed: SeedOption = 0,
    output: str = option("--output", "FILE", _OUTPUT, "-o", default=""),
    force: ForceOption = False,
    phase_limit: str = option("--phase-limit", "TIME", _LIMIT, default=""),
    no_mpi: bool = flag("--no-mpi", _NO_MPI),
    as_json: bool = flag("--json", "Print the run as JSON in place of the table."),
    list_experiments: bool = flag("--list", "List the experiments, and measure nothing."),
    language: LanguageOption = "",
) -> None:
    """Measure how fast data moves between this host and a device, and what each kind of memory costs and brings."""
    from isthmus.experiment.fleet.agreement import first_trouble
    from isthmus.experiment.mpi.ranks import ALONE, join_ranks
    from isthmus.language import speaking

    spoken = language_of(language)
    if list_experiments:
        _list(as_json)
        return
    if build:
        from isthmus.experiment.mpi.launcher import launched

        if launched(os.environ).ranks > 1:
            raise UsageError("--build is for one process; run it without mpirun or srun")
        _build_programs(experiments or [], Path(build))
        return
    names = experiments or []

    def options() -> "Options":
        asked = options_of(mode(quick, full), sizes, memory, direction, alignment, time, memory_budget, seed)
        asked = as_program_did(asked, as_program)
        asked = asked._replace(sides=counts("--side", side), halos=counts("--halo", halo), binaries=binaries)
        asked = asked._replace(iterations=min(counts("--iterations", iterations, most=20), default=None))
        asked = asked._replace(percents=percents(fractions), strides=stride_sizes(strides))
        asked = asked._replace(threads=counts("--threads", threads, most=_MOST_THREADS))
        return asked._replace(cuts=words(cut), together=together)

    ranks = ALONE if no_mpi else join_ranks()
    if ranks.count > 1 and "stencil" not in names:
        with ranks:
            found = _as_rank(ranks, names, options, device, output, phase_limit, as_json, force)
        raise found if isinstance(found, IsthmusError) else typer.Exit(found)
    with ranks:
        wanted, trouble = None, None
        try:
            wanted = _prepare(names, options(), device, output, ranks, in_turn=no_mpi, force=force)
        except IsthmusError as error:
            trouble = error
        trouble = first_trouble(ranks, wanted.device if wanted else None, wanted.options if wanted else None, trouble)
    if trouble is not None:
        raise trouble
    assert wanted is not None
    with ranks, speaking(spoken):
        from isthmus.experiment.stencil.team import follow

        code = _lead(wanted, ranks, as_json) if ranks.leads else follow(wanted.device)
    raise typer.Exit(code)


class _Wanted(NamedTuple):
    """What a command line asks for, on a device that is open."""

    options: "Options"
    experiments: "list[Planner]"
    path: Path
    device: "OpenDevice"
    # Whether the user named the file, and so what may be replaced.
    is_named: bool
    force: bool


def _as_rank(
    ranks: "Ranks",
    names: list[str],
    options: "Callable[[], Options]",
    device: str | None,
    output: str,
    limit: str,
    as_json: bool,
    force: bool,
) -> int | IsthmusError:
    """Measure a device among those of many ranks; gives the exit code, or the error of all."""
    from isthmus.experiment.fleet.measure import Plan, default_limit
    from isthmus.experiment.measure import choose_experiments
    from isthmus.record import parse_seconds

    plan, trouble = None, None
    try:
        asked = options()
        chosen = choose_experiments(names, asked, ranks.count)
        limit_seconds = parse_seconds(limit) if limit else 0.0
        check_output(output, force=force)
        path = file_in(output, stamped("fleet"), stamped("fleet"))
        plan = Plan(
            spec=device,
            experiments=[experiment.name for experiment in chosen],
            options=asked,
            path=path if is_named(output) else free_path(path),
            command=_recorded(sys.argv[1:]),
            limit_seconds=limit_seconds
            or default_limit([asked.effort(experiment.efforts).budget_seconds for experiment in chosen]),
        )
    except IsthmusError as error:
        trouble = error
    _heed_interruptions()
    return measure_as_rank(ranks, plan, trouble, as_json)


def _prepare(
    names: list[str],
    options: "Options",
    device: str | None,
    output: str,
    ranks: "Ranks",
    in_turn: bool = False,
    force: bool = False,
) -> _Wanted:
    """Open the device; with `in_turn` the one of the local rank that the launcher says."""
    from isthmus.experiment.fleet.agreement import open_for_rank
    from isthmus.experiment.measure import choose_experiments
    from isthmus.experiment.mpi.launcher import launched
    from isthmus.experiment.stencil.cases import check_options
    from isthmus.machine.devices import probe

    chosen = choose_experiments(names, options, ranks.count)  # Finds wrong names before a device is opened.
    check_output(output, force=force)
    told = launched(os.environ)
    opened = open_in_turn(device, told.local_rank) if in_turn else open_for_rank(device, ranks)
    name = member_name(opened.description.spec, told.rank if told.ranks > 1 else None)
    path = file_in(output, name, stamped("isthmus")) if ranks.leads else Path(name)
    if device is None and opened.description.backend == "host" and ranks.rank == 0:
        to_stderr("no GPU or OpenCL device here, so that copies stay within this machine's memory")
        [opencl] = probe(["opencl"])
        to_stderr(f"{opencl.install}; `isthmus devices` says what else is missing")
    if any(experiment.name == "stencil" for experiment in chosen):
        check_options(options, opened.description.shares_host_memory, ranks.count)
    _heed_interruptions()
    return _Wanted(options, chosen, path, opened, is_named(output), force)


def _heed_interruptions() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Who starts a run in the background may have ignored one of them.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _lead(wanted: _Wanted, ranks: "Ranks", as_json: bool) -> int:
    """Measure, save and show; gives the exit code, of all ranks if there are several."""
    from isthmus.experiment.measure import keep, most_seconds
    from isthmus.experiment.measure import measure as run_experiments
    from isthmus.experiment.stencil.team import end
    from isthmus.record import read_run

    description = wanted.device.description
    path = wanted.path if wanted.is_named else _reserved(wanted.path)
    together = f" by {ranks.count} ranks" if ranks.count > 1 else ""
    most = most_seconds(wanted.experiments, wanted.options)
    within = f" in at most {most:g} s" if most else ""
    to_stderr(f"measuring {description.spec}, {description.name}{together}{within}; run file {path}")
    command = _recorded(sys.argv[1:])
    try:
        with ProgressBar() as progress:
            run_experiments(wanted.device, wanted.options, wanted.experiments, path, command, progress.show)
    except KeyboardInterrupt:
        saved = f"what was measured is in {path}; isthmus report {path} shows it"
        to_stderr(f"isthmus: interrupted; {saved if _has_cases(path) else 'nothing was measured yet'}")
        raise
    finally:
        if path.exists() and not path.stat().st_size:
            path.unlink()
    # Now, since readers of what is shown may take their time. Launchers give the highest of all exit codes.
    end(ranks, 0)
    run = read_run(path)
    keep(run, wanted.device)
    return _show(run, path, as_json, replaces=wanted.is_named, force=wanted.force)


def _has_cases(path: Path) -> bool:
    from isthmus.record import read_run

    try:
        return bool(read_run(path).cases)
    except RunFileError:
        return False


def _list(as_json: bool) -> None:
    if as_json:
        import msgspec

        known = [{"name": each.name, "measures": each.help, "default": each.is_default} for each in MEASURED]
        print(msgspec.json.format(msgspec.json.encode(known), indent=2).decode())
        return
    wide = max(len(each.name) for each in MEASURED)
    for each in MEASURED:
        print(f"{each.name:{wide}}  {each.help}{' (the default)' * each.is_default}")


def _build_programs(experiments: list[str], folder: Path) -> None:
    from isthmus.experiment.openacc.build import PROGRAMS, build_folder

    if experiments != ["openacc"]:
        raise UsageError("--build concerns openacc alone: isthmus measure openacc --build FOLDER")
    compiler = build_folder(folder)
    print(
        f"built {', '.join(PROGRAMS)} with {compiler.version} in {folder}; on the machine with the device:\n"
        f"isthmus measure openacc --binaries {folder.name}"
    )


# Their values are paths, which say nothing about the run but for their last part.
_PATHS = ("-o", "--output", "--binaries")


def _recorded(words: list[str]) -> list[str]:
    """The command line without the folders that files are in."""
    recorded = ["isthmus"]
    for word in map(as_text, words):
        option, equals, value = word.partition("=")
        if recorded[-1] in _PATHS:
            recorded.append(Path(word).name)
        elif equals and option in _PATHS:
            recorded.append(f"{option}={Path(value).name}")
        elif word.startswith("-o") and len(word) > 2:
            recorded.append(f"-o{Path(word[2:]).name}")
        else:
            recorded.append(word)
    return recorded


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Interrupt the run once: what it then writes must not be cut off by a second Ctrl-C, or by timeout(1)'s."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _show(run: "Run", path: Path, as_json: bool, *, replaces: bool, force: bool) -> int:
    """First screen and page of a finished run; gives the exit code, 1 if a case failed."""
    from isthmus.report import write
    from isthmus.report.runs import runs_document
    from isthmus.report.screen import screen_document

    page = _page_of(path, replaces, force)
    # Written before the table, whose reader may leave early, and reported after it, since the table counts more.
    with working_on(f"writing the page {page}"):
        trouble = _write_page(runs_document([run]), page)
    with heard_enough():
        if as_json:
            import msgspec

            print(msgspec.json.encode(run).decode())
        else:
            write(screen_document(run), "terminal", sys.stdout)
            print(f"\n{where_more_is(path, page if trouble is None else None)}")
    if trouble is not None:
        raise RunFileError(
            f"{page}: the page cannot be written: {trouble}; the run is saved, make the page elsewhere with: "
            f"isthmus report {path} --format html -o PAGE"
        )
    return _exit_code(run)


def _reserved(path: Path) -> Path:
    """A file of this name that no other run has, even one that begins in the same second."""
    try:
        return new_file(path)
    except OSError as error:
        raise RunFileError(
            f"{path}: cannot be created: {error.strerror or error}; name another place with -o"
        ) from error


def _page_of(path: Path, replaces: bool, force: bool) -> Path:
    """Next to the run; what others wrote there is left alone, and so is any page that goes with no named file."""
    from isthmus import report

    page = report.page_path(path)
    if replaces:
        with suppress(UsageError):
            check_replaceable(page, force=force)
            return page
    return free_path(page)


def _write_page(document: "Document", page: Path) -> str | None:
    """Write the page; returns why it could not be."""
    from isthmus import report

    rendered = io.StringIO()
    try:
        report.write(document, "html", rendered)
        with write_whole(page) as file:
            file.write(rendered.getvalue().encode())
    except IsthmusError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _exit_code(run: "Run") -> int:
    from isthmus.analysis.conclusions import findings

    wrong = sum(case.verified == "no" for case in run.cases)
    failed = sum(case.skipped and case.note.startswith("failed:") for case in run.cases)
    troubles = [
        f"{count} of {len(run.cases)} cases {what}; the notes say where"
        for count, what in ((wrong, "moved wrong data"), (failed, "failed"))
        if count
    ]
    troubles += [finding.text for finding in findings(run) if finding.topic == "above_link"]
    if all(case.skipped for case in run.cases):
        reasons = Counter(case.note for case in run.cases).most_common()
        others = "; the notes have other reasons, too" if len(reasons) > 1 else ""
        troubles.append(f"nothing was measured: {reasons[0][0]}{others}" if reasons else "nothing was measured")
    for trouble in troubles:
        to_stderr(f"isthmus: {trouble}")
    return 1 if troubles else 0
