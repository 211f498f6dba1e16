// A copy that a program asks the driver for, as the library understands it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "driver/cuda_api.hpp"
#include "transfer/copy/array_view.hpp"
#include "transfer/copy/batch.hpp"

namespace isthmus::accelerator {

// The driver's own call, as the program made it: for the whole copy, or for `bytes` bytes from `begin` on of a copy in
// one piece. Refers to what it was made of, and takes no memory.
class Plain {
  public:
    template <typename Call>
    Plain(const Call& call)  // NOLINT(google-explicit-constructor): it is that call
        : what_(&call), call_([](const void* what, std::size_t begin, std::size_t bytes) {
              return (*static_cast<const Call*>(what))(begin, bytes);
          }) {}
    cuda::ReturnCode operator()(std::size_t begin, std::size_t bytes) const { return call_(what_, begin, bytes); }

  private:
    const void* what_;
    cuda::ReturnCode (*call_)(const void*, std::size_t, std::size_t);
};

// Kinds that the driver's structures name.
enum class Type : int { host = 1, device = 2, array = 3, unified = 4 };

// Rows of a 2-D or 3-D copy.
struct Rows {
    ArrayView destination, source;  // whose sides are said when the direction is known
    // How far before their first bytes the addresses are that the driver is given, and looks at.
    std::size_t destination_position = 0, source_position = 0;
    std::optional<bool> to_device;
};
std::optional<Rows> rows_of(const cuda::Copy2d& copy);
std::optional<Rows> rows_of(const cuda::Copy3d& copy);

struct Copy {
    // Nothing where addresses tell.
    std::optional<bool> to_device;
    std::uintptr_t destination = 0, source = 0;  // the first byte of either side
    std::size_t bytes = 0;
    std::uintptr_t stream = 0;  // as Device::borrow_stream takes it
    bool is_asynchronous = false;
    const void* site = nullptr;
    // Rows that lie apart, as the driver's structure says; both null for a copy in one piece.
    const cuda::Copy2d* copy_2d = nullptr;
    const cuda::Copy3d* copy_3d = nullptr;
    Rows* rows = nullptr;  // what that means
    // Many pieces, the first of which is above; null for one.
    const Batch* batch = nullptr;

    bool in_one_piece() const { return rows == nullptr && batch == nullptr; }
    // From the first byte of the source, or of the destination, to the last; 1 for a batch.
    std::size_t span_bytes(bool of_source) const;
    // The same from the address on that the driver is given.
    struct Given {
        std::uintptr_t begin;
        std::size_t bytes;
    };
    Given given(bool of_source) const {
        const std::size_t position = rows == nullptr ? 0
                                     : of_source     ? rows->source_position
                                                     : rows->destination_position;
        return {(of_source ? source : destination) - position, position + span_bytes(of_source)};
    }
};

// What follows is all that decides which calls the library takes: those whose every parameter is known to be valid, as
// far as that can be seen without the driver. All others, wrong or only unusual, are the driver's, and so is its
// answer.
bool is_valid_piece(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes);

// A batch as the driver is given it.
struct BatchCall {
    const cuda::DevicePointer *to, *from;
    const std::size_t* bytes;
    std::size_t count;
    const cuda::CopyAttributes* attributes;
    const std::size_t* attribute_begins;  // the first piece that each of them is for
    std::size_t attribute_count;
};
// How much it copies.
std::optional<std::size_t> bytes_of(const BatchCall& call);

// Whether the driver's own copy, between pageable memory and the device, returns only after all that its stream held:
// as recorded of a real one (tests/integration/drivers/facts). False where it returns before, and where it is not
// known. Precondition: the direction is known.
bool driver_waits(const Copy& copy);

}  // namespace isthmus::accelerator
