// Arrays in a device's memory that Isthmus made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/arrays/element_type.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::bindings {

// Device memory with the transfers that were begun on it; several arrays may be views of it. Members go in reverse
// order: the session last, which keeps the device.
struct DeviceMemory {
    std::shared_ptr<Session> session;
    std::unique_ptr<Allocation> allocation;

    static Result<std::shared_ptr<DeviceMemory>> allocate(std::shared_ptr<Session> session, std::size_t bytes);
    ~DeviceMemory();

    // Who is given the memory by a protocol waits for these. Needs no interpreter.
    void note(const std::shared_ptr<CopyHandle>& copy);
    std::vector<std::shared_ptr<CopyHandle>> pending();

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<CopyHandle>> noted_;
};

struct DeviceArray {
    std::shared_ptr<DeviceMemory> memory;
    ElementType type;
    nanobind::object dtype;  // NumPy's, or raw bytes where it has none
    std::vector<std::int64_t> shape, strides_bytes;
    std::size_t offset_bytes = 0;
};

// The array that the object is, or null.
DeviceArray* device_array(nanobind::handle object);

}  // namespace isthmus::bindings
