"""`isthmus measure` as a user runs it: real files, limits and signals, exit codes and messages."""

import csv
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from isthmus.errors import Unsupported
from isthmus.machine.devices import probe
from isthmus.record import KIB, MIB, Run, read_run
from tests.processes import HANGS_SECONDS, Done, ended, python

Isthmus = Callable[..., Done]

# Few, small and soon over; what a case needs at least is measured all the same.
QUICK = ("--sizes", "1KiB,64KiB", "--memory", "pageable", "--memory", "pinned", "--time", "0.05s")
# Far longer than any of these tests lasts.
LONG = ("--device", "host", "--sizes", "1:1MiB", "--time", "600s")


def has_device(backend: str) -> bool:
    return any(found.name == backend and found.devices for found in probe())


def under(limit: int, most: int, folder: Path, *words: str) -> Done:
    """The command line under a limit of the system."""

    def set_limit() -> None:
        resource.setrlimit(limit, (most, most))

    return ended(sys.executable, "-m", "isthmus", *words, cwd=folder, preexec_fn=set_limit)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("device", ["host", "host:rate=20GB/s,latency=5us", "opencl:0"])
def test_a_run_ends_with_one_screen_and_where_the_rest_is(isthmus: Isthmus, tmp_path: Path, device: str) -> None:
    if device.startswith("opencl") and not has_device("opencl"):
        pytest.skip("no OpenCL device: pip install '.[cpu]' brings one")
    done = isthmus("measure", "--device", device, *QUICK, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == {"isthmus"}
    page, run_file = sorted((tmp_path / "isthmus" / "runs").iterdir(), key=lambda path: path.suffix)
    assert (page.suffix, run_file.suffix, page.stem) == (".html", ".json", run_file.stem)

    lines = done.stdout.splitlines()
    assert lines[-3:-1] == [f"page        {page}", f"all tables  isthmus report {run_file} --all"]
    assert lines[-1].startswith("next        isthmus plan")
    assert " · uses host memory, no link · " in lines[0]
    assert lines[lines.index("") + 1].startswith("--  Nothing to judge"), "after the lines about the machine"
    assert next(line for line in lines if line.startswith("GB/s")).split()[4:7] == ["H2D", "D2H", "both"]
    assert len(lines) <= 40
    assert done.stderr.startswith(f"measuring {device.partition(':')[0]}")
    assert run_file.name in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "\x1b" not in done.stdout + done.stderr

    run = read_run(run_file)
    assert run.end
    assert (run.end.status, run.end.message) == ("complete", "")
    measured = {(case.host_memory, case.direction, case.bytes) for case in run.cases if case.method == "copy"}
    assert len(measured) == 2 * 3 * 2
    assert {case.verified for case in run.cases} == {"yes"}
    assert all(case.samples("device_seconds") for case in run.cases if case.method == "copy")
    assert run.settings.command[:2] == ["isthmus", "measure"]
    assert page.read_text("utf-8").startswith("<!doctype html>")

    again = isthmus("report", run_file)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[:3] == lines[:3]
    again = isthmus("report", run_file, "--all")
    assert {"Host to device (H2D)", "Device to host (D2H)", "Both ways at once (rates are sums)"} <= set(
        again.stdout.splitlines()
    )


def test_json_is_the_run_and_nothing_else(own_process: Isthmus, tmp_path: Path) -> None:
    done = own_process("measure", "bandwidth", "--device", "host", *QUICK, "--json", "-o", "a.json")
    assert done.returncode == 0, done.stderr
    assert msgspec.json.decode(done.stdout, type=Run) == read_run(tmp_path / "a.json")
    assert files(tmp_path) == {"a.json", "a.html"}


def test_a_compressed_run_is_read_back(isthmus: Isthmus, tmp_path: Path) -> None:
    assert isthmus("measure", "--device", "host", *QUICK, "-o", "a.json.gz").returncode == 0
    assert files(tmp_path) == {"a.json.gz", "a.html"}
    assert isthmus("report", "a.json.gz").returncode == 0


def test_the_sweep_and_the_seed_are_recorded(isthmus: Isthmus, tmp_path: Path) -> None:
    words = ("--device", "host", "--sizes", "1KiB:3KiB:1KiB", "--memory", "pinned", "--direction", "h2d")
    done = isthmus("measure", *words, "--alignment", "64", "--seed", "7", "--time", "0.1s", "-o", "a.json")
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "a.json")
    assert sorted(case.bytes for case in run.cases) == [KIB, 2 * KIB, 3 * KIB]
    assert {case.alignment_bytes for case in run.cases} == {64}
    assert run.settings.seed == 7
    assert run.settings.options["sizes"] == "1024,2048,3072"


def rows(isthmus: Isthmus, run_file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(isthmus("report", run_file, "--format", "csv").stdout.splitlines()))


@pytest.mark.parametrize(("operation", "memory"), [("copy", "pinned"), ("kernel", "mapped")])
def test_data_that_arrive_wrong_fail_the_run_and_are_placed(isthmus: Isthmus, operation: str, memory: str) -> None:
    words = ("--sizes", "4KiB", "--memory", memory, "--direction", "h2d,d2h", "--time", "0.1s", "-o", "a.json")
    done = isthmus("measure", "--device", f"host:fault={operation}:partial", *words)
    assert done.returncode == 1
    assert "isthmus: 2 of 2 cases moved wrong data; the notes say where" in done.stderr
    assert "the first at byte 2048" in done.stdout.replace("\n", " ")
    wrong = rows(isthmus, "a.json")
    assert {row["verified"] for row in wrong} == {"no"}
    assert {row["note"] for row in wrong} == {
        f"wrong data {way}: 256 of 512 8-byte words differ, the first at byte 2048" for way in ("h2d", "d2h")
    }


def test_a_device_too_small_for_some_sizes_measures_the_rest(isthmus: Isthmus, tmp_path: Path) -> None:
    words = ("--sizes", "1KiB,1MiB,64MiB", "--memory", "pinned", "--time", "0.2s", "-o", "a.json")
    done = isthmus("measure", "--device", "host:memory=64MiB", *words)
    assert done.returncode == 0, done.stderr
    cases = read_run(tmp_path / "a.json").cases
    assert {case.bytes for case in cases if case.skipped} == {64 * MIB}
    assert {case.bytes for case in cases if not case.skipped} == {KIB, MIB}
    assert all("bytes of device memory" in case.note for case in cases if case.skipped)


def test_host_memory_too_small_for_some_sizes_measures_the_rest(isthmus: Isthmus, tmp_path: Path) -> None:
    words = ("--sizes", "1KiB,32GiB", "--memory", "pageable,pinned", "--memory-budget", "1TiB", "--time", "0.2s")
    done = under(
        resource.RLIMIT_AS, 8 << 30, tmp_path, "measure", "--device", "host:memory=1024GiB", *words, "-o", "a.json"
    )
    assert done.returncode == 0, done.stderr
    cases = read_run(tmp_path / "a.json").cases
    assert {case.bytes for case in cases if case.skipped} == {32 << 30}
    assert {case.bytes for case in cases if not case.skipped} == {KIB}
    reasons = {case.note for case in cases if case.skipped}
    assert all("Cannot allocate memory" in reason for reason in reasons)
    assert {reason.partition(":")[0] for reason in reasons} == {
        f"{32 << 30} bytes of {kind} memory" for kind in ("pageable", "pinned")
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bandwith"], "no experiment 'bandwith'; did you mean bandwidth? There are allocation, bandwidth"),
        (["--memory", "pined"], "no memory kind 'pined'; did you mean pinned? There are pageable, pageable_huge,"),
        (["--memory", "pinned,x"], "no memory kind 'x'; there are pageable, pageable_huge,"),
        (["--direction", "h2h"], "no direction 'h2h'; did you mean h2d? There are h2d, d2h, both"),
        (["--sizes", "1KiB,x"], "not a size: 'x'; expected a number and B, KiB,"),
        (["--sizes", "8:1"], "not a range of sizes: '8:1'; expected FIRST:LAST"),
        (["--sizes", "0"], "size 0 in '0'; the smallest transfer is 1 byte"),
        (["--alignment", "3"], "not an alignment: '3'; expected a power of two from 1 to 4096 bytes"),
        (["--time", "0s"], "not a time: '0s'; expected a number above 0 with a unit, such as 5ms, 200us or 1.5s"),
        (["--time", "nan"], "not a time: 'nan'"),
        (["--time", "20"], "a time without a unit: '20'; expected one with it, such as 20s or 20ms"),
        (["--side", "64"], "--side is an option of stencil and openacc, and what is measured is bandwidth"),
        (["--sizes", "1:1TiB:1"], "'1:1TiB:1' is a range of 1099511627776 sizes"),
        (["--memory-budget", "much"], "not a size: 'much'"),
        (["--seed", "-1"], "found '-1', expected a whole number from 0 on"),
        (["--quick", "--full"], "--quick and --full exclude each other"),
        (["--sizs", "1"], "--sizes"),
        (["--device", "hots"], "no backend 'hots'; did you mean host?"),
        (["--device", "cuda:first"], "not a device: 'cuda:first'; expected cuda:NUMBER, such as cuda:0"),
        (["--device", "host:fault=copy:explode"], "host device: cannot read 'fault=copy:explode'; expected fault="),
        (["-o", "nowhere/a.json"], "nowhere: no such folder for the run file; make it, or name another place with -o"),
    ],
)
def test_a_usage_error_is_one_line_offers_a_way_out_and_leaves_nothing(
    isthmus: Isthmus, tmp_path: Path, words: list[str], message: str
) -> None:
    device = [] if "--device" in words else ["--device", "host"]
    done = isthmus("measure", *device, *words)
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("isthmus: ")
    assert message in last
    assert "Traceback" not in done.stderr
    assert files(tmp_path) == set()


def test_a_place_that_cannot_be_written_to_says_what_to_do(isthmus: Isthmus, tmp_path: Path) -> None:
    (tmp_path / "taken.json").mkdir()
    done = isthmus("measure", "--device", "host", *QUICK, "-o", "taken.json")
    assert done.returncode == 2
    assert "taken.json: cannot be created: Is a directory; name another place with -o" in done.stderr


def test_a_disk_that_fills_up_ends_the_run_and_leaves_what_was_measured(isthmus: Isthmus, tmp_path: Path) -> None:
    done = under(resource.RLIMIT_FSIZE, 32 * KIB, tmp_path, "measure", *LONG, "-o", "a.json")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("isthmus: a.json: cannot be written: ")
    assert last.endswith("free some space or name another place with -o")
    assert "Traceback" not in done.stderr
    run = read_run(tmp_path / "a.json")
    assert run.cases
    assert run.end is None
    assert isthmus("report", "a.json").returncode == 0


def heed_interrupts() -> None:
    """Children inherit that interrupts are ignored, as shells arrange for what they run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM], ids=lambda which: which.name)
def test_an_interrupted_run_keeps_what_was_measured(
    isthmus: Isthmus, tmp_path: Path, which: signal.Signals, name: str
) -> None:
    growing = tmp_path / name
    with subprocess.Popen(
        [sys.executable, "-m", "isthmus", "measure", *LONG, "-o", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - nothing else of this process runs in threads
    ) as process:
        try:
            give_up = time.monotonic() + HANGS_SECONDS
            # It is empty for a moment.
            while process.poll() is None and not (
                growing.exists() and growing.stat().st_size and read_run(growing).cases
            ):
                assert time.monotonic() < give_up, "no case has ended"
                time.sleep(0.02)
            # Twice, as impatient users do, and timeout(1).
            process.send_signal(which)
            time.sleep(0.01)
            process.send_signal(which)
            stdout, stderr = process.communicate(timeout=HANGS_SECONDS)
        finally:
            process.kill()
    # What shells make of a process that one of them ended.
    assert (process.returncode, stdout) == (128 + which, "")
    assert (
        stderr.splitlines()[-1]
        == f"isthmus: interrupted; what was measured is in {name}; isthmus report {name} shows it"
    )
    assert "Traceback" not in stderr

    assert files(tmp_path) == {name}
    run = read_run(tmp_path / name)
    assert run.end
    assert run.end.status == "interrupted"
    assert "interrupted with" in run.end.message
    assert all(case.series or case.note for case in run.cases)
    report = isthmus("report", name, "--all")
    assert (report.returncode, report.stderr) == (0, "")
    assert "interrupted" in report.stdout


def test_a_page_that_cannot_be_written_costs_neither_table_nor_run(isthmus: Isthmus, tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    done = isthmus("measure", "--device", "host", *QUICK, "-o", "a.json")
    assert done.returncode == 2
    assert "GB/s" in done.stdout
    assert "\npage  " not in done.stdout
    assert "a.html: the page cannot be written: Is a directory; the run is saved" in done.stderr
    assert read_run(tmp_path / "a.json").end


@pytest.mark.parametrize("error", [ModuleNotFoundError("gone", name="jinja2"), Unsupported("no vega-embed.js here")])
def test_a_page_that_lacks_what_it_is_made_of_costs_neither_table_nor_run(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def script() -> str:
        raise error

    monkeypatch.setattr("isthmus.report.vega.packed_script", script)
    done = isthmus("measure", "--device", "host", *QUICK, "-o", "a.json")
    assert done.returncode == 2
    assert "GB/s" in done.stdout
    assert re.search("without the package jinja2|no vega-embed.js here", done.stderr)
    assert "Traceback" not in done.stderr
    assert read_run(tmp_path / "a.json").end


@pytest.mark.parametrize("name", ["a.html", "-", "a.csv", "a"])
def test_a_run_file_has_a_name_that_says_so(isthmus: Isthmus, tmp_path: Path, name: str) -> None:
    done = isthmus("measure", "--device", "host", *QUICK, "-o", name)
    assert done.returncode == 2
    assert "expected one that ends in .json or .json.gz" in done.stderr
    assert files(tmp_path) == set()


def test_a_run_in_which_nothing_could_be_measured_is_no_success(isthmus: Isthmus) -> None:
    done = isthmus("measure", "--device", "host", "--memory", "managed", "--sizes", "1KiB", "--time", "0.2s")
    assert done.returncode == 1
    assert "nothing was measured: device memory is host memory: prefetching moves no pages" in done.stderr


def test_a_reader_that_stops_reading_is_no_failure(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "isthmus", "measure", "--device", "host", *QUICK, "-o", "a.json"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    os.close(write)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert files(tmp_path) == {"a.json", "a.html"}


def test_a_machine_without_devices_says_what_is_measured_instead(isthmus: Isthmus, own_process: Isthmus) -> None:
    if has_device("cuda"):
        pytest.skip("a GPU is present: nothing else is measured instead")
    # Without a linker PoCL is no device; without PoCL there is none anyway.
    done = own_process("measure", *QUICK, PATH="")
    assert done.returncode == 0
    cure = r"(install binutils .*|pip install .*); `isthmus devices` says what else is missing"
    assert re.search(rf"copies stay within this machine's memory\n{cure}\n", done.stderr)
    assert "stay within" not in isthmus("measure", "--device", "host", *QUICK).stderr


def test_an_absent_gpu_is_exit_code_3_with_what_was_looked_for(isthmus: Isthmus, tmp_path: Path) -> None:
    if has_device("cuda"):
        pytest.skip("a GPU is present: nothing is missing")
    done = isthmus("measure", "--device", "cuda:0", *QUICK)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("isthmus: no cuda device here; looked for libcuda.so.1: ")
    assert "nvidia-smi" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files(tmp_path) == set()


def test_a_device_number_too_high_is_exit_code_3(isthmus: Isthmus) -> None:
    done = isthmus("measure", "--device", "opencl:99", *QUICK)
    assert done.returncode == 3
    assert "opencl" in done.stderr


def test_pocl_without_a_linker_is_exit_code_3_with_what_to_install(own_process: Isthmus) -> None:
    if not any("Portable" in str(device.conditions) for found in probe() for device in found.devices):
        pytest.skip("needs PoCL: pip install '.[cpu]', and binutils")
    done = own_process("measure", "--device", "opencl:0", *QUICK, PATH="")
    assert done.returncode == 3
    assert "`ld`, which is not on PATH" in done.stderr
    assert "install binutils" in done.stderr
    assert "takes host by default" in own_process("devices", PATH="").stdout


def test_importing_it_opens_no_driver_and_loads_no_library() -> None:
    code = (
        "import sys, isthmus; from pathlib import Path; "
        "maps = Path('/proc/self/maps').read_text(); "
        "print({'numpy', 'typer', 'rich', 'msgspec', 'scipy', 'isthmus._native'} & set(sys.modules), "
        "[name for name in ('libcuda', 'libOpenCL', 'libpocl', 'libnvidia') if name in maps])"
    )
    done = python(code)
    assert done.stdout == "set() []\n"


def test_importing_the_native_module_opens_no_driver() -> None:
    code = (
        "import isthmus._native; from pathlib import Path; maps = Path('/proc/self/maps').read_text(); "
        "print('_native' in maps, [name for name in ('libcuda', 'libOpenCL', 'libpocl', 'libnvidia') if name in maps])"
    )
    done = python(code)
    assert done.stdout == "True []\n"


def test_a_device_that_is_lost_half_way_leaves_a_file_and_a_report_of_what_was_measured(
    isthmus: Isthmus, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    for experiment, call in (("allocation", "allocate:fail@400"), ("breakeven", "copy:fail@500")):
        words = ["measure", experiment, "--device", f"host:fault={call}", "--quick", "--sizes", "4KiB,64KiB"]
        done = isthmus(*words, "--time", "1s", "-o", path)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "fault injected" in done.stdout
        assert read_run(path).end is not None
        assert path.with_suffix(".html").exists()
