// How the fake CUDA driver copies: when it reads the source, and when the call returns, as a real one was recorded
// (../drivers/facts). A part of fake_cuda.cpp.
#pragma once

// Up to so much of pageable memory is taken at once on its way to the device, so that the program may change it when
// the call returns. Pieces of batches from the second size on are left to threads, which read them later.
constexpr std::size_t taken_bytes = std::size_t{2} << 20, least_large_piece = std::size_t{512} << 10;
// So many pieces of one batch the driver keeps in mind.
constexpr std::size_t most_kept_pieces = 63;

enum class Takes { at_once, when_reached, when_reached_and_waits };
// What this thread's last copy did.
thread_local Takes last_takes = Takes::when_reached;

// With `world` held, as all that follows. What kind of memory a copy goes from and to, by its first bytes.
bool is_pageable(Address address) {
    return fake::memory.is_pageable_in(current, reinterpret_cast<void*>(address));
}
bool is_managed(Address address) {
    const auto* block = fake::memory.find(address);
    return block != nullptr && block->second.kind == Kind::managed;
}

std::size_t bytes_of(const fake::Rows& rows) {
    std::size_t sum = 0;
    for (const fake::Row& row : rows) sum += row.bytes;
    return sum;
}

// `is_unified`: by addresses alone, whose pages of managed memory the device then reads where they are.
Takes takes_of(const fake::Rows& rows, bool is_unified) {
    const fake::Row& first = rows.front();
    const bool meets_managed = is_managed(first.from) || is_managed(first.to);
    if (meets_managed && !is_unified) return Takes::when_reached_and_waits;
    if (is_pageable(first.from)) {
        return bytes_of(rows) <= taken_bytes ? Takes::at_once : Takes::when_reached_and_waits;
    }
    return is_pageable(first.to) ? Takes::when_reached_and_waits : Takes::when_reached;
}

// Order as CUmemcpySrcAccessOrder.
Takes takes_of_batch(const fake::Rows& rows, int order, const fake::Stream& stream) {
    constexpr int of_stream = 1, during_call = 2;
    const fake::Row& first = rows.front();
    if (is_pageable(first.from)) {
        if (order == of_stream) return stream.queue.empty() ? Takes::at_once : Takes::when_reached_and_waits;
        if (first.bytes >= least_large_piece) return Takes::when_reached;
        return bytes_of(rows) <= taken_bytes ? Takes::at_once : Takes::when_reached_and_waits;
    }
    if (order == during_call) return Takes::when_reached_and_waits;
    return !is_pageable(first.to) || rows.size() <= most_kept_pieces ? Takes::when_reached
                                                                     : Takes::when_reached_and_waits;
}

// Copies as a device does, whatever the processor may do with the pages.
void move_past_protection(const fake::Row& row) {
    static const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    std::array<std::byte, 1 << 16> part;
    for (std::size_t at = 0; at < row.bytes;) {
        const std::size_t bytes = std::min(part.size(), row.bytes - at);
        if (pread(memory, part.data(), bytes, static_cast<off_t>(row.from + at)) != static_cast<ssize_t>(bytes) ||
            pwrite(memory, part.data(), bytes, static_cast<off_t>(row.to + at)) != static_cast<ssize_t>(bytes)) {
            std::abort();
        }
        at += bytes;
    }
}
void move_rows(const fake::Rows& rows) {
    for (const fake::Row& row : rows) {
        if (fake::ignores_protection()) {
            move_past_protection(row);
        } else {
            std::memmove(reinterpret_cast<void*>(row.to), reinterpret_cast<void*>(row.from), row.bytes);
        }
    }
}

// Long copies of pinned memory take their time, in which streams that do not wait for them get on (FAKE_CUDA_LATE).
bool is_late(const fake::Rows& rows) {
    constexpr std::size_t long_bytes = std::size_t{16} << 20;
    static const bool asked = std::getenv("FAKE_CUDA_LATE") != nullptr;
    return asked && bytes_of(rows) >= long_bytes;
}

// Puts it on the stream. `done` is set when a copy that is waited for has been made.
int enqueue_rows(void* handle, const char* function, fake::Rows rows, Takes takes, bool& done) {
    done = takes != Takes::when_reached_and_waits;
    if (rows.empty()) return success;
    if (fake::is_captured(handle, current)) {
        done = true;
        return enqueue_work(handle, [rows = std::move(rows)] { move_rows(rows); });
    }
    if (takes == Takes::when_reached && is_late(rows)) {
        fake::streams.enqueue(*fake::streams.find(handle, current),
                              {[end = std::optional<std::chrono::steady_clock::time_point>()]() mutable {
                                  constexpr std::chrono::milliseconds late(10);
                                  if (!end) end = std::chrono::steady_clock::now() + late;
                                  return std::chrono::steady_clock::now() >= *end;
                              }});
    }
    if (takes != Takes::at_once) {
        return enqueue_copy(handle, function, [rows = std::move(rows), takes, &done] {
            move_rows(rows);
            if (takes == Takes::when_reached_and_waits) done = true;
        });
    }
    std::vector<std::byte> taken(bytes_of(rows));
    std::byte* at = taken.data();
    for (const fake::Row& row : rows) {
        std::memcpy(at, reinterpret_cast<void*>(row.from), row.bytes);
        at += row.bytes;
    }
    return enqueue_copy(handle, function, [rows = std::move(rows), taken = std::move(taken)] {
        const std::byte* from = taken.data();
        for (const fake::Row& row : rows) {
            std::memcpy(reinterpret_cast<void*>(row.to), from, row.bytes);
            from += row.bytes;
        }
    });
}

// Copies between devices whose last byte is lost on the way: those to the device FAKE_CUDA_CORRUPT_PEERS, or all.
bool is_corrupted(std::string_view function, Address to) {
    const char* text = std::getenv("FAKE_CUDA_CORRUPT_PEERS");
    if (text == nullptr || function != "cuMemcpyPeerAsync") return false;
    const auto* owner = static_cast<const fake::Context*>(fake::memory.owner(to));
    return *text == '\0' || (owner != nullptr && owner->device == std::atoi(text));
}

// Which side of a copy in one piece has to be the device's, by the function's name.
struct Named {
    bool to_device = false, to_host = false;
};
bool is_refused(const fake::Row& row, Named named) {
    if (row.to == 0 || row.from == 0) return true;
    const auto is_unknown = [](Address address) { return fake::memory.find(address) == nullptr; };
    if ((named.to_device && is_unknown(row.to)) || (named.to_host && is_unknown(row.from))) return true;
    return fake::memory.is_cut(row.to, row.bytes) || fake::memory.is_cut(row.from, row.bytes);
}

// What a copy calls: `make` gives its rows, or the code that it is refused with.
template <typename Make>
int copy_made(const char* function, void* handle, Make make) {
    bool done = true;
    fake::enter_driver(function);
    {
        const std::lock_guard lock(world);
        if (const int code = refusal(function); code != success) return code;
        if (current == nullptr) return invalid_context;
        if (!current->is_alive) return fake::context_is_destroyed;
        fake::Rows rows;
        Takes takes = Takes::when_reached;
        if (const int code = make(rows, takes); code != success) return code;
        last_takes = takes;
        if (const int code = enqueue_rows(handle, function, std::move(rows), takes, done); code != success) return code;
    }
    if (!done) fake::wait_until([&] { return done; });
    return success;
}

int copy(const char* function, Address to, Address from, std::size_t bytes, void* handle, Named named = {}) {
    return copy_made(function, handle, [&](fake::Rows& rows, Takes& takes) {
        if (bytes == 0) return success;
        fake::Row row{to, from, bytes};
        if (is_refused(row, named)) return invalid_value;
        if (std::getenv("FAKE_CUDA_SHORT") != nullptr) --row.bytes;
        if (is_corrupted(function, to)) --row.bytes;
        rows.push_back(row);
        takes = takes_of(rows, !named.to_device && !named.to_host);
        return success;
    });
}

template <typename Structure>
int copy_section(const char* function, const Structure* given, void* handle) {
    return copy_made(function, handle, [&](fake::Rows& rows, Takes& takes) {
        auto made = fake::rows_of(given);
        if (!made) return invalid_value;
        rows = std::move(*made);
        if (!rows.empty()) takes = takes_of(rows, false);
        return success;
    });
}

// A copy that returns when it has been made. On the legacy stream all in front of it is waited for first; on the
// thread's, what that itself holds.
template <typename Begin>
int copy_and_wait(const char* function, void* handle, Begin begin) {
    fake::Stream* stream = nullptr;
    fake::enter_driver(function);
    bool waits = true;
    {
        const std::lock_guard lock(world);
        if (current == nullptr) return invalid_context;
        if (fake::is_legacy(handle) && fake::captures.forbid_legacy(current)) return fake::capture_implicit;
        stream = fake::streams.find(handle, current);
        waits = stream->recorded == nullptr;
    }
    if (waits) fake::wait_until([stream] { return fake::streams.is_idle(*stream); });
    return begin();
}

// 0 and 1 are the legacy default stream, 2 the thread's own, which 0 is for the functions that end in _ptds and _ptsz.
constexpr void* legacy = nullptr;
void* of_thread(void* stream) {
    return stream == nullptr ? reinterpret_cast<void*>(2) : stream;
}

// And returns when the stream has come so far.
template <typename Begin>
int waited_for(const char* function, void* stream, Begin begin) {
    const int code = copy_and_wait(function, stream, begin);
    if (code != success) return code;
    fake::Stream* waited = nullptr;
    {
        const std::lock_guard lock(world);
        waited = fake::streams.find(stream, current);
        // What has been taken need not have arrived on the thread's stream, which may come behind the legacy one.
        if (waited->recorded != nullptr || (!fake::is_legacy(stream) && last_takes == Takes::at_once)) return success;
    }
    fake::wait_until([waited] { return fake::streams.is_idle(*waited); });
    return success;
}

template <typename Structure>
int section_and_wait(const char* function, const Structure* given, void* stream) {
    return waited_for(function, stream, [=] { return copy_section(function, given, stream); });
}
