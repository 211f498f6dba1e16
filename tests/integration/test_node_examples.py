"""The examples for programs that watch nodes: with a program in the place of isthmus-check, and with that itself."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from isthmus.installing import installed_file
from isthmus.report.styles import STYLES
from tests.integration.conftest import drivers_of
from tests.processes import ended

EXAMPLES = Path(__file__).parents[2] / "examples" / "nodes"
LINE = "FAULT The link runs at PCIe 5.0 x8 under load cuda:3 node17"


def called(command: list[str], folder: Path, code: int, **more: str) -> subprocess.CompletedProcess[str]:
    """A command that runs a program by the name of isthmus-check, whose options and devices are written down."""
    program = folder / "isthmus-check"
    program.write_text(f'#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES $@" >>{folder}/called\necho "{LINE}"\nexit {code}\n')
    program.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("code", "drains"), [(0, False), (1, True), (2, False), (3, False), (124, True)])
def test_the_prolog_drains_for_faults_and_drivers_that_hang(code: int, drains: bool, tmp_path: Path) -> None:
    done = called(["bash", str(EXAMPLES / "prolog.sh")], tmp_path, code, SLURM_JOB_GPUS="2,3")
    assert done.returncode == int(drains)
    assert done.stdout == ("" if not drains else f"{LINE}\n" if code == 1 else "isthmus-check did not end in 60 s\n")
    assert (tmp_path / "called").read_text() == "2,3 --style plain\n"


@pytest.mark.parametrize(
    ("script", "code"), [("", 127), ("#!/bin/sh\nkill -SEGV $$\n", 139), ("#!/bin/sh\nexit 1\n", 1)]
)
def test_the_prolog_logs_where_the_program_is_absent_or_crashes(script: str, code: int, tmp_path: Path) -> None:
    programs = {"isthmus-check": script, "logger": f'#!/bin/sh\necho "$@" >>{tmp_path}/logged\n'}
    for name, content in programs.items():
        if content:
            (tmp_path / name).write_text(content)
            (tmp_path / name).chmod(0o755)
    for name in ("sh", "timeout"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    environment = {"PATH": str(tmp_path), "SLURM_JOB_GPUS": "0"}
    shell = str(shutil.which("bash"))
    command = [shell, str(EXAMPLES / "prolog.sh")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    logged = (tmp_path / "logged").read_text()
    assert logged == f"-t isthmus-prolog -- isthmus-check gave no verdict: exit code {code}\n"


def test_the_prolog_leaves_jobs_without_devices_alone(tmp_path: Path) -> None:
    assert called(["bash", str(EXAMPLES / "prolog.sh")], tmp_path, 1).returncode == 0
    assert not (tmp_path / "called").exists()
    commands = [line for line in (EXAMPLES / "prolog.sh").read_text().splitlines() if not line.startswith("#")]
    assert "scontrol" not in "\n".join(commands)


@pytest.mark.parametrize("code", [0, 1])
def test_nhc_dies_with_the_line(code: int, tmp_path: Path) -> None:
    script = f'die() {{ echo "died $*"; }}; . {EXAMPLES}/isthmus.nhc; check_isthmus --strict; echo "code $?"'
    done = called(["bash", "-c", script], tmp_path, code)
    assert done.stdout == (f"died 1 check_isthmus:  {LINE}\n" if code else "") + f"code {code}\n"
    assert (tmp_path / "called").read_text() == " --style nhc --strict\n"


def test_nhc_dies_where_the_program_is_not_installed(tmp_path: Path) -> None:
    script = f'die() {{ echo "died $*"; }}; . {EXAMPLES}/isthmus.nhc; check_isthmus'
    shell = shutil.which("bash")
    assert shell
    done = subprocess.run(
        [shell, "-c", script], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "died 1 check_isthmus:  isthmus-check did not run\n"


@pytest.mark.parametrize(
    ("shown", "drained"),
    [
        ({}, ""),
        (
            {"FAKE_NODE_LINK": "5 8 5 16", "FAKE_NODE_RATES": "27 27 45 8 13"},
            "FAULT The link runs at PCIe 5.0 x8 under load cuda:0",
        ),
        ({"FAKE_NODE_HANGS": "0"}, "UNKNOWN the driver did not answer within 10 s cuda:0"),
        ({"FAKE_NODE_DIES": "0"}, ""),
    ],
)
def test_the_prolog_drains_by_what_the_program_says(shown: dict[str, str], drained: str, node: Path) -> None:
    healthy = {
        "FAKE_NODE_NAME": "NVIDIA H100 80GB HBM3",
        "FAKE_NODE_RATES": "55 55 90 8 13",
        "FAKE_NODE_LINK": "5 16 5 16",
        "SLURM_JOB_GPUS": "0",
    }
    program = installed_file("bin/isthmus-check")
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", **healthy, **shown}
    done = subprocess.run(
        ["bash", str(EXAMPLES / "prolog.sh")],
        env=environment | drivers_of(node),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith(drained)
    assert (done.returncode, bool(done.stdout)) == ((1, True) if drained else (0, False))


def test_what_they_run_are_styles_that_there_are() -> None:
    styles = [
        style
        for path in EXAMPLES.iterdir()
        if path.is_file()
        for style in re.findall(r"--style[\", ]+(\w+)", path.read_text("utf-8"))
        if "|" not in style
    ]
    assert len(styles) >= 8
    assert set(styles) <= set(STYLES)


def test_the_files_are_of_their_formats() -> None:
    rule = json.loads((EXAMPLES / "problem-daemon.json").read_text())
    assert rule["rules"][0]["condition"] == rule["conditions"][0]["type"]
    assert rule["pluginConfig"]["max_output_length"] == 80
    [plugin] = yaml.safe_load((EXAMPLES / "gpud.yaml").read_text())
    assert shlex.split(plugin["health_state_plugin"]["steps"][0]["run_bash_script"]["script"])[0] == "isthmus-check"
    for name, kind in (("daemonset.yaml", "DaemonSet"), ("preflight.yaml", "Pod")):
        assert yaml.safe_load((EXAMPLES / name).read_text())["kind"] == kind


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units() -> None:
    units = [str(EXAMPLES / f"isthmus-check.{kind}") for kind in ("service", "timer")]
    done = ended("systemd-analyze", "verify", *units)
    assert done.returncode == 0, done.stderr
