"""Running OpenACC programs: what they print becomes samples, and whatever goes wrong is an error that says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.engine.sweep import TimedSubject
from isthmus.experiment.openacc.points import case_of, words_of
from isthmus.experiment.openacc.programs import TimedProgram, device_environment, limit_seconds, run_program
from isthmus.record import GIB, MIB

Program = Callable[[str], Path]

RIGHT = (
    '{"right": true, "device": "a GPU", "compiler": "g++ 12.2.0", "in_seconds": [0.1, 0.2], "out_seconds": [0.3, 0.4]}'
)
# No fake takes a tenth of it, however slow the machine.
LONG = 60.0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program that is a shell script."""

    def write(script: str) -> Path:
        path = tmp_path / "contiguous"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return write


def error_of(path: Path, limit: float = LONG) -> str:
    with pytest.raises(CallFailed) as caught:
        run_program(path, [], {}, limit)
    return str(caught.value)


def test_phases_make_the_time_of_a_pass(program: Program) -> None:
    figures = run_program(program(f"echo warming up; echo '{RIGHT}'"), [], {}, LONG)
    assert figures.series["host_seconds"] == pytest.approx([0.4, 0.6])
    assert set(figures.series) == {"host_seconds", "in_seconds", "out_seconds"}


def test_a_fallback_to_the_host_is_an_error_and_no_figure(program: Program) -> None:
    message = error_of(program(f"echo '{RIGHT}'; echo no NVIDIA device >&2; exit 3"))
    assert message == (
        "the OpenACC program contiguous found no device to run on, and its figures would mean nothing: no NVIDIA device"
    )


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo first >&2; echo last words >&2; kill -SEGV $$", ["crashed", "fault", "last words"]),
        ("kill -KILL $$", ["crashed", "it said nothing"]),
        ("echo unknown option --way >&2; exit 2", ["exit code 2", "unknown option --way"]),
        ("exit 127", ["exit code 127", "it said nothing"]),
        ("true", ["exit code 0", "it said nothing"]),
        ("echo hello", ["no figures", "malformed"]),
        ("echo '{\"right\": true}'", ["no figures", "device"]),
        (f"echo '{RIGHT.replace('0.2', 'null')}'", ["no figures", "in_seconds"]),
        (f"echo '{RIGHT.replace(', 0.2', '')}'", ["no figures"]),
        ('echo \'{"right": true, "device": "", "compiler": ""}\'', ["no times"]),
    ],
)
def test_what_a_program_dies_of_is_said(program: Program, script: str, words: list[str]) -> None:
    message = error_of(program(script))
    assert message.startswith("the OpenACC program contiguous ")
    for word in words:
        assert word in message


def test_a_program_that_hangs_is_ended(program: Program) -> None:
    message = error_of(program("exec sleep 1000"), limit=0.2)
    assert message == "the OpenACC program contiguous had not ended after 0 s"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    assert "cannot be started: No such file" in error_of(tmp_path / "contiguous")


def test_a_visit_passes_the_point_on_and_takes_its_samples(program: Program) -> None:
    path = program(f"echo \"$@\" > {'$0'}.words; echo '{RIGHT}'")
    template = case_of("contiguous", "explicit", MIB, fraction=0.5)
    subject = TimedSubject(template, lambda: TimedProgram(template, path, {}))
    collected = Collected(subject.template)
    subject.visit(Quota(0, 2, 1000, 1.0), collected)
    subject.visit(Quota(0, 2, 1000, 1.0), collected)
    words = path.with_suffix(".words").read_text()
    assert words == "--way explicit --bytes 1048576 --fraction 0.5 --repeats 3\n", "a process takes longer to start"
    (case,) = collected.cases(Rules())
    assert (case.method, case.host_memory, case.compiler) == ("contiguous_explicit", "pageable", "g++ 12.2.0")
    assert case.verified == "yes"
    assert [len(series.samples) for series in case.series] == [4, 4, 4]


def test_wrong_sums_are_wrong_data(program: Program) -> None:
    wrong = RIGHT.replace("true", 'false, "sum": 7, "expected": 8')
    template = case_of("contiguous", "automatic", MIB, fraction=1.0)
    timed = TimedProgram(template, program(f"echo '{wrong}'; exit 1"), {})
    subject = TimedSubject(template, lambda: timed)
    collected = Collected(subject.template)
    subject.visit(Quota(0, 2, 1000, 1.0), collected)
    (case,) = collected.cases(Rules())
    assert case.verified == "no"
    assert case.note == "wrong data: the program's results are not what the CPU computes: its sum is 7, expected 8"
    assert case.series


def test_the_words_of_a_stencil() -> None:
    case = case_of("stencil_gpu", "automatic", MIB, rows=64, halo=2)
    assert case.method == "stencil_gpu_automatic"
    words = "--way automatic --pack gpu --side 64 --halo 2 --iterations 20"
    assert words_of(case) == words.split()


def test_the_program_sees_the_chosen_device_alone() -> None:
    assert device_environment(2, {})["CUDA_VISIBLE_DEVICES"] == "2"
    given = {"CUDA_VISIBLE_DEVICES": "GPU-aa, GPU-bb", "ACC_DEVICE_TYPE": "host", "HOME": "/root"}
    assert device_environment(1, given) == {"CUDA_VISIBLE_DEVICES": "GPU-bb", "HOME": "/root"}


def test_slow_machines_have_time_enough() -> None:
    assert limit_seconds(case_of("contiguous", "explicit", GIB, fraction=1.0), 3) > 60 + 4 * 2
    assert limit_seconds(case_of("stencil_cpu", "explicit", GIB, rows=1), 3) > limit_seconds(
        case_of("stride", "explicit", GIB), 3
    )
