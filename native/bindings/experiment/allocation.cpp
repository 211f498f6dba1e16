// Python's view of timed allocations.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/allocation.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

nb::dict run_allocation(AllocationCase& self, std::size_t warmups, std::size_t least, std::size_t most,
                        double seconds) {
    AllocationSamples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}));
    }
    nb::dict dict;
    dict["allocate"] = samples.allocate;
    dict["touch"] = samples.touch;
    dict["free"] = samples.free;
    return dict;
}

}  // namespace

void bind_allocation(nb::module_& module) {
    nb::class_<AllocationCase>(module, "AllocationCase")
        .def("run", &run_allocation, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"))
        .def_prop_ro("shape", [](const AllocationCase& self) {
            const Shape shape = self.shape();
            return std::tuple(shape.width_bytes, shape.rows, shape.pitch_bytes);
        });
    module.def(
        "create_allocation",
        [](const std::shared_ptr<OpenDevice>& device, const std::string& kind, std::size_t bytes, bool beside) {
            return unwrap(AllocationCase::create(device, kind_of(kind), bytes, beside));
        },
        nb::arg("device"), nb::arg("kind"), nb::arg("bytes"), nb::arg("beside") = false, ReleaseGil());
}

}  // namespace isthmus::bindings
