// Whether arrays that are copied again and again are where they were, as what they were.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays/dlpack.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/arrays/torch_fields.hpp"

namespace isthmus::bindings {

// One side of a batch. The arrays are kept alive by the batch. All of it needs the interpreter.
class Unmoved {
  public:
    explicit Unmoved(Role role) : role_(role) {}
    void add(const Operand& operand);
    // Whether all arrays of both are known to be as they were, by reading memory alone; false where it takes more to
    // know.
    static bool are_still(const Unmoved& one, const Unmoved& other);
    // Raises UsageError that names the first array that was moved, reshaped or made read-only, if `check` asks for it.
    // Adds the streams that the producers' work is ordered by at this moment.
    void look(std::optional<std::uintptr_t> stream, bool check, CurrentStreams& current,
              std::vector<std::uintptr_t>& ready) const;

  private:
    enum class Kind {
        locked,     // cannot move
        numpy,      // read from NumPy's own structure
        exchanged,  // by the producer's functions in C
        asked,      // by the protocols, as a copy does
        cupy,       // likewise, but all of them have one stream
    };
    // What many arrays have in common.
    struct Form {
        Kind kind = Kind::asked;
        std::vector<std::int64_t> shape, strides;  // strides in the producer's unit; none where it has none
        nanobind::object description;              // NumPy's dtype
        const dlpack::ExchangeTable* table = nullptr;
        dlpack::DataType type{};
        dlpack::Device device{};
        TorchForm torch;  // where torch's own fields are read
        ElementType element_type;
        std::size_t offset_bytes = 0;
        bool is_on_device = false;

        bool is_same(const Form& other) const;
    };
    struct Array {
        PyObject* object;
        std::uintptr_t address;
        std::size_t form;
        TorchFields fields;
    };

    bool take_numpy(const Operand& operand, Form& form) const;
    bool take_exchanged(const Operand& operand, Form& form, TorchFields& fields) const;
    bool are_still(std::size_t begin, std::size_t end) const;
    bool is_still(const Array& array) const;
    // What changed, as what follows the array's name; null where nothing did.
    const char* change_of_numpy(const Array& array) const;
    const char* change_of_exchanged(const Array& array) const;
    const char* change_of_asked(const Array& array, const Operand& now) const;
    void prefetch(std::size_t index) const;
    [[noreturn]] void refuse(std::size_t index, const std::string& change) const;

    Role role_;
    std::vector<Form> forms_;
    std::vector<Array> arrays_;
    bool are_locked_ = true, are_asked_ = false;
    bool are_read_ = true;                // by is_still()
    std::vector<std::size_t> producers_;  // forms that have a stream each
};

// Adds a stream unless it is there.
void add_stream(std::vector<std::uintptr_t>& streams, std::optional<std::uintptr_t> stream);

}  // namespace isthmus::bindings
