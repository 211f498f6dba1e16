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
#include "bindings/experiment/timed.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/piece_transfer.hpp"
#include "experiment/pipeline.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

using PyOffsets = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Buffer, offset, pitch, slice pitch, offsets.
using PySide = std::tuple<std::shared_ptr<Buffer>, std::size_t, std::size_t, std::size_t, std::optional<PyOffsets>>;

PieceSide side_of(const PySide& side) {
    const auto& [buffer, offset, pitch, slice_pitch, offsets] = side;
    if (buffer == nullptr) raise(invalid("a side without a buffer"));
    if (offsets && offsets->size() == 0) raise(invalid("no offsets: None stands for regular pieces"));
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
    if (!stores.empty()) packing.stores = named<Stores>(stores, "stores");
    std::optional<PieceMethod> wanted;
    if (method != "isthmus") wanted = named<PieceMethod>(method, "method for pieces");
    const GilReleased release;
    return unwrap(PieceTransfer::create(wanted, std::move(to), std::move(from), {width, rows, slices}, reference,
                                        staging, packing, from_caches));
}

std::unique_ptr<Pipeline> create_pipeline(const std::shared_ptr<Buffer>& source, const std::shared_ptr<Buffer>& work,
                                          const std::shared_ptr<Buffer>& results,
                                          const std::shared_ptr<Staging>& staging, std::size_t bytes,
                                          std::size_t chunks, std::size_t streams, std::uint32_t rounds,
                                          const std::vector<std::string>& stages) {
    std::array<bool, names_of<Stage>.size()> take_place{};
    for (const std::string& name : stages) take_place[static_cast<std::size_t>(named<Stage>(name, "stage"))] = true;
    const auto [in, works, out] = take_place;
    return unwrap(Pipeline::create({bytes, chunks, streams, rounds, in, works, out}, source, work, results, staging));
}

std::vector<std::tuple<std::string, std::size_t, double, double>> trace(Pipeline& self) {
    std::vector<std::tuple<std::string, std::size_t, double, double>> spans;
    for (const StageSpan& span : unwrap(self.trace())) {
        spans.emplace_back(name_of(span.stage), span.chunk, span.begin_seconds, span.end_seconds);
    }
    return spans;
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

    nb::class_<PieceTransfer, Timed>(module, "PieceTransfer").def_prop_ro("bytes_moved", &PieceTransfer::bytes_moved);
    module.def("create_pieces", &create_pieces, nb::arg("method"), nb::arg("destination"), nb::arg("source"),
               nb::arg("extent"), nb::arg("reference"), nb::arg("staging"), nb::arg("threads") = 0,
               nb::arg("chunk_bytes") = 0, nb::arg("stores") = "", nb::arg("from_caches") = false);
    module.def("can_demote", &can_demote);

    nb::class_<Pipeline, Timed>(module, "Pipeline").def("trace", &trace, ReleaseGil());
    module.def("create_pipeline", &create_pipeline, nb::arg("source"), nb::arg("work"), nb::arg("results"),
               nb::arg("staging").none(), nb::arg("bytes"), nb::arg("chunks"), nb::arg("streams"), nb::arg("rounds"),
               nb::arg("stages"), ReleaseGil());
}

}  // namespace isthmus::bindings
