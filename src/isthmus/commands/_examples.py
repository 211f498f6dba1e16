"""Three command lines to begin with, which each command's help ends with."""

EXAMPLES = {
    "check": ("", "--device cuda:0 --for 10m", "--run run.json --strict"),
    "devices": ("", "--idle", "--json"),
    "measure": ("", "batching strided --device cuda:0", "all --full -o run.json.gz"),
    "calibrate": ("", "--quick --device cuda:0", "--show"),
    "plan": ("--bytes 64MiB --uses 10", "--pieces 10000 --piece-bytes 4KiB", "--bytes 1GiB --direction d2h --json"),
    "report": ("run.json", "run.json --all", "old.json new.json -o both.html"),
    "compare": ("old.json new.json", "old.json new.json --fail-if slower:5%", "reference:h100-pcie5 run.json"),
    "fleet": ("runs/", "runs/ --reference reference:h100-pcie5", "runs/ --fail-if outliers --format slurm"),
    "c-flags": ("", "--include", "--pkgconfigdir"),
    "trace": ("-- python train.py", "-o run.itrace -- ./solver", "--open run.itrace"),
    "advise": ("run.itrace", "run.itrace --run run.json", "run.itrace --fail-if gain:10%"),
    "accelerate": ("-- python train.py", "--report -- ./solver", "--paths all -- python serve.py"),
}


def epilog(command: str) -> str:
    """A paragraph for each example of a command."""
    return "\n\n".join(["Examples:", *(f"isthmus {command} {words}".strip() for words in EXAMPLES[command])])
