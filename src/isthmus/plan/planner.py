"""From a need to its plan: each kind of need has a module of its own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isthmus.plan.answer import Plan
from isthmus.plan.buffers import BUFFER_EXPERIMENTS, buffer_ways
from isthmus.plan.managed import managed_ways
from isthmus.plan.need import BufferNeed, ManagedNeed, Need, PiecesNeed, PipelineNeed, SectionNeed
from isthmus.plan.pieces import pieces_ways
from isthmus.plan.pipelines import PIPELINE_EXPERIMENTS, pipeline_ways
from isthmus.plan.sections import section_ways
from isthmus.record import Run

# Each takes the kind of need that it stands for, which a type cannot say of a table.
_PLANNERS: dict[type, Callable[[Run, Any], Plan]] = {
    BufferNeed: buffer_ways,
    ManagedNeed: managed_ways,
    PiecesNeed: pieces_ways,
    PipelineNeed: pipeline_ways,
    SectionNeed: section_ways,
}


def answer(run: Run, need: Need) -> Plan:
    """The ways to meet a need on the machine of a run, the fastest first, with expected times.

    Data that did not arrive as it was sent counts for nothing. Raises UsageError for a need that contradicts itself.
    """
    plan = _PLANNERS[type(need)](run, need)
    memory = run.fingerprint.device.memory_bytes
    exceeded = memory if 0 < memory < _device_bytes(need) else 0
    return replace(plan, extend=_extension(run, plan, exceeded), exceeded_bytes=exceeded)


def _extension(run: Run, plan: Plan, exceeded: int) -> str:
    """The command that measures what the plan lacks, on the device that the run is of; empty where none can."""
    command = plan.extend
    if not plan.ways:
        # What the run lacks of an experiment that it holds, no command names but that of the whole experiment.
        command = f"isthmus measure {' '.join(wanted_experiments(plan.need))}"
    elif exceeded and not plan.missing_experiments:
        return ""
    spec = run.fingerprint.device.spec
    # Where there is a CUDA device, its first is measured by default.
    return f"{command} --device {spec}" if command and spec != "cuda:0" else command


def _device_bytes(need: Need) -> int:
    """The memory that the need takes on the device at least."""
    match need:
        case PiecesNeed():
            return need.pieces * need.piece_bytes
        case SectionNeed():
            return need.rows * (need.device_pitch_bytes or need.width_bytes)
        case BufferNeed() | ManagedNeed() | PipelineNeed():
            return need.bytes


def wanted_experiments(need: Need) -> tuple[str, ...]:
    """The experiments that a plan for the need reads, as `isthmus measure` names them."""
    match need:
        case BufferNeed():
            return BUFFER_EXPERIMENTS[need.source]
        case PiecesNeed():
            return ("batching",)
        case SectionNeed():
            return ("strided",)
        case ManagedNeed():
            return ("managed",)
        case PipelineNeed():
            return PIPELINE_EXPERIMENTS[need.source]
