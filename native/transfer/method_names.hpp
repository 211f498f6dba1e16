// The names of methods, as runs, tables and explanations give them.
#pragma once

#include <optional>
#include <string_view>

#include "transfer/piece_copy.hpp"

namespace isthmus {

std::string_view name_of(PieceMethod method);
// Nothing for a name that no method has.
std::optional<PieceMethod> piece_method_of(std::string_view name);

}  // namespace isthmus
