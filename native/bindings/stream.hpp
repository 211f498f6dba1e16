// Python's stream, whose commands are bound in two files.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "backend/device.hpp"
#include "bindings/errors.hpp"
#include "experiment/buffer.hpp"

namespace isthmus::bindings {

using experiment::Buffer;
using experiment::OpenDevice;

// Holds the session, so that Python may drop both in any order; the member order destroys the handle first.
struct PyStream {
    std::shared_ptr<OpenDevice> session;
    std::unique_ptr<Stream> handle;
};

inline Device& bound(const std::shared_ptr<OpenDevice>& session) {
    check(session->device().bind_thread());
    return session->device();
}

// What a stream can do to sections, managed memory and arrays of numbers.
void bind_stream_work(nanobind::class_<PyStream>& stream);

}  // namespace isthmus::bindings
