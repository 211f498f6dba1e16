// Copies of OpenCL programs.
#include "accelerator/opencl/request.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "accelerator/accelerator.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/opencl/functions.hpp"
#include "accelerator/opencl/holdings.hpp"
#include "backend/device.hpp"
#include "backend/opencl/query.hpp"
#include "base/memory/access.hpp"
#include "base/pages.hpp"

namespace isthmus::accelerator {
namespace {

using opencl::Event;
using opencl::property_of;

// The last part of a copy of which the program wants an event is the driver's, whose event it gets.
constexpr std::size_t last_bytes = least_page;
// Buffers that are the device's alone.
constexpr opencl::Flags understood = opencl::mem_read_write | opencl::mem_write_only | opencl::mem_read_only |
                                     opencl::mem_copy_host_ptr | opencl::mem_host_write_only |
                                     opencl::mem_host_read_only;

std::uintptr_t first_word(const void* object) {
    return *static_cast<const std::uintptr_t*>(object);
}

class ClRequest final : public Request {
  public:
    explicit ClRequest(const ClCopy& copy) : Request(copy.site, copy.bytes, true), copy_(copy) {}

    std::optional<Reason> why_not(const Options& options, Ledger& ledger) override;
    std::optional<Reason> why_not_resume(bool to_device, const Options& options, Ledger& ledger) override;
    bool to_device() const override { return copy_.to_device; }
    Status wait() override;
    Outcome by_library(std::size_t begin) override;
    std::size_t last_bytes_of_driver() const override { return copy_.event == nullptr ? 0 : last_bytes; }
    void forget_last_part() override { (void)cl_->call(cl_->clReleaseEvent, *copy_.event); }
    Result<bool> same_by_driver() override;

  private:
    // As far as OpenCL tells.
    std::optional<Reason> why_not_queue();
    std::optional<Reason> why_no_session(const Options& options, Ledger& ledger);
    bool has_no_link() const;
    bool is_plain_buffer() const;

    const ClCopy copy_;
    const opencl::Api* cl_ = &programs_opencl();
    opencl::Context context_ = nullptr;
    opencl::Device device_ = nullptr;
    std::shared_ptr<Session> session_;
};

std::optional<Reason> ClRequest::why_not_queue() {
    // The loader looks there for its driver, too, but takes nothing else on trust.
    if (!opencl::check_object(copy_.queue, "cl_command_queue").ok()) return Reason::not_pageable;
    const auto& ask = cl_->clGetCommandQueueInfo;
    auto context = property_of<opencl::Context>(*cl_, ask, copy_.queue, opencl::queue_context);
    auto device = property_of<opencl::Device>(*cl_, ask, copy_.queue, opencl::queue_device);
    auto properties = property_of<opencl::Flags>(*cl_, ask, copy_.queue, opencl::queue_properties);
    if (!context.ok() || !device.ok() || !properties.ok()) return Reason::not_pageable;
    context_ = context.value();
    device_ = device.value();
    const bool is_timed = (properties.value() & opencl::queue_profiling_enable) != 0 && copy_.event != nullptr;
    if (is_timed || (properties.value() & opencl::queue_out_of_order_exec_mode_enable) != 0) return Reason::unordered;
    return std::nullopt;
}

// The driver of a device that works in the host's memory copies once, and so would the library.
bool ClRequest::has_no_link() const {
    using opencl::value_of;
    const auto type = value_of<opencl::Flags>(*cl_, device_, opencl::device_type).value_or(0);
    return (type & opencl::device_type_cpu) != 0 ||
           value_of<opencl::Bool>(*cl_, device_, opencl::device_host_unified_memory).value_or(0) != 0;
}

// What is not is the driver's matter, errors among it.
bool ClRequest::is_plain_buffer() const {
    // Objects of one driver begin alike (cl_khr_icd): a loader would call at what stands in anything else.
    if (!opencl::check_object(copy_.buffer, "cl_mem").ok() || first_word(copy_.buffer) != first_word(copy_.queue)) {
        return false;
    }
    const auto& ask = cl_->clGetMemObjectInfo;
    auto type = property_of<std::uint32_t>(*cl_, ask, copy_.buffer, opencl::mem_type);
    auto context = property_of<opencl::Context>(*cl_, ask, copy_.buffer, opencl::mem_context);
    auto flags = property_of<opencl::Flags>(*cl_, ask, copy_.buffer, opencl::mem_flags);
    auto bytes = property_of<std::size_t>(*cl_, ask, copy_.buffer, opencl::mem_size);
    auto maps = property_of<std::uint32_t>(*cl_, ask, copy_.buffer, opencl::mem_map_count);
    if (!type.ok() || !context.ok() || !flags.ok() || !bytes.ok() || !maps.ok()) return false;
    const opencl::Flags refused = copy_.to_device ? opencl::mem_host_read_only : opencl::mem_host_write_only;
    return type.value() == opencl::mem_object_buffer && context.value() == context_ &&
           (flags.value() & ~understood) == 0 && (flags.value() & refused) == 0 && maps.value() == 0 &&
           copy_.offset_bytes <= bytes.value() && copy_.bytes <= bytes.value() - copy_.offset_bytes;
}

std::optional<Reason> ClRequest::why_no_session(const Options& options, Ledger& ledger) {
    auto found = ClHoldings::of_process().session(context_, device_, options);
    if (!found.ok()) {
        ledger.keep(found.take_status().message());
        return Reason::off;
    }
    session_ = std::move(found.value());
    return session_ == nullptr ? std::optional(Reason::other_context) : std::nullopt;
}

std::optional<Reason> ClRequest::why_not_resume(bool /*to_device*/, const Options& options, Ledger& ledger) {
    const auto reason = why_not_queue();
    return reason ? reason : why_no_session(options, ledger);
}

std::optional<Reason> ClRequest::why_not(const Options& options, Ledger& ledger) {
    if ((copy_.count == 0) != (copy_.list == nullptr) || copy_.host == 0) return Reason::not_pageable;
    if (auto reason = why_not_queue()) return reason;
    if (!options.eager && has_no_link()) return Reason::small;
    if (const auto reason = why_no_session(options, ledger)) return reason;
    const BufferMethod method = session_->table().buffer(copy_.to_device, copy_.bytes).method;
    if ((method != BufferMethod::staged && !options.eager) || copy_.bytes < 4 * last_bytes) return Reason::small;
    if (!is_plain_buffer() || ClHoldings::of_process().touches(copy_.host, copy_.bytes)) return Reason::not_pageable;
    if (!is_there(copy_.to_device ? Access::read : Access::write, copy_.host, copy_.bytes)) return Reason::unmapped;
    return std::nullopt;
}

// A marker comes behind what the queue holds and the list, as the copy would.
Status ClRequest::wait() {
    Event marker = nullptr;
    ISTHMUS_TRY(cl_->call(cl_->clEnqueueMarkerWithWaitList, copy_.queue, copy_.count, copy_.list, &marker));
    Status waited = cl_->call(cl_->clWaitForEvents, 1U, static_cast<const Event*>(&marker));
    (void)cl_->call(cl_->clReleaseEvent, marker);
    return waited;
}

Outcome ClRequest::by_library(std::size_t begin) {
    const auto buffer = reinterpret_cast<std::uintptr_t>(copy_.buffer);
    const std::uintptr_t host = copy_.host + begin;
    BatchPiece piece;
    piece.destination = copy_.to_device ? buffer : host;
    piece.source = copy_.to_device ? host : buffer;
    piece.bytes = copy_.bytes - begin - last_bytes_of_driver();
    (copy_.to_device ? piece.destination_offset_bytes : piece.source_offset_bytes) = copy_.offset_bytes + begin;
    const Sides there{Side::device, Side::host}, back{Side::host, Side::device};
    return session_->copy_bytes(piece, copy_.to_device ? there : back, std::nullopt);
}

Result<bool> ClRequest::same_by_driver() {
    std::vector<std::byte> back;
    for (std::size_t at = 0; at < copy_.bytes; at += checked_bytes) {
        const std::size_t length = std::min(checked_bytes, copy_.bytes - at);
        back.resize(length);
        ISTHMUS_TRY(cl_->call(cl_->clEnqueueReadBuffer, copy_.queue, copy_.buffer, opencl::blocking,
                              copy_.offset_bytes + at, length, static_cast<void*>(back.data()), 0U, opencl::no_wait,
                              opencl::no_event));
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        if (std::memcmp(back.data(), reinterpret_cast<const void*>(copy_.host + at), length) != 0) return false;
    }
    return true;
}

// By the driver's function of the program. The event is one of the copy's last bytes.
opencl::ReturnCode by_driver(const ClCopy& copy, const Progress& progress) {
    const std::size_t offset = copy.offset_bytes + progress.begin;
    opencl::Event* const event = progress.begin + progress.bytes == copy.bytes ? copy.event : nullptr;
    const std::uint32_t count = progress.has_waited ? 0 : copy.count;
    const opencl::Event* const list = progress.has_waited ? nullptr : copy.list;
    const auto call = [&](auto function, auto* host) {
        if (function == nullptr) return opencl::invalid_operation;
        return function(copy.queue, copy.buffer, opencl::blocking, offset, progress.bytes, host, count, list, event);
    };
    const std::uintptr_t host = copy.host + progress.begin;
    // NOLINTBEGIN(performance-no-int-to-ptr)
    if (copy.to_device) {
        return call(original<decltype(&clEnqueueWriteBuffer)>(ClFunction::clEnqueueWriteBuffer),
                    reinterpret_cast<const void*>(host));
    }
    return call(original<decltype(&clEnqueueReadBuffer)>(ClFunction::clEnqueueReadBuffer),
                reinterpret_cast<void*>(host));
    // NOLINTEND(performance-no-int-to-ptr)
}

// Everything that has to be cleaned up is here, as in accelerator/cuda_request.cpp.
[[gnu::noinline]] bool next_part_of(const ClCopy& copy, Progress& progress) noexcept {
    if (has_ended(progress)) return false;
    ClRequest request(copy);
    return next_part(request, progress);
}

}  // namespace

opencl::ReturnCode accelerated(const ClCopy& copy) {
    Progress progress;
    while (next_part_of(copy, progress)) {
        Inside::call_driver(__builtin_frame_address(0));
        progress.code = by_driver(copy, progress);
        Inside::driver_returned();
    }
    return progress.code;
}

}  // namespace isthmus::accelerator
