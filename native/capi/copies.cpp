// Copies of the C interface, waited for or begun, and the handles to wait for them.
#include "capi/arguments.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"

using namespace isthmus;
using namespace isthmus::capi;

namespace {

using Begun = Result<std::shared_ptr<CopyHandle>>;

// After what the default stream holds is what a session does without a stream.
std::optional<std::uintptr_t> stream_of(void* stream) {
    if (stream == nullptr) return std::nullopt;
    return reinterpret_cast<std::uintptr_t>(stream);
}

// The caller's null is the default stream, so that what that is given afterwards begins when the copy has ended.
std::optional<std::uintptr_t> stream_of(const isthmus_session& session, void* stream) {
    if (stream == nullptr) return session.default_stream;
    return reinterpret_cast<std::uintptr_t>(stream);
}

// Begins a copy, for which there is a handle before it begins: one that cannot be waited for must not be in flight.
template <typename Begin>
Status begin(isthmus_session* session, isthmus_transfer** transfer, const Begin& copy) {
    if (transfer == nullptr) return null_argument("transfer");
    *transfer = nullptr;
    if (session == nullptr) return null_argument("session");
    auto handle = std::make_unique<isthmus_transfer>();
    ISTHMUS_TRY(assign(handle->copy, copy()));
    *transfer = handle.release();
    return {};
}

// Waits; a copy of the outcome, which stays with the handle.
isthmus_code end_of(CopyHandle& copy, const char* operation, isthmus_status* status) noexcept {
    return guarded(status, operation, [&]() -> const Outcome& { return copy.wait(); });
}

}  // namespace

isthmus_code isthmus_copy(isthmus_session* session, void* destination, const void* source, size_t bytes,
                          isthmus_direction direction, void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy", [&]() -> Outcome {
        if (session == nullptr) return null_argument("session");
        if (bytes == 0) return {};
        if (destination == nullptr) return null_argument("destination");
        if (source == nullptr) return null_argument("source");
        ISTHMUS_TRY(check_bytes(bytes, "bytes"));
        ISTHMUS_TRY_ASSIGN(sides, sides_of(direction));
        return session->session->copy_bytes(
            {reinterpret_cast<std::uintptr_t>(destination), reinterpret_cast<std::uintptr_t>(source), bytes}, sides,
            stream_of(stream));
    });
}

isthmus_code isthmus_copy_array(isthmus_session* session, const isthmus_array* destination, const isthmus_array* source,
                                void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_array", [&]() -> Outcome {
        if (session == nullptr) return null_argument("session");
        ISTHMUS_TRY_ASSIGN(to, view_of(destination, "destination"));
        ISTHMUS_TRY_ASSIGN(from, view_of(source, "source"));
        return session->session->copy(to, from, stream_of(stream));
    });
}

isthmus_code isthmus_copy_batch(isthmus_session* session, size_t pieces, void* const* destinations,
                                const void* const* sources, const size_t* bytes, isthmus_direction direction,
                                void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_batch", [&]() -> Outcome {
        if (session == nullptr) return null_argument("session");
        ISTHMUS_TRY_ASSIGN(batch, batch_of(pieces, destinations, sources, bytes));
        ISTHMUS_TRY_ASSIGN(sides, sides_of(direction));
        return session->session->copy_batch(batch, sides, stream_of(stream));
    });
}

isthmus_code isthmus_copy_rows(isthmus_session* session, size_t layers, const isthmus_array* destinations,
                               const isthmus_rows* destination_rows, const isthmus_array* sources,
                               const isthmus_rows* source_rows, void* stream, isthmus_status* status) noexcept {
    return guarded(status, "copy_rows", [&]() -> Outcome {
        if (session == nullptr) return null_argument("session");
        ISTHMUS_TRY_ASSIGN(rows, Rows::of(layers, destinations, destination_rows, sources, source_rows));
        return session->session->copy_rows(rows.copy(), stream_of(stream));
    });
}

isthmus_code isthmus_copy_async(isthmus_session* session, void* destination, const void* source, size_t bytes,
                                isthmus_direction direction, void* stream, isthmus_transfer** transfer,
                                isthmus_status* status) noexcept {
    return guarded(status, "copy_async", [&] {
        return begin(session, transfer, [&]() -> Begun {
            if (bytes > 0 && destination == nullptr) return null_argument("destination");
            if (bytes > 0 && source == nullptr) return null_argument("source");
            ISTHMUS_TRY(check_bytes(bytes, "bytes"));
            ISTHMUS_TRY_ASSIGN(sides, sides_of(direction));
            ArrayView to = ArrayView::of_bytes(reinterpret_cast<std::uintptr_t>(destination), bytes);
            ArrayView from = ArrayView::of_bytes(reinterpret_cast<std::uintptr_t>(source), bytes);
            to.side = sides.destination;
            from.side = sides.source;
            return session->session->copy_async(to, from, stream_of(*session, stream), {});
        });
    });
}

isthmus_code isthmus_copy_array_async(isthmus_session* session, const isthmus_array* destination,
                                      const isthmus_array* source, void* stream, isthmus_transfer** transfer,
                                      isthmus_status* status) noexcept {
    return guarded(status, "copy_array_async", [&] {
        return begin(session, transfer, [&]() -> Begun {
            ISTHMUS_TRY_ASSIGN(to, view_of(destination, "destination"));
            ISTHMUS_TRY_ASSIGN(from, view_of(source, "source"));
            return session->session->copy_async(to, from, stream_of(*session, stream), {});
        });
    });
}

isthmus_code isthmus_copy_batch_async(isthmus_session* session, size_t pieces, void* const* destinations,
                                      const void* const* sources, const size_t* bytes, isthmus_direction direction,
                                      void* stream, isthmus_transfer** transfer, isthmus_status* status) noexcept {
    return guarded(status, "copy_batch_async", [&] {
        return begin(session, transfer, [&]() -> Begun {
            ISTHMUS_TRY_ASSIGN(batch, batch_of(pieces, destinations, sources, bytes));
            ISTHMUS_TRY_ASSIGN(sides, sides_of(direction));
            return session->session->copy_batch_async(batch, sides, stream_of(*session, stream), {});
        });
    });
}

isthmus_code isthmus_copy_rows_async(isthmus_session* session, size_t layers, const isthmus_array* destinations,
                                     const isthmus_rows* destination_rows, const isthmus_array* sources,
                                     const isthmus_rows* source_rows, void* stream, isthmus_transfer** transfer,
                                     isthmus_status* status) noexcept {
    return guarded(status, "copy_rows_async", [&] {
        return begin(session, transfer, [&]() -> Begun {
            ISTHMUS_TRY_ASSIGN(rows, Rows::of(layers, destinations, destination_rows, sources, source_rows));
            return session->session->copy_rows_async(rows.copy(), stream_of(*session, stream), {});
        });
    });
}

int isthmus_done(isthmus_transfer* transfer) noexcept {
    return transfer == nullptr || transfer->copy->done() ? 1 : 0;
}

isthmus_code isthmus_wait(isthmus_transfer* transfer, isthmus_status* status) noexcept {
    if (transfer == nullptr) return guarded(status, "wait", [] { return null_argument("transfer"); });
    return end_of(*transfer->copy, "wait", status);
}

isthmus_code isthmus_hold_stream(isthmus_transfer* transfer, void* stream, isthmus_status* status) noexcept {
    return guarded(status, "hold_stream", [&] {
        if (transfer == nullptr) return null_argument("transfer");
        return transfer->copy->hold(reinterpret_cast<std::uintptr_t>(stream));
    });
}

isthmus_code isthmus_finish(isthmus_transfer* transfer, isthmus_status* status) noexcept {
    if (transfer == nullptr) return end(status, "finish", Status());
    const std::unique_ptr<isthmus_transfer> owner(transfer);
    return end_of(*owner->copy, "finish", status);
}
