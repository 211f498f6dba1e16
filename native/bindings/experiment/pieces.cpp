// Python's view of transfers of pieces.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/cache_copies.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/piece_transfer.hpp"
#include "transfer/pieces/method_names.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

// None for the library's own choice, ``isthmus``.
std::optional<PieceMethod> wanted_method(const std::string& name) {
    if (name == "isthmus") return std::nullopt;
    const auto method = piece_method_of(name);
    if (!method) raise({Code::invalid_argument, "no method '" + name + "' for pieces"});
    return method;
}

std::optional<Stores> stores_of(const std::string& name) {
    if (name.empty()) return std::nullopt;
    const auto* const place = std::ranges::find(stores_names, name);
    if (place == stores_names.end()) {
        raise({Code::invalid_argument, "no stores '" + name + "'; there are ordinary, streaming and demoted"});
    }
    return static_cast<Stores>(place - stores_names.begin());
}

using PyOffsets = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Buffer, offset, pitch, slice pitch, offsets.
using PySide = std::tuple<std::shared_ptr<Buffer>, std::size_t, std::size_t, std::size_t, std::optional<PyOffsets>>;

PieceSide side_of(const PySide& side) {
    const auto& [buffer, offset, pitch, slice_pitch, offsets] = side;
    if (buffer == nullptr) raise({Code::invalid_argument, "a side without a buffer"});
    if (offsets && offsets->size() == 0) raise({Code::invalid_argument, "no offsets: None stands for regular pieces"});
    PieceSide converted{buffer, offset, pitch, slice_pitch, {}};
    if (offsets) converted.offsets.assign(offsets->data(), offsets->data() + offsets->size());
    return converted;
}

std::unique_ptr<PieceTransfer> create_pieces(const std::string& method, const PySide& destination, const PySide& source,
                                             const std::tuple<std::size_t, std::size_t, std::size_t>& extent,
                                             const std::shared_ptr<Buffer>& reference,
                                             const std::shared_ptr<Staging>& staging, std::size_t threads,
                                             std::size_t chunk_bytes, const std::string& stores, bool from_caches) {
    PieceSide to = side_of(destination);
    PieceSide from = side_of(source);
    const auto& [width, rows, slices] = extent;
    Packing packing;
    packing.threads = threads;
    packing.chunk_bytes = chunk_bytes;
    packing.stores = stores_of(stores);
    const GilReleased release;
    return unwrap(PieceTransfer::create(wanted_method(method), std::move(to), std::move(from), {width, rows, slices},
                                        reference, staging, packing, from_caches));
}

std::vector<double> run_pieces(PieceTransfer& self, std::size_t warmups, std::size_t least, std::size_t most,
                               double seconds) {
    return unwrap(self.run(warmups, {least, most, seconds}));
}

std::tuple<std::size_t, std::size_t, std::size_t> verify_pieces(PieceTransfer& self) {
    const PieceMismatch mismatch = unwrap(self.verify());
    return {mismatch.pieces, mismatch.first_piece, mismatch.bytes_outside};
}

}  // namespace

void bind_pieces(nb::module_& module) {
    nb::class_<Staging>(module, "Staging").def_prop_ro("threads", &Staging::threads);
    module.def(
        "create_staging",
        [](const std::shared_ptr<OpenDevice>& device, std::size_t bytes, std::size_t threads, std::size_t pieces,
           std::uint32_t blocks) {
            const KernelBlocks each{blocks, blocks, KernelBlocks::gathering(blocks), 0};
            return unwrap(Staging::create(device->device_handle(), bytes, threads, pieces, each));
        },
        nb::arg("device"), nb::arg("bytes"), nb::arg("threads"), nb::arg("pieces"), nb::arg("blocks") = 0,
        ReleaseGil());

    nb::class_<PieceTransfer>(module, "PieceTransfer")
        .def(
            "poison", [](PieceTransfer& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_pieces, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"),
             ReleaseGil())
        .def("verify", &verify_pieces, ReleaseGil())
        .def_prop_ro("bytes_moved", &PieceTransfer::bytes_moved);
    module.def("create_pieces", &create_pieces, nb::arg("method"), nb::arg("destination"), nb::arg("source"),
               nb::arg("extent"), nb::arg("reference"), nb::arg("staging"), nb::arg("threads") = 0,
               nb::arg("chunk_bytes") = 0, nb::arg("stores") = "", nb::arg("from_caches") = false);
    module.def("can_demote", &can_demote);
}

}  // namespace isthmus::bindings
