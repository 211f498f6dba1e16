// Python's view of copies between devices, and of what is between them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/peer_copies.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

using PyPeerLane = std::tuple<std::string, std::shared_ptr<Buffer>, std::shared_ptr<Buffer>, std::uint64_t, bool>;

std::unique_ptr<PeerCopies> create_peer_copies(const std::vector<PyPeerLane>& lanes, std::size_t bytes,
                                               std::size_t copies, bool by_kernel) {
    std::vector<PeerLane> converted;
    converted.reserve(lanes.size());
    for (const auto& [name, source, destination, seed, is_read] : lanes) {
        converted.push_back({name, source, destination, seed, is_read});
    }
    return unwrap(PeerCopies::create({bytes, copies, by_kernel}, std::move(converted)));
}

nb::dict run_peer_copies(PeerCopies& self, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
    PeerSamples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}));
    }
    nb::dict dict;
    dict["device_seconds"] = samples.all;
    dict["lanes"] = samples.lanes;
    return dict;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> verify_peer_copies(PeerCopies& self) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const Mismatch& mismatch : unwrap(self.verify())) result.emplace_back(mismatch.words, mismatch.first_word);
    return result;
}

nb::dict between(OpenDevice& here, OpenDevice& there) {
    const PeerReading reading = here.device().read_peer(there.device());
    nb::dict dict;
    dict["has_nvlink"] = reading.has_nvlink;
    dict["nvlinks"] = reading.nvlinks;
    dict["ancestor"] = reading.ancestor;
    return dict;
}

}  // namespace

void bind_peer_copies(nb::module_& module) {
    nb::class_<PeerCopies>(module, "PeerCopies")
        .def(
            "poison", [](PeerCopies& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_peer_copies, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"))
        .def("verify", &verify_peer_copies, ReleaseGil());
    module.def("create_peer_copies", &create_peer_copies, nb::arg("lanes"), nb::arg("bytes"), nb::arg("copies"),
               nb::arg("by_kernel"));
    module.def("read_peer", &between, nb::arg("here"), nb::arg("there"));
}

}  // namespace isthmus::bindings
