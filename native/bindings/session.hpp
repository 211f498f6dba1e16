// Python's session, future and copies, which are bound in several files.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "transfer/session.hpp"

namespace isthmus::bindings {

// What isthmus.Session derives from.
struct SessionHandle {
    std::shared_ptr<Session> session;
};

struct Future {
    std::shared_ptr<Transfer> transfer;  // null where there was nothing to copy
    std::size_t bytes = 0;
};

// Raises what belongs to a copy that failed: CopyFailed with how much had arrived, or the class of its code.
void check_copy(const Outcome& outcome, const char* operation);

// Adds the copies to the class: the functions of the module, with the session given.
void bind_session_copies(nanobind::class_<SessionHandle>& session);

}  // namespace isthmus::bindings
