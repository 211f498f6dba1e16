// Which method is fastest for which copy, as measured on one machine: finding a rule, and what it promises.
#include "transfer/table/transfer_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isthmus {
namespace {

// Whether such pieces can be moved so at all; what PieceCopy::create would refuse is no advice.
bool can_move(PieceMethod method, const PieceRule& asked) {
    switch (method) {
        case PieceMethod::section: return !asked.scattered;
        case PieceMethod::device_pack: return !asked.apart_on_host && asked.apart_on_device;
        case PieceMethod::pack:
        case PieceMethod::pack_threads:
        case PieceMethod::pack_kernel: return asked.apart_on_host || asked.pageable;
        case PieceMethod::whole: return false;  // it writes what is between
        default: return true;
    }
}

// How little a rule has in common with what is asked for; the method of any may still serve.
int strangeness(const PieceRule& rule, const PieceRule& asked) {
    if (rule.apart_on_host != asked.apart_on_host || rule.apart_on_device != asked.apart_on_device) return 2;
    return rule.scattered == asked.scattered ? 0 : 1;
}

double logarithm(std::size_t number) {
    return std::log2(static_cast<double>(std::max<std::size_t>(number, 1)));
}

// The squared distance of two points in width, number and bytes.
double distance(const PieceRule& rule, double width, double pieces) {
    const double of_widths = logarithm(rule.width_bytes) - width;
    const double of_pieces = logarithm(rule.pieces) - pieces;
    const double of_bytes = of_widths + of_pieces;
    return of_widths * of_widths + of_pieces * of_pieces + of_bytes * of_bytes;
}

// What a piece costs besides its bytes, as so many bytes that might have crossed a link of 50 GB/s in that time. Orders
// of magnitude, from the measurements behind the built-in table: half a microsecond for a copy of the driver's, 2.5 ns
// for a row of its 2-D copies, and one for a piece that a thread or a kernel looks up.
double bytes_for_each(PieceMethod method) {
    switch (method) {
        case PieceMethod::waited_copies:
        case PieceMethod::copies:
        case PieceMethod::batch:
        case PieceMethod::graph: return 25000;
        case PieceMethod::section: return 125;
        default: return 50;
    }
}

double cost(PieceMethod method, std::size_t width_bytes, std::size_t pieces) {
    return static_cast<double>(pieces) * (static_cast<double>(width_bytes) + bytes_for_each(method));
}

}  // namespace

const BufferRule& TransferTable::buffer(bool to_device, std::size_t bytes) const {
    static const BufferRule none;  // of an empty table
    const BufferRule* best = &none;
    for (const BufferRule& rule : buffers) {
        if (rule.to_device == to_device && rule.from_bytes <= bytes) best = &rule;
    }
    return *best;
}

const PieceRule* TransferTable::piece(const PieceRule& asked) const {
    const double width = logarithm(asked.width_bytes);
    const double count = logarithm(asked.pieces);
    const PieceRule* nearest = nullptr;
    int least_strange = std::numeric_limits<int>::max();
    double least_far = 0;
    for (const PieceRule& rule : pieces) {
        if (rule.to_device != asked.to_device || rule.pageable != asked.pageable) continue;
        const int strange = strangeness(rule, asked);
        if (strange > least_strange || !can_move(rule.method, asked)) continue;
        const double far = distance(rule, width, count);
        if (strange < least_strange || far < least_far) {
            nearest = &rule;
            least_strange = strange;
            least_far = far;
        }
    }
    return nearest;
}

KernelBlocks TransferTable::kernel_blocks(const LinkReading& link) const {
    KernelBlocks blocks = KernelBlocks::for_link(link);
    for (const KernelRule& rule : kernels) (rule.to_device ? blocks.to_device : blocks.to_host) = rule.blocks;
    blocks.on_device = KernelBlocks::gathering(std::min(blocks.to_device, blocks.to_host));
    return blocks;
}

double TransferTable::seconds(const BufferRule& rule, std::size_t bytes) const {
    const BufferRule* next = nullptr;
    for (const BufferRule& other : buffers) {
        const bool later = other.to_device == rule.to_device && other.from_bytes > rule.from_bytes;
        if (later && (next == nullptr || other.from_bytes < next->from_bytes)) next = &other;
    }
    const auto beyond = static_cast<double>(bytes) - static_cast<double>(rule.from_bytes);
    if (next != nullptr) {
        const double share = beyond / static_cast<double>(next->from_bytes - rule.from_bytes);
        return rule.seconds + share * (next->seconds - rule.seconds);
    }
    if (rule.from_bytes == 0) return rule.seconds;  // the only one
    return rule.seconds * static_cast<double>(bytes) / static_cast<double>(rule.from_bytes);
}

double TransferTable::direct_seconds(bool to_device, std::size_t bytes) const {
    const DirectTime* before = nullptr;
    for (const DirectTime& time : direct) {
        if (time.to_device != to_device) continue;
        if (time.bytes >= bytes) {
            if (before == nullptr) return time.seconds;
            const auto share =
                static_cast<double>(bytes - before->bytes) / static_cast<double>(time.bytes - before->bytes);
            return before->seconds + share * (time.seconds - before->seconds);
        }
        before = &time;
    }
    return before == nullptr ? 0 : before->seconds * static_cast<double>(bytes) / static_cast<double>(before->bytes);
}

double TransferTable::seconds(const PieceRule& rule, std::size_t width_bytes, std::size_t count) const {
    double latency = rule.seconds;
    for (const PieceRule& other : pieces) {
        if (other.to_device == rule.to_device && other.pageable == rule.pageable) {
            latency = std::min(latency, other.seconds);
        }
    }
    const double measured = cost(rule.method, rule.width_bytes, rule.pieces);
    return latency + (rule.seconds - latency) * cost(rule.method, width_bytes, count) / measured;
}

}  // namespace isthmus
