// Python's view of timed transfers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"
#include "experiment/transfer.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

Method method_of(const std::string& name) {
    if (name == "copy") return Method::copy;
    if (name == "kernel") return Method::kernel;
    if (name == "prefetch") return Method::prefetch;
    if (name == "isthmus") return Method::isthmus;
    raise({Code::invalid_argument, "no method '" + name + "'; there are copy, kernel, prefetch and isthmus"});
}

Direction direction_of(const std::string& name) {
    if (name == "h2d") return Direction::h2d;
    if (name == "d2h") return Direction::d2h;
    raise({Code::invalid_argument, "no direction '" + name + "'; there are h2d and d2h"});
}

std::unique_ptr<TimedTransfer> create_transfer(const std::string& method, const nb::list& lanes, std::size_t offset,
                                               std::size_t bytes, std::uint64_t seed, bool from_caches, bool untouched,
                                               nb::handle session) {
    std::vector<TimedLane> converted;
    for (nb::handle lane : lanes) {
        const auto parts = nb::cast<nb::tuple>(lane);
        converted.push_back({direction_of(nb::cast<std::string>(parts[0])), nb::cast<std::shared_ptr<Buffer>>(parts[1]),
                             parts[2].is_none() ? nullptr : nb::cast<std::shared_ptr<Buffer>>(parts[2])});
    }
    std::shared_ptr<Session> copies;
    if (!session.is_none()) copies = nb::cast<SessionHandle&>(session).session;
    return unwrap(TimedTransfer::create(method_of(method), std::move(converted), offset, bytes, seed, from_caches,
                                        untouched, std::move(copies)));
}

nb::dict run_transfer(TimedTransfer& self, std::size_t warmups, std::size_t least, std::size_t most, double seconds) {
    Samples samples;
    {
        const GilReleased release;
        samples = unwrap(self.run(warmups, {least, most, seconds}));
    }
    nb::dict dict;
    dict["host_seconds"] = samples.host;
    dict["enqueue_seconds"] = samples.enqueue;
    dict["device_seconds"] = samples.device;
    dict["lanes"] = samples.lanes;
    return dict;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> verify_transfer(TimedTransfer& self) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const Mismatch& mismatch : unwrap(self.verify())) result.emplace_back(mismatch.words, mismatch.first_word);
    return result;
}

}  // namespace

void bind_transfer(nb::module_& module) {
    nb::class_<TimedTransfer>(module, "TimedTransfer")
        .def(
            "poison", [](TimedTransfer& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_transfer, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"))
        .def("verify", &verify_transfer, ReleaseGil());
    module.def("create_transfer", &create_transfer, nb::arg("method"), nb::arg("lanes"), nb::arg("offset"),
               nb::arg("bytes"), nb::arg("seed"), nb::arg("from_caches") = false, nb::arg("untouched") = false,
               nb::arg("session") = nb::none());
    module.def(
        "read_link_under_load",
        [](Buffer& memory, Buffer& device) {
            LinkReading link;
            {
                const GilReleased release;
                check(memory.session().device().bind_thread());
                link = unwrap(read_link_under_load(memory, device));
            }
            return link_dict(link);
        },
        nb::arg("memory"), nb::arg("device"));
}

}  // namespace isthmus::bindings
