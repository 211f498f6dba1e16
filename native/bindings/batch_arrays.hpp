// The arrays of a batch, and the pieces of memory that they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bindings/arrays/operand.hpp"
#include "bindings/arrays/unmoved.hpp"
#include "bindings/released.hpp"
#include "transfer/copy/batch.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::bindings {

// Whether a batch is copied once, or again and again, where its arrays have to be where they were.
enum class Uses { once, repeated };

// One side of a batch: the arrays, and what keeps the memory of those that the objects alone do not keep.
class ArraysOfSide {
  public:
    ArraysOfSide(nanobind::handle pieces, Role role, Uses uses);
    std::size_t count() const { return nanobind::len(arrays_); }
    // `last` is what was taken last.
    const Operand& take(std::size_t index, std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current);
    const Operand& last() const { return *last_; }
    // Asks the processor for arrays that come a few places later.
    void prefetch(std::size_t index) const;
    // Looks whether the piece that was taken last goes with those before it, and keeps of it what is needed.
    void settle(std::size_t index);

    // Those that Isthmus made; some more than once.
    std::vector<std::shared_ptr<DeviceMemory>> memories;
    std::optional<Side> side;
    std::optional<Unmoved> unmoved;  // of a batch of repeated use

  private:
    const char* name() const { return role_ == Role::destination ? "destination" : "source"; }

    const Role role_;
    nanobind::object arrays_;
    std::optional<Operand> last_;
    std::vector<nanobind::object> kept_;     // what keeps memory that the arrays alone do not keep
    const PyTypeObject* tensors_ = nullptr;  // torch's; null where there are none
    std::string_view backend_;
    int device_ = -1;  // of those that say so
};

// Needs the interpreter, but for what was resolved: the pieces, the streams and the session.
class BatchOfArrays {
  public:
    BatchOfArrays(nanobind::handle destinations, nanobind::handle sources, std::optional<std::uintptr_t> stream,
                  nanobind::handle session_object, Keep keep, Uses uses = Uses::once);
    Sides sides() const { return {destination.side, source.side}; }
    std::size_t count() const { return destination.count(); }

    ArraysOfSide destination, source;
    BatchLists pieces;
    std::vector<std::uintptr_t> ready;
    std::shared_ptr<Session> session;  // null where there are no arrays
    // Each once, where the batch keeps memory.
    std::vector<std::shared_ptr<DeviceMemory>> memories;

  private:
    void add(const Operand& to, const Operand& from);
};

}  // namespace isthmus::bindings
