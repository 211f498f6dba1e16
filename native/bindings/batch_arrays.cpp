// Takes the arrays of a batch one by one: what they are, whether they go together, and what keeps their memory.
#include "bindings/batch_arrays.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/torch_fields.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "transfer/copy/batch_checks.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

nb::object tuple_of(nb::handle pieces, const char* role) {
    PyObject* const tuple = PySequence_Tuple(pieces.ptr());
    if (tuple != nullptr) return nb::steal(tuple);
    const nb::python_error error;
    if (!error.matches(PyExc_TypeError)) throw error;
    raise("WrongType", std::string("the ") + role + "s of a batch are a " + text_of(pieces.type().attr("__name__")) +
                           "; expected a sequence of arrays");
}

// Where a run of an array whose elements lie apart begins, from the array's first element; modulo 2^64.
std::size_t place(const ArrayPieces::Placement& placement, const Extent& extent, std::size_t piece) {
    const std::size_t regular =
        piece / extent.rows * placement.slice_pitch_bytes + piece % extent.rows * placement.pitch_bytes;
    return static_cast<std::size_t>(placement.first_bytes) + placement.offset +
           (placement.offsets.empty() ? regular : placement.offsets[piece]);
}

}  // namespace

ArraysOfSide::ArraysOfSide(nb::handle pieces, Role role, Uses uses) : role_(role), arrays_(tuple_of(pieces, name())) {
    static LibraryType tensors("torch", "Tensor");
    tensors_ = tensors.find();
    if (uses == Uses::repeated) unmoved.emplace(role);
}

const Operand& ArraysOfSide::take(std::size_t index, std::optional<std::uintptr_t> stream, Keep keep,
                                  CurrentStreams& current) {
    return last_.emplace(PyTuple_GetItem(arrays_.ptr(), static_cast<Py_ssize_t>(index)), role_, stream, keep, current);
}

// The objects of thousands of arrays are in no cache, and a tensor is two steps away.
void ArraysOfSide::prefetch(std::size_t index) const {
    constexpr std::size_t ahead = 8;
    const std::size_t count = this->count();
    const auto at = [&](std::size_t place) { return PyTuple_GetItem(arrays_.ptr(), static_cast<Py_ssize_t>(place)); };
    if (index + 2 * ahead < count) __builtin_prefetch(at(index + 2 * ahead));
    if (index + ahead >= count) return;
    PyObject* const next = at(index + ahead);
    if (Py_TYPE(next) == tensors_) prefetch_torch_tensor(next);
}

void ArraysOfSide::settle(std::size_t index) {
    const Operand& operand = *last_;
    if (index == 0) {
        backend_ = operand.backend();
        side = operand.side();
    }
    if (operand.backend() != backend_) {
        raise(invalid("piece " + std::to_string(index) + ": its " + name() + " (" + operand.text() +
                      ") is not on the same side as that of piece 0; all "
                      "pieces of a batch go one way: make a batch of each"));
    }
    if (operand.side() == Side::device && operand.device() >= 0) {
        if (device_ < 0) device_ = operand.device();
        if (operand.device() != device_) {
            raise(invalid("piece " + std::to_string(index) + ": its " + name() + " (" + operand.text() + ") is on " +
                          std::string(backend_) + ":" + std::to_string(operand.device()) + ", that of others on " +
                          std::string(backend_) + ":" + std::to_string(device_) +
                          "; a session copies for one device: make a batch of each"));
        }
    }
    if (operand.side() != side) side.reset();
    if (operand.memory() && (memories.empty() || memories.back() != operand.memory())) {
        memories.push_back(operand.memory());
    }
    if (unmoved) unmoved->add(operand);
    if (operand.is_locked_buffer()) {
        // A view locks the buffer as the operand does, and takes less.
        PyObject* const view = PyMemoryView_FromObject(operand.object().ptr());
        if (view == nullptr) throw nb::python_error();
        kept_.push_back(nb::steal(view));
    } else if (!operand.is_kept_by_object() && operand.capsule().is_valid()) {
        kept_.push_back(operand.capsule());
    }
}

void BatchOfArrays::add(const Operand& to, const Operand& from) {
    const BatchPiece piece{to.address(), from.address(), from.bytes(), to.offset_bytes(), from.offset_bytes()};
    if (piece.bytes == 0) return;
    if (to.is_contiguous() && from.is_contiguous()) {
        pieces.add(piece);
        return;
    }
    ArrayPieces runs = unwrap(ArrayPieces::of(to.view(), from.view()));
    check(runs.write_offsets());
    for (std::size_t i = 0; i < runs.extent.pieces(); ++i) {
        BatchPiece run = piece;
        run.bytes = runs.extent.width_bytes;
        // OpenCL's memory has no addresses, only places within a handle.
        (to.backend() == "opencl" ? run.destination_offset_bytes : run.destination) +=
            place(runs.destination, runs.extent, i);
        (from.backend() == "opencl" ? run.source_offset_bytes : run.source) += place(runs.source, runs.extent, i);
        pieces.add(run);
    }
}

BatchOfArrays::BatchOfArrays(nb::handle destinations, nb::handle sources, std::optional<std::uintptr_t> stream,
                             nb::handle session_object, Keep keep, Uses uses)
    : destination(destinations, Role::destination, uses), source(sources, Role::source, uses) {
    const std::size_t count = destination.count();
    if (source.count() != count) {
        raise(invalid("a batch has " + std::to_string(count) + " destinations and " + std::to_string(source.count()) +
                      " sources; expected as many"));
    }
    pieces.reserve(count);
    CurrentStreams current;
    for (std::size_t i = 0; i < count; ++i) {
        destination.prefetch(i);
        source.prefetch(i);
        try {
            const Operand& taken = destination.take(i, stream, keep, current);
            check_pair(taken, source.take(i, stream, keep, current));
            add(taken, source.last());
        } catch (nb::python_error& error) {
            if (!error.matches(error_class("UsageError"))) throw;
            raise(error.matches(error_class("WrongType")) ? "WrongType" : "UsageError",
                  "piece " + std::to_string(i) + ": " + text_of(error.value()));
        }
        if (i == 0) session = session_for(session_object, destination.last(), source.last());
        for (const Operand* const operand : {&destination.last(), &source.last()}) {
            for (const auto& each : {operand->ready(), operand->awaited()}) add_stream(ready, each);
        }
        destination.settle(i);
        source.settle(i);
    }
    if (uses == Uses::repeated && is_one_size(pieces.batch().bytes)) {
        pieces.prepare(are_destinations_disjoint(pieces.batch()));
    }
    if (keep == Keep::object) return;
    memories = destination.memories;
    memories.insert(memories.end(), source.memories.begin(), source.memories.end());
    // Each once, by sorting: a search for each of many arrays of their own would take their number squared.
    std::ranges::sort(memories);
    const auto repeated = std::ranges::unique(memories);
    memories.erase(repeated.begin(), repeated.end());
}

}  // namespace isthmus::bindings
