// The one place where a failed status becomes a Python exception.
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// Never let go: while the interpreter ends nothing can be imported, and errors are still raised.
PyObject* classes = nullptr;

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

nb::handle error_class(const char* name) {
    return nb::handle(PyDict_GetItemString(classes, name));
}

void bind_errors(nb::module_&) {
    classes = PyDict_Copy(nb::module_::import_("isthmus.errors").attr("__dict__").ptr());
    if (classes == nullptr) throw nb::python_error();
}

void raise(const char* class_name, const std::string& message) {
    const GilHeld gil;
    PyErr_SetString(error_class(class_name).ptr(), message.c_str());
    throw nb::python_error();
}

void raise(const char* class_name, const std::string& message, nb::object cause) {
    if (!cause.is_valid()) raise(class_name, message);
    const nb::object error = error_class(class_name)(message);
    PyException_SetCause(error.ptr(), cause.release().ptr());
    PyErr_SetObject(error_class(class_name).ptr(), error.ptr());
    throw nb::python_error();
}

}  // namespace isthmus::bindings
