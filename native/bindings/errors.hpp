// The one place where a failed status becomes a Python exception.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "base/status.hpp"

namespace isthmus::bindings {

// Throws the class of isthmus.errors that belongs to the code. Precondition: !status.ok().
[[noreturn]] void raise(const Status& status);

// The class of isthmus.errors that has this name.
nanobind::handle error_class(const char* name);

// Throws the class of isthmus.errors that has this name.
[[noreturn]] void raise(const char* class_name, const std::string& message);
// The same, from another exception: `raise ... from cause`, where there is one.
[[noreturn]] void raise(const char* class_name, const std::string& message, nanobind::object cause);

inline void check(const Status& status) {
    if (!status.ok()) raise(status);
}

template <typename T>
T unwrap(Result<T> result) {
    if (!result.ok()) raise(result.take_status());
    return std::move(result.value());
}

}  // namespace isthmus::bindings
