// The trace file: blocks of records of one kind, written as they are made. docs/tracing.md says how it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "interpose/own_file.hpp"

namespace isthmus::trace {

// All numbers are of 64-bit little-endian machines, the only ones that have these accelerators.
inline constexpr std::uint64_t magic = 0x3143'5254'4854'5349;  // "ISTHTRC1"
// Raised when records change their meaning; new kinds of records do not raise it.
inline constexpr std::uint32_t format_version = 1;
// Blocks begin at multiples of it.
using interpose::alignment;
using interpose::Lack;

enum class Kind : std::uint32_t {
    process = 1,
    text = 2,
    copy = 3,
    call = 4,
    operands = 5,
    kernel = 6,
    memset = 7,
    migration = 8,
    fault = 9,
    allocation = 10,
    device = 11,
    note = 12,
    window = 13,
    host_work = 14,
};
inline constexpr std::size_t kinds = 15;

// What every block begins with. `used_bytes` grows as records are written behind it, so that what a killed program
// leaves can be read.
struct BlockHeader {
    std::uint64_t magic;
    std::uint32_t version;
    Kind kind;
    std::uint32_t record_bytes;  // 1 where records differ in size: texts
    std::uint32_t pid;
    std::uint64_t process;  // a number that no other process of the trace has
    std::uint64_t block_bytes;
    std::uint64_t used_bytes;
    std::uint64_t reserved[2];
};
static_assert(sizeof(BlockHeader) == 64);

// Times are nanoseconds of one clock, which all processes of a machine share.

// Changed in place: the first block of every file holds the only one.
struct ProcessRecord {
    static constexpr Kind kind = Kind::process;
    std::uint64_t started_ns;
    std::uint64_t ended_ns;  // 0 until the program ended in order and everything was written
    std::uint64_t dropped;   // records that CUPTI lost, or that were not written for what was lacking
    std::uint32_t name;      // index of a text
    std::int32_t rank;       // -1: none
    std::uint32_t flags;     // what was recorded
    Lack lack;
};
inline constexpr std::uint32_t recorded_call_sites = 1;
inline constexpr std::uint32_t recorded_contents = 2;
inline constexpr std::uint32_t recorded_managed = 4;
inline constexpr std::uint32_t without_kernels = 8;  // or with those of windows alone

// Followed by `bytes` bytes of UTF-8, padded to a multiple of 8.
struct TextHeader {
    std::uint32_t index;
    std::uint32_t bytes;
};

// As CUPTI reports it, with its numbers for kinds.
struct CopyRecord {
    static constexpr Kind kind = Kind::copy;
    std::uint64_t start_ns, end_ns, bytes;
    std::uint32_t correlation, device, peer, stream;
    std::uint8_t copy_kind, source, destination, flags;
    std::uint32_t count;  // of copies in one record; 0 is 1
};

struct CallRecord {
    static constexpr Kind kind = Kind::call;
    std::uint64_t start_ns, end_ns;
    std::uint32_t correlation, thread;
    std::uint32_t name, site;  // indices of texts; 0: none
};

// Whether devices time the copies of a call, each in a record of its own.
enum class Timing : std::uint32_t {
    always = 0,  // and there may be several copies, or none: only the device can tell
    timed = 1,   // one copy
    maybe = 2,   // one copy, and time stamps were turned on or off meanwhile
    none = 3,    // one copy, and a record of it is another copy's
    graph = 4,   // one copy of a graph or of another call, if there is no record of any of them
};

// What a call was asked to copy.
struct OperandsRecord {
    static constexpr Kind kind = Kind::operands;
    std::uint64_t source, destination, bytes, content;
    std::uint32_t correlation, rows;
    // Where a copy was made that its device need not have timed; else 0.
    std::uint32_t device, stream;
    std::uint16_t copy_kind;  // 0 where the call alone does not tell
    std::uint16_t waited;     // whether the call did: 1 no, 2 yes; 0 where its name tells
    Timing timing;
};

struct KernelRecord {
    static constexpr Kind kind = Kind::kernel;
    std::uint64_t start_ns, end_ns;
    std::uint32_t correlation, device, stream, name;
};

struct MemsetRecord {
    static constexpr Kind kind = Kind::memset;
    std::uint64_t start_ns, end_ns, bytes;
    std::uint32_t correlation, device, stream, padding;
};

struct MigrationRecord {
    static constexpr Kind kind = Kind::migration;
    std::uint64_t start_ns, end_ns, bytes, address;
    std::uint32_t counter, source, destination, cause;
};

struct FaultRecord {
    static constexpr Kind kind = Kind::fault;
    std::uint64_t start_ns, end_ns, address, count;
    std::uint32_t counter, device;
};

struct AllocationRecord {
    static constexpr Kind kind = Kind::allocation;
    std::uint64_t start_ns, end_ns, address, bytes;
    std::uint32_t correlation;
    std::uint16_t memory;  // CUPTI's kind of memory
    std::uint16_t release;
};

struct DeviceRecord {
    static constexpr Kind kind = Kind::device;
    std::uint32_t index, name;
};

struct NoteRecord {
    static constexpr Kind kind = Kind::note;
    std::uint32_t text, padding;
};

// In which all kernels that were launched are recorded; where a process has none, all are.
struct WindowRecord {
    static constexpr Kind kind = Kind::window;
    std::uint64_t start_ns, end_ns;
    std::uint64_t launched_ns;  // there were no launches between that and its start
};

// What the thread of a copy of some megabytes did in the kernel since the one before it, and while it lasted the time
// on processors of all threads of the process.
struct HostWorkRecord {
    static constexpr Kind kind = Kind::host_work;
    std::uint64_t system_ns, running_ns;
    std::uint32_t correlation;
    std::uint32_t faults;  // pages that were put in place
};

static_assert(sizeof(ProcessRecord) == 40 && sizeof(CopyRecord) == 48 && sizeof(CallRecord) == 32);
static_assert(sizeof(OperandsRecord) == 56 && sizeof(KernelRecord) == 32 && sizeof(MemsetRecord) == 40);
static_assert(sizeof(MigrationRecord) == 48 && sizeof(FaultRecord) == 40 && sizeof(AllocationRecord) == 40);
static_assert(std::is_trivially_copyable_v<CopyRecord>);

}  // namespace isthmus::trace
