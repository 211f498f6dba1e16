"""The experiments, each entered once: help texts, the default plan, conclusions and sections of reports derive from it.

This is plain data: measuring and meaning do not import each other, so each side loads its own modules by their names.
Experiment X has `isthmus.experiment.X.cases`, which plans what is measured, and `isthmus.analysis.X`: `findings` and
`section` say what the figures mean, as functions of one module where it is short, else in modules of these names. The
first screen shows rows of the section's first table, or what `glance` there picks. Title and question are texts of the
subject ``X_report``.
"""

import importlib
from types import ModuleType
from typing import NamedTuple

from isthmus.errors import RegistryError


class Experiment(NamedTuple):
    """One experiment."""

    name: str  # as the command line and the run file have it
    help: str  # what it measures, in half a line
    importance: int  # 1 is what most programs meet first, and what a summary begins with
    is_default: bool = False  # measured where none is named: answers within half a minute
    is_brief: bool = False  # measured with it for two seconds, for a sentence of the first screen
    options: tuple[str, ...] = ()  # of the command line, which no other experiment takes unless it names them, too
    glance_rows: int = 0  # how many of its first table the first screen shows; 0: those that `glance` picks
    is_short: bool = False  # one module says what its figures mean, and no folder

    @property
    def cases(self) -> str:
        """The module that plans its cases."""
        return f"isthmus.experiment.{self.name}.cases"

    @property
    def findings(self) -> str:
        """The module that concludes."""
        return f"isthmus.analysis.{self.name}" + ".findings" * (not self.is_short)

    @property
    def section(self) -> str:
        """The module that shows it in a report and, where `glance_rows` is 0, on the first screen."""
        return f"isthmus.analysis.{self.name}" + ".section" * (not self.is_short)

    @property
    def texts(self) -> tuple[str, ...]:
        """The keys of texts that every language must have."""
        return f"{self.name}_report.title", f"{self.name}_report.question"


# In the order in which reports show them; runs take them by name.
EXPERIMENTS = (
    Experiment(
        *("bandwidth", "rates of each kind of memory by size, one way and both ways at once", 1),
        is_default=True,
        options=("--alignment", "--as"),
    ),
    Experiment("allocation", "what memory costs to get, to touch first and to give back", 6),
    Experiment("breakeven", "from which size and how many uses on pinned memory pays", 2, is_brief=True),
    Experiment(
        *("managed", "managed memory beside explicit copies, and how pages migrate", 5),
        options=("--fractions", "--strides"),
    ),
    Experiment(
        *("stencil", "ways of a stencil's halos through host memory, over MPI too", 9),
        options=("--side", "--halo", "--iterations", "--cut"),
    ),
    Experiment(
        *("openacc", "OpenACC's data directives beside managed memory and native calls", 10),
        options=("--side", "--halo", "--binaries", "--build"),
        glance_rows=6,
        is_short=True,
    ),
    Experiment("threads", "several threads and streams at once", 8, options=("--threads",)),
    Experiment(
        *("peers", "copies and accesses between every two devices, and hosts' links at once", 13),
        options=("--together",),
    ),
    Experiment("paths", "copies over the links of neighbouring devices, too, and what that costs these", 14),
    Experiment("batching", "many small pieces: loops, batches, graphs, kernels, packing", 3, is_short=True),
    Experiment("strided", "sections of arrays whose rows lie apart", 7, is_short=True),
    Experiment("overlap", "copying in, computing and copying out at the same time", 4),
    Experiment(
        *("interference", "what each way of copying costs kernels and threads that run beside it", 12),
        glance_rows=10,
        is_short=True,
    ),
    Experiment(
        *("latency", "one access to other memory, a launch, an event, a wait; copies within the device", 11),
        glance_rows=8,
        is_short=True,
    ),
)
MEASURED = tuple(sorted(EXPERIMENTS, key=lambda each: each.name))


def load(module: str, attributes: tuple[str, ...]) -> ModuleType:
    """The module of this name. Raises RegistryError where it is absent or lacks one of these attributes."""
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise RegistryError(
            f"an experiment is entered in isthmus/registry.py, but there is no module {module}; add it, or take the "
            "entry out"
        ) from error
    missing = [attribute for attribute in attributes if not hasattr(loaded, attribute)]
    if missing:
        raise RegistryError(f"{module} has no {', '.join(missing)}; docs/extending.md says what an experiment needs")
    return loaded
