// Sources that repeat their elements, by strides of 0: written out a part at a time, and copied as if they did not.
#pragma once

#include <functional>

#include "transfer/session/session.hpp"

namespace isthmus::bindings {

// Whether so many elements of the host's memory are repeated, in such short pieces, that it is quicker to write them
// out than to move each by itself.
bool is_repeated(const ArrayView& source);

// `in_handle`: the destination's memory has no addresses, only places within a handle (OpenCL).
// Writes parts of the source out, one after the other, and hands each with its part of the destination to `copy`, until
// all are copied or one fails. Precondition: the shapes and sizes of elements agree, and is_repeated(source).
Outcome copy_repeated(const ArrayView& destination, const ArrayView& source, bool in_handle,
                      const std::function<Outcome(const ArrayView&, const ArrayView&)>& copy);

}  // namespace isthmus::bindings
