// Python's view of the seam's commands: streams, events and gates. The contract suite works on these.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "backend/launch.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/stream.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// As PyStream.
struct PyEvent {
    std::shared_ptr<OpenDevice> session;
    std::unique_ptr<Event> handle;
};
struct PyGate {
    std::shared_ptr<OpenDevice> session;
    std::unique_ptr<Gate> handle;
};

struct PyLatch {
    std::shared_ptr<OpenDevice> session;
    std::unique_ptr<Latch> handle;
};

struct Regions {
    Region to;
    Region from;
};

Regions regions(Buffer& to, std::size_t to_offset, Buffer& from, std::size_t from_offset, std::size_t bytes) {
    return {unwrap(to.region(to_offset, bytes)), unwrap(from.region(from_offset, bytes))};
}

}  // namespace

void bind_streams(nb::module_& module) {
    nb::class_<PyEvent>(module, "Event")
        .def(
            "__init__",
            [](PyEvent* self, const std::shared_ptr<OpenDevice>& device) {
                new (self) PyEvent{device, unwrap(bound(device).create_event())};
            },
            nb::arg("device"), ReleaseGil())
        .def(
            "has_passed", [](PyEvent& self) { return unwrap(bound(self.session).has_passed(*self.handle)); },
            ReleaseGil())
        .def(
            "seconds_until",
            [](PyEvent& self, PyEvent& stop) {
                return unwrap(bound(self.session).seconds_between(*self.handle, *stop.handle));
            },
            nb::arg("stop"), ReleaseGil());

    nb::class_<PyGate>(module, "Gate")
        .def(
            "open", [](PyGate& self) { check(self.handle->open()); }, ReleaseGil());

    nb::class_<PyLatch>(module, "Latch")
        .def(
            "open", [](PyLatch& self) { self.handle->open(); }, ReleaseGil());

    nb::class_<PyStream> stream(module, "Stream");
    bind_stream_work(stream);
    stream
        .def(
            "__init__",
            [](PyStream* self, const std::shared_ptr<OpenDevice>& device) {
                new (self) PyStream{device, unwrap(bound(device).create_stream())};
            },
            nb::arg("device"), ReleaseGil())
        .def_static(
            "borrow",
            [](const std::shared_ptr<OpenDevice>& device, std::uintptr_t handle) {
                return std::make_unique<PyStream>(PyStream{device, unwrap(bound(device).borrow_stream(handle))});
            },
            nb::arg("device"), nb::arg("handle"), ReleaseGil())
        .def_prop_ro("handle", [](PyStream& self) { return self.handle->handle(); })
        .def(
            "synchronize",
            [](PyStream& self) {
                (void)bound(self.session);
                check(self.handle->synchronize());
            },
            ReleaseGil())
        .def(
            "copy",
            [](PyStream& self, Buffer& to, std::size_t to_offset, Buffer& from, std::size_t from_offset,
               std::size_t bytes) {
                const Regions r = regions(to, to_offset, from, from_offset, bytes);
                check(bound(self.session).copy(*self.handle, r.to, r.from));
            },
            nb::arg("to"), nb::arg("to_offset"), nb::arg("from_"), nb::arg("from_offset"), nb::arg("bytes"),
            ReleaseGil())
        .def(
            "copy_by_kernel",
            [](PyStream& self, Buffer& to, std::size_t to_offset, Buffer& from, std::size_t from_offset,
               std::size_t bytes, std::uint32_t blocks) {
                const Regions r = regions(to, to_offset, from, from_offset, bytes);
                check(launch_few(bound(self.session), *self.handle, blocks, kernel::copy, r.to, r.from, bytes));
            },
            nb::arg("to"), nb::arg("to_offset"), nb::arg("from_"), nb::arg("from_offset"), nb::arg("bytes"),
            nb::arg("blocks") = 0, ReleaseGil())
        .def(
            "record",
            [](PyStream& self, PyEvent& event) { check(bound(self.session).record(*event.handle, *self.handle)); },
            nb::arg("event"), ReleaseGil())
        .def(
            "wait",
            [](PyStream& self, PyEvent& event) { check(bound(self.session).wait(*self.handle, *event.handle)); },
            nb::arg("event"), ReleaseGil())
        // The latch and the gate keep their stream: dropped first, it would wait for work that only they let go on.
        .def(
            "close_latch",
            [](PyStream& self) {
                return std::make_unique<PyLatch>(
                    PyLatch{self.session, unwrap(bound(self.session).close_latch(*self.handle))});
            },
            nb::keep_alive<0, 1>(), ReleaseGil())
        .def(
            "close_gate",
            [](PyStream& self) {
                Stream* const streams[] = {self.handle.get()};
                return std::make_unique<PyGate>(PyGate{self.session, unwrap(bound(self.session).close_gate(streams))});
            },
            nb::keep_alive<0, 1>(), ReleaseGil());
}

}  // namespace isthmus::bindings
