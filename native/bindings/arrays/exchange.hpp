// The table of C functions that types of DLPack's producers offer (__dlpack_c_exchange_api__): no Python runs per
// array.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>

#include "bindings/arrays/dlpack.hpp"
#include "bindings/arrays/element_type.hpp"

namespace isthmus::bindings {

// The table of the object's type, or null: where the type has none that is understood, and where it inherits one and
// has other methods of its own than the type that the table is of. Looked up once a type.
const dlpack::ExchangeTable* exchange_of(nanobind::handle object);

// The streams that producers put their work on at this moment. Asked again only for another device, or of another
// producer: all arrays of a batch are taken at one moment.
class CurrentStreams {
  public:
    // Nothing, and Python's exception is set, where the producer does not say.
    std::optional<std::uintptr_t> of(const dlpack::ExchangeTable& table, dlpack::Device device);

    // What the protocols said of the last array of CuPy that had another base, or type, than the one before.
    struct Base {
        nanobind::object base, dtype;
        ElementType type;
        std::uintptr_t stream = 0;
        dlpack::Device device{};
    };
    Base& base_of(bool destination) { return bases_[destination ? 0 : 1]; }

  private:
    const dlpack::ExchangeTable* table_ = nullptr;
    dlpack::Device device_{};
    std::uintptr_t stream_ = 0;
    std::array<Base, 2> bases_;
};

}  // namespace isthmus::bindings
