// Copies of the C interface that return when all has arrived.
#include "capi/batch.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"
#include "capi/rows.hpp"
#include "capi/structures.hpp"

using namespace isthmus;
using namespace isthmus::capi;

namespace {

// After what the default stream holds is what a session does without a stream.
std::optional<std::uintptr_t> stream_of(void* stream) {
    if (stream == nullptr) return std::nullopt;
    return reinterpret_cast<std::uintptr_t>(stream);
}

Outcome failed(Status status) {
    return {std::move(status), 0};
}

}  // namespace

isthmus_code isthmus_copy(isthmus_session* session, void* destination, const void* source, size_t bytes,
                          isthmus_direction direction, void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy", [&]() -> Outcome {
        if (session == nullptr) return failed(null_argument("session"));
        if (bytes == 0) return {};
        if (destination == nullptr) return failed(null_argument("destination"));
        if (source == nullptr) return failed(null_argument("source"));
        if (Status status = check_bytes(bytes, "bytes"); !status.ok()) return failed(std::move(status));
        Result<Sides> sides = sides_of(direction);
        if (!sides.ok()) return failed(sides.take_status());
        return session->session->copy_bytes(
            {reinterpret_cast<std::uintptr_t>(destination), reinterpret_cast<std::uintptr_t>(source), bytes},
            sides.value(), stream_of(stream));
    });
}

isthmus_code isthmus_copy_array(isthmus_session* session, const isthmus_array* destination, const isthmus_array* source,
                                void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_array", [&]() -> Outcome {
        if (session == nullptr) return failed(null_argument("session"));
        Result<ArrayView> to = view_of(destination, "destination");
        if (!to.ok()) return failed(to.take_status());
        Result<ArrayView> from = view_of(source, "source");
        if (!from.ok()) return failed(from.take_status());
        return session->session->copy(to.value(), from.value(), stream_of(stream));
    });
}

isthmus_code isthmus_copy_batch(isthmus_session* session, size_t pieces, void* const* destinations,
                                const void* const* sources, const size_t* bytes, isthmus_direction direction,
                                void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_batch", [&]() -> Outcome {
        if (session == nullptr) return failed(null_argument("session"));
        Result<Batch> batch = batch_of(pieces, destinations, sources, bytes);
        if (!batch.ok()) return failed(batch.take_status());
        Result<Sides> sides = sides_of(direction);
        if (!sides.ok()) return failed(sides.take_status());
        return session->session->copy_batch(batch.value(), sides.value(), stream_of(stream));
    });
}

isthmus_code isthmus_copy_rows(isthmus_session* session, size_t layers, const isthmus_array* destinations,
                               const isthmus_rows* destination_rows, const isthmus_array* sources,
                               const isthmus_rows* source_rows, void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_rows", [&]() -> Outcome {
        if (session == nullptr) return failed(null_argument("session"));
        Result<Rows> rows = Rows::of(layers, destinations, destination_rows, sources, source_rows);
        if (!rows.ok()) return failed(rows.take_status());
        return session->session->copy_rows(rows.value().copy(), stream_of(stream));
    });
}
