// Copies of OpenCL programs.
#pragma once

#include "accelerator/request.hpp"
#include "driver/opencl_api.hpp"

namespace isthmus::accelerator {

// A blocking copy between a buffer and memory of the host's, as clEnqueueReadBuffer and clEnqueueWriteBuffer take it.
struct ClCopy {
    bool to_device = false;
    opencl::Queue queue = nullptr;
    opencl::Buffer buffer = nullptr;
    std::size_t offset_bytes = 0, bytes = 0;
    std::uintptr_t host = 0;
    std::uint32_t count = 0;
    const opencl::Event* list = nullptr;
    opencl::Event* event = nullptr;
    const void* site = nullptr;
};

// What programs get in place of each that is large enough to be looked at, as next_part() has it made.
opencl::ReturnCode accelerated(const ClCopy& copy);

}  // namespace isthmus::accelerator
