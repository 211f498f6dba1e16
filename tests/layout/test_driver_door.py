"""Libraries that live in other programs enter the CUDA driver by its door alone: `native/driver/cuda_door.hpp`.

What they ask of it is a function of `backend/cuda`, each of which is inside the door. So neither the accelerator nor
the tracer names a function of the driver's table, and what they look up by name is what the program itself calls.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.layout.every import every
from tests.layout.test_includes import NATIVE

GUESTS = sorted(path for folder in ("accelerator", "tracer") for path in (NATIVE / folder).rglob("*.[ch]pp"))
# A member of the table of functions, a function that is looked up, and what opens the table.
CALLS = re.compile(r'(?:\.|->)(cu[A-Z]\w*)|dlsym\([^;]*?"(cu[A-Z]\w*)"|\bcuda::(Api::open|Driver)\b')
# No capture minds them (tests/integration/drivers/facts/h100.txt), and the tracer needs no more.
HARMLESS = {"cuDeviceGetCount", "cuDeviceGetName", "cuPointerGetAttributes"}
# Functions of `backend/cuda` that guests call, where each but the private ones begins with the door.
PROGRAM = NATIVE / "backend" / "cuda" / "program.cpp"
PRIVATE = {"is_captured", "is_idle", "follows_legacy"}


def calls(text: str) -> Iterator[str]:
    code = re.sub(r"//[^\n]*", "", text)
    for found in CALLS.finditer(code):
        yield next(filter(None, found.groups()))


@every(GUESTS, lambda path: str(path.relative_to(NATIVE)))
def test_guests_call_the_driver_by_the_door_alone(path: Path) -> None:
    assert set(calls(path.read_text("utf-8"))) <= HARMLESS, "ask by a function of backend/cuda/program.hpp"


def test_what_goes_round_the_door_is_seen() -> None:
    text = 'api().cuStreamQuery(s); api_.call(api_->cuEventQuery, e); dlsym(driver, "cuMemAlloc"); cuda::Api::open();'
    assert list(calls(text)) == ["cuStreamQuery", "cuEventQuery", "cuMemAlloc", "Api::open"]
    assert list(calls("ISTHMUS_PAIR(cuMemcpy, _ptds)  // api().cuStreamQuery")) == []


def test_each_function_for_guests_is_inside_the_door() -> None:
    code = PROGRAM.read_text("utf-8")
    found = re.findall(r"Program::(\w+)\([^)]*\) const {\n([^\n]*)", code)
    firsts = {name: first.strip() for name, first in found if name not in PRIVATE}
    assert "wait_behind" in firsts
    assert {name for name, first in firsts.items() if first != "const Door door(api_);"} == set()
