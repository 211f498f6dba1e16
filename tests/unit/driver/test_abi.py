"""The hand-written declarations of vendor libraries are those of the vendors' own headers: compiling is the test.

For each library a program is written from our header: one assertion per function of its X-list, per constant and per
member of a structure. It sees both headers, ours and the vendor's, so a wrong type, a wrong number or a name that the
vendor does not know is an error of the compiler, which names it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Library:
    """What ties one of our headers to the vendor's."""

    namespace: str
    functions: str  # the name of the X-list
    vendor: str  # the vendor's header and what must be defined before it
    package: str  # what brings that header
    header: str
    prefixes: dict[str, str]  # a constant of ours that begins so is the vendor's that begins so
    constants: dict[str, str] = field(default_factory=dict)  # those that no prefix explains
    # Our structure, the vendor's, and its members in both.
    structures: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)


CUDA = Library(
    namespace="cuda",
    functions="ISTHMUS_CUDA_FUNCTIONS",
    # Declares every version of a function under its exported symbol; otherwise macros stand for the newest of each.
    vendor="#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>",
    package="nvidia-cuda-runtime",
    header="cuda.h",
    prefixes={
        "advise_": "CU_MEM_ADVISE_",
        "allocation_type_": "CU_MEM_ALLOCATION_TYPE_",
        "array_format_": "CU_AD_FORMAT_",
        "attribute_": "CU_DEVICE_ATTRIBUTE_",
        "copy_flag_": "CU_MEMCPY_FLAG_",
        "device_": "CU_DEVICE_",
        "error_": "CUDA_ERROR_",
        "event_": "CU_EVENT_",
        "host_alloc_": "CU_MEMHOSTALLOC_",
        "host_register_": "CU_MEMHOSTREGISTER_",
        "location_type_": "CU_MEM_LOCATION_TYPE_",
        "mem_": "CU_MEM_",
        "pool_attribute_": "CU_MEMPOOL_ATTR_",
        "memory_type_": "CU_MEMORYTYPE_",
        "pointer_attribute_": "CU_POINTER_ATTRIBUTE_",
        "source_access_order_": "CU_MEMCPY_SRC_ACCESS_ORDER_",
        "stream_": "CU_STREAM_",
    },
    constants={
        "success": "CUDA_SUCCESS",
        "host_alloc_device_map": "CU_MEMHOSTALLOC_DEVICEMAP",
        "host_alloc_write_combined": "CU_MEMHOSTALLOC_WRITECOMBINED",
        "host_register_device_map": "CU_MEMHOSTREGISTER_DEVICEMAP",
    },
    structures={
        "Uuid": ("CUuuid", {"bytes": "bytes"}),
        "ArrayDescriptor": (
            "CUDA_ARRAY_DESCRIPTOR_v2",
            {"width_elements": "Width", "height": "Height", "format": "Format", "channels": "NumChannels"},
        ),
        "MemoryLocation": ("CUmemLocation", {"type": "type", "id": "id"}),
        "Copy2d": (
            "CUDA_MEMCPY2D_v2",
            {
                "source_x_bytes": "srcXInBytes",
                "source_y": "srcY",
                "source_type": "srcMemoryType",
                "source_host": "srcHost",
                "source_device": "srcDevice",
                "source_array": "srcArray",
                "source_pitch_bytes": "srcPitch",
                "destination_x_bytes": "dstXInBytes",
                "destination_y": "dstY",
                "destination_type": "dstMemoryType",
                "destination_host": "dstHost",
                "destination_device": "dstDevice",
                "destination_array": "dstArray",
                "destination_pitch_bytes": "dstPitch",
                "width_bytes": "WidthInBytes",
                "height": "Height",
            },
        ),
        "Copy3d": (
            "CUDA_MEMCPY3D_v2",
            {
                "source_x_bytes": "srcXInBytes",
                "source_y": "srcY",
                "source_z": "srcZ",
                "source_level": "srcLOD",
                "source_type": "srcMemoryType",
                "source_host": "srcHost",
                "source_device": "srcDevice",
                "source_array": "srcArray",
                "reserved_of_source": "reserved0",
                "source_pitch_bytes": "srcPitch",
                "source_height": "srcHeight",
                "destination_x_bytes": "dstXInBytes",
                "destination_y": "dstY",
                "destination_z": "dstZ",
                "destination_level": "dstLOD",
                "destination_type": "dstMemoryType",
                "destination_host": "dstHost",
                "destination_device": "dstDevice",
                "destination_array": "dstArray",
                "reserved_of_destination": "reserved1",
                "destination_pitch_bytes": "dstPitch",
                "destination_height": "dstHeight",
                "width_bytes": "WidthInBytes",
                "height": "Height",
                "depth": "Depth",
            },
        ),
        "Copy3dOperand": ("CUmemcpy3DOperand", {"type": "type", "place": "op"}),
        "Copy3dOperation": (
            "CUDA_MEMCPY3D_BATCH_OP",
            {
                "source": "src",
                "destination": "dst",
                "width": "extent.width",
                "height": "extent.height",
                "depth": "extent.depth",
                "source_access_order": "srcAccessOrder",
                "flags": "flags",
            },
        ),
        "CopyAttributes": (
            "CUmemcpyAttributes",
            {
                "source_access_order": "srcAccessOrder",
                "source_hint": "srcLocHint",
                "destination_hint": "dstLocHint",
                "flags": "flags",
            },
        ),
        "MemoryPoolProperties": (
            "CUmemPoolProps",
            {
                "allocation_type": "allocType",
                "handle_types": "handleTypes",
                "location": "location",
                "security_attributes": "win32SecurityAttributes",
                "most_bytes": "maxSize",
                "usage": "usage",
            },
        ),
    },
)

NVML = Library(
    namespace="nvml",
    functions="ISTHMUS_NVML_FUNCTIONS",
    vendor="#define NVML_NO_UNVERSIONED_FUNC_DEFS\n#include <nvml.h>",
    package="nvidia-nvml-dev",
    header="nvml.h",
    prefixes={"clock_": "NVML_CLOCK_", "error_": "NVML_ERROR_", "temperature_": "NVML_TEMPERATURE_"},
    constants={
        "success": "NVML_SUCCESS",
        "clock_memory": "NVML_CLOCK_MEM",
        "p2p_nvlink": "NVML_P2P_CAPS_INDEX_NVLINK",
        "p2p_ok": "NVML_P2P_STATUS_OK",
        "feature_enabled": "NVML_FEATURE_ENABLED",
    },
    structures={
        "PciInfo": (
            "nvmlPciInfo_t",
            {
                "short_bus_id": "busIdLegacy",
                "domain": "domain",
                "bus": "bus",
                "device": "device",
                "device_id": "pciDeviceId",
                "subsystem_id": "pciSubSystemId",
                "bus_id": "busId",
            },
        ),
        "ConfidentialState": (
            "nvmlConfComputeSystemState_t",
            {"environment": "environment", "feature": "ccFeature", "development_tools": "devToolsMode"},
        ),
    },
)

CUPTI = Library(
    namespace="cupti",
    functions="ISTHMUS_CUPTI_FUNCTIONS",
    vendor="#include <cupti.h>",
    package="nvidia-cuda-cupti",
    header="cupti.h",
    prefixes={
        "activity_": "CUPTI_ACTIVITY_",
        "domain_": "CUPTI_CB_DOMAIN_",
        "memcpy_kind_": "CUPTI_ACTIVITY_MEMCPY_KIND_",
        "memory_kind_": "CUPTI_ACTIVITY_MEMORY_KIND_",
        "resource_": "CUPTI_CBID_RESOURCE_",
        "api_": "CUPTI_API_",
        "cause_": "CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_",
        "counter_": "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_",
        "error_": "CUPTI_ERROR_",
        "scope_": "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_",
    },
    constants={"success": "CUPTI_SUCCESS"},
    structures={
        "Activity": ("CUpti_Activity", {"kind": "kind"}),
        "UnifiedMemoryCounter": (
            "CUpti_ActivityUnifiedMemoryCounter3",
            {
                "kind": "kind",
                "counter_kind": "counterKind",
                "value": "value",
                "start": "start",
                "end": "end",
                "address": "address",
                "source": "srcId",
                "destination": "dstId",
                "stream": "streamId",
                "process": "processId",
                "flags": "flags",
                "padding": "pad",
                "processors": "processors",
            },
        ),
        "UnifiedMemoryCounterConfig": (
            "CUpti_ActivityUnifiedMemoryCounterConfig",
            {"scope": "scope", "kind": "kind", "device": "deviceId", "enable": "enable"},
        ),
    },
)

OPENCL = Library(
    namespace="opencl",
    functions="ISTHMUS_OPENCL_FUNCTIONS",
    vendor="#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl.h>\n#include <CL/cl_ext.h>",
    package="nvidia-cuda-opencl",
    header="CL/cl.h",
    prefixes={"svm_": "CL_DEVICE_SVM_", "": "CL_"},
    constants={
        "device_driver_version": "CL_DRIVER_VERSION",
        "device_pci_bus_nv": "CL_DEVICE_PCI_BUS_ID_NV",
        "device_pci_slot_nv": "CL_DEVICE_PCI_SLOT_ID_NV",
        "device_pci_domain_nv": "CL_DEVICE_PCI_DOMAIN_ID_NV",
        "migrate_to_host": "CL_MIGRATE_MEM_OBJECT_HOST",
        "channel_r": "CL_R",
        "channel_float": "CL_FLOAT",
        "mem_object_image_2d": "CL_MEM_OBJECT_IMAGE2D",
    },
    structures={
        "PciBusInfo": (
            "cl_device_pci_bus_info_khr",
            {"domain": "pci_domain", "bus": "pci_bus", "device": "pci_device", "function": "pci_function"},
        ),
        "BufferRegion": ("cl_buffer_region", {"origin": "origin", "bytes": "size"}),
        "ImageFormat": (
            "cl_image_format",
            {"channel_order": "image_channel_order", "channel_type": "image_channel_data_type"},
        ),
        "ImageDescriptor": (
            "cl_image_desc",
            {
                "type": "image_type",
                "width": "image_width",
                "height": "image_height",
                "depth": "image_depth",
                "array_size": "image_array_size",
                "row_pitch_bytes": "image_row_pitch",
                "slice_pitch_bytes": "image_slice_pitch",
                "mip_levels": "num_mip_levels",
                "samples": "num_samples",
            },
        ),
    },
)

# What begins our record of CUPTI's, in each of the vendor's versions that its newest headers still have.
_ON_DEVICE = {"device": "deviceId", "context": "contextId", "stream": "streamId", "correlation": "correlationId"}
_WHEN = {"kind": "kind", "start": "start", "end": "end"}
_KINDS = {"copy_kind": "copyKind", "source_kind": "srcKind", "destination_kind": "dstKind", "flags": "flags"}
RECORDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "CopyActivity": (
        tuple(f"CUpti_ActivityMemcpy{number}" for number in (4, 5, 6)),
        {**_WHEN, **_KINDS, "bytes": "bytes", **_ON_DEVICE},
    ),
    "PeerCopyActivity": (
        tuple(f"CUpti_ActivityMemcpyPtoP{number}" for number in (3, 4)),
        {
            **_WHEN,
            **_KINDS,
            "bytes": "bytes",
            **_ON_DEVICE,
            "source_device": "srcDeviceId",
            "source_context": "srcContextId",
            "destination_device": "dstDeviceId",
            "destination_context": "dstContextId",
        },
    ),
    "MemsetActivity": (
        tuple(f"CUpti_ActivityMemset{number}" for number in (3, 4)),
        {**_WHEN, "value": "value", "bytes": "bytes", **_ON_DEVICE},
    ),
    "KernelActivity": (
        tuple(f"CUpti_ActivityKernel{number}" for number in (7, 8, 9, 10)),
        {**_WHEN, "completed": "completed", **_ON_DEVICE, "grid_number": "gridId", "name": "name"},
    ),
    "CallbackData": (
        ("CUpti_CallbackData",),
        {
            "site": "callbackSite",
            "function": "functionName",
            "parameters": "functionParams",
            "returned": "functionReturnValue",
            "symbol": "symbolName",
            "context": "context",
            "context_number": "contextUid",
            "user_data": "correlationData",
            "correlation": "correlationId",
        },
    ),
    "ResourceData": (("CUpti_ResourceData",), {"context": "context", "descriptor": "resourceDescriptor"}),
}

NvidiaFile = Callable[[str, str, str], Path]
RunCpp = Callable[..., str]


def our_header(repository: Path, library: Library) -> str:
    return (repository / "native" / "driver" / f"{library.namespace}_api.hpp").read_text("utf-8")


def vendor_constant(library: Library, name: str) -> str:
    if name in library.constants:
        return library.constants[name]
    prefix = next((prefix for prefix in library.prefixes if name.startswith(prefix)), None)
    assert prefix is not None, f"say here which constant of {library.header} {library.namespace}::{name} is"
    return library.prefixes[prefix] + name.removeprefix(prefix).upper()


def assertions(text: str, library: Library) -> Iterator[str]:
    """One line of C++ for each thing that our header declares."""
    ours = f"isthmus::{library.namespace}"

    functions = re.findall(r"^ *X\((\w+), (?:\"(\w+)\"|\d+),", text, re.MULTILINE)
    yield "#define COUNT(...) +1"
    yield f'static_assert(0 {library.functions}(COUNT) == {len(functions)}, "an entry of the X-list was overlooked");'
    for function, symbol in functions:
        yield f"EXPECT_CALLABLE({ours}::Api, {function}, {symbol or function});"

    for name in re.findall(r"^inline constexpr [\w:]+ (\w+) =", text, re.MULTILINE):
        yield f"EXPECT_VALUE({ours}::{name}, {vendor_constant(library, name)});"

    # Tables and sources of functions are ours alone.
    structures = set(re.findall(r"^struct (?:alignas\(\d+\) )?(\w+) {", text, re.MULTILINE)) - {"Api", "Source"}
    assert structures == set(library.structures), "say here which structure of the vendor each of ours is"
    for name, (theirs, members) in library.structures.items():
        yield f"static_assert(abi::same<{ours}::{name}, ::{theirs}>());"
        for our_member, their_member in members.items():
            yield f"EXPECT_MEMBER({ours}::{name}, {our_member}, ::{theirs}, {their_member});"


def program(library: Library, lines: Iterator[str]) -> str:
    head = [library.vendor, '#include "abi.hpp"', f'#include "driver/{library.namespace}_api.hpp"']
    return "\n".join([*head, *lines, "int main() {}", ""])


def headers(library: Library, nvidia_file: NvidiaFile) -> Path:
    """The folder with the vendor's header; skips where one is missing that it includes."""
    if library is CUPTI:
        nvidia_file("nvidia.cu13", "include/crt/host_defines.h", "nvidia-cuda-crt")
    nvidia_file("nvidia.cu13", f"include/{library.header}", library.package)
    return nvidia_file("nvidia.cu13", "include", library.package)


@pytest.mark.parametrize("library", [CUDA, NVML, CUPTI, OPENCL], ids=lambda library: library.namespace)
def test_declarations_are_those_of_the_vendor(
    library: Library, repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = headers(library, nvidia_file)
    source = tmp_path / "abi.cpp"
    source.write_text(program(library, assertions(our_header(repository, library), library)))
    run_cpp(source, flags=(f"-I{include}", f"-I{HERE}", "-Wno-deprecated-declarations"))


def test_records_begin_as_those_of_the_vendor(
    repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = headers(CUPTI, nvidia_file)
    ours = (repository / "native" / "driver" / "cupti_records.hpp").read_text("utf-8")
    assert set(re.findall(r"^struct (\w+) {", ours, re.MULTILINE)) == set(RECORDS)
    lines = [CUPTI.vendor, '#include "abi.hpp"', '#include "driver/cupti_records.hpp"']
    for name, (versions, members) in RECORDS.items():
        for version in versions:
            lines += [
                f"EXPECT_MEMBER(isthmus::cupti::{name}, {mine}, ::{version}, {theirs});"
                for mine, theirs in members.items()
            ]
    source = tmp_path / "records.cpp"
    source.write_text("\n".join([*lines, "int main() {}", ""]))
    run_cpp(source, flags=(f"-I{include}", f"-I{HERE}", "-Wno-deprecated-declarations"))


def test_places_in_the_table_of_an_opencl_driver(repository: Path, tmp_path: Path, run_cpp: RunCpp) -> None:
    places = re.findall(r"^ *X\((\w+), (\d+),", our_header(repository, OPENCL), re.MULTILINE)
    assert places
    source = tmp_path / "places.cpp"
    lines = [
        "#include <cstddef>",
        "#include <cstdio>",
        "#if __has_include(<CL/cl_icd.h>)",
        OPENCL.vendor,
        "#include <CL/cl_icd.h>",
        *(f"static_assert(offsetof(cl_icd_dispatch, {name}) == {place} * sizeof(void*));" for name, place in places),
        'int main() { std::puts("compared"); }',
        "#else",
        'int main() { std::puts("no header"); }',
        "#endif",
        "",
    ]
    source.write_text("\n".join(lines))
    if run_cpp(source, flags=("-Wno-deprecated-declarations",)) == "no header\n":
        pytest.skip("needs CL/cl_icd.h, which no package of the extra brings: apt install opencl-c-headers")


def test_a_wrong_declaration_is_noticed(
    repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = nvidia_file("nvidia.cu13", "include/cuda.h", CUDA.package).parent
    source = tmp_path / "wrong.cpp"
    wrong = [
        "struct Api { struct { using Pointer = int (*)(unsigned long long, int); } cuMemFree; };",
        "EXPECT_CALLABLE(Api, cuMemFree, cuMemFree_v2);",
        "EXPECT_VALUE(3, CUDA_ERROR_OUT_OF_MEMORY);",
    ]
    source.write_text(program(CUDA, iter(wrong)))
    with pytest.raises(AssertionError) as failure:
        run_cpp(source, flags=(f"-I{include}", f"-I{HERE}"))
    assert "cuMemFree is not declared as the vendor declares cuMemFree_v2" in str(failure.value)
    assert "3 is not CUDA_ERROR_OUT_OF_MEMORY" in str(failure.value)
