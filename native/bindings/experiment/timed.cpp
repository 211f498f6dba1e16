// Python's view of every timed case: overwritten, run and verified.
#include "bindings/experiment/timed.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

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

}  // namespace isthmus::bindings
