// Python's view of copies that were begun.
#include <nanobind/stl/optional.h>
#include <descriptions.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bindings/arrays/operand.hpp"
#include "bindings/callbacks.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "bindings/session.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

bool is_done(const Future& self) {
    const GilReleased release;
    return self.copy == nullptr || self.copy->done();
}

// Whether it ended in time. Looks for signals of Python, such as an interrupt, 20 times a second.
bool wait_until_done(const Future& self, std::optional<double> timeout) {
    constexpr std::chrono::microseconds eager{50};
    constexpr std::chrono::microseconds longest_sleep{500};
    constexpr std::chrono::milliseconds between_signals{50};
    const auto began = SteadyClock::now();
    while (true) {
        {
            const GilReleased release;
            const auto slice_began = SteadyClock::now();
            while (true) {
                if (self.copy == nullptr || self.copy->done()) return true;
                const auto now = SteadyClock::now();
                if (timeout && now - began >= Seconds(*timeout)) return false;
                if (now - slice_began >= between_signals) break;
                if (now - began < eager) {
                    std::this_thread::yield();
                } else {
                    // What is waited for takes hardly longer than it does.
                    std::this_thread::sleep_for(std::min<SteadyClock::duration>((now - began) / 32, longest_sleep));
                }
            }
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

void check_timeout(std::optional<double> timeout) {
    if (!timeout || !std::isnan(*timeout)) return;
    raise(invalid("a timeout of nan; expected a number of seconds, or None for no end"));
}

void wait(const Future& self, std::optional<double> timeout) {
    check_timeout(timeout);
    if (!wait_until_done(self, timeout)) {
        raise("TimedOut", "the copy had not ended after " + text_of(nb::float_(*timeout)) +
                              " s; it goes on, and may be waited for again");
    }
    end_kept();
    if (self.copy != nullptr) check_copy(self.copy->wait(), "copy_async");
}

nb::object result(const Future& self, std::optional<double> timeout) {
    wait(self, timeout);
    return self.result.is_valid() ? self.result : nb::none();
}

// Compared with what comes after it has ended, finding the module takes no time.
nb::object await(nb::handle self) {
    return nb::module_::import_("isthmus.transfer.awaiting").attr("end_of")(self);
}

nb::object exception(const Future& self, std::optional<double> timeout) {
    check_timeout(timeout);
    try {
        wait(self, timeout);
    } catch (nb::python_error& error) {
        if (!error.matches(error_class("IsthmusError")) || error.matches(error_class("TimedOut"))) throw;
        return nb::borrow(error.value());
    }
    return nb::none();
}

}  // namespace

void bind_future(nb::module_& module) {
    nb::class_<Future>(module, "Future", described::Future.text)
        .def("done", &is_done, ISTHMUS_DESCRIBED(Future_done))
        .def("wait", &wait, ISTHMUS_DESCRIBED(Future_wait), nb::arg("timeout") = nb::none())
        .def("result", &result, ISTHMUS_DESCRIBED(Future_result), nb::arg("timeout") = nb::none())
        .def(
            "add_done_callback",
            [](nb::handle self, nb::object function) {
                call_when_done(nb::cast<const Future&>(self).copy, nb::borrow(self), std::move(function));
            },
            ISTHMUS_DESCRIBED(Future_add_done_callback), nb::arg("function"))
        .def("__await__", &await, ISTHMUS_DESCRIBED(Future_await))
        .def("exception", &exception, ISTHMUS_DESCRIBED(Future_exception), nb::arg("timeout") = nb::none())
        .def(
            "wait_on",
            [](const Future& self, nb::handle stream) {
                const std::uintptr_t handle = stream_of(stream).value_or(0);
                const GilReleased release;
                if (self.copy != nullptr) check(self.copy->hold(handle));
            },
            ISTHMUS_DESCRIBED(Future_wait_on), nb::arg("stream").none())
        .def_prop_ro(
            "bytes_completed",
            [](const Future& self) -> std::size_t {
                if (!is_done(self)) return 0;
                return self.copy == nullptr ? 0 : self.copy->wait().bytes_completed;
            },
            described::Future_bytes_completed.text);
}

}  // namespace isthmus::bindings
