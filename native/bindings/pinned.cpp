// Page-locked memory for Python: blocks that arrays lie in, and arrays that are page-locked where they are.
#include <nanobind/stl/optional.h>
#include <descriptions.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"
#include "transfer/pinned/pinned_pool.hpp"
#include "transfer/pinned/pinned_range.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// An array that is in it has it as its base, and keeps it.
struct PinnedMemory {
    PinnedBlock block;
};

// What pins an array until it is closed.
struct PinnedPlace {
    std::optional<PinnedRange> range;  // none where the array is empty, and once it is closed
};

int fill_buffer(PyObject* object, Py_buffer* buffer, int flags) noexcept {
    const auto& memory = *nb::inst_ptr<PinnedMemory>(object);
    return PyBuffer_FillInfo(buffer, object, memory.block.data(), static_cast<Py_ssize_t>(memory.block.bytes()), 0,
                             flags);
}

void check_open(const SessionHandle& session) {
    if (session.closed) raise(invalid("the session was closed; open another one"));
}

void create_memory(PinnedMemory* self, const SessionHandle& session, std::size_t bytes) {
    check_not_shut_down();
    check_open(session);
    auto block = [&] {
        const GilReleased release;
        return session.session->pinned(std::max<std::size_t>(bytes, 1));
    }();
    if (!block.ok()) raise(block.take_status());
    new (self) PinnedMemory{std::move(block.value())};
}

// The bytes from the first that an element is in to the last.
std::pair<std::uintptr_t, std::size_t> span_of(const Operand& operand) {
    if (operand.bytes() == 0 || operand.is_contiguous()) return {operand.address(), operand.bytes()};
    std::intptr_t first = 0;
    std::intptr_t last = static_cast<std::intptr_t>(operand.type().bytes);
    for (int i = 0; i < operand.dimensions(); ++i) {
        const std::intptr_t reach = (operand.extent(i) - 1) * operand.stride_bytes(i);
        (reach < 0 ? first : last) += reach;
    }
    return {operand.address() + static_cast<std::uintptr_t>(first), static_cast<std::size_t>(last - first)};
}

void create_place(PinnedPlace* self, const SessionHandle& session, nb::handle array) {
    check_not_shut_down();
    check_open(session);
    CurrentStreams current;
    const Operand operand(array, Role::source, std::nullopt, Keep::object, current);
    if (operand.side() != Side::host) {
        raise(invalid(operand.text() + " does not lie in the host's memory, which alone is page-locked"));
    }
    const auto [address, bytes] = span_of(operand);
    new (self) PinnedPlace;
    if (bytes == 0) return;
    auto range = [&, address = address, bytes = bytes] {
        const GilReleased release;
        return session.session->pin(address, bytes);
    }();
    if (!range.ok()) raise(range.take_status());
    self->range.emplace(std::move(range.value()));
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&fill_buffer)}, {0, nullptr}};

}  // namespace

void bind_pinned(nb::module_& module) {
    nb::class_<PinnedMemory>(module, "PinnedMemory", nb::type_slots(memory_slots), described::PinnedMemory.text)
        .def("__init__", &create_memory, nb::arg("session"), nb::arg("bytes"));
    nb::class_<PinnedPlace>(module, "PinnedPlace", described::PinnedPlace.text)
        .def("__init__", &create_place, nb::arg("session"), nb::arg("array"))
        .def_prop_ro(
            "closed", [](const PinnedPlace& self) { return !self.range; }, described::PinnedPlace_closed.text)
        .def(
            "close", [](PinnedPlace& self) { self.range.reset(); }, ISTHMUS_DESCRIBED(PinnedPlace_close), ReleaseGil());
}

}  // namespace isthmus::bindings
