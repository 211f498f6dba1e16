// What an element of an array is, whichever protocol says so.
#include "bindings/arrays/element_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace isthmus::bindings {
namespace {

// The types that NumPy lacks, by the names that ml_dtypes and torch have for them. Those of less than a byte have one
// of their own, as in ml_dtypes; of those that torch calls x2 two are one element.
struct Named {
    std::string_view name;
    std::size_t bytes;
    dlpack::DataType dlpack;  // of no bits where DLPack has none
};
constexpr std::array<Named, 21> named_types{{
    {"bfloat16", 2, {4, 16, 1}},
    {"complex32", 4, {5, 32, 1}},
    {"bcomplex32", 4, {}},
    {"float8_e3m4", 1, {7, 8, 1}},
    {"float8_e4m3", 1, {8, 8, 1}},
    {"float8_e4m3b11fnuz", 1, {9, 8, 1}},
    {"float8_e4m3fn", 1, {10, 8, 1}},
    {"float8_e4m3fnuz", 1, {11, 8, 1}},
    {"float8_e5m2", 1, {12, 8, 1}},
    {"float8_e5m2fnuz", 1, {13, 8, 1}},
    {"float8_e8m0fnu", 1, {14, 8, 1}},
    {"float6_e2m3fn", 1, {15, 6, 1}},
    {"float6_e3m2fn", 1, {16, 6, 1}},
    {"float4_e2m1fn", 1, {17, 4, 1}},
    {"float4_e2m1fn_x2", 1, {17, 4, 2}},
    {"int4", 1, {0, 4, 1}},
    {"uint4", 1, {1, 4, 1}},
    {"int2", 1, {0, 2, 1}},
    {"uint2", 1, {1, 2, 1}},
    {"int1", 1, {0, 1, 1}},
    {"uint1", 1, {1, 1, 1}},
}};

// NumPy's own numbers: DLPack has the same, but for long double, whose format it does not say.
struct Plain {
    char kind;
    std::uint8_t code;
    std::size_t sizes;  // in bytes, each a power of two, together
};
constexpr std::array<Plain, 5> plain_types{
    {{'i', 0, 1 | 2 | 4 | 8}, {'u', 1, 1 | 2 | 4 | 8}, {'f', 2, 2 | 4 | 8}, {'c', 5, 8 | 16}, {'b', 6, 1}}};

bool has(const Plain& plain, std::size_t bytes) {
    return std::has_single_bit(bytes) && (plain.sizes & bytes) != 0;
}

constexpr bool is_little = std::endian::native == std::endian::little;

bool is_swapped(char order, std::size_t bytes) {
    return bytes > 1 && (is_little ? order == '>' || order == '!' : order == '<');
}

// Whether a format has addresses in it, or objects: in an array of ctypes' pointers, or in a structure. Names of fields
// stand between colons.
char indirection_in(std::string_view format) {
    bool in_name = false;
    for (std::size_t i = 0; i < format.size(); ++i) {
        const char code = format[i];
        if (code == ':') in_name = !in_name;
        if (in_name) continue;
        if (code == 'O') return 'O';
        if (code == 'Z' && i + 1 < format.size() && std::string_view("fdg").find(format[i + 1]) != format.npos) {
            ++i;  // a complex number
        } else if (std::string_view("&PzZX").find(code) != std::string_view::npos) {
            return '&';
        }
    }
    return 0;
}

}  // namespace

bool ElementType::is_numpy() const {
    for (const Plain& plain : plain_types) {
        if (plain.kind == kind) return has(plain, bytes) || ((kind == 'f' || kind == 'c') && bytes > 8);
    }
    return std::string_view("mMSUO").find(kind) != std::string_view::npos;
}

std::string ElementType::text() const {
    const std::string order = !swapped ? "" : is_little ? "big-endian " : "little-endian ";
    const std::string bits = std::to_string(bytes * 8);
    switch (kind) {
        case 'b': return "bool";
        case 'i': return order + "int" + bits;
        case 'u': return order + "uint" + bits;
        case 'f': return order + "float" + bits;
        case 'c': return order + "complex" + bits;
        case 'm': return order + "timedelta64";
        case 'M': return order + "datetime64";
        case 'S': return std::to_string(bytes) + " characters";
        case 'U': return order + std::to_string(bytes / 4) + " wide characters";
        case 'O': return "Python objects";
        case '&': return "addresses";
        case 'X': return std::string(name);
        default: return std::to_string(bytes) + " bytes of a structure";
    }
}

std::string ElementType::typestr() const {
    const char order = bytes == 1 || kind == 'X' || kind == 'V' || kind == 'S' ? '|' : is_little != swapped ? '<' : '>';
    const char letter = kind == 'X' ? 'V' : kind;
    return std::string{order, letter} + std::to_string(kind == 'U' ? bytes / 4 : bytes);
}

ElementType type_of_format(const char* format, std::size_t item_bytes) {
    std::string_view text = format == nullptr ? "B" : format;
    char order = '@';
    if (!text.empty() && std::string_view("@=<>!^").find(text.front()) != text.npos) {
        order = text.front();
        text.remove_prefix(1);
    }
    ElementType type{.kind = 'V', .bytes = item_bytes};
    if (const char kind = indirection_in(text); kind != 0) {
        type.kind = kind;
        return type;
    }
    const std::size_t letter = text.find_first_not_of("0123456789");
    if (letter == text.npos) return type;
    const char code = text[letter];
    const std::string_view rest = text.substr(letter + 1);
    const bool is_complex = code == 'Z' && rest.size() == 1;
    if (!rest.empty() && !is_complex) return type;
    // A number before any other letter makes it several things in one element.
    if (letter > 0 && text.substr(0, letter) != "1" && code != 's' && code != 'w') return type;
    if (is_complex || code == 'F' || code == 'D' || code == 'G') {
        type.kind = 'c';
    } else if (code == '?') {
        type.kind = 'b';
    } else if (std::string_view("bhilqn").find(code) != std::string_view::npos) {
        type.kind = 'i';
    } else if (std::string_view("BHILQN").find(code) != std::string_view::npos) {
        type.kind = 'u';
    } else if (std::string_view("efdg").find(code) != std::string_view::npos) {
        type.kind = 'f';
    } else if (code == 'c' || code == 's') {
        type.kind = 'S';
    } else if (code == 'w' || code == 'u') {
        type.kind = 'U';
    }
    const bool has_order = type.kind != 'S' && type.kind != 'V';
    type.swapped = has_order && is_swapped(order, item_bytes);
    return type;
}

Result<ElementType> type_of_typestr(std::string_view typestr) {
    std::size_t count = 0;
    // The unit of times is in brackets.
    const char* const end = typestr.data() + std::min(typestr.find('['), typestr.size());
    const bool has_size = typestr.size() >= 3 && std::from_chars(typestr.data() + 2, end, count).ptr == end;
    if (!has_size || count == 0 || std::string_view("<>|=").find(typestr[0]) == std::string_view::npos) {
        return invalid("has the type '" + std::string(typestr) +
                       "', which is not understood; expected one of NumPy's type strings, such as '<f4'");
    }
    const char kind = typestr[1];
    const std::size_t bytes = kind == 'U' ? count * 4 : count;
    return ElementType{.kind = kind, .swapped = is_swapped(typestr[0], bytes), .bytes = bytes};
}

Result<ElementType> type_of_dlpack(dlpack::DataType type, bool is_padded) {
    const auto described = [&] {
        return "has elements of DLPack's type " + std::to_string(type.code) + " with " + std::to_string(type.bits) +
               " bits and " + std::to_string(type.lanes) + " lanes";
    };
    for (const Plain& plain : plain_types) {
        if (plain.code != type.code || type.lanes != 1 || type.bits % 8 != 0) continue;
        if (has(plain, type.bits / 8u)) return ElementType{.kind = plain.kind, .bytes = type.bits / 8u};
    }
    for (const auto& [name, bytes, dlpack] : named_types) {
        if (dlpack.bits == 0 || dlpack.code != type.code || dlpack.bits != type.bits || dlpack.lanes != type.lanes) {
            continue;
        }
        if (bindings::is_padded(dlpack) && !is_padded) {
            return invalid(described() + " (" + std::string(name) +
                           "), packed, several to a byte; view them as bytes (uint8) first");
        }
        return ElementType{.kind = 'X', .bytes = bytes, .name = name};
    }
    return invalid(described() + ", which are not known; view them as bytes (uint8) first");
}

bool is_padded(dlpack::DataType type) {
    return type.bits * type.lanes < 8;
}

std::optional<dlpack::DataType> dlpack_of(const ElementType& type) {
    if (type.swapped) return std::nullopt;
    for (const Plain& plain : plain_types) {
        if (plain.kind != type.kind || !has(plain, type.bytes)) continue;
        return dlpack::DataType{plain.code, static_cast<std::uint8_t>(type.bytes * 8), 1};
    }
    for (const Named& named : named_types) {
        if (type.kind == 'X' && named.name == type.name && named.dlpack.bits != 0) return named.dlpack;
    }
    return std::nullopt;
}

ElementType type_of_name(std::string_view name, std::size_t bytes) {
    for (const Named& named : named_types) {
        if (named.name == name && named.bytes == bytes) return {.kind = 'X', .bytes = bytes, .name = named.name};
    }
    return {.kind = 'V', .bytes = bytes};
}

std::size_t bytes_of_name(std::string_view name) {
    for (const Named& named : named_types) {
        if (named.name == name) return named.bytes;
    }
    return 0;
}

}  // namespace isthmus::bindings
