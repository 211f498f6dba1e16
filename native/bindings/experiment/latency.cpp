// Python's view of timed hops, launches, events and waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/experiment/timed.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/latency.hpp"

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
