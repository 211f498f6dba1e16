"""`isthmus-check` over states of a fake driver and a fake NVML, each with the verdict that was written down for it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from isthmus.language import say
from tests.integration.check_program import NEWEST_GLIBC, PROGRAM, run_program
from tests.integration.conftest import Started, drivers_of
from tests.processes import HANGS_SECONDS, isthmus, python

_MOST_BYTES = 4 << 20


class Card(NamedTuple):
    """A card as it should be: GB/s, its link, and how many classes of evidence there are of its rates."""

    name: str
    rates: tuple[float, float, float, float, float]
    link: tuple[int, int]
    classes: int
    both_classes: int
    # What is shown where its link cannot be read: a reference, or its own link in a slot like it.
    unread: str = "OK"


_CARDS = (
    Card("NVIDIA H100 80GB HBM3", (55, 55, 90, 8, 13), (5, 16), 2, 2),
    Card("NVIDIA H200", (55.3, 55.2, 101, 8, 13), (5, 16), 2, 2),
    Card("NVIDIA A100-SXM4-80GB", (26, 26, 45, 6, 10), (4, 16), 2, 1),
    Card("Tesla T4", (12.4, 13.1, 22, 4, 6), (3, 16), 1, 1),
    Card("NVIDIA GeForce RTX 4090", (26.2, 26.8, 45, 9, 11), (4, 16), 1, 1),
    Card("NVIDIA L40S", (26.2, 26.8, 45, 9, 11), (4, 16), 1, 1),
    Card("NVIDIA GeForce RTX 3090", (25.9, 26.3, 44, 9, 11), (4, 16), 1, 1),
    Card("NVIDIA Future 1", (55, 55, 90, 8, 13), (5, 16), 1, 1, "none"),
)


class State(NamedTuple):
    """What a driver shows, and the level and topic of the verdict."""

    name: str
    environment: Mapping[str, str]
    level: str
    topic: str


def _states(card: Card) -> Iterator[State]:
    """The states of one card, by what is asked of a check: the link under load counts, two classes make a fault."""
    generation, width = card.link

    def state(name: str, level: str, topic: str, rates: float = 1.0, **more: str) -> State:
        shown = {
            "FAKE_NODE_NAME": card.name,
            # Three digits, as they are shown: half of another would be rounded by the clock's last digit.
            "FAKE_NODE_RATES": " ".join(f"{rates * each:.3g}" for each in card.rates[:3])
            + " {} {}".format(*card.rates[3:]),
            "FAKE_NODE_LINK": f"{generation} {width} {generation} {width}",
        }
        shown |= {f"FAKE_NODE_{key}": value for key, value in more.items()}
        return State(name, {key: value for key, value in shown.items() if value}, level, topic)

    by_rate = "FAULT" if card.classes > 1 else "ATTENTION"
    by_both = "FAULT" if card.both_classes > 1 else "ATTENTION"
    at_most = f"{generation} {width}"
    yield state("healthy", "OK", "rate")
    yield state("narrow", "FAULT", "link", 0.51, LINK=f"{generation} {width // 2} {at_most}")
    yield state("one lane", "FAULT", "link", 0.06, LINK=f"{generation} 1 {at_most}")
    yield state("slow", "FAULT", "link", 0.51, LINK=f"{generation - 1} {width} {at_most}")
    yield state("slow and narrow", "FAULT", "link", 0.24, LINK=f"{generation - 1} {width // 2} {at_most}")
    yield state("read wrongly", "ATTENTION", "link_reading", LINK=f"1 {width} {at_most}")
    yield state("replays now", "ATTENTION", "replays", REPLAYS="100 150")
    yield state("replays before", "OK", "rate", REPLAYS="5000 5000")
    yield state("few replays", "OK", "rate", REPLAYS="5 5")
    yield state("quiet", "OK", "rate", NOISE="1")
    yield state("in use and slow", "none", "in_use", 0.4, BUSY="60")
    yield state("in use and well", "OK", "rate", BUSY="60")
    yield state("in use, noisy and slow", "none", "in_use", 0.4, BUSY="95", NOISE="15")
    yield state("in use and narrow", "FAULT", "link", 0.51, BUSY="60", LINK=f"{generation} {width // 2} {at_most}")
    yield state("MIG", "none", "part", 0.5, MIG="1")
    yield state("vGPU", "none", "part", VIRTUAL="2")
    yield state("passed through", "OK", "rate", VIRTUAL="1")
    yield state("wrong data", "FAULT", "verification", WRONG="1")
    yield state("host memory", "none", "no_link", SHARES="1")
    yield state("half the rate", by_rate, "rate", 0.52)
    yield state("half and throttled", by_rate, "rate", 0.5, THROTTLED="8")
    yield state("both share one", by_both, "both", RATES=" ".join(map(str, (*card.rates[:2], 7.25, *card.rates[3:]))))
    yield state("no NVML", card.unread, "rate", NO_NVML="9")
    yield state("link not visible", card.unread, "rate", LINK="")
    yield state("hangs when opened", "none", "unasked", HANGS="0")
    yield state("hangs in a copy", "none", "unasked", HANGS="0", AT="copy")
    yield state("dies", "none", "unasked", DIES="0")
    yield state("dies in a copy", "none", "unasked", DIES="0", AT="copy")
    yield state("falls off the bus", "none", "unasked", LOST="0", AT="copy")
    yield state("no driver", "none", "unasked", INIT="100")


_ALL = [(card, state) for card in _CARDS for state in _states(card)]


def _judged(node: Path, *words: str, **environment: str) -> list[dict[str, Any]]:
    ended = run_program(node, "--style", "json", *words, **environment)
    assert not ended.stderr
    devices: list[dict[str, Any]] = json.loads(ended.stdout)
    return devices


def test_there_are_two_hundred_states() -> None:
    assert len({(card.name, state.name) for card, state in _ALL}) == len(_ALL) >= 200


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(state, id=f"{card.name}, {state.name}", marks=[] if at % 7 == 0 else [pytest.mark.thorough])
        for at, (card, state) in enumerate(_ALL)
    ],
)
def test_a_state_has_the_verdict_that_was_written_down(node: Path, state: State) -> None:
    # One that hangs costs its limit; others get time on a busy machine.
    limit = "1" if "hangs" in state.name else "60"
    (device,) = _judged(node, "--limit", limit, **state.environment)
    assert (device["level"], device["points"][0]["topic"]) == (state.level, state.topic)


def test_one_of_sixteen_that_hangs_ends_no_other(node: Path) -> None:
    healthy = next(_states(_CARDS[0])).environment
    devices = _judged(
        node, "--limit", "20", **healthy, FAKE_NODE_DEVICES="16", FAKE_NODE_HANGS="5", FAKE_NODE_AT="copy"
    )
    levels = {each["device"]: each["level"] for each in devices}
    assert levels == {f"cuda:{index}": "none" if index == 5 else "OK" for index in range(16)}


@pytest.mark.parametrize("words", [["--style", "plain"], ["--run"]])
def test_no_process_is_left_to_process_1(node: Path, words: list[str]) -> None:
    """In many containers it waits for none: each would stay as a zombie."""
    program = (
        "import ctypes, os, subprocess, sys; ctypes.CDLL(None).prctl(36, 1); subprocess.run(sys.argv[1:])\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\n    print('one is left')\nexcept ChildProcessError:\n    print('none')\n"
    )
    done = python(program, PROGRAM, *words, env=drivers_of(node) | {"FAKE_NODE_DEVICES": "3"})
    assert done.stdout.splitlines()[-1] == "none"


def test_a_slow_one_of_four_is_a_fault_by_its_likes(node: Path) -> None:
    """Theory and the others of its kind agree, though nothing was ever published of such a card."""
    card = _CARDS[-1]
    healthy = next(_states(card)).environment
    slow = " ".join(map(str, (20, 20, *card.rates[2:])))
    devices = _judged(node, **healthy, FAKE_NODE_DEVICES="4", FAKE_NODE_SLOW=f"2 {slow}")
    assert [each["level"] for each in sorted(devices, key=lambda each: str(each["device"]))] == [
        "OK",
        "OK",
        "FAULT",
        "OK",
    ]


@pytest.mark.parametrize(
    ("style", "state", "code"),
    [
        *((style, 0, 0) for style in ("plain", "nagios", "npd", "nhc", "prometheus", "json")),
        *zip(("plain", "nagios", "npd", "nhc", "prometheus", "json"), [1] * 6, (1, 2, 1, 1, 0, 1), strict=True),
        *zip(("plain", "nagios", "npd", "nhc", "prometheus", "json"), [6] * 6, (0, 1, 0, 0, 0, 0), strict=True),
        *zip(("plain", "nagios", "npd", "nhc", "prometheus", "json"), [14] * 6, (3, 3, 2, 1, 0, 3), strict=True),
    ],
)
def test_styles_exit_as_their_consumers_expect(node: Path, style: str, state: int, code: int) -> None:
    chosen = list(_states(_CARDS[0]))[state]
    ended = run_program(node, "--style", style, **chosen.environment)
    assert ended.returncode == code
    first = ended.stdout.splitlines()[0].partition(" | ")[0]
    assert style in ("json", "prometheus") or len(first.encode()) <= 80


def test_bad_options_are_refused(node: Path) -> None:
    for words in (["--style", "loud"], ["--device"], ["--device", "one"], ["--limit", "nan"], ["--what"]):
        ended = run_program(node, *words)
        assert ended.returncode == 2
        assert "Usage" in ended.stderr


def test_no_driver_is_no_verdict(tmp_path: Path) -> None:
    ended = run_program(None, "--style", "nagios", LD_LIBRARY_PATH=str(tmp_path))
    if "libcuda" not in ended.stdout and ended.returncode != 3:
        pytest.skip("this machine has a driver")
    assert ended.returncode == 3
    assert ended.stdout.startswith("UNKNOWN")
    assert run_program(None, LD_LIBRARY_PATH=str(tmp_path)).returncode == 3


def test_the_program_needs_the_c_library_alone() -> None:
    assert PROGRAM.stat().st_size <= _MOST_BYTES
    content = PROGRAM.read_bytes()
    versions = {
        tuple(map(int, each.decode().split("."))) for each in re.findall(rb"GLIBC_(\d+\.\d+)(?=[.\d]*\0)", content)
    }
    assert versions
    assert max(versions) <= NEWEST_GLIBC
    assert not [name for name in (b"libstdc++.so", b"libgcc_s.so", b"libpython") if name in content]


def test_texts_are_those_of_the_catalogue(node: Path) -> None:
    """With their values in the places and the form that each says."""
    slow = dict(next(_states(_CARDS[0])).environment, FAKE_NODE_RATES="27 27 44 8 13", FAKE_NODE_LINK="5 8 5 16")
    (device,) = _judged(node, **slow)
    values = {"now": "PCIe 5.0 x8", "best": "PCIe 5.0 x16", "rate": "27.0 GB/s", "percent": 49, "full": "54.6 GB/s"}
    asked = {"uuid": device["uuid"], "address": device["pci_address"]}
    assert device["points"][0]["text"] == say("health.link_degraded_rate", **values)
    assert device["points"][0]["do"] == [say("health.reseat_module"), say("health.vendor_asks", **asked)]


@pytest.mark.parametrize(
    ("nvml", "port", "read"),
    [
        ("", None, ("sysfs", 4, 5, 8, 16)),
        ("", ("16.0 GT/s PCIe", "16"), ("sysfs", 4, 4, 8, 16)),
        # What a virtual machine made up: no such port has this link.
        ("", ("2.5 GT/s PCIe", "1"), ("sysfs", 4, 4, 8, 8)),
        ("4 16 4 16", None, ("NVML", 4, 4, 16, 16)),
    ],
)
def test_without_nvml_a_run_has_the_link_as_the_kernel_says_it(
    node: Path, tmp_path: Path, nvml: str, port: tuple[str, str] | None, read: tuple[str, int, int, int, int]
) -> None:
    devices = tmp_path / "sys/bus/pci/devices"
    for folder, most in ((devices / "fffe:10:00.0", ("32.0 GT/s PCIe", "16")), (devices, port)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in zip(("max_link_speed", "max_link_width"), most or (), strict=False):
            (folder / name).write_text(text + "\n")
    for name, text in (("speed", "16.0 GT/s PCIe"), ("width", "8")):
        (devices / "fffe:10:00.0" / f"current_link_{name}").write_text(text + "\n")
    link = {"FAKE_NODE_LINK": nvml} if nvml else {}
    (run,) = json.loads(run_program(node, "--run", "--root", str(tmp_path), **link).stdout)
    names = ("source", "generation_under_load", "max_generation", "width_under_load", "max_width")
    assert [tuple(each[name] for name in names) for each in (run["link"], run["device"]["link"])] == 2 * [read]


def _checked(node: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """By `isthmus check`."""
    return isthmus("check", *words, env=drivers_of(node) | {"FAKE_NODE_WHOLE": "1"} | environment)


@pytest.mark.parametrize(
    "name",
    [
        "healthy",
        "narrow",
        "wrong data",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in ("read wrongly", "replays now", "in use and slow")
        ),
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("MIG", "vGPU", "passed through", "host memory")),
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("half the rate", "both share one", "no NVML")),
    ],
)
def test_isthmus_check_says_the_same(node: Path, name: str) -> None:
    """It has its figures from the program, and the verdict from the same rules."""
    (state,) = [each for each in _states(_CARDS[1]) if each.name == name]
    ended = _checked(node, "--json", **state.environment)
    (device,) = json.loads(ended.stdout)
    assert (device["level"], device["points"][0]["topic"]) == (state.level, state.topic), ended.stderr
    assert ended.returncode == (1 if state.level == "FAULT" else 0)
    assert ended.stderr.startswith("checking cuda:0\n")
    if name == "healthy":
        rates = {(each["memory"], each["direction"]): each["bytes_per_second"] / 1e9 for each in device["rates"]}
        assert rates["pinned", "h2d"] == pytest.approx(55.3, rel=0.02)
        assert rates["pinned", "both"] == pytest.approx(101, rel=0.02)
        assert rates["pageable", "d2h"] == pytest.approx(13, rel=0.02)
        assert device["link"]["width_under_load"] == 16


@pytest.mark.thorough
def test_isthmus_check_of_several_devices(node: Path) -> None:
    """One is slow by its likes, though nothing is known of such a card; all copy at once; one is lost."""
    card = _CARDS[-1]
    slow = " ".join(map(str, (20, 20, *card.rates[2:])))
    several = {"FAKE_NODE_DEVICES": "5", "FAKE_NODE_SLOW": f"2 {slow}", "FAKE_NODE_LOST": "4", "FAKE_NODE_AT": "copy"}
    ended = _checked(node, "--json", **next(_states(card)).environment, **several)
    devices = {each["device"]: each for each in json.loads(ended.stdout)}
    assert {name: each["level"] for name, each in devices.items()} == {
        f"cuda:{index}": "FAULT" if index == 2 else "OK" for index in range(4)
    }
    assert "cuda:4 was not checked: " in ended.stderr
    assert ended.returncode == 1
    at_once = [each for each in devices["cuda:1"]["rates"] if each["memory"] == "pinned_at_once"]
    assert [each["direction"] for each in at_once] == ["h2d", "d2h"]
    assert all(each["bytes_per_second"] / 1e9 == pytest.approx(55, rel=0.02) for each in at_once)


def test_a_device_whose_memory_others_have_is_not_judged_and_no_failure(node: Path) -> None:
    ended = _checked(node, "--json", FAKE_NODE_DEVICES="2", FAKE_NODE_FULL="1")
    assert ended.returncode == 0, ended.stderr
    topics = {each["device"]: each["points"][0]["topic"] for each in json.loads(ended.stdout)}
    assert topics["cuda:1"] == "nothing_pinned"
    assert topics["cuda:0"] != "nothing_pinned"


@pytest.mark.parametrize(
    ("fate", "says"), [("DIES", "signal 9"), pytest.param("HANGS", "did not answer", marks=pytest.mark.thorough)]
)
def test_a_driver_that_dies_or_hangs_ends_no_isthmus_check(node: Path, fate: str, says: str) -> None:
    """Alone it is an error; with others it is one that was not checked; a style has it as nothing judged."""
    fatal = {f"FAKE_NODE_{fate}": "0"}
    alone = _checked(node, **fatal)
    assert (alone.returncode, alone.stdout) == (1, "")
    assert says in alone.stderr
    assert "dmesg" in alone.stderr
    pair = _checked(node, "--json", FAKE_NODE_DEVICES="2", **fatal)
    assert [each["device"] for each in json.loads(pair.stdout)] == ["cuda:1"]
    assert "cuda:0 was not checked: " in pair.stderr
    if fate == "HANGS":  # Each costs the limit.
        return
    styled = _checked(node, "--style", "nagios", **fatal)
    assert styled.returncode == 3
    assert styled.stdout.startswith("UNKNOWN")


@pytest.mark.parametrize(
    "how",
    [signal.SIGINT, *(pytest.param(each, marks=pytest.mark.thorough) for each in (signal.SIGTERM, signal.SIGKILL))],
)
def test_a_check_that_is_ended_leaves_no_process(node: Path, start: Started, how: signal.Signals) -> None:
    """Its own process alone is sent the signal, while a driver hangs."""
    hangs = {"FAKE_NODE_DEVICES": "3", "FAKE_NODE_HANGS": "1", "FAKE_NODE_AT": "copy"}
    process = start(sys.executable, "-m", "isthmus", "check", **drivers_of(node), **hangs)
    assert process.stderr is not None
    while "cuda:1" not in process.stderr.readline():
        assert process.poll() is None
    began = _session_of(process.pid)
    process.send_signal(how)
    process.wait(HANGS_SECONDS)
    assert len(began) == 5  # Python, the program, and a process a device.
    until = time.monotonic() + HANGS_SECONDS
    while left := _session_of(process.pid):
        assert time.monotonic() < until, left
        time.sleep(0.05)


def _session_of(pid: int) -> list[str]:
    """The processes that it began and that have not ended, itself included, as the kernel describes them."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = path.read_text()
            state, _, _, session, *_ = text.rpartition(")")[2].split()
            if int(session) == pid and state != "Z":
                processes.append(text)
    return processes


def test_where_memory_is_scarce_devices_are_opened_one_after_the_other(node: Path, tmp_path: Path) -> None:
    """Else the out-of-memory killer would end one that is well."""
    (tmp_path / "proc").mkdir()
    experiments = {}
    for gibibytes in (4, 2):
        (tmp_path / "proc/meminfo").write_text(f"MemAvailable: {gibibytes << 20} kB\n")
        runs = json.loads(run_program(node, "--run", "--root", str(tmp_path), FAKE_NODE_DEVICES="3").stdout)
        assert [run["device"]["index"] for run in runs] == [0, 1, 2]
        experiments[gibibytes] = [{case["experiment"] for case in run["cases"]} for run in runs]
    assert experiments == {4: 3 * [{"bandwidth", "peers"}], 2: 3 * [{"bandwidth"}]}


@pytest.mark.thorough
def test_the_run_of_a_check_is_kept_and_judged_again(node: Path, tmp_path: Path) -> None:
    (state,) = [each for each in _states(_CARDS[1]) if each.name == "narrow"]
    narrow = {**state.environment, "FAKE_NODE_DEVICES": "2"}
    path = tmp_path / "run.json.gz"
    refused = _checked(node, "-o", str(path), **narrow)
    assert refused.returncode == 2
    assert "name one with --device cuda:0" in refused.stderr
    kept = _checked(node, "--device", "cuda:1", "-o", str(path), "--json", **narrow)
    again = _checked(node, "--run", str(path), "--json")
    assert kept.returncode == again.returncode == 1
    assert json.loads(kept.stdout) == json.loads(again.stdout)
    ranks = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "3"}
    assert "cuda:1" in _checked(node, **narrow, **ranks).stdout
    absent = _checked(node, "--device", "cuda:7", **narrow)
    assert absent.returncode == 3
    assert "no device cuda:7 here; found cuda:0, cuda:1" in absent.stderr


@pytest.mark.parametrize(
    ("failing", "code", "is_absent"),
    [
        ({"FAKE_CUDA_FAIL": "cuMemHostAlloc"}, "999", False),
        ({"FAKE_CUDA_FAIL": "cuMemAlloc_v2"}, "999", False),
        ({"FAKE_CUDA_INIT": "802"}, "802", False),
        ({"FAKE_CUDA_INIT": "100"}, "100", True),
    ],
)
def test_a_driver_that_fails_is_neither_absent_nor_short_of_memory(
    compiled: Callable[..., Path], failing: dict[str, str], code: str, is_absent: bool
) -> None:
    drivers = {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)}
    (run,) = json.loads(run_program(None, "--run", **drivers, **failing).stdout)
    assert code in run["failure"]
    assert run["is_absent"] == is_absent


def test_what_a_driver_says_is_read_whatever_its_bytes(node: Path) -> None:
    (run,) = json.loads(run_program(node, "--run", FAKE_NODE_NAME=os.fsdecode(b"H\xff100 \xc3\xa9\xc3")).stdout)
    assert run["device"]["name"] == "H?100 \u00e9?"
