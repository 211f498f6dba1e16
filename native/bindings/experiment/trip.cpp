// Python's view of timed trips to the device and back.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>
#include <utility>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/trip.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

constexpr std::array<std::pair<std::string_view, TripKind>, 8> kinds_of_trips{{
    {"pageable", TripKind::pageable},
    {"pinned", TripKind::pinned},
    {"registered", TripKind::registered},
    {"touched_registered", TripKind::touched_registered},
    {"staging", TripKind::staging},
    {"managed", TripKind::managed},
    {"managed_prefetch", TripKind::managed_prefetch},
    {"mapped", TripKind::mapped},
}};

TripKind trip_kind_of(const std::string& name) {
    for (const auto& [known, kind] : kinds_of_trips) {
        if (known == name) return kind;
    }
    raise({Code::invalid_argument, "no way '" + name + "' to get data to the device"});
}

Work work_of(const std::string& name) {
    if (name == "round_trip") return Work::round_trip;
    if (name == "reduction") return Work::reduction;
    raise({Code::invalid_argument, "no work '" + name + "'; there are round_trip and reduction"});
}

nb::dict run_trip(Trip& self, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
    TripSamples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}));
    }
    nb::dict totals;
    for (std::size_t i = 0; i < TripSamples::uses.size(); ++i)
        totals[nb::int_(TripSamples::uses[i])] = samples.totals[i];
    nb::dict dict;
    dict["totals"] = totals;
    dict["further"] = samples.further;
    return dict;
}

}  // namespace

void bind_trip(nb::module_& module) {
    nb::class_<Trip>(module, "Trip")
        .def("run", &run_trip, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"))
        .def_prop_ro("wrong_words", &Trip::wrong_words);
    module.def(
        "create_trip",
        [](const std::string& kind, const std::string& work, bool in_place, std::size_t bytes,
           const std::shared_ptr<Buffer>& source, const std::shared_ptr<Buffer>& device) {
            return unwrap(Trip::create({trip_kind_of(kind), work_of(work), in_place, bytes}, source, device));
        },
        nb::arg("way"), nb::arg("work"), nb::arg("in_place"), nb::arg("bytes"), nb::arg("source"), nb::arg("device"),
        ReleaseGil());
}

}  // namespace isthmus::bindings
