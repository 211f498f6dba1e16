// Which method is fastest for which copy, as measured on one machine: what a session chooses by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel_blocks.hpp"
#include "base/names.hpp"
#include "transfer/links/link_rule.hpp"
#include "transfer/pieces/pack.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

ISTHMUS_ENUM(BufferMethod,
             driver,  // the driver's own copy from or to pageable memory
             staged)  // threads pack into page-locked chunks that cross the link meanwhile, or unpack them

// How a copy between pageable memory and the device that is in one piece on both sides is made, from a size on.
struct BufferRule {
    bool to_device = true;
    std::size_t from_bytes = 0;
    BufferMethod method = BufferMethod::driver;
    std::size_t threads = 0, chunk_bytes = 0;  // of staged ones
    Stores stores = Stores::ordinary;
    double seconds = 0;  // measured, of a copy of from_bytes
};

// What the driver's copy between page-locked memory and the device took: there is nothing to choose, but to expect.
struct DirectTime {
    bool to_device = true;
    std::size_t bytes = 0;
    double seconds = 0;
};

// The fastest method for pieces of one shape, and what it took.
struct PieceRule {
    bool to_device = true;
    bool pageable = true;       // the host's memory, else page-locked
    bool apart_on_host = true;  // whether pieces lie apart there, else side by side
    bool apart_on_device = true;
    bool scattered = true;  // whether they lie anywhere, on one side at least, else at regular distances
    std::size_t width_bytes = 0, pieces = 0;
    PieceMethod method = PieceMethod::copies;
    std::size_t threads = 0;  // of those that pack on threads
    double seconds = 0;
};

// How many blocks of a kernel, at the least, fill the link.
struct KernelRule {
    bool to_device = true;
    std::uint32_t blocks = 0;
};

struct TransferTable {
    // Who measured it where: "built in: NVIDIA H200, PCIe 5.0 x16" or the machine's fingerprint.
    std::string origin;  // one line
    bool built_in = true;
    std::vector<BufferRule> buffers;  // by direction, then ascending in size; the first of each begins at 0
    std::vector<DirectTime> direct;   // by direction, then ascending in size; there may be none
    std::vector<KernelRule> kernels;  // at most one for each direction
    std::vector<PieceRule> pieces;
    std::vector<LinkRule> links;  // at most one for each direction and device

    // What is used until a machine is calibrated. From measurements of H200s (results/), for a backend by its name;
    // of CUDA's devices those whose table is in native/transfer/table/built_in have their own.
    static TransferTable defaults(std::string_view backend, std::string_view device = {});
    // As `isthmus calibrate` writes it: lines of text, the first with the format's version. Fails with
    // invalid_argument, naming the line, what was found there and what was expected.
    static Result<TransferTable> parse(std::string_view text);
    std::string text() const;

    // The rule with the largest from_bytes that is no more than that.
    const BufferRule& buffer(bool to_device, std::size_t bytes) const;
    // The nearest in the logarithms of widths, numbers and bytes among the rules for the same direction and memory
    // whose method such pieces can be moved by: of those alike in all else, or if there are none, in where they are
    // apart, or of any. None where there is none of these either.
    const PieceRule* piece(const PieceRule& asked) const;
    // With what suits the link for directions that have no rule.
    KernelBlocks kernel_blocks(const LinkReading& link) const;
    // What a copy by one of this table's rules is expected to take: rough figures, for explain(). For buffers in
    // proportion between this rule's measured time and the next one's, beyond the last in proportion to the bytes.
    double seconds(const BufferRule& rule, std::size_t bytes) const;
    // For page-locked memory between the measured times likewise; 0 where there are none.
    double direct_seconds(bool to_device, std::size_t bytes) const;
    // For pieces what a call takes at least, and beyond it in proportion to bytes and to what each piece costs.
    double seconds(const PieceRule& rule, std::size_t width_bytes, std::size_t pieces) const;
};

}  // namespace isthmus
