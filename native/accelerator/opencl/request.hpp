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

// By the driver's function of the program.
opencl::ReturnCode by_driver(const ClCopy& copy);

// What programs get in place of each that is large enough to be looked at, as accelerated(Request&).
opencl::ReturnCode accelerated(const ClCopy& copy) noexcept;

}  // namespace isthmus::accelerator
