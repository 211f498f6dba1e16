// Calls of Python when copies have ended.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "transfer/session/session.hpp"

namespace isthmus::bindings {

// Calls `function(future)` once: at once where the copy has ended (null: there was none), else when it ends, by a
// thread that all copies share. What it raises is logged. Raises Unsupported where there is no room for the thread.
void call_when_done(const std::shared_ptr<CopyHandle>& copy, nanobind::object future, nanobind::object function);

// When Python shuts down and all copies have ended: returns when the calls that are due have been made, and the thread
// has ended. Needs the interpreter.
void end_callbacks();

}  // namespace isthmus::bindings
