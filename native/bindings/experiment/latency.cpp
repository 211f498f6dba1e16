// Python's view of timed hops, launches, events and waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <utility>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/latency.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

// Runs one of the functions that time steps of a session, without the interpreter.
template <typename Samples>
Samples timed(Result<Samples> (*time)(OpenDevice&, std::size_t, Quota), OpenDevice& device, std::size_t warmups,
              const Quota& quota) {
    const GilReleased release;
    return unwrap(time(device, warmups, quota));
}

nb::dict dict_of(std::initializer_list<std::pair<const char*, const std::vector<double>*>> series) {
    nb::dict dict;
    for (const auto& [name, samples] : series) dict[name] = *samples;
    return dict;
}

}  // namespace

void bind_latency(nb::module_& module) {
    nb::class_<Chase>(module, "Chase")
        .def(
            "run",
            [](Chase& self, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
                return unwrap(self.run(warmups, {least, most, seconds}));
            },
            nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"), ReleaseGil())
        .def(
            "verify", [](Chase& self) { return unwrap(self.verify()); }, ReleaseGil());
    module.def(
        "create_chase",
        [](const std::shared_ptr<OpenDevice>& device, const std::shared_ptr<Buffer>& memory, std::size_t offset,
           std::size_t bytes, std::size_t stride_bytes, std::uint64_t hops, bool shuffled) {
            return unwrap(Chase::create(device, memory, {offset, bytes, stride_bytes, hops, shuffled}));
        },
        nb::arg("device"), nb::arg("memory"), nb::arg("offset"), nb::arg("bytes"), nb::arg("stride_bytes"),
        nb::arg("hops"), nb::arg("shuffled") = false, ReleaseGil());
    module.def(
        "time_launches",
        [](OpenDevice& device, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
            const LaunchSamples samples = timed(&time_launches, device, warmups, {least, most, seconds});
            return dict_of({{"enqueue_seconds", &samples.enqueue}, {"host_seconds", &samples.completion}});
        },
        nb::arg("device"), nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"));
    module.def(
        "time_events",
        [](OpenDevice& device, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
            const EventSamples samples = timed(&time_events, device, warmups, {least, most, seconds});
            return dict_of({{"host_seconds", &samples.record}, {"device_seconds", &samples.apart}});
        },
        nb::arg("device"), nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"));
    module.def(
        "time_waits",
        [](OpenDevice& device, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
            const WaitSamples samples = timed(&time_waits, device, warmups, {least, most, seconds});
            return dict_of({{"synchronize_seconds", &samples.synchronize}, {"query_seconds", &samples.query}});
        },
        nb::arg("device"), nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"));
}

}  // namespace isthmus::bindings
