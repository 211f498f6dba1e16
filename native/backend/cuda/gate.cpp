// Holds CUDA streams back with a kernel that spins on a word of mapped host memory.
#include "backend/cuda/gate.hpp"

#include <cstring>

namespace isthmus::cuda {
namespace {

constexpr std::size_t gate_slots = 1024;
constexpr std::size_t slot_bytes = 64;  // a cache line each, so that opening one gate disturbs no other
constexpr std::size_t timed_out_offset = 4;

}  // namespace

Result<std::shared_ptr<GateWords>> GateWords::create(const std::shared_ptr<PrimaryContext>& context) {
    // Registered and not got from the driver, which carves small pinned blocks out of a larger one: the words would
    // keep that alive, and make every small pinned allocation that is timed later a hundred times as fast.
    ISTHMUS_TRY_ASSIGN(memory, reserve(context, MemoryKind::registered, gate_slots * slot_bytes, nullptr));
    ISTHMUS_TRY(memory->prepare());
    ISTHMUS_TRY(memory->acquire());
    return std::shared_ptr<GateWords>(new GateWords(std::move(memory)));
}

GateWords::Slot GateWords::next() {
    const std::size_t offset = next_.fetch_add(1) % gate_slots * slot_bytes;
    std::byte* host = memory_->host() + offset;
    std::memset(host, 0, slot_bytes);
    const DevicePointer address = static_cast<CudaAllocation&>(*memory_).address() + offset;
    return {std::atomic_ref(*reinterpret_cast<std::uint32_t*>(host)), address, address + timed_out_offset,
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(host + timed_out_offset))};
}

}  // namespace isthmus::cuda
