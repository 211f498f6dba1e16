"""What torch says of its copies, plain and accelerated: each result against the same on the CPU.

python -m tests.integration.accelerate.torch_copies [--device cuda] [--once] [--min BYTES]

Runs itself twice, as it is and under `isthmus accelerate` with every copy from --min bytes on made by the library, and
compares what both print: a count and a digest of all results. --once runs it one time, as it was started. Samples of
torch's own operators (OpInfo) need the package expecttest, which torch's testing module imports; without it they are
left out, and that is said. Ends with 1 where a result is wrong or the two differ, and 77 without the device.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.integration.accelerate.torch_cuda_cases import CUDA_CASES

# Of operators that copy, move, view or rearrange and compute nothing; but for as_strided, whose samples count on memory
# around a tensor that its copy on the device does not have.
_OPERATORS = """
T alias_copy bfloat16 block_diag bool byte cat cdouble cfloat
chalf char chunk clone contiguous diagonal_copy diagonal_scatter double dstack expand expand_copy fill flatten
flip float gather half hstack index_copy index_select int item long mT masked_scatter masked_select movedim
narrow narrow_copy permute permute_copy ravel repeat reshape roll rot90 select_scatter short slice_scatter
split split_with_sizes_copy squeeze_copy stack t_copy take tile to transpose transpose_copy tril unbind
unbind_copy unfold unfold_copy unsqueeze_copy view view_as view_as_complex view_copy vstack zero_
"""
OPERATORS = frozenset(_OPERATORS.split())
DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    *(torch.float8_e4m3fn, torch.float8_e5m2),
)
# Below and above where the library begins by itself, whole pages and not.
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (7,),
    (1000, 3),
    (257, 129, 5),
    (1 << 20,),
    (3, 1 << 20),
    (12_345_678,),
)
Case = tuple[str, torch.Tensor, torch.Tensor]


def made(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 1) -> torch.Tensor:
    """Any bytes that are no NaN in any type: the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 60, shape, generator=generator).to(dtype)


def there_and_back(device: str) -> Iterator[Case]:
    """`to`, `cpu`, `copy_` and `clone`: all types and sizes."""
    for dtype in DTYPES:
        for shape in SHAPES if dtype.itemsize <= 4 else SHAPES[:-1]:
            host = made(shape, dtype, seed=len(shape) + dtype.itemsize)
            name = f"{dtype} {shape}"
            yield f"to {name}", host.to(device).cpu(), host
            arrived = torch.empty(shape, dtype=dtype)
            yield f"copy_ {name}", arrived.copy_(torch.empty_like(host, device=device).copy_(host)), host
            yield f"clone {name}", host.to(device, copy=True).clone().to("cpu", copy=True), host


def conversions(device: str) -> Iterator[Case]:
    """A copy that changes the type does so on the device or on the host, which must not show."""
    kinds = (torch.uint8, torch.int32, torch.float16, torch.float32, torch.float64, torch.complex64)
    for source in kinds:
        for target in kinds[: -1 if not source.is_complex else None]:
            host = made((300, 1001), source)
            if source.is_complex and not target.is_complex:
                continue
            yield f"{source} as {target}", host.to(device, target).cpu(), host.to(target)
            arrived = torch.zeros(300, 1001, dtype=target)
            yield f"{source} into {target}", arrived.copy_(host.to(device)), host.to(target)


def strided(device: str) -> Iterator[Case]:
    """Sides that are not contiguous, both or one, and memory formats."""
    host = made((600, 700, 3))
    views: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "transposed": lambda x: x.transpose(0, 1),
        "every second": lambda x: x[::2],
        "inner": lambda x: x[10:-10, 5:-5],
        "column": lambda x: x[:, 7],
        "from an offset": lambda x: x.flatten()[12_345:],
        "expanded": lambda x: x[:1].expand(5, -1, -1),
        "flipped": lambda x: x.flip(0),
        "permuted": lambda x: x.permute(2, 0, 1),
        "as strided": lambda x: x.as_strided((500, 400), (2100, 3), 11),
    }
    for name, view in views.items():
        yield f"{name}, there", view(host).to(device).cpu(), view(host)
        yield f"{name}, back", view(host.to(device)).cpu(), view(host)
        if name == "expanded":
            continue
        whole, expected = torch.zeros_like(host), torch.zeros_like(host)
        view(whole).copy_(view(host.to(device)))
        view(expected).copy_(view(host))
        yield f"{name}, into the host's", whole, expected
        on_device = torch.zeros_like(host, device=device)
        view(on_device).copy_(view(host))
        yield f"{name}, into the device's", on_device.cpu(), expected
    images = made((8, 3, 200, 200)).to(memory_format=torch.channels_last)
    arrived = images.to(device)
    yield "channels last", arrived.cpu(), images
    yield "its strides", torch.tensor(arrived.stride()), torch.tensor(images.stride())
    yield "broadcast", torch.empty(400, 700, 3, device=device).copy_(host[0]).cpu(), host[0].expand(400, -1, -1)
    numbers = torch.complex(made((900, 400)), made((900, 400), seed=2))
    yield "conjugated", numbers.to(device).conj().cpu(), numbers.conj()
    yield "imaginary parts", numbers.conj().imag.to(device).cpu(), numbers.conj().imag


def containers(device: str) -> Iterator[Case]:
    """Modules, files, arrays, lists, sparse tensors, many tensors at once."""
    import copy
    import io

    model = torch.nn.Sequential(torch.nn.Linear(700, 900), torch.nn.Linear(900, 300))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    moved = copy.deepcopy(model).to(device)
    for name, value in moved.state_dict().items():
        yield f"state of a module, {name}", value.cpu(), before[name]
    file = io.BytesIO()
    torch.save(moved.state_dict(), file)
    for place in ("cpu", device):
        file.seek(0)
        for name, value in torch.load(file, map_location=place).items():
            yield f"loaded to {place}, {name}", value.cpu(), before[name]
    host = made((1200, 1000))
    yield "as_tensor of an array", torch.as_tensor(host.numpy(), device=device).cpu(), host
    yield (
        "of a buffer",
        torch.frombuffer(bytearray(host.numpy().tobytes()), dtype=host.dtype).to(device).cpu(),
        host.flatten(),
    )
    yield "of a list", torch.tensor(host[0].tolist(), device=device).cpu(), host[0]
    yield "to a list", torch.tensor(host.to(device)[1].tolist()), host[1]
    yield "item", torch.tensor(host.to(device)[3, 4].item()), host[3, 4]
    sparse = (host * (host > 55)).to_sparse()
    yield "sparse", sparse.to(device).cpu().to_dense(), sparse.to_dense()
    rows = sparse.to_dense().to_sparse_csr()
    yield "compressed rows", rows.to(device).cpu().to_dense(), rows.to_dense()
    lists = [made((size,), seed=size) for size in (1, 1000, 70_000, 900_000)]
    targets = [torch.empty_like(each, device=device) for each in lists]
    torch._foreach_copy_(targets, lists)
    for target, each in zip(targets, lists, strict=True):
        yield f"one of many, {len(each)}", target.cpu(), each
    index = torch.arange(1199, -1, -3)
    yield "rows by an index of the host", host.to(device)[index].cpu(), host[index]
    changed, expected = host.to(device, copy=True), host.clone()
    changed[index] = host[: len(index)].to(device)
    expected[index] = host[: len(index)]
    yield "rows put by an index of the host", changed.cpu(), expected
    storage = torch.empty(host.nbytes, dtype=torch.uint8, device=device).untyped_storage()
    storage.copy_(host.untyped_storage())
    yield (
        "storages",
        torch.tensor([], device=device, dtype=host.dtype).set_(storage, 0, host.shape, host.stride()).cpu(),
        host,
    )


def operators(device: str) -> Iterator[Case]:
    """Samples of torch's own operators, on the CPU and, moved there and back by torch, on the device."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        print(f"samples of operators left out: {error}", file=sys.stderr)
        return
    refused = 0
    for operator in op_db:
        if operator.name not in OPERATORS:
            continue
        for dtype in sorted(operator.dtypes & operator.supported_dtypes(device), key=str):
            for number, sample in enumerate(operator.sample_inputs("cpu", dtype)):
                moved = sample.transform(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x)
                name = f"{operator.name} {operator.variant_test_name} {dtype} {number}"
                expected = tensors(operator(sample.input, *sample.args, **sample.kwargs))
                try:
                    found = tensors(operator(moved.input, *moved.args, **moved.kwargs))
                except RuntimeError as error:
                    # A sample may count on how its tensor lies in memory, which a copy on the device does not keep.
                    refused += 1
                    print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
                    continue
                for here, there in zip(expected, found, strict=True):
                    yield name, there.detach().cpu(), here.detach().cpu()
    # As many with the library as without it.
    yield "refused", torch.tensor(refused), torch.tensor(refused)


def tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for each in result for tensor in tensors(each)]
    return [torch.tensor(result)]


def same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """In all that can be seen of them: type, shape and every byte."""
    return (found.dtype, found.shape) == (expected.dtype, expected.shape) and content(found) == content(expected)


def content(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def run(device: str) -> int:
    """All cases once; how many were wrong."""
    digest, count, wrong = hashlib.sha256(), 0, 0
    cases = [there_and_back, conversions, strided, containers, operators]
    if device.startswith("cuda"):
        cases += CUDA_CASES
    torch.manual_seed(1)
    for each in cases:
        for name, found, expected in each(device):
            count += 1
            digest.update(name.encode())
            digest.update(content(found))
            if not same(found, expected):
                wrong += 1
                print(f"wrong: {each.__name__}: {name}", file=sys.stderr)
    print(f"results {count} wrong {wrong} digest {digest.hexdigest()[:32]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--min", default="1", help="bytes from which on the library makes copies")
    words = parser.parse_args()
    if words.device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA device that torch can use", file=sys.stderr)
        return 77
    if words.once:
        return int(run(words.device) != 0)
    itself = [sys.executable, "-m", "tests.integration.accelerate.torch_copies", "--once", "--device", words.device]
    plain = subprocess.run(itself, check=False, stdout=subprocess.PIPE, text=True)
    print(f"plain        {plain.stdout.strip()}", flush=True)
    accelerated = subprocess.run(
        [sys.executable, "-m", "isthmus", "accelerate", "--report", "--min", words.min, "--", *itself],
        check=False,
        env={**os.environ, "ISTHMUS_ACCELERATE_OPTIONS": "eager"},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(f"accelerated  {accelerated.stdout.strip()}")
    return int(plain.returncode != 0 or accelerated.returncode != 0 or plain.stdout != accelerated.stdout)


if __name__ == "__main__":
    sys.exit(main())
