"""What a session keeps: page-locked memory within its budget, and threads that take no time of the CPU when idle."""

import json
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
from finding import Finding, decided
from transfer_bench import Bench, Case

import isthmus
from isthmus.errors import CallFailed, IsthmusError
from isthmus.record import MIB, format_bytes

WATCHED_SECONDS = 1.0
# Threads that have just worked may look out for more for a moment before they sleep.
SETTLING_SECONDS = 0.3
# A process that sleeps takes this much for waking up and reading the clock, whatever else it has loaded.
NOTHING_SECONDS = 0.001
SMALL_BUDGET = 8 * MIB
PINNED_BAR = "never above the budget"
IDLE_BAR = f"no CPU use: <= {NOTHING_SECONDS * 1e3:g} ms in {WATCHED_SECONDS:g} s"


def measure_pinned(bench: Bench) -> Finding:
    """Page-locked bytes, which are kept for good, after what was measured before, and with a small budget."""
    size = bench.within(256 * MIB)
    finding = Finding("pinned memory used", PINNED_BAR)
    small = isthmus.Session(bench.spec, pinned_budget=SMALL_BUDGET)
    held = {"after all of the above": (bench.session, 64 * MIB), "with a small budget": (small, SMALL_BUDGET)}
    words = []
    for name, (session, budget) in held.items():
        device = session.empty(size, np.uint8)
        session.copy(device, bench.source[:size])
        session.copy(bench.sink[:size], device)
        finding.figures[name], finding.figures[f"{name}, budget"] = session.pinned_bytes, budget
        words.append(f"{format_bytes(session.pinned_bytes)} of {format_bytes(budget)}")
        if not np.array_equal(bench.sink[:size], bench.source[:size]):
            finding.turns.wrong[name] = "data differs"
    small.close()
    bench.free()
    with suppress(IsthmusError):
        kept, budget = bench.native.pinned
        finding.figures["through the C interface"], finding.figures["through the C interface, budget"] = kept, budget
        words.append(f"{format_bytes(kept)} of {format_bytes(budget)} through the C interface")
    finding.measured = ", ".join(words)
    budgets = {name: budget for name, budget in finding.figures.items() if name.endswith(", budget")}
    used = [finding.figures[name.removesuffix(", budget")] for name in budgets]
    within = all(bytes_ <= budget for bytes_, budget in zip(used, budgets.values(), strict=True))
    # Where nothing is page-locked nothing can be too much.
    return decided(finding, within, "" if any(used) else bench.meaningless)


def measure_idle(bench: Bench) -> Finding:
    """CPU time of a process of its own, which no peer's threads are in, before its copies and after them."""
    finding = Finding("threads idle", IDLE_BAR)
    command = [sys.executable, __file__, bench.spec, str(bench.within(64 * MIB))]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise CallFailed(
            f"the process that was to be watched ended with {done.returncode}: {done.stderr[-400:].strip()}"
        )
    finding.figures = json.loads(done.stdout)
    before, after = finding.figures["before copies"], finding.figures["after copies"]
    finding.measured = f"{after * 1e3:.2f} ms after copies, {before * 1e3:.2f} ms before"
    return decided(finding, after <= before + NOTHING_SECONDS, "")


def watch(spec: str, size: int) -> dict[str, float]:
    """Seconds of CPU that this process takes while it sleeps."""
    host = np.ones(size, np.uint8)
    session = isthmus.Session(spec)
    device = session.empty(size, np.uint8)
    figures = {"before copies": _asleep()}
    session.copy(device, host)
    session.copy(host, device)
    for waited in [session.copy_async(device, host), session.copy_async(host, device)]:
        waited.wait()
    figures["after copies"] = _asleep()
    session.close()
    return figures


def _asleep() -> float:
    time.sleep(SETTLING_SECONDS)
    begin = time.process_time()
    time.sleep(WATCHED_SECONDS)
    return time.process_time() - begin


def cases() -> dict[str, Case]:
    """The cases by the names that --only takes."""
    return {"pinned": Case(PINNED_BAR, measure_pinned), "idle": Case(IDLE_BAR, measure_idle)}


if __name__ == "__main__":
    print(json.dumps(watch(sys.argv[1], int(sys.argv[2]))))
