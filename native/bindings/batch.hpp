// Copies of many pieces, and what all copies choose: a session, and a stream that has waited for the producers.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <span>

#include "bindings/arrays/operand.hpp"
#include "bindings/session.hpp"

namespace isthmus::bindings {

// The session that the caller passed, else that of an array that Isthmus made, else the one that is kept for the device
// whose memory is copied from or to. Raises UsageError where the operands cannot be one session's.
std::shared_ptr<Session> session_for(nanobind::handle session, const Operand& destination, const Operand& source);

// The session that the caller passed; without one, that of the best device that is present.
std::shared_ptr<Session> session_named(nanobind::handle session);

// The caller's stream, else the first of the `ready` ones, after it was made to wait for all of these. Nothing for the
// legacy default stream, unless the caller asked for it.
Result<std::optional<std::uintptr_t>> joined(Session& session, std::optional<std::uintptr_t> stream,
                                             std::span<const std::uintptr_t> ready);

void copy_batch(nanobind::handle destinations, nanobind::handle sources, nanobind::handle stream,
                nanobind::handle session);
Future copy_batch_async(nanobind::handle destinations, nanobind::handle sources, nanobind::handle stream,
                        nanobind::handle session);
nanobind::dict explain_batch(nanobind::handle destinations, nanobind::handle sources, nanobind::handle session);

// The session is null where there was nothing to choose one by.
nanobind::dict dict_of(const Explanation& explanation, Session* session);

}  // namespace isthmus::bindings
