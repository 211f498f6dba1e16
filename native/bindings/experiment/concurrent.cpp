// Python's view of transfers on many host threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/concurrent.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

using PyNode = std::pair<int, std::vector<int>>;
using PyLane =
    std::tuple<std::string, std::shared_ptr<Buffer>, std::shared_ptr<Buffer>, std::uint64_t, std::optional<PyNode>>;

std::unique_ptr<ConcurrentTransfer> create_concurrent(const std::vector<PyLane>& lanes, std::size_t bytes,
                                                      std::size_t threads, bool own_streams, std::size_t chunk_bytes,
                                                      bool spawn) {
    std::vector<ConcurrentLane> converted;
    converted.reserve(lanes.size());
    for (const auto& [name, source, destination, seed, node] : lanes) {
        ConcurrentLane lane{name, source, destination, seed, std::nullopt};
        if (node) lane.node = NodeBinding{node->first, node->second};
        converted.push_back(std::move(lane));
    }
    return unwrap(ConcurrentTransfer::create(std::move(converted), bytes, {threads, own_streams, chunk_bytes, spawn}));
}

nb::dict run_concurrent(ConcurrentTransfer& self, std::size_t warmups, std::size_t least, std::size_t most,
                        double seconds, double limit_seconds) {
    ConcurrentSamples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}, limit_seconds));
    }
    nb::dict dict;
    dict["host_seconds"] = samples.host;
    dict["lanes"] = samples.lanes;
    return dict;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> verify_concurrent(ConcurrentTransfer& self) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const Mismatch& mismatch : unwrap(self.verify())) result.emplace_back(mismatch.words, mismatch.first_word);
    return result;
}

}  // namespace

void bind_concurrent(nb::module_& module) {
    nb::class_<ConcurrentTransfer>(module, "ConcurrentTransfer")
        .def(
            "poison", [](ConcurrentTransfer& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_concurrent, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"),
             nb::arg("limit_seconds"))
        .def("verify", &verify_concurrent, ReleaseGil());
    module.def("create_concurrent", &create_concurrent, nb::arg("lanes"), nb::arg("bytes"), nb::arg("threads"),
               nb::arg("own_streams"), nb::arg("chunk_bytes"), nb::arg("spawn"));
}

}  // namespace isthmus::bindings
