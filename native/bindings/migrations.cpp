// Python's view of the migrations and faults of managed memory that the driver reports.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "backend/cuda/context.hpp"
#include "backend/cuda/migration_counter.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

std::chrono::nanoseconds nanoseconds(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

nb::tuple collect(cuda::MigrationCounter& self, double quiet_seconds, double most_seconds) {
    cuda::MigrationReports collected;
    {
        const GilReleased release;
        collected = unwrap(self.collect(nanoseconds(quiet_seconds), nanoseconds(most_seconds)));
    }
    nb::list reports;
    for (const cuda::MigrationReport& each : collected.reports) {
        reports.append(nb::make_tuple(each.what, each.cause, each.value, each.address, each.start, each.end));
    }
    return nb::make_tuple(reports, collected.dropped);
}

}  // namespace

void bind_migrations(nb::module_& module) {
    nb::class_<cuda::MigrationCounter>(module, "MigrationCounter")
        .def_prop_ro("library", &cuda::MigrationCounter::library)
        .def_prop_ro("version", &cuda::MigrationCounter::version)
        .def("collect", &collect, nb::arg("quiet_seconds"), nb::arg("most_seconds"));
    module.def(
        "count_migrations",
        [](const std::vector<std::string>& libraries) { return unwrap(cuda::MigrationCounter::create(libraries)); },
        nb::arg("libraries"), ReleaseGil());
}

}  // namespace isthmus::bindings
