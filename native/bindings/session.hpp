// Python's session, future and copies, which are bound in several files.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "transfer/session/session.hpp"

namespace isthmus::bindings {

// What isthmus.Session derives from.
struct SessionHandle {
    std::shared_ptr<Session> session;
    bool closed = false;  // guarded by the interpreter's lock
};

// Raises UsageError once all sessions were closed because Python is shutting down.
void check_not_shut_down();

struct Future {
    std::shared_ptr<CopyHandle> copy;  // null where there was nothing to copy
    nanobind::object result;           // what its caller gets when it has ended; null for None
};

// Raises what belongs to a copy that failed: CopyFailed with how much had arrived, or the class of its code.
void check_copy(const Outcome& outcome, const char* operation);

// A function whose last argument is a session, as a method of that session.
template <typename Returned, typename... Handles>
auto as_method(Returned (*function)(nanobind::handle, Handles...)) {
    return [function](nanobind::handle self, Handles... given) { return function(given..., self); };
}

// Adds the copies to the class: the functions of the module, with the session given.
void bind_session_copies(nanobind::class_<SessionHandle>& session);
void bind_session_batch(nanobind::class_<SessionHandle>& session);
void bind_session_rows(nanobind::class_<SessionHandle>& session);
void bind_session_addresses(nanobind::class_<SessionHandle>& session);

}  // namespace isthmus::bindings
