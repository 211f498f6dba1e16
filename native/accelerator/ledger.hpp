// What was copied how, counted where the launcher finds it, however the program ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace isthmus::accelerator {

// Why a copy of a size that is looked at was left to the driver. The last three leave all of a process to it.
enum class Reason : std::uint32_t {
    not_pageable,   // page-locked memory that one link serves, managed memory, within a device, or between devices
    other_context,  // of the program's own making
    capturing,      // a graph is being recorded
    unordered,      // an OpenCL queue that keeps no order, or an event that is to have the times of the copy
    unmapped,       // not all of the host's memory is there
    small,          // the driver's own copy is fastest for the size, says the table
    busy,           // asynchronous, behind work of its stream, or rows while loading kernels would wait for others
    early,          // before the program had copied enough for the library to begin
    crowded,        // more threads want to run than there are processors for
    slower,         // it was tried, and the driver's was faster
    failed,         // the library's copy failed; the first failure is kept
    off,            // the library cannot work here; why is kept likewise
    links_taken,    // of page-locked memory, while other copies had the links of other devices
    switched_off,   // ISTHMUS_ACCELERATE=off
    no_memory,      // the library could not begin without memory; it tries again at each copy
    differed,       // a copy was compared with the driver's, and was not the same
    form,           // a call, or a side of it, that the library cannot prove valid: the driver says what it is
    count
};

// What was moved: by the driver's copies, those of page-locked memory by themselves, or by the program itself into
// page-locked memory and out of it.
enum class Way : std::uint32_t {
    to_host,
    to_device,
    out_of_pinned,
    into_pinned,
    pinned_to_host,
    pinned_to_device,
    locked,  // no copy: pages put in place for memory that the driver page-locks
    count
};

// The file, of one process. Python reads it (isthmus.ledger): numbers as this machine has them.
struct Ledger {
    static constexpr std::size_t most_rows = 512;
    struct Count {
        std::uint64_t copies, bytes;
    };
    // Copies of one direction and size (from 2^power bytes to below twice as many) from one place in the program.
    struct Row {
        std::uint64_t site;
        Way way;
        std::uint32_t power;
        std::uint64_t copies, bytes;  // moved by the library
        double seconds;
        std::uint64_t samples, sampled_bytes;  // by the driver, to compare
        double sampled_seconds;
    };
    std::array<char, 8> format;  // ISTHACC3
    std::uint64_t process;
    std::uint64_t rows;
    std::uint64_t checked, wrong;  // copies that were compared with the driver's, and those that differed
    std::uint64_t plain;           // 1 and the reason that leaves all of the process to the driver, if there is one
    Count queued;                  // by several links, without waiting: no time is known
    std::array<Count, static_cast<std::size_t>(Reason::count)> left;
    std::array<char, 256> failure;
    std::array<Row, most_rows> row;

    // In the folder, as PROCESS-NUMBER.ledger; where there is no folder or it cannot be written, in memory that nothing
    // sees. A file without room for the counts stays empty, which says so. Never given back: the program may copy to
    // the end. Null without memory.
    static Ledger* open(const std::string& folder);
    void leave(Reason reason, std::size_t bytes);
    void leave_all(Reason reason);
    void leave_none();
    void queue(std::size_t bytes);
    // Keeps the first.
    void keep(const std::string& why);
};

}  // namespace isthmus::accelerator
