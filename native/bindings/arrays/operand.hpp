// What a caller passes to a copy: an array of any library, found by the protocols that it speaks.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays/element_type.hpp"
#include "transfer/copy/array_view.hpp"

namespace isthmus::bindings {

struct DeviceMemory;
class CurrentStreams;

enum class Role { destination, source };

// What an operand keeps: its memory, whatever the caller does with the object meanwhile, or the object alone, which
// will do for a call that the caller waits for.
enum class Keep { memory, object };

// Why an object cannot be shared: the first reason found, and the exception that its producer raised, if one did.
struct Refusal {
    std::string why;
    nanobind::object cause;

    void note(std::string reason, nanobind::object raised = {}) {
        if (why.empty()) why = std::move(reason), cause = std::move(raised);
    }
};

// A view of the caller's array, which it keeps alive and, of the buffer protocol, locked. It is neither copied nor
// moved, because what producers give may point into itself. All of it needs the interpreter.
//
// NumPy's arrays and those of DeviceArray are asked first, then DLPack, by its functions in C where the type has them,
// then __cuda_array_interface__, then the buffer protocol; each once, and of CuPy's arrays that share a base one.
// DLPack comes before __cuda_array_interface__ because it makes the stream wait for the producer's.
class Operand {
  public:
    // `stream` is what DLPack producers make wait; `current` what they are asked for where they have functions in C.
    // Raises UsageError, or WrongType for what is no array.
    Operand(nanobind::handle object, Role role, std::optional<std::uintptr_t> stream, Keep keep,
            CurrentStreams& current);
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
    // The device whose memory it is; empty for the host's.
    std::string_view backend() const { return backend_; }
    int device() const { return device_; }  // its index; -1 where only the driver can say
    // The stream that the producer's work is ordered by; and one that it has yet to be made to wait for.
    std::optional<std::uintptr_t> ready() const { return ready_; }
    std::optional<std::uintptr_t> awaited() const { return awaited_; }
    // Only for arrays that Isthmus made.
    const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
    // Whether the object itself is all that keeps the memory, so that holding it does as well as holding the operand.
    bool is_kept_by_object() const { return kept_by_object_; }
    // Else: whether a lock of the buffer protocol does, which the operand holds; or this, if there is one.
    bool is_locked_buffer() const { return buffer_.has_value(); }
    const nanobind::object& capsule() const { return capsule_; }

    nanobind::handle object() const { return object_; }
    ArrayView view() const;
    // The dimensions from the outermost to the innermost in memory: what a new array of the same order is made by.
    std::vector<int> memory_order() const;
    // "torch.Tensor of shape (3, 4), float32"
    std::string text() const;

  private:
    // "the source (torch.Tensor)"
    std::string who() const;
    // Raises UsageError with what is against it, which follows who().
    [[noreturn]] void refuse(const std::string& what) const;
    ElementType known(Result<ElementType> type) const;
    bool take_numpy(Refusal& refusal);
    bool take_device_array();
    bool take_dlpack(std::optional<std::uintptr_t> stream, Refusal& refusal);
    bool take_exchange(std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current, Refusal& refusal);
    bool take_known_tensor(std::optional<std::uintptr_t> stream, CurrentStreams& current, Refusal& refusal);
    bool suits(const dlpack::Tensor& tensor, Refusal& refusal) const;
    void keep_extents();
    bool take_capsule(Refusal& refusal);
    bool check_bits(std::optional<dlpack::DataType> type, Refusal& refusal) const;
    bool is_detached(dlpack::DataType type, Refusal& refusal) const;
    void name_small_integers();
    bool take_cuda_interface(Refusal& refusal);
    bool take_cupy(CurrentStreams& current, Refusal& refusal);
    void take_device(dlpack::Device device);
    bool take_buffer(Refusal& refusal);
    bool take_plain_buffer(Refusal& refusal);
    bool take_array_struct(Refusal& refusal);
    void take_tensor(const dlpack::Tensor& tensor, std::uint64_t flags);
    // But for the type, which is known.
    void place_tensor(const dlpack::Tensor& tensor);
    // Where the type is none of NumPy's own: whether the object's dtype has the name of one that is known.
    void name_type();
    // Counts the elements and looks whether they are contiguous. Raises UsageError where they overflow.
    void measure();

    nanobind::object object_, capsule_;
    Role role_;
    std::optional<Py_buffer> buffer_;
    std::shared_ptr<DeviceMemory> memory_;
    std::vector<std::int64_t> own_shape_, own_strides_;
    std::array<std::int64_t, 8> few_lengths_{}, few_strides_{};  // of as many dimensions as nearly all arrays have

    ElementType type_;
    std::uintptr_t address_ = 0;
    std::size_t offset_bytes_ = 0, elements_ = 1;
    const std::int64_t* shape_ = nullptr;
    const std::int64_t* strides_ = nullptr;
    std::int64_t stride_unit_ = 1;
    std::optional<std::uintptr_t> ready_, awaited_;
    std::optional<Side> side_ = Side::host;
    std::string_view backend_;
    int device_ = -1;
    int dimensions_ = 0;
    bool read_only_ = false, contiguous_ = true, kept_by_object_ = false;
};

// What Python's str() gives; where that fails, what type the object is of.
std::string text_of(nanobind::handle object);

// Integers of a tuple or any other sequence; raises what Python raises where there are others.
std::vector<std::int64_t> wholes(nanobind::handle values);

// "torch.Tensor"
std::string type_words(nanobind::handle object);

// The attribute, or nothing where there is none; what else a property raises is noted, or without a refusal passed on.
nanobind::object attribute(nanobind::handle object, PyObject* name, Refusal* refusal = nullptr);

// From the library that has been imported, or null: then there is no object of it. Found once.
class LibraryType {
  public:
    constexpr LibraryType(const char* library, const char* name) : library_(library), name_(name) {}
    bool has(nanobind::handle object);
    // Looks for it unless it is known; null where there is none yet.
    PyTypeObject* find();
    PyTypeObject* type() const { return type_; }

  private:
    const char *library_, *name_;
    PyTypeObject* type_ = nullptr;  // a library cannot be loaded twice
};

// Such an object other than a type.
class LibraryObject {
  public:
    constexpr LibraryObject(const char* library, const char* name) : library_(library), name_(name) {}
    bool is(nanobind::handle object);

  private:
    const char *library_, *name_;
    PyObject* object_ = nullptr;
};

bool is_tensor_of_torch(nanobind::handle object);
// Whether it is an array of JAX.
bool is_immutable(nanobind::handle object);

// Kept for good where it is looked for in every copy: making the text anew would take longer than finding it.
PyObject* interned(const char* name);

// What the copy of an array of DLPack on a device is ordered by, where the caller names `stream` or none: the protocol
// forbids 0, which would leave open which of the default streams is meant; 1 is the legacy one.
inline std::uintptr_t waiting_stream(std::optional<std::uintptr_t> stream) {
    return std::max<std::uintptr_t>(stream.value_or(1), 1);
}

// The handle that `stream` names: None, an int, or a stream of a library. Raises WrongType for anything else.
std::optional<std::uintptr_t> stream_of(nanobind::handle stream);

// Raises UsageError unless elements of the source can become the destination's: the same shape and type, written to
// what may be written.
void check_pair(const Operand& destination, const Operand& source);
// Likewise for rows, those of the first dimension: of one shape and type, however many there are.
void check_rows(const Operand& destination, const Operand& source);

}  // namespace isthmus::bindings
