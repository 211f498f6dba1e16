// Operands of copies that may end on threads that never touch the interpreter.
#include "bindings/released.hpp"

#include <nanobind/nanobind.h>

#include <atomic>

namespace isthmus::bindings {
namespace {

struct Link {
    std::unique_ptr<Kept> kept;
    Link* next = nullptr;
};

// A stack without a lock, because the caller that lets go may be in the middle of anything.
std::atomic<Link*> released{nullptr};

int end_in_main_thread(void*) {
    end_kept();
    return 0;
}

void let_go(Link* link) noexcept {
    // Once it is on the stack, another thread may end it.
    Link* below = released.load(std::memory_order_relaxed);
    do {
        link->next = below;
    } while (!released.compare_exchange_weak(below, link, std::memory_order_release, std::memory_order_relaxed));
    // Needs no lock of the interpreter. Where its queue is full or it has ended, the next call of ours does it, or
    // it is not needed.
    if (below == nullptr && Py_IsInitialized() != 0) Py_AddPendingCall(&end_in_main_thread, nullptr);
}

}  // namespace

std::shared_ptr<const void> keep_until_released(std::unique_ptr<Kept> kept) {
    auto link = std::make_unique<Link>();
    link->kept = std::move(kept);
    return std::shared_ptr<Link>(link.release(), &let_go);
}

void end_kept() {
    if (released.load(std::memory_order_relaxed) == nullptr) return;
    Link* link = released.exchange(nullptr, std::memory_order_acquire);
    while (link != nullptr) {
        const std::unique_ptr<Link> ended(link);
        link = ended->next;
    }
}

}  // namespace isthmus::bindings
