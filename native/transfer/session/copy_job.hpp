// One copy as a session works on it: where its pieces lie, and how they are moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "transfer/copy/array_view.hpp"
#include "transfer/copy/ends.hpp"
#include "transfer/pieces/piece_copy.hpp"
#include "transfer/staging/spare_offsets.hpp"

namespace isthmus {

// Pieces of one size with the memory that they are in. Layouts point into it, so it does not move.
struct CopyJob {
    Ends ends;
    std::shared_ptr<Device> other;  // whose memory one side is, where the copy is between two devices
    bool is_reached = true;         // kernels of the session's device read and write both sides
    std::unique_ptr<Allocation> destination_memory, source_memory;
    std::unique_ptr<FileBytes> file;  // in place of the source's memory
    std::vector<std::uint64_t> destination_offsets, source_offsets;
    std::vector<Steps> source_steps;  // of a source that is repeated
    Layout destination, source;
    Extent extent;

    // Whether it is known that no two pieces overlap where they are written to.
    bool is_disjoint = true;
    std::shared_ptr<SpareOffsets> spare;  // gets the lists of offsets; null for none
    std::shared_ptr<CopyJob> whole;       // that this is a part of, and whose memory it uses

    CopyJob() = default;
    ~CopyJob();
    CopyJob(const CopyJob&) = delete;
    CopyJob& operator=(const CopyJob&) = delete;

    bool to_device() const { return ends.route == Route::h2d; }
    const Layout& host_side() const { return to_device() ? source : destination; }
    const Layout& device_side() const { return to_device() ? destination : source; }
    // All of it. Precondition: is_contiguous().
    Region destination_region() const { return {destination.allocation, destination.offset, extent.bytes()}; }
    Region source_region() const { return {source.allocation, source.offset, extent.bytes()}; }
    bool is_contiguous() const { return destination.is_contiguous(extent) && source.is_contiguous(extent); }
    bool is_scattered() const { return destination.is_scattered() || source.is_scattered(); }
    // Whether the source repeats short pieces, which threads write out, and nothing else can read.
    bool is_repeated() const { return !source_steps.empty(); }
    // Makes it one of scattered pieces, that any method can read. Fails with unsupported where they are too many.
    Status scatter();
    // Finds out whether pieces overlap, which takes a while; fails with invalid_argument where they do overlap.
    Status check_disjoint();
};

// What is chosen for a copy.
struct Choice {
    enum class Kind {
        nothing,  // there is nothing to copy
        host,     // by the calling thread
        driver,   // the driver's own copy from or to pageable memory
        direct,   // the driver's copy from or to memory that the device reaches
        staged,   // threads pack, the driver copies what they packed
        device,   // within the device
        pieces,   // by one of the methods for pieces
        rows,     // each piece, being long, as a buffer of its own
    };
    Kind kind = Kind::nothing;
    PieceMethod method = PieceMethod::copies;
    Packing packing;
    double seconds = 0;    // expected; 0 where unknown
    bool no_rule = false;  // the table has nothing like these pieces
    bool no_room = false;  // the budget holds no ring of chunks, which else would be used
};

const char* name_of(Choice::Kind kind);

// Gives another device of the backend by its index.
using OtherDevices = std::function<Result<std::shared_ptr<Device>>(int)>;

// Fails with invalid_argument for what cannot be copied, and for a source that overlaps with the destination; with
// unsupported between devices that cannot. Null where there is nothing to copy.
Result<std::shared_ptr<CopyJob>> job_of(Device& device, const OtherDevices& others, const ArrayView& destination,
                                        const ArrayView& source);

// The same of a destination without gaps and what is read from a file.
Result<std::shared_ptr<CopyJob>> job_of(Device& device, const ArrayView& destination, const FileRange& file);

// Whether bytes of one are bytes of the other, given the addresses that their offsets count from.
bool overlap(const CopyJob& job, std::uintptr_t destination, std::uintptr_t source);

// A part of a job that is moved at a time: pieces from `first` on, as many as the extent has.
struct JobPart {
    std::size_t first = 0;
    Extent extent;
    Layout destination, source;
};

// Cuts a job into parts of at most so many pieces, in order.
class JobParts {
  public:
    JobParts(const CopyJob& job, std::size_t most_pieces) : job_(job) { set_most(most_pieces); }
    // False when there are no more.
    bool next(JobPart& part);
    // For the parts that come.
    void set_most(std::size_t pieces) { most_ = pieces == 0 ? 1 : pieces; }

  private:
    const CopyJob& job_;
    std::size_t most_ = 1;
    std::size_t first_ = 0;
};

}  // namespace isthmus
