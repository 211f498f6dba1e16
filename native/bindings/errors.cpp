// The one place where a failed status becomes a Python exception.
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

const char* class_of(Code code) {
    switch (code) {
        case Code::library_absent: return "LibraryAbsent";
        case Code::function_absent: return "FunctionAbsent";
        case Code::device_absent: return "DeviceAbsent";
        case Code::out_of_memory: return "OutOfMemory";
        case Code::unsupported: return "Unsupported";
        case Code::invalid_argument: return "UsageError";
        case Code::call_failed:
        case Code::timed_out:
        case Code::ok: break;
    }
    return "CallFailed";
}

}  // namespace

void raise(const Status& status) {
    raise(class_of(status.code()), status.message());
}

void raise(const char* class_name, const std::string& message) {
    const GilHeld gil;
    const nb::object type = nb::module_::import_("isthmus.errors").attr(class_name);
    PyErr_SetString(type.ptr(), message.c_str());
    throw nb::python_error();
}

}  // namespace isthmus::bindings
