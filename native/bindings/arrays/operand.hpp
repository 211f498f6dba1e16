// What a caller passes to a copy: an array of any library, found by the protocols that it speaks.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/arrays/element_type.hpp"
#include "transfer/session/array_view.hpp"

namespace isthmus::bindings {

struct DeviceMemory;

enum class Role { destination, source };

// A view of the caller's array, which it keeps alive and, of the buffer protocol, locked. It is neither copied nor
// moved, because what producers give may point into itself. All of it needs the interpreter.
//
// NumPy's arrays and those of DeviceArray are asked first, then DLPack, then __cuda_array_interface__, then the buffer
// protocol. DLPack comes before __cuda_array_interface__ because it makes the stream wait for the producer's.
class Operand {
  public:
    // `stream` is what DLPack producers make wait. Raises UsageError, or WrongType for what is no array.
    Operand(nanobind::handle object, Role role, std::optional<std::uintptr_t> stream);
    ~Operand();
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    const ElementType& type() const { return type_; }
    bool is_read_only() const { return read_only_; }
    int dimensions() const { return dimensions_; }
    std::int64_t extent(int dimension) const { return shape_[dimension]; }
    // Precondition: is not contiguous.
    std::int64_t stride_bytes(int dimension) const { return strides_[dimension] * stride_unit_; }
    std::size_t elements() const { return elements_; }
    std::size_t bytes() const { return elements_ * type_.bytes; }
    // In C order without gaps.
    bool is_contiguous() const { return contiguous_; }

    std::uintptr_t address() const { return address_; }
    std::size_t offset_bytes() const { return offset_bytes_; }
    // Nothing where only the driver can say.
    std::optional<Side> side() const { return side_; }
    // Of the device whose memory it is; empty for the host's.
    std::string_view backend() const { return backend_; }
    int device() const { return device_; }  // its index; -1 where only the driver can say
    // The stream that the producer's work is ordered by.
    std::optional<std::uintptr_t> ready() const { return ready_; }
    // Of arrays that Isthmus made.
    const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
    // Whether the object itself is all that keeps the memory, so that holding it does as well as holding the operand.
    bool is_kept_by_object() const { return kept_by_object_; }

    nanobind::handle object() const { return object_; }
    ArrayView view() const;
    // "torch.Tensor of shape (3, 4), float32"
    std::string text() const;

  private:
    bool take_numpy(Role role);
    bool take_device_array();
    bool take_dlpack(Role role, std::optional<std::uintptr_t> stream, std::string& refusal);
    bool take_cuda_interface(std::string& refusal);
    bool take_buffer(std::string& refusal);
    bool take_plain_buffer(std::string& refusal);
    void take_array_struct();
    void take_tensor(const dlpack::Tensor& tensor);
    // Counts the elements and looks whether they are contiguous. Raises UsageError where they overflow.
    void measure();

    nanobind::object object_, capsule_;
    std::optional<Py_buffer> buffer_;
    std::shared_ptr<DeviceMemory> memory_;
    std::vector<std::int64_t> own_shape_, own_strides_;

    ElementType type_;
    std::uintptr_t address_ = 0;
    std::size_t offset_bytes_ = 0, elements_ = 1;
    const std::int64_t* shape_ = nullptr;
    const std::int64_t* strides_ = nullptr;
    std::int64_t stride_unit_ = 1;
    std::optional<std::uintptr_t> ready_;
    std::optional<Side> side_ = Side::host;
    std::string_view backend_;
    int device_ = -1;
    int dimensions_ = 0;
    bool read_only_ = false, contiguous_ = true, kept_by_object_ = false;
};

// What Python's str() gives.
std::string text_of(nanobind::handle object);

// The handle that `stream` names: None, an int, or a stream of a library. Raises WrongType for anything else.
std::optional<std::uintptr_t> stream_of(nanobind::handle stream);

// Raises UsageError unless elements of the source can become the destination's: the same shape and type, written to
// what may be written.
void check_pair(const Operand& destination, const Operand& source);

}  // namespace isthmus::bindings
