// Lists of integers that a caller passes: ranges, sequences of numbers, and arrays of any library.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/arrays/operand.hpp"

namespace isthmus::bindings {

// Keeps what it was made of. All of it needs the interpreter.
class Integers {
  public:
    // `name` is what errors call them: "rows of the destination". Raises WrongType for what holds no integers, and
    // UsageError for an array of more dimensions than one.
    Integers(nanobind::handle object, std::string name, std::optional<std::uintptr_t> stream, Keep keep,
             CurrentStreams& current);
    Integers(const Integers&) = delete;
    Integers& operator=(const Integers&) = delete;

    // A slice, or None for all, becomes the numbers of rows of an array with so many.
    void resolve(std::int64_t rows);
    std::size_t count() const { return array_ ? array_->elements() : values_.size(); }
    // Those of the host; none of an array on a device. Numbers that 63 bits do not hold are the largest that they do.
    std::span<const std::int64_t> values() const { return values_; }
    // An array on a device, of integers with a sign of 4 or 8 bytes, one after another; null for any other.
    const Operand* on_device() const { return array_ && !array_->backend().empty() ? &*array_ : nullptr; }
    std::size_t stride_bytes() const;

  private:
    void take_range(nanobind::handle object);
    void take_sequence(nanobind::handle object);
    void take_array(nanobind::handle object, std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current);
    void read_host();
    [[noreturn]] void refuse(const char* error, const std::string& what) const;

    const std::string name_;
    nanobind::object slice_;
    std::optional<Operand> array_;
    std::vector<std::int64_t> own_;
    std::span<const std::int64_t> values_;
};

}  // namespace isthmus::bindings
