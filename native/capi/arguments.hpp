// What callers pass in C, checked and in the core's words. All fail with invalid_argument, which says what to change.
#pragma once

#include <isthmus.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transfer/copy/batch.hpp"
#include "transfer/rows/row_copy.hpp"
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

// Views of them. Addresses of pieces of no bytes may be null. Fails with invalid_argument, naming the piece.
Result<Batch> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                       const std::size_t* bytes);

// Owns what a RowCopy refers to, but for lists of 8 bytes a number and those on the device.
class Rows {
  public:
    // Fails with invalid_argument, naming the argument to change.
    static Result<Rows> of(std::size_t layers, const isthmus_array* destinations, const isthmus_rows* destination_rows,
                           const isthmus_array* sources, const isthmus_rows* source_rows);
    // As long as this stays where it is.
    RowCopy copy() const { return {{destinations_, destination_.list()}, {sources_, source_.list()}}; }

  private:
    struct List {
        isthmus_rows rows{};
        std::vector<std::int64_t> widened;

        RowList list() const;
    };
    static Result<List> list_of(const isthmus_rows* rows, const char* name);

    std::vector<ArrayView> destinations_, sources_;
    List destination_, source_;
};

}  // namespace isthmus::capi
