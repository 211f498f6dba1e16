// What callers describe in C, checked and in the core's words.
#pragma once

#include <isthmus.h>

#include "transfer/session/session.hpp"

namespace isthmus::capi {

// Fails with invalid_argument, saying which member of which argument (`name`) to change.
Result<ArrayView> view_of(const isthmus_array* array, const char* name);

// Fails with invalid_argument for a number that is no direction.
Result<Sides> sides_of(isthmus_direction direction);

// Null gives the defaults. Reads the table's file. A structure of an older or a newer header is one of another size.
Result<SessionOptions> options_of(const isthmus_options* options);

// Writes as much of an explanation as the caller's structure has room for.
Status write_explanation(const Explanation& explanation, isthmus_explanation* out);

}  // namespace isthmus::capi
