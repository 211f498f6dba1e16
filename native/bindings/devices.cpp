// Python's view of backends, devices and buffers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "backend/cuda/cuda_device.hpp"
#include "backend/device.hpp"
#include "backend/host/host_device.hpp"
#include "backend/opencl/opencl_device.hpp"
#include "base/numa.hpp"
#include "base/processors.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/transfer.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

nb::dict dict_of(const DeviceInfo& info) {
    nb::dict dict;
    dict["backend"] = info.backend;
    dict["index"] = info.index;
    dict["name"] = info.name;
    dict["vendor"] = info.vendor;
    dict["driver_version"] = info.driver_version;
    dict["api_version"] = info.api_version;
    dict["compute_capability"] = info.compute_capability;
    dict["uuid"] = info.uuid;
    dict["pci_address"] = info.pci_address;
    dict["memory_bytes"] = info.memory_bytes;
    dict["shares_host_memory"] = info.shares_host_memory;
    dict["copy_engines"] = info.copy_engines;
    dict["link"] = link_dict(info.link);
    nb::dict conditions;
    for (const auto& [name, value] : info.conditions) conditions[name.c_str()] = value;
    dict["conditions"] = conditions;
    return dict;
}

nb::dict dict_of(const BackendListing& listing) {
    nb::dict dict;
    dict["name"] = listing.name;
    nb::list devices;
    for (const DeviceInfo& info : listing.devices) devices.append(dict_of(info));
    dict["devices"] = devices;
    dict["library"] = listing.library;
    dict["looked_for"] = listing.looked_for;
    dict["absent_because"] = listing.absent_because;
    dict["is_parents"] = listing.is_parents;
    return dict;
}

Status unknown_backend(const std::string& name) {
    return invalid("no backend '" + name + "'; there are cuda, opencl and host");
}

nb::dict list_devices(const std::string& backend, const std::vector<std::string>& opencl_drivers) {
    auto listing = [&]() -> Result<BackendListing> {
        const GilReleased release;
        if (backend == "cuda") return cuda::list_devices();
        if (backend == "opencl") return opencl::list_devices(opencl_drivers);
        if (backend == "host") return host::list_devices();
        return unknown_backend(backend);
    }();
    return dict_of(unwrap(std::move(listing)));
}

Result<std::shared_ptr<Device>> open_backend(const std::string& backend, int index, const std::string& model,
                                             const std::vector<std::string>& opencl_drivers) {
    if (backend == "cuda") return cuda::open_device(index);
    if (backend == "opencl") return opencl::open_device(index, opencl_drivers);
    if (backend == "host") {
        ISTHMUS_TRY_ASSIGN(parsed, host::Model::parse(model));
        return host::open_device(std::move(parsed));
    }
    return unknown_backend(backend);
}

std::shared_ptr<OpenDevice> open_device(const std::string& backend, int index, const std::string& model,
                                        const std::vector<std::string>& opencl_drivers) {
    return unwrap(OpenDevice::create(unwrap(open_backend(backend, index, model, opencl_drivers))));
}

nb::list memory_kind_table() {
    nb::list rows;
    for (const MemoryTraits& traits : memory_kinds) {
        nb::dict row;
        row["name"] = name_of(traits.kind);
        row["locked"] = traits.locked;
        row["huge"] = traits.huge;
        row["by_cpu"] = traits.by_cpu;
        row["on_device"] = traits.on_device;
        rows.append(row);
    }
    return rows;
}

void bind(OpenDevice& session) {
    check(session.device().bind_thread());
}

// What a device says, alone, of a kind of memory, or of another device.
template <typename Answer>
auto of_device(Answer (Device::*ask)() const) {
    return [ask](OpenDevice& self) { return (self.device().*ask)(); };
}
template <typename Answer>
auto of_kind(Answer (Device::*ask)(MemoryKind) const) {
    return [ask](OpenDevice& self, const std::string& kind) { return (self.device().*ask)(kind_of(kind)); };
}
template <typename Answer>
auto of_other(Answer (Device::*ask)(const Device&) const) {
    return [ask](OpenDevice& self, OpenDevice& other) { return (self.device().*ask)(other.device()); };
}

auto host_access(Status (Buffer::*change)()) {
    return [change](Buffer& self) {
        bind(self.session());
        check((self.*change)());
    };
}

}  // namespace

MemoryKind kind_of(const std::string& name) {
    return named<MemoryKind>(name, "memory kind");
}

void raise_unknown(const char* what, const std::string& name, std::span<const std::string_view> known) {
    std::string message = std::string("no ") + what + " '" + name + "'; there are ";
    for (std::size_t i = 0; i < known.size(); ++i) {
        message.append(i == 0 ? "" : i + 1 == known.size() ? " and " : ", ").append(known[i]);
    }
    raise(invalid(message));
}

nb::dict link_dict(const LinkReading& link) {
    nb::dict dict;
    dict["generation"] = link.generation;
    dict["width"] = link.width;
    dict["max_generation"] = link.max_generation;
    dict["max_width"] = link.max_width;
    dict["replays"] = link.replays;
    return dict;
}

void bind_devices(nb::module_& module) {
    module.def("memory_kinds", &memory_kind_table);
    module.def("allowed_processors", &allowed_processors);
    module.def("list_devices", &list_devices, nb::arg("backend"), nb::arg("opencl_drivers"));
    module.def("open_device", &open_device, nb::arg("backend"), nb::arg("index"), nb::arg("model"),
               nb::arg("opencl_drivers"), ReleaseGil());
    module.def(
        "bind_to_node", [](int node, const std::vector<int>& cpus) { check(bind_to_node(node, cpus)); },
        nb::arg("node"), nb::arg("cpus"));

    nb::class_<OpenDevice>(module, "Device")
        .def_prop_ro("info", [](OpenDevice& self) { return dict_of(self.device().info()); })
        .def("why_not", of_kind(&Device::why_not), nb::arg("kind"))
        .def("why_no_prefetch", of_device(&Device::why_no_prefetch))
        .def("why_no_peer", of_other(&Device::why_no_peer), nb::arg("other"))
        .def("why_no_peer_reach", of_other(&Device::why_no_peer_reach), nb::arg("other"))
        .def("kernels_reach", of_kind(&Device::kernels_reach), nb::arg("kind"))
        .def("why_no_reach", of_kind(&Device::why_no_reach), nb::arg("kind"))
        .def("why_no_doubles", of_device(&Device::why_no_doubles))
        .def("why_no_advice", of_device(&Device::why_no_advice))
        .def("why_no_migration", of_device(&Device::why_no_migration))
        .def("copy_blocks", of_kind(&Device::copy_blocks), nb::arg("kind"))
        .def(
            "free_bytes",
            [](OpenDevice& self) {
                bind(self);
                return unwrap(self.device().free_bytes());
            },
            ReleaseGil())
        .def(
            "allocate",
            [](const std::shared_ptr<OpenDevice>& self, const std::string& kind, std::size_t bytes) {
                bind(*self);
                return unwrap(Buffer::allocate(self, kind_of(kind), bytes));
            },
            nb::arg("kind"), nb::arg("bytes"), ReleaseGil())
        .def_prop_ro("context_handle", of_device(&Device::context_handle))
        .def(
            "enter",
            [](OpenDevice& self) { return reinterpret_cast<std::uintptr_t>(unwrap(self.device().enter()).context); },
            ReleaseGil())
        .def(
            "leave",
            [](OpenDevice& self, std::uintptr_t previous) {
                self.device().leave({reinterpret_cast<void*>(previous)});  // NOLINT(performance-no-int-to-ptr)
            },
            nb::arg("previous"), ReleaseGil())
        .def(
            "identify",
            [](OpenDevice& self, std::uintptr_t address) {
                bind(self);
                const KnownMemory known = unwrap(self.device().identify(address));
                return nb::make_tuple(std::string(name_of(known.kind)), known.device, known.begin, known.end);
            },
            nb::arg("address"))
        .def(
            "borrow",
            [](const std::shared_ptr<OpenDevice>& self, const std::string& kind, std::uintptr_t address,
               std::size_t bytes) {
                bind(*self);
                return unwrap(Buffer::borrow(self, kind_of(kind), address, bytes));
            },
            nb::arg("kind"), nb::arg("address"), nb::arg("bytes"), ReleaseGil())
        .def("why_no_latch", of_device(&Device::why_no_rendezvous));

    nb::class_<Buffer>(module, "Buffer")
        .def_prop_ro("kind", [](Buffer& self) { return std::string(name_of(self.kind())); })
        .def_prop_ro("bytes", &Buffer::bytes)
        .def_prop_ro("handle", &Buffer::handle)
        .def(
            "fill_pattern",
            [](Buffer& self, std::size_t offset, std::size_t bytes, std::uint64_t seed, const std::string& side) {
                bind(self.session());
                check(self.fill_pattern(unwrap(self.region(offset, bytes)), seed, named<Side>(side, "side")));
            },
            nb::arg("offset"), nb::arg("bytes"), nb::arg("seed"), nb::arg("side") = "host", ReleaseGil())
        .def(
            "verify_pattern",
            [](Buffer& self, std::size_t offset, std::size_t bytes, std::uint64_t seed, const std::string& side) {
                bind(self.session());
                const Mismatch mismatch =
                    unwrap(self.verify_pattern(unwrap(self.region(offset, bytes)), seed, named<Side>(side, "side")));
                return std::pair(mismatch.words, mismatch.first_word);
            },
            nb::arg("offset"), nb::arg("bytes"), nb::arg("seed"), nb::arg("side") = "host", ReleaseGil())
        .def(
            "set_bytes",
            [](Buffer& self, std::size_t offset, std::size_t bytes, std::uint8_t value) {
                bind(self.session());
                check(self.set_bytes(unwrap(self.region(offset, bytes)), value));
            },
            nb::arg("offset"), nb::arg("bytes"), nb::arg("value"), ReleaseGil())
        .def(
            "read",
            [](Buffer& self, std::size_t offset, std::size_t bytes) {
                bind(self.session());
                const Region region = unwrap(self.region(offset, bytes));
                std::vector<std::byte> data(bytes);
                {
                    const GilReleased release;
                    check(self.read(region, data.data()));
                }
                return nb::bytes(data.data(), data.size());
            },
            nb::arg("offset"), nb::arg("bytes"))
        .def(
            "write",
            [](Buffer& self, std::size_t offset, const nb::bytes& data) {
                bind(self.session());
                check(self.write(unwrap(self.region(offset, data.size())), static_cast<const std::byte*>(data.data())));
            },
            nb::arg("offset"), nb::arg("data"))
        .def("begin_host_access", host_access(&Buffer::begin_host_access), ReleaseGil())
        .def("end_host_access", host_access(&Buffer::end_host_access), ReleaseGil())
        .def(
            "evict",
            [](Buffer& self) {
                bind(self.session());
                check(self.evict(unwrap(self.region(0, self.bytes()))));
            },
            ReleaseGil())
        .def("host_array",
             [](const nb::object& self) {
                 Buffer& buffer = nb::cast<Buffer&>(self);
                 return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
                     reinterpret_cast<std::uint8_t*>(unwrap(buffer.host())), {buffer.bytes()}, self);
             })
        .def(
            "advise",
            [](Buffer& self, const std::string& advice, bool given) {
                bind(self.session());
                check(self.advise(named<Advice>(advice, "advice"), given));
            },
            nb::arg("advice"), nb::arg("given") = true, ReleaseGil())
        .def("nodes", &Buffer::nodes, nb::arg("count"), ReleaseGil());
}

}  // namespace isthmus::bindings
