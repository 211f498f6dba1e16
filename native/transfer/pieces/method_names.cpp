// The names of methods, as runs, tables and explanations give them.
#include "transfer/pieces/method_names.hpp"

#include <array>
#include <utility>

namespace isthmus {
namespace {

constexpr std::array<std::pair<std::string_view, PieceMethod>, 11> methods{{
    {"waited_copies", PieceMethod::waited_copies},
    {"copies", PieceMethod::copies},
    {"batch", PieceMethod::batch},
    {"graph", PieceMethod::graph},
    {"section", PieceMethod::section},
    {"whole", PieceMethod::whole},
    {"kernel", PieceMethod::kernel},
    {"device_pack", PieceMethod::device_pack},
    {"pack", PieceMethod::pack},
    {"pack_threads", PieceMethod::pack_threads},
    {"pack_kernel", PieceMethod::pack_kernel},
}};

}  // namespace

std::string_view name_of(PieceMethod method) {
    for (const auto& [name, known] : methods) {
        if (known == method) return name;
    }
    return {};
}

std::optional<PieceMethod> piece_method_of(std::string_view name) {
    for (const auto& [known, method] : methods) {
        if (known == name) return method;
    }
    return std::nullopt;
}

}  // namespace isthmus
