// What an element of an array is, whichever protocol says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "bindings/arrays/dlpack.hpp"

namespace isthmus::bindings {

struct ElementType {
    // A letter of NumPy's type strings, '&' for addresses of the process, or 'X' for the types that have a name alone:
    // bfloat16, float8_e5m2, ...
    char kind = 'u';
    bool swapped = false;  // not in this machine's byte order
    std::size_t bytes = 1;
    std::string_view name{};  // of 'X', in static storage

    bool operator==(const ElementType&) const = default;
    // A byte as every protocol's plain memory has it: uint8, S1 or V1.
    bool is_byte() const { return bytes == 1 && (kind == 'u' || kind == 'S' || kind == 'V'); }
    // Whether NumPy has one type of this letter and size, so that two of them are the same.
    bool is_plain() const { return kind != 'V' && kind != 'm' && kind != 'M'; }
    // Whether the letter and the size are those of one of NumPy's own types. Other libraries' types have letters of
    // their own, or NumPy's with sizes that it has not.
    bool is_numpy() const;
    // NumPy's: "<f4", of 'X' raw bytes: "|V2".
    std::string typestr() const;
    // "float32", "big-endian int16", "12 bytes of a structure"
    std::string text() const;
};

// From a format of the buffer protocol: one of the struct module's or of PEP 3118; null for unsigned bytes.
ElementType type_of_format(const char* format, std::size_t item_bytes);

// From NumPy's type string, such as "<f4". Where it is none, why, as what follows "the array".
Result<ElementType> type_of_typestr(std::string_view typestr);

// Likewise where the type is not known, and where several elements are packed into a byte.
Result<ElementType> type_of_dlpack(dlpack::DataType type, bool is_padded);
// The reverse, or nothing for types that DLPack has none for.
std::optional<dlpack::DataType> dlpack_of(const ElementType& type);
// Whether it is of less than a byte, and has one of its own.
bool is_padded(dlpack::DataType type);

// A type that is known by its name alone, such as "bfloat16"; raw bytes where no such type of so many bytes is known.
ElementType type_of_name(std::string_view name, std::size_t bytes);
// Bytes of the type that is known by this name alone; 0 where none is.
std::size_t bytes_of_name(std::string_view name);

}  // namespace isthmus::bindings
