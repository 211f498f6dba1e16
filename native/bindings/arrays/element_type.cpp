// What an element of an array is, whichever protocol says so.
#include "bindings/arrays/element_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "bindings/errors.hpp"

namespace isthmus::bindings {
namespace {

// DLPack's codes from 6 on are of one size each; those before have NumPy's letters.
struct Extension {
    std::uint8_t code;
    std::size_t bytes;
    std::string_view name;
};
constexpr std::array<Extension, 9> extensions{{
    {4, 2, "bfloat16"},
    {7, 1, "float8_e3m4"},
    {8, 1, "float8_e4m3"},
    {9, 1, "float8_e4m3b11fnuz"},
    {10, 1, "float8_e4m3fn"},
    {11, 1, "float8_e4m3fnuz"},
    {12, 1, "float8_e5m2"},
    {13, 1, "float8_e5m2fnuz"},
    {14, 1, "float8_e8m0fnu"},
}};
constexpr std::array<std::pair<char, std::uint8_t>, 5> codes{{{'i', 0}, {'u', 1}, {'f', 2}, {'c', 5}, {'b', 6}}};

constexpr bool is_little = std::endian::native == std::endian::little;

bool is_swapped(char order, std::size_t bytes) {
    return bytes > 1 && (is_little ? order == '>' || order == '!' : order == '<');
}

}  // namespace

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
    const std::size_t letter = text.find_first_not_of("0123456789");
    ElementType type{.kind = 'V', .bytes = item_bytes};
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
    } else if (std::string_view("BHILQNP").find(code) != std::string_view::npos) {
        type.kind = 'u';
    } else if (std::string_view("efdg").find(code) != std::string_view::npos) {
        type.kind = 'f';
    } else if (code == 'c' || code == 's') {
        type.kind = 'S';
    } else if (code == 'w' || code == 'u') {
        type.kind = 'U';
    } else if (code == 'O') {
        type.kind = 'O';
    }
    const bool has_order = type.kind != 'S' && type.kind != 'V' && type.kind != 'O';
    type.swapped = has_order && is_swapped(order, item_bytes);
    return type;
}

ElementType type_of_typestr(std::string_view typestr) {
    std::size_t count = 0;
    // The unit of times is in brackets.
    const char* const end = typestr.data() + std::min(typestr.find('['), typestr.size());
    const bool has_size = typestr.size() >= 3 && std::from_chars(typestr.data() + 2, end, count).ptr == end;
    if (!has_size || count == 0 || std::string_view("<>|=").find(typestr[0]) == std::string_view::npos) {
        raise({Code::invalid_argument, "the type '" + std::string(typestr) +
                                           "' is not understood; expected one of NumPy's type strings, such as '<f4'"});
    }
    const char kind = typestr[1];
    const std::size_t bytes = kind == 'U' ? count * 4 : count;
    return {.kind = kind, .swapped = is_swapped(typestr[0], bytes), .bytes = bytes};
}

ElementType type_of_dlpack(dlpack::DataType type) {
    const std::string found = "elements of DLPack's type " + std::to_string(type.code) + " with " +
                              std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes";
    if (type.lanes != 1 || type.bits == 0 || type.bits % 8 != 0) {
        raise({Code::invalid_argument, found + " cannot be copied; view them as whole bytes (uint8) first"});
    }
    const std::size_t bytes = type.bits / 8u;
    for (const auto& [kind, code] : codes) {
        if (code == type.code) return {.kind = kind, .bytes = bytes};
    }
    for (const Extension& extension : extensions) {
        if (extension.code == type.code && extension.bytes == bytes) return type_of_name(extension.name, bytes);
    }
    raise({Code::invalid_argument, found + " are not known; view them as bytes (uint8) first"});
}

dlpack::DataType dlpack_of(const ElementType& type) {
    if (!type.swapped && type.bytes <= 31) {
        const auto bits = static_cast<std::uint8_t>(type.bytes * 8);
        for (const auto& [kind, code] : codes) {
            if (kind == type.kind) return {code, bits, 1};
        }
        for (const Extension& extension : extensions) {
            if (type.kind == 'X' && extension.name == type.name) return {extension.code, bits, 1};
        }
    }
    raise(
        {Code::invalid_argument, "DLPack has no type for " + type.text() + "; view the array as bytes (uint8) first"});
}

ElementType type_of_name(std::string_view name, std::size_t bytes) {
    for (const Extension& extension : extensions) {
        if (extension.name == name && extension.bytes == bytes) {
            return {.kind = 'X', .bytes = bytes, .name = extension.name};
        }
    }
    return {.kind = 'V', .bytes = bytes};
}

}  // namespace isthmus::bindings
