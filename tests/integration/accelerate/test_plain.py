"""What is no business of the library's is as without it: programs of musl, limits, switches, folders of others."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import (
    IS_SANITIZED,
    OPENCL_TRACER,
    PRELOADED,
    accelerated,
    accelerating,
    command_line,
    ran,
)

ISTHMUS = (sys.executable, "-P", "-m", "isthmus")
# How programs come to have our libraries in them; both in either order.
TRACE = ("trace", "--quiet", "-o", "x.itrace", "--force", "--")
UNDER: dict[str, Sequence[str]] = {
    "accelerate": (*ISTHMUS, "accelerate", "--report", "--"),
    "trace": (*ISTHMUS, *TRACE),
    "accelerate-trace": (*ISTHMUS, "accelerate", "--report", "--", *ISTHMUS, *TRACE),
    "trace-accelerate": (*ISTHMUS, *TRACE, *ISTHMUS, "accelerate", "--report", "--"),
    "print-env": ("sh", "-c", f'eval "$({sys.executable} -P -m isthmus accelerate --print-env)"; exec "$@"', "sh"),
}
# A program alone that ends well needs no sanitizer.
pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="programs of other C libraries and other sanitizers")


@pytest.fixture
def both(tmp_path: Path, driver: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the words plain and under ours, which is to make no difference to how they end and what they say."""
    monkeypatch.chdir(tmp_path)

    def both(under: str, words: Sequence[str | Path], **more: str) -> None:
        alone = ran(words, driver, **more)
        with_ours = ran([*UNDER[under], *words], driver, **more)
        # Lines of ours begin with our name, and a report with a blank line.
        begin, _, _ = with_ours.stderr.partition("\nWhat Isthmus did")
        said = "".join(line for line in begin.splitlines(keepends=True) if not line.startswith("isthmus:"))
        assert (with_ours.returncode, with_ours.stdout, said) == (alone.returncode, alone.stdout, alone.stderr)

    return both


@pytest.fixture(scope="session")
def of_musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of another C library, which copies memory and looks for functions."""
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("needs musl-gcc: apt-get install musl-tools")
    built = tmp_path_factory.mktemp("musl") / "of_musl"
    subprocess.run([compiler, "-O0", "-fno-builtin", Path(__file__).with_name("of_musl.c"), "-o", built], check=True)
    return built


# Both of ours in one order; thoroughly, in either.
@pytest.mark.parametrize(
    "under", [pytest.param(each, marks=pytest.mark.thorough) if each == "trace-accelerate" else each for each in UNDER]
)
def test_programs_of_musl_are_as_without(under: str, of_musl: Path, both: Callable[..., None]) -> None:
    both(under, [of_musl])
    both(under, ["sh", "-c", '"$0"; echo "$?"; exec "$0"', of_musl])


def test_that_a_program_of_musl_is_not_accelerated_is_said(of_musl: Path, driver: Path) -> None:
    assert "runs without Isthmus: it is linked with musl" in str(command_line([], [of_musl], driver)["err"])


@pytest.mark.parametrize("library", [PRELOADED, OPENCL_TRACER], ids=lambda path: path.name)
def test_what_is_preloaded_comes_before_the_c_library_and_depends_on_nothing(library: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    read = subprocess.run(["readelf", "--dynamic", library], capture_output=True, text=True, check=True).stdout
    assert "(NEEDED)" not in read
    words = [sys.executable, "-c", "print(open('/proc/self/maps').read())"]
    maps = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "LD_PRELOAD": str(library)}
    )
    real = library.name.replace("_preload", "")
    assert f"/{real}\n" in maps.stdout
    assert maps.stderr == ""


def test_functions_of_a_driver_are_found_where_there_is_one(
    build: Callable[..., Path], compiled: Callable[..., Path]
) -> None:
    program = build("looks_for_driver.cpp")
    # An OpenCL that the program opened for itself alone the recorder of OpenCL shows to all of it (docs/tracing.md).
    both = f"{PRELOADED} {OPENCL_TRACER}"
    for fake, how, preloaded in (
        *(("fake_cuda.cpp", how, each) for how in ([], ["local"], ["global"]) for each in (str(PRELOADED), both)),
        *(("fake_opencl.cpp", how, str(PRELOADED)) for how in (["local"], ["global"])),
        ("fake_opencl.cpp", ["global"], both),
    ):
        driver = compiled(fake)
        words: list[str | Path] = [program, *how, *([driver.name] if how else [])]
        alone = ran(words, driver)
        assert (alone.returncode, "clock: 1" in alone.stdout) == (0, True)
        assert ran(words, driver, LD_PRELOAD=preloaded).stdout == alone.stdout, (fake, how, preloaded)


# In units of 512 bytes or of 1 KiB, as the shell has it.
@pytest.mark.parametrize("blocks", ["0", "10"])
@pytest.mark.parametrize("under", ["accelerate", "trace", pytest.param("accelerate-trace", marks=pytest.mark.thorough)])
def test_a_limit_on_the_size_of_files_costs_counts_alone(
    under: str, blocks: str, random_copies: Path, both: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISTHMUS_ACCELERATE_OPTIONS", "eager,min=4096")
    both(under, ["sh", "-c", f'ulimit -f {blocks}; exec "$0" dlsym 30', random_copies])


def test_without_room_for_counts_that_is_said(random_copies: Path, driver: Path) -> None:
    words: list[str | Path] = ["sh", "-c", 'ulimit -f 10; exec "$0" dlsym 100', random_copies]
    found = command_line(["--report"], words, driver, ISTHMUS_ACCELERATE_OPTIONS="eager,min=4096")
    assert found["code"] == 0
    assert "1 process had no room for its counts" in str(found["err"])


def test_a_program_that_executes_itself_keeps_what_it_counted(
    build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [build("executes_itself.cpp", "-O2"), "dlsym"]
    for name in ("once", "thrice"):
        (tmp_path / name).mkdir()
    _, once = accelerated([*words, "1"], driver, tmp_path / "once", "eager,verify")
    _, thrice = accelerated([*words, "3"], driver, tmp_path / "thrice", "eager,verify")
    assert once.checked > 0
    # Not those of each kind: how many the driver makes, to compare, depends on how fast it is.
    assert (thrice.processes, thrice.checked) == (3, 3 * once.checked)


def test_files_of_a_process_of_the_same_number_stay_as_they_are(
    random_copies: Path, driver: Path, tmp_path: Path
) -> None:
    """As one in another container has it that shares the folder."""
    script = 'for name in "$$" "$$-0" "$$-1"; do echo theirs >"$0/$name.ledger"; done; exec "$@"'
    words: list[str | Path] = ["sh", "-c", script, tmp_path, random_copies, "dlsym", "100"]
    _, counts = accelerated(words, driver, tmp_path, "eager,min=4096")
    assert counts.processes == 1
    theirs = [path for path in tmp_path.iterdir() if path.read_bytes() == b"theirs\n"]
    assert len(theirs) == len(counts.refused) == 3


@pytest.mark.parametrize("reach", ["linked", "dlsym", "address", "versioned", "thread"])
def test_a_program_that_switches_it_off_is_left_alone(
    reach: str, program: Path, random_copies: Path, driver: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [program, reach, "1"] if reach == "linked" else [random_copies, reach, "30"]
    said, counts = accelerated(words, driver, tmp_path, "eager,min=4096", ISTHMUS_ACCELERATE="off")
    assert said == ran(words, driver).stdout
    assert (counts.moved, counts.queued, set(counts.left.values())) == ([], (0, 0), {(0, 0)})
    assert counts.plain == {"switched_off": 1}
    (tmp_path / "on").mkdir()
    _, counts = accelerated(words, driver, tmp_path / "on", "eager,min=4096", ISTHMUS_ACCELERATE="on")
    assert counts.moved
    assert counts.plain == {}


def test_a_program_that_is_switched_off_makes_no_other_calls(
    build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    words = [build("calls_of_a_copy.cpp")]
    alone = ran(words, driver)
    assert ran(words, driver, ISTHMUS_ACCELERATE="off", **accelerating(tmp_path)).stdout == alone.stdout
    assert ran(words, driver, **accelerating(tmp_path)).stdout != alone.stdout


def test_a_report_says_that_it_is_switched_off(random_copies: Path, driver: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words: list[str | Path] = [random_copies, "dlsym", "100"]
    found = command_line(["--report", "-o", str(report)], words, driver, ISTHMUS_ACCELERATE="off")
    assert found["code"] == 0
    assert f"{random_copies} runs without Isthmus: ISTHMUS_ACCELERATE=off" in str(found["err"])
    assert "1 process ran without Isthmus: switched off (ISTHMUS_ACCELERATE=off)" in str(found["err"])
    assert json.loads(report.read_text("utf-8"))["plain"] == {"switched_off": 1}


@pytest.mark.parametrize("code", [0, 5])
def test_a_forged_ledger_is_refused_and_the_program_ends_as_it_does(code: int, driver: Path) -> None:
    forge = "from pathlib import Path; import os, sys; Path(os.environ['ISTHMUS_ACCELERATE_FOLDER'], '9.ledger')"
    words = [sys.executable, "-c", f"{forge}.write_bytes(b'ISTHACC3' + b'\\xff' * 36856); sys.exit({code})"]
    found = command_line(["--report"], words, driver)
    assert found["code"] == code
    assert "Not counted: 9.ledger: " in str(found["err"])
    assert "Traceback" not in str(found["err"])


@pytest.mark.parametrize("under", ["accelerate", "print-env"])
@pytest.mark.parametrize("how", [(), ("-static-libasan",)], ids=["shared", "static"])
def test_programs_with_a_sanitizer_run(
    how: Sequence[str], under: str, tmp_path: Path, both: Callable[..., None]
) -> None:
    source, built = tmp_path / "program.c", tmp_path / "program"
    source.write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *one = malloc(1 << 20), *other = calloc(1, 1 << 20);
    memcpy(one, other, 1 << 20);
    printf("copied %d\\n", one[5]);
    free(one), free(other);
    return 3;
}
""")
    words: list[str | Path] = ["gcc", "-O0", "-fsanitize=address", *how, source, "-o", built]
    if shutil.which("gcc") is None or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("needs gcc with its address sanitizer")
    both(under, [built])
