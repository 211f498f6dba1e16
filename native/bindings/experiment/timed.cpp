// Python's view of timed cases: what all of them can, allocations and trips, and steps of a device.
#include "bindings/experiment/timed.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/allocation.hpp"
#include "experiment/latency.hpp"
#include "experiment/trip.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

// One of the functions that time steps of a device.
void bind_step(nb::module_& module, const char* name, Result<Samples> (*time)(OpenDevice&, std::size_t, Quota)) {
    module.def(
        name,
        [time](OpenDevice& device, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
            return unwrap(time(device, warmups, {least, most, seconds}));
        },
        nb::arg("device"), nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"), ReleaseGil());
}

}  // namespace

void bind_timed(nb::module_& module) {
    nb::class_<Timed>(module, "Timed")
        .def(
            "poison", [](Timed& self) { check(self.poison()); }, ReleaseGil())
        .def(
            "run",
            [](Timed& self, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
                return unwrap(self.run(warmups, {least, most, seconds}));
            },
            nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"), ReleaseGil())
        .def_prop_ro("lanes", &Timed::lanes)
        .def(
            "verify",
            [](Timed& self) {
                std::vector<std::pair<std::uint64_t, std::uint64_t>> differ;
                for (const Mismatch& each : unwrap(self.verify())) differ.emplace_back(each.words, each.first_word);
                return differ;
            },
            ReleaseGil());
}

void bind_memory(nb::module_& module) {
    nb::class_<AllocationCase, Timed>(module, "AllocationCase").def_prop_ro("shape", [](const AllocationCase& self) {
        const Shape shape = self.shape();
        return std::tuple(shape.width_bytes, shape.rows, shape.pitch_bytes);
    });
    module.def(
        "create_allocation",
        [](const std::shared_ptr<OpenDevice>& device, const std::string& kind, std::size_t bytes, bool beside) {
            return unwrap(AllocationCase::create(device, kind_of(kind), bytes, beside));
        },
        nb::arg("device"), nb::arg("kind"), nb::arg("bytes"), nb::arg("beside") = false, ReleaseGil());
    module.def(
        "create_trip",
        [](const std::string& kind, const std::string& work, bool in_place, std::size_t bytes,
           const std::shared_ptr<Buffer>& source, const std::shared_ptr<Buffer>& device) {
            const TripPlan plan{named<TripKind>(kind, "memory for a trip"), named<Work>(work, "work"), in_place, bytes};
            return timed(Trip::create(plan, source, device));
        },
        nb::arg("kind"), nb::arg("work"), nb::arg("in_place"), nb::arg("bytes"), nb::arg("source"), nb::arg("device"),
        ReleaseGil());
}

void bind_latency(nb::module_& module) {
    module.def(
        "create_chase",
        [](const std::shared_ptr<OpenDevice>& device, const std::shared_ptr<Buffer>& memory, std::size_t offset,
           std::size_t bytes, std::size_t stride_bytes, std::uint64_t hops, bool shuffled) {
            return timed(Chase::create(device, memory, {offset, bytes, stride_bytes, hops, shuffled}));
        },
        nb::arg("device"), nb::arg("memory"), nb::arg("offset"), nb::arg("bytes"), nb::arg("stride_bytes"),
        nb::arg("hops"), nb::arg("shuffled") = false, ReleaseGil());
    bind_step(module, "time_launches", &time_launches);
    bind_step(module, "time_events", &time_events);
    bind_step(module, "time_waits", &time_waits);
}

}  // namespace isthmus::bindings
