// What a random program is: the memory and streams that it uses, and its steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What the host's side of a copy is in.
enum class HostKind {
    heap,
    anonymous,
    huge,
    untouched,
    file_shared,
    file_private,
    stack,
    guarded,    // ends where a page begins that none may touch
    read_only,  // a source alone
    pinned,
    pinned_portable,
    pinned_mapped,
    registered,
    registered_in_part,
    managed,
    count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(HostKind::count)> host_kinds{
    "heap",    "anonymous", "huge",   "untouched",       "file_shared",   "file_private", "stack",
    "guarded", "read_only", "pinned", "pinned_portable", "pinned_mapped", "registered",   "registered_in_part",
    "managed"};
inline bool is_pageable(HostKind kind) {
    return kind < HostKind::pinned;
}
// By the driver's own memory, not by registering the program's.
inline bool is_drivers(HostKind kind) {
    return kind >= HostKind::pinned && kind <= HostKind::pinned_mapped;
}

enum class DeviceKind { plain, mapped, pooled, managed, count };
inline constexpr std::array<const char*, static_cast<std::size_t>(DeviceKind::count)> device_kinds{"plain", "mapped",
                                                                                                   "pooled", "managed"};

enum class StreamKind { legacy, legacy_by_name, of_thread, blocking, non_blocking, count };
inline constexpr std::array<const char*, static_cast<std::size_t>(StreamKind::count)> stream_kinds{
    "legacy", "legacy_by_name", "of_thread", "blocking", "non_blocking"};

// A stream with memory of its own on both sides: what is done in one lane needs no order with what is done in another.
struct Lane {
    HostKind host = HostKind::heap;
    DeviceKind device = DeviceKind::plain;
    StreamKind stream = StreamKind::non_blocking;
    unsigned who = 0;        // which thread uses it
    std::size_t extent = 0;  // the bytes that are used on either side
    bool is_fresh = false;   // its memory is given back and got anew first
};

enum class Form { linear, generic, rows, rows_unaligned, layers, batch, batch_2, array, peer };
inline constexpr std::array<const char*, 9> forms{"linear",  "generic", "rows", "rows_unaligned", "layers", "batch",
                                                  "batch_2", "array",   "peer"};

enum class Mistake {
    none,
    short_pitch,
    beyond_row,       // the position and the width are more than the pitch
    beyond_layer,     // the position and the rows are more than a layer has
    beyond_block,     // past the end of the device's memory
    unknown_type,     // a side of no known type, or a kind that there is not
    other_direction,  // the types or the kind of a copy the other way, or within one side
    no_attributes,
    unknown_order,
    empty_piece,
    none_at_all,  // no bytes, rows or pieces
    null_side,
    far_away,
    count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Mistake::count)> mistakes{
    "none",          "short_pitch",   "beyond_row",  "beyond_layer", "beyond_block", "unknown_type", "other_direction",
    "no_attributes", "unknown_order", "empty_piece", "none_at_all",  "null_side",    "far_away"};

// One side of rows: where they begin, and how they follow.
struct SideOfRows {
    std::size_t at = 0, pitch = 0, rows_of_layer = 0, x = 0, y = 0, z = 0;
};

struct CopyShape {
    Form form = Form::linear;
    Mistake mistake = Mistake::none;
    bool to_device = true;
    bool is_asynchronous = false;
    bool by_runtime = false;
    bool by_thread_variant = false;  // the function for the thread's own default stream
    bool is_default_kind = false;    // the runtime finds out the direction; the driver's types are unified
    std::size_t host_at = 0, device_at = 0, bytes = 0;
    std::size_t width = 0, height = 0, depth = 1;
    SideOfRows host, device;
    std::size_t pieces = 0, piece_bytes = 0;
    int order = 1;
};

enum class Act {
    copy,
    write_host,
    fill_device,
    copy_within_device,
    move_memory,
    close_gate,
    open_gates,
    query,
    query_event,
    synchronize,
    synchronize_default,
    hand_over,
    host_function,
    begin_capture,
    end_capture,
    together,  // the next `count` steps, each thread's own at the same time as the other's
    without_context,
    lock_pages,
    unlock_pages,
    recreate_stream,
    renew_memory,  // the host's, page-locked: given back, and anew
    check,
    count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Act::count)> acts{"copy",
                                                                                    "write_host",
                                                                                    "fill_device",
                                                                                    "copy_within_device",
                                                                                    "move_memory",
                                                                                    "close_gate",
                                                                                    "open_gates",
                                                                                    "query",
                                                                                    "query_event",
                                                                                    "synchronize",
                                                                                    "synchronize_default",
                                                                                    "hand_over",
                                                                                    "host_function",
                                                                                    "begin_capture",
                                                                                    "end_capture",
                                                                                    "together",
                                                                                    "without_context",
                                                                                    "lock_pages",
                                                                                    "unlock_pages",
                                                                                    "recreate_stream",
                                                                                    "renew_memory",
                                                                                    "check"};

struct Step {
    Act act = Act::check;
    unsigned lane = 0, other = 0;
    unsigned who = 0;
    std::uint64_t seed = 0;
    CopyShape copy{};
    std::size_t at = 0, bytes = 0, to = 0;
    int mode = 0;
    bool flag = false;
    bool is_behind_gate = false;  // of a copy: whether its own turn comes when a gate has been opened
    std::size_t count = 0;
};

struct Program {
    std::uint64_t seed = 0;
    std::string part{};  // in the names of its steps, where a process makes several programs of one number
    std::vector<Lane> lanes{};
    std::vector<Step> steps{};
    bool is_interrupted = false;  // by a timer, all the time
    std::string fails{};          // the driver's function that fails (a fake one's)
};
