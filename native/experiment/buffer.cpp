// An allocation together with its device, and the synchronous work that prepares and checks its contents.
#include "experiment/buffer.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "backend/device.hpp"
#include "backend/launch.hpp"
#include "base/cache.hpp"
#include "base/pages.hpp"
#include "base/slices.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::experiment {
Result<std::shared_ptr<OpenDevice>> OpenDevice::create(std::shared_ptr<Device> device) {
    // Sessions of the transfer library are opened so, too, and leave the thread as it was.
    Binding binding(*device);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(stream, device->create_stream());
    return std::shared_ptr<OpenDevice>(new OpenDevice(std::move(device), std::move(stream)));
}

Result<OpenDevice::Track*> OpenDevice::track(std::size_t index) {
    std::unique_ptr<Track>& track = tracks_.at(index);
    if (track == nullptr) {
        ISTHMUS_TRY_ASSIGN(stream, device_->create_stream());
        ISTHMUS_TRY_ASSIGN(start, device_->create_event());
        ISTHMUS_TRY_ASSIGN(stop, device_->create_event());
        track = std::make_unique<Track>(Track{std::move(stream), std::move(start), std::move(stop)});
    }
    return track.get();
}

Result<std::shared_ptr<Session>> OpenDevice::copies() {
    const std::lock_guard lock(idle_mutex_);
    if (copies_ == nullptr) ISTHMUS_TRY(assign(copies_, Session::open(device_)));
    return copies_;
}

Result<OpenDevice::Scratch> OpenDevice::scratch(std::size_t bytes) {
    Scratch memory = scratch_.lock();
    if (memory == nullptr) scratch_ = memory = std::make_shared<std::vector<std::byte>>();
    if (memory->size() < bytes) {
        *memory = {};  // Or both would be there at once, and the old one copied.
        try {
            memory->resize(bytes);
        } catch (const std::bad_alloc&) {
            return Status(Code::out_of_memory, std::to_string(bytes) + " bytes to check what arrived");
        }
    }
    return memory;
}

Result<std::unique_ptr<Stream>> OpenDevice::borrow_stream() {
    {
        const std::lock_guard lock(idle_mutex_);
        if (!idle_streams_.empty()) {
            std::unique_ptr<Stream> stream = std::move(idle_streams_.back());
            idle_streams_.pop_back();
            return stream;
        }
    }
    return device_->create_stream();
}

void OpenDevice::give_back(std::unique_ptr<Stream> stream) {
    const std::lock_guard lock(idle_mutex_);
    idle_streams_.push_back(std::move(stream));
}

Result<std::shared_ptr<Buffer>> Buffer::allocate(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                                 std::size_t bytes) {
    auto memory = session->device().allocate(kind, bytes);
    if (!memory.ok()) {
        return memory.take_status().in(std::to_string(bytes) + " bytes of " + std::string(name_of(kind)) + " memory");
    }
    return std::shared_ptr<Buffer>(new Buffer(std::move(session), std::move(memory.value())));
}

Result<std::shared_ptr<Buffer>> Buffer::borrow(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                               std::uintptr_t address, std::size_t bytes) {
    ISTHMUS_TRY_ASSIGN(memory, session->device().borrow(kind, address, bytes));
    return std::shared_ptr<Buffer>(new Buffer(std::move(session), std::move(memory)));
}

Result<Region> Buffer::region(std::size_t offset, std::size_t bytes) {
    if (!lost_.ok()) return Status(Code::call_failed, lost_.message());
    if (offset > this->bytes() || bytes > this->bytes() - offset) {
        return invalid(std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                       " do not lie in a buffer of " + std::to_string(this->bytes()));
    }
    return Region{memory_.get(), offset, bytes};
}

template <typename Work>
Status Buffer::on_host(Region region, Work work) {
    ISTHMUS_TRY(begin_host_access());
    ISTHMUS_TRY_ASSIGN(memory, host());
    for_each_slice(region.bytes, [&work, host = memory + region.offset](std::size_t begin, std::size_t end) {
        work(host + begin, begin, end);
    });
    return end_host_access();
}

Status Buffer::begin_host_access() {
    return session_->device().begin_host_access(*memory_);
}

Status Buffer::end_host_access() {
    return session_->device().end_host_access(*memory_);
}

Status Buffer::advise(Advice advice, bool given) {
    if (kind() == MemoryKind::managed) return session_->device().advise(*memory_, advice, given);
    return unsupported("there is advice on managed memory alone, not on " + std::string(name_of(kind())));
}

Result<std::byte*> Buffer::host() const {
    if (memory_->host() != nullptr) return memory_->host();
    return unsupported("the host cannot address " + std::string(name_of(kind())) + " memory");
}

Status Buffer::fill_pattern(Region region, std::uint64_t seed, Side side) {
    if (lives_on_device(side)) {
        return session_->run([&](Stream& stream) { return fill_on_device(session_->device(), stream, region, seed); });
    }
    return on_host(region, [seed](std::byte* to, std::size_t begin, std::size_t end) {
        isthmus::fill_pattern(to, end - begin, seed, begin / 8);
    });
}

Status Buffer::set_bytes(Region region, std::uint8_t value) {
    if (kind() == MemoryKind::device) {
        return session_->run([&](Stream& stream) { return session_->device().set_bytes(stream, region, value); });
    }
    return on_host(region,
                   [value](std::byte* to, std::size_t begin, std::size_t end) { std::memset(to, value, end - begin); });
}

Result<Mismatch> Buffer::verify_pattern(Region region, std::uint64_t seed, Side side) {
    Mismatch total;
    if (lives_on_device(side) || kind() == MemoryKind::write_combined) {
        ISTHMUS_TRY(session_->run([&](Stream& stream) {
            ISTHMUS_TRY_ASSIGN(result, session_->device().verify_pattern(stream, region, seed));
            total = result;
            return Status();
        }));
        return total;
    }
    std::mutex mutex;
    ISTHMUS_TRY(on_host(region, [&](const std::byte* from, std::size_t begin, std::size_t end) {
        const Mismatch part = isthmus::verify_pattern(from, end - begin, seed, begin / 8);
        const std::lock_guard lock(mutex);
        total = total + part;
    }));
    return total;
}

Status Buffer::evict(Region region) {
    // Mapped memory of OpenCL has an address only while the host has access.
    ISTHMUS_TRY(begin_host_access());
    evict_from_caches(region.host(), region.bytes);
    return end_host_access();
}

Status Buffer::forget_pages(Region region) const {
    if (!is_pageable(kind())) return invalid("only ordinary memory can be as if it was never touched");
    const auto address = reinterpret_cast<std::uintptr_t>(region.host());
    const std::uintptr_t page = system_page();
    const std::uintptr_t begin = (address + page - 1) / page * page, end = (address + region.bytes) / page * page;
    if (begin >= end) return {};
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) != 0) {
        return {Code::call_failed, std::string("madvise: ") + std::strerror(errno)};
    }
    return {};
}

Status Buffer::read(Region region, std::byte* to) {
    return on_host(region, [to](const std::byte* from, std::size_t begin, std::size_t end) {
        std::memcpy(to + begin, from, end - begin);
    });
}

Status Buffer::write(Region region, const std::byte* from) {
    return on_host(region, [from](std::byte* to, std::size_t begin, std::size_t end) {
        std::memcpy(to, from + begin, end - begin);
    });
}

std::vector<int> Buffer::nodes(std::size_t count) {
    if (kind() == MemoryKind::device || !begin_host_access().ok()) return {};
    std::vector<int> nodes = nodes_of_pages(memory_->host(), bytes(), count);
    return end_host_access().ok() ? nodes : std::vector<int>{};
}

}  // namespace isthmus::experiment
