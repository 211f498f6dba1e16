// Which copies the driver itself makes when the work in front of them has ended, and not before.
#include "accelerator/driver_waits.hpp"

namespace isthmus::accelerator {
namespace {

// From so many bytes of pageable memory on, copies to the device wait; smaller ones the driver takes into memory of its
// own. For rows the least size that was seen to wait.
constexpr std::size_t least_waiting_bytes = (std::size_t{2} << 20) + 4096;
constexpr std::size_t least_waiting_rows_bytes = std::size_t{4} << 20;
constexpr std::uintptr_t last_legacy_stream = 1;

}  // namespace

bool driver_waits(const Copy& copy) {
    // Of these some return, by their number, their sizes and the order that their attributes ask for.
    if (copy.batch != nullptr) return false;
    if (!*copy.to_device) return true;
    // On the thread's own stream small ones return before what the legacy stream holds.
    if (!copy.is_asynchronous) return copy.stream <= last_legacy_stream;
    return copy.bytes >= (copy.in_one_piece() ? least_waiting_bytes : least_waiting_rows_bytes);
}

}  // namespace isthmus::accelerator
