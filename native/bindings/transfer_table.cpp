// Python's view of the tables by which the transfer library chooses.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <optional>
#include <string>
#include <string_view>

#include "backend/device.hpp"
#include "bindings/errors.hpp"
#include "bindings/module.hpp"
#include "experiment/transfer.hpp"
#include "transfer/pieces/ring_plan.hpp"
#include "transfer/table/table_file.hpp"
#include "transfer/table/transfer_table.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

bool is_to_device(const std::string& direction) {
    return named<experiment::Direction>(direction, "direction") == experiment::Direction::h2d;
}

const char* direction_of(bool to_device) {
    return to_device ? "h2d" : "d2h";
}

nb::dict dict_of(const BufferRule& rule) {
    const bool staged = rule.method == BufferMethod::staged;
    nb::dict dict;
    dict["direction"] = direction_of(rule.to_device);
    dict["from_bytes"] = rule.from_bytes;
    dict["method"] = name_of(rule.method);
    dict["threads"] = rule.threads;
    dict["chunk_bytes"] = rule.chunk_bytes;
    dict["stores"] = staged ? name_of(rule.stores) : "";
    dict["seconds"] = rule.seconds;
    return dict;
}

nb::dict dict_of(const DirectTime& time) {
    nb::dict dict;
    dict["direction"] = direction_of(time.to_device);
    dict["bytes"] = time.bytes;
    dict["seconds"] = time.seconds;
    return dict;
}

nb::dict dict_of(const KernelRule& rule) {
    nb::dict dict;
    dict["direction"] = direction_of(rule.to_device);
    dict["blocks"] = rule.blocks;
    return dict;
}

nb::dict dict_of(const PieceRule& rule) {
    nb::dict dict;
    dict["direction"] = direction_of(rule.to_device);
    dict["pageable"] = rule.pageable;
    dict["apart_on_host"] = rule.apart_on_host;
    dict["apart_on_device"] = rule.apart_on_device;
    dict["scattered"] = rule.scattered;
    dict["width_bytes"] = rule.width_bytes;
    dict["pieces"] = rule.pieces;
    dict["method"] = name_of(rule.method);
    dict["threads"] = rule.threads;
    dict["seconds"] = rule.seconds;
    return dict;
}

nb::dict dict_of(const LinkRule& rule) {
    nb::dict dict;
    dict["direction"] = direction_of(rule.to_device);
    dict["device"] = rule.pci_address;
    dict["gains"] = rule.gains;
    dict["from_bytes"] = rule.from_bytes;
    dict["bytes"] = rule.bytes;
    dict["seconds"] = rule.seconds;
    return dict;
}

template <typename Rule>
nb::list list_of(const std::vector<Rule>& rules) {
    nb::list list;
    for (const Rule& rule : rules) list.append(dict_of(rule));
    return list;
}

// With the time that it promises for so many bytes.
nb::dict buffer(const TransferTable& self, const std::string& direction, std::size_t bytes) {
    const BufferRule& rule = self.buffer(is_to_device(direction), bytes);
    nb::dict dict = dict_of(rule);
    dict["seconds"] = self.seconds(rule, bytes);
    return dict;
}

std::optional<nb::dict> piece(const TransferTable& self, const std::string& direction, bool pageable,
                              bool apart_on_host, bool apart_on_device, bool scattered, std::size_t width_bytes,
                              std::size_t pieces) {
    PieceRule asked;
    asked.to_device = is_to_device(direction);
    asked.pageable = pageable;
    asked.apart_on_host = apart_on_host;
    asked.apart_on_device = apart_on_device;
    asked.scattered = scattered;
    asked.width_bytes = width_bytes;
    asked.pieces = pieces;
    const PieceRule* rule = self.piece(asked);
    if (rule == nullptr) return std::nullopt;
    nb::dict dict = dict_of(*rule);
    dict["seconds"] = self.seconds(*rule, width_bytes, pieces);
    return dict;
}

nb::dict ring_plan(const std::string& direction, std::size_t chunk_bytes, std::size_t pinned_budget) {
    const auto lane = LanePlan::of(pinned_budget, is_to_device(direction));
    if (!lane) raise(invalid(std::to_string(pinned_budget) + " bytes hold no ring"));
    const std::size_t chunk = lane->ring.chunk_bytes(SIZE_MAX, chunk_bytes);
    nb::dict dict;
    dict["ring_bytes"] = lane->ring.bytes;
    dict["pieces"] = lane->pieces;
    dict["chunk_bytes"] = chunk;
    dict["slots"] = lane->ring.slots(chunk);
    return dict;
}

using DeviceHandle = std::shared_ptr<experiment::OpenDevice>;

}  // namespace

void bind_transfer_table(nb::module_& module) {
    nb::class_<TransferTable>(module, "TransferTable")
        .def_prop_ro("origin", [](const TransferTable& self) { return self.origin; })
        .def_prop_ro("built_in", [](const TransferTable& self) { return self.built_in; })
        .def_prop_ro("buffers", [](const TransferTable& self) { return list_of(self.buffers); })
        .def_prop_ro("direct", [](const TransferTable& self) { return list_of(self.direct); })
        .def(
            "direct_seconds",
            [](const TransferTable& self, const std::string& direction, std::size_t bytes) {
                return self.direct_seconds(is_to_device(direction), bytes);
            },
            nb::arg("direction"), nb::arg("bytes"))
        .def_prop_ro("kernels", [](const TransferTable& self) { return list_of(self.kernels); })
        .def_prop_ro("pieces", [](const TransferTable& self) { return list_of(self.pieces); })
        .def_prop_ro("ways", [](const TransferTable& self) { return list_of(self.links); })
        .def("text", &TransferTable::text)
        .def("buffer", &buffer, nb::arg("direction"), nb::arg("bytes"))
        .def("piece", &piece, nb::kw_only(), nb::arg("direction"), nb::arg("pageable"), nb::arg("apart_on_host"),
             nb::arg("apart_on_device"), nb::arg("scattered"), nb::arg("width_bytes"), nb::arg("pieces"));
    module.def("ring_plan", &ring_plan, nb::arg("direction"), nb::arg("chunk_bytes") = 0,
               nb::arg("pinned_budget") = default_pinned_budget_bytes);
    module.def(
        "parse_transfer_table", [](const std::string& text) { return unwrap(TransferTable::parse(text)); },
        nb::arg("text"));
    module.def(
        "read_transfer_table", [](const std::string& path) { return unwrap(read_table(path)); }, nb::arg("path"));
    module.def(
        "default_transfer_table",
        [](const std::string& backend, const std::string& device) { return TransferTable::defaults(backend, device); },
        nb::arg("backend"), nb::arg("device") = "");
    module.def(
        "machine_transfer_table", [](const DeviceHandle& device) { return table_for(device->device().info()); },
        nb::arg("device"));
    module.def(
        "transfer_table_path", [](const DeviceHandle& device) { return table_path(device->device().info()); },
        nb::arg("device"));
}

}  // namespace isthmus::bindings
