// What the bindings of all timed cases share.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "bindings/errors.hpp"
#include "experiment/timed.hpp"

namespace isthmus::bindings {

// As Python has it: Timed, unless its own class is bound.
template <typename Case>
std::unique_ptr<experiment::Timed> timed(Result<std::unique_ptr<Case>> made) {
    return unwrap(std::move(made));
}

}  // namespace isthmus::bindings
