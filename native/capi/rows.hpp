// A copy of rows as C passes it, checked and in the core's words.
#pragma once

#include <isthmus.h>

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "transfer/rows/row_copy.hpp"

namespace isthmus::capi {

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
