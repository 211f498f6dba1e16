// Python's view of memory that is allocated and freed: timed allocations, and trips to the device and back.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <tuple>

#include "bindings/experiment/timed.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/allocation.hpp"
#include "experiment/trip.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

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

}  // namespace isthmus::bindings
