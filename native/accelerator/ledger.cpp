// What was copied how, counted where the launcher finds it, however the program ends.
#include "accelerator/ledger.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interpose/mapped_file.hpp"
#include "interpose/undisturbed.hpp"

namespace isthmus::accelerator {
namespace {

void add(Ledger::Count& count, std::uint64_t bytes) {
    std::atomic_ref(count.copies).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(count.bytes).fetch_add(bytes, std::memory_order_relaxed);
}

constexpr std::size_t file_bytes =
    (sizeof(Ledger) + interpose::alignment - 1) / interpose::alignment * interpose::alignment;

// All of its pages have room on the disk, so that a full one is met here and not where they are used.
void* mapped(const std::string& folder) {
    if (folder.empty()) return nullptr;
    const interpose::Undisturbed undisturbed;
    auto file = interpose::make_named(folder, ".ledger",
                                      [](const std::string& path) { return interpose::MappedFile::create(path); });
    if (!file.ok()) return nullptr;
    void* const memory = file.value().claim(file_bytes);
    file.value().finish();
    return memory;
}

}  // namespace

Ledger* Ledger::open(const std::string& folder) {
    void* memory = mapped(folder);
    if (memory == nullptr) {
        memory = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (memory == MAP_FAILED) return nullptr;
    auto* const ledger = static_cast<Ledger*>(memory);
    constexpr char name[] = "ISTHACC3";
    std::memcpy(ledger->format.data(), name, ledger->format.size());
    ledger->process = static_cast<std::uint64_t>(getpid());
    return ledger;
}

void Ledger::leave(Reason reason, std::size_t bytes) {
    add(left[static_cast<std::size_t>(reason)], bytes);
}

void Ledger::leave_all(Reason reason) {
    std::atomic_ref(plain).store(1 + static_cast<std::uint64_t>(reason), std::memory_order_relaxed);
}

void Ledger::leave_none() {
    std::atomic_ref(plain).store(0, std::memory_order_relaxed);
}

void Ledger::queue(std::size_t bytes) {
    add(queued, bytes);
}

void Ledger::keep(const std::string& why) {
    if (failure[0] != 0) return;
    std::memcpy(failure.data(), why.data(), std::min(why.size(), failure.size() - 1));
}

}  // namespace isthmus::accelerator
