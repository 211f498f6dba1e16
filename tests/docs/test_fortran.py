"""The Fortran of the recipes, as it is in the page, compiles and copies on the host's device."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes" / "fortran.md"
# The page leaves a program its own arrays.
DECLARED = """\
real(c_double), target :: field(100000), there(100000)
integer(c_size_t) :: bytes = 800000
type(c_ptr) :: device
field = [(real(each), each = 1, 100000)]
device = c_loc(there)
"""
CHECKED = """\
if (any(there /= field)) stop 3
field = 0
if (isthmus_copy(session, c_loc(field), device, bytes, 2, c_null_ptr, c_null_ptr) /= 0) stop 4
if (any(there /= field)) stop 5
"""


@pytest.mark.skipif(not shutil.which("gfortran"), reason="gfortran is not installed")
def test_copies_from_fortran(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (block,) = re.findall(r"```fortran\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"^gfortran .*", text, re.MULTILINE)
    declared, called = re.split(r"(?m)^(?=if )", block, maxsplit=1)
    declared += "integer :: each\n"
    program = f"{declared}{DECLARED}{called}{CHECKED}end\n".replace("cuda:0", "host")
    (tmp_path / "copy.f90").write_text(program)
    isthmus = f"{sys.executable} -m isthmus"
    subprocess.run(["sh", "-ec", command.replace("isthmus c-flags", f"{isthmus} c-flags")], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"], check=False).returncode == 0
