"""Runs a torch program of benchmarks/traced on the host, in small: `cuda` is the processor, pinned memory is ordinary.

python on_the_host.py PROGRAM NAME=VALUE... -- ARGUMENTS, where the names are constants of the program.
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Nothing:
    """A stream, or an event, of which every method does nothing."""

    def __init__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _without_pinning(call: Any) -> Any:
    def ordinary(*given: object, pin_memory: bool = False, **named: object) -> Any:
        del pin_memory
        return call(*given, **named)

    return ordinary


def main() -> None:
    """Run it."""
    import torch.utils.data

    path, cut = Path(sys.argv[1]), sys.argv.index("--")
    constants = dict(each.split("=") for each in sys.argv[2:cut])
    sys.argv = [str(path), *sys.argv[cut + 1 :]]
    sys.path.insert(0, str(path.parent))
    for name in ("Event", "Stream", "stream"):
        # Classes of their own: torch keeps a table of what is called what.
        setattr(torch.cuda, name, type(name, (Nothing,), {}))
    torch.cuda.current_stream = torch.cuda.Stream
    torch.cuda.synchronize = torch.cuda.set_device = lambda *_: None
    torch.cuda.device_count = lambda: 1
    torch.Tensor.pin_memory = torch.Tensor.clone  # type: ignore[method-assign, assignment, unused-ignore]
    torch.empty = _without_pinning(torch.empty)
    torch.utils.data.DataLoader = _without_pinning(torch.utils.data.DataLoader)
    program = ModuleType("program")
    exec(compile(path.read_text("utf-8").replace('"cuda"', '"cpu"'), str(path), "exec"), program.__dict__)
    for name, value in constants.items():
        if name not in program.__dict__:
            raise SystemExit(f"{path.name} has no {name}")
        setattr(program, name, int(value))
    program.main()


if __name__ == "__main__":
    main()
