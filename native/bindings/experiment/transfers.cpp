// Python's view of timed transfers, alone, at once and during other work, and of what is between the devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/experiment/timed.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"
#include "experiment/concurrent.hpp"
#include "experiment/interference.hpp"
#include "experiment/peer_copies.hpp"
#include "experiment/transfer.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

using PyBuffer = std::shared_ptr<Buffer>;
using PyNode = std::pair<int, std::vector<int>>;
// Name, source, destination, seed, and what only this kind of lane has.
template <typename Own>
using PyLanes = std::vector<std::tuple<std::string, PyBuffer, PyBuffer, std::uint64_t, Own>>;

std::shared_ptr<Session> session_of(nb::handle session) {
    return session.is_none() ? nullptr : nb::cast<SessionHandle&>(session).session;
}

std::unique_ptr<Timed> create_transfer(const std::string& method, const nb::list& lanes, std::size_t offset,
                                       std::size_t bytes, std::uint64_t seed, bool from_caches, bool untouched,
                                       nb::handle session) {
    std::vector<TimedLane> converted;
    for (nb::handle lane : lanes) {
        const auto parts = nb::cast<nb::tuple>(lane);
        converted.push_back({named<Direction>(nb::cast<std::string>(parts[0]), "direction"),
                             nb::cast<PyBuffer>(parts[1]),
                             parts[2].is_none() ? nullptr : nb::cast<PyBuffer>(parts[2])});
    }
    return timed(TimedTransfer::create(named<Method>(method, "method"), std::move(converted), offset, bytes, seed,
                                       from_caches, untouched, session_of(session)));
}

std::unique_ptr<Timed> create_concurrent(const PyLanes<std::optional<PyNode>>& lanes, std::size_t bytes,
                                         std::size_t threads, bool own_streams, std::size_t chunk_bytes, bool spawn,
                                         double limit_seconds) {
    std::vector<ConcurrentLane> converted;
    for (const auto& [name, source, destination, seed, node] : lanes) {
        converted.push_back({{name, source, destination, seed}, std::nullopt});
        if (node) converted.back().node = NodeBinding{node->first, node->second};
    }
    return timed(ConcurrentTransfer::create(std::move(converted), bytes, {threads, own_streams, chunk_bytes, spawn},
                                            limit_seconds));
}

std::unique_ptr<Timed> create_peer_copies(const PyLanes<bool>& lanes, std::size_t bytes, std::size_t copies,
                                          bool by_kernel) {
    std::vector<PeerLane> converted;
    for (const auto& [name, source, destination, seed, is_read] : lanes) {
        converted.push_back({{name, source, destination, seed}, is_read});
    }
    return timed(PeerCopies::create({bytes, copies, by_kernel}, std::move(converted)));
}

std::unique_ptr<Timed> create_interference(const std::string& neighbour, const PyBuffer& load,
                                           const std::string& method, const PyBuffer& to, const PyBuffer& from,
                                           std::size_t bytes, std::uint64_t seed, double seconds, std::uint32_t blocks,
                                           nb::handle session, const PyBuffer& load_source) {
    const InterferencePlan plan{
        named<Neighbour>(neighbour, "neighbour"), named<CopyMethod>(method, "method"), blocks, bytes, seed, seconds};
    std::shared_ptr<Session> copies = session_of(session);
    const GilReleased release;
    return timed(Interference::create(plan, load, to, from, std::move(copies), load_source));
}

nb::dict read_peer(OpenDevice& here, OpenDevice& there) {
    const PeerReading reading = here.device().read_peer(there.device());
    nb::dict dict;
    dict["has_nvlink"] = reading.has_nvlink;
    dict["nvlinks"] = reading.nvlinks;
    dict["ancestor"] = reading.ancestor;
    return dict;
}

nb::dict read_link(Buffer& memory, Buffer& device) {
    LinkReading link;
    {
        const GilReleased release;
        check(memory.session().device().bind_thread());
        link = unwrap(read_link_under_load(memory, device));
    }
    return link_dict(link);
}

}  // namespace

void bind_transfers(nb::module_& module) {
    module.def("create_transfer", &create_transfer, nb::arg("method"), nb::arg("lanes"), nb::arg("offset"),
               nb::arg("bytes"), nb::arg("seed"), nb::arg("from_caches") = false, nb::arg("untouched") = false,
               nb::arg("session") = nb::none());
    module.def("create_concurrent", &create_concurrent, nb::arg("lanes"), nb::arg("bytes"), nb::arg("threads"),
               nb::arg("own_streams"), nb::arg("chunk_bytes"), nb::arg("spawn"), nb::arg("limit_seconds") = 60.0);
    module.def("create_peer_copies", &create_peer_copies, nb::arg("lanes"), nb::arg("bytes"), nb::arg("copies"),
               nb::arg("by_kernel"));
    module.def("create_interference", &create_interference, nb::arg("neighbour"), nb::arg("load"), nb::arg("method"),
               nb::arg("to"), nb::arg("from_"), nb::arg("bytes"), nb::arg("seed"), nb::arg("seconds"),
               nb::arg("blocks") = 0, nb::arg("session") = nb::none(), nb::arg("load_source").none() = nb::none());
    module.def("read_peer", &read_peer, nb::arg("here"), nb::arg("there"));
    module.def("read_link_under_load", &read_link, nb::arg("memory"), nb::arg("device"));
}

}  // namespace isthmus::bindings
