// Python's view of copies that run concurrently with other work.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"
#include "experiment/interference.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

constexpr std::array<std::string_view, 4> neighbours{"compute", "memory", "thread", "copies"};
constexpr std::array<std::string_view, 3> methods{"copy", "isthmus", "kernel"};

template <typename Enum, std::size_t Count>
Enum named(const std::array<std::string_view, Count>& names, const std::string& name, const char* what) {
    const auto* const place = std::find(names.begin(), names.end(), name);
    if (place == names.end()) raise({Code::invalid_argument, "no " + std::string(what) + " '" + name + "'"});
    return static_cast<Enum>(place - names.begin());
}

std::unique_ptr<Interference> create_interference(const std::string& neighbour, const std::shared_ptr<Buffer>& load,
                                                  const std::string& way, const std::shared_ptr<Buffer>& to,
                                                  const std::shared_ptr<Buffer>& from, std::size_t bytes,
                                                  std::uint64_t seed, double seconds, std::uint32_t blocks,
                                                  nb::handle session, const std::shared_ptr<Buffer>& load_source) {
    const InterferencePlan plan{named<Neighbour>(neighbours, neighbour, "neighbour"),
                                named<CopyMethod>(methods, way, "way"),
                                blocks,
                                bytes,
                                seed,
                                seconds};
    std::shared_ptr<Session> copies;
    if (!session.is_none()) copies = nb::cast<SessionHandle&>(session).session;
    const GilReleased release;
    return unwrap(Interference::create(plan, load, to, from, std::move(copies), load_source));
}

nb::dict run_interference(Interference& self, std::size_t warmups, std::size_t least, std::size_t most,
                          double seconds) {
    InterferenceSamples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}));
    }
    nb::dict dict;
    dict["alone_seconds"] = samples.alone;
    dict["beside_seconds"] = samples.during;
    dict["host_seconds"] = samples.copies;
    return dict;
}

}  // namespace

void bind_interference(nb::module_& module) {
    nb::class_<Interference>(module, "Interference")
        .def(
            "poison", [](Interference& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_interference, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"))
        .def(
            "verify",
            [](Interference& self) {
                const Mismatch mismatch = unwrap(self.verify());
                return std::tuple(mismatch.words, mismatch.first_word);
            },
            ReleaseGil());
    module.def("create_interference", &create_interference, nb::arg("neighbour"), nb::arg("load"), nb::arg("way"),
               nb::arg("to"), nb::arg("from_"), nb::arg("bytes"), nb::arg("seed"), nb::arg("seconds"),
               nb::arg("blocks") = 0, nb::arg("session") = nb::none(), nb::arg("load_source").none() = nb::none());
}

}  // namespace isthmus::bindings
