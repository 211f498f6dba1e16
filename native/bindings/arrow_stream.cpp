// A table as a stream of Apache Arrow's C data interface, whose memory and callbacks need no Python: readers release
// them from any thread, also after the interpreter has ended. The structures are those of
// https://arrow.apache.org/docs/format/CStreamInterface.html.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/module.hpp"

namespace nb = nanobind;

extern "C" {
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
    int (*get_next)(ArrowArrayStream*, ArrowArray* out);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace isthmus::bindings {
namespace {

constexpr std::int64_t nullable = 2;
constexpr const char* capsule_name = "arrow_array_stream";

struct Column {
    std::string name, format;
    std::int64_t nulls;
    std::vector<std::vector<std::byte>> buffers;
};

struct Table {
    std::string format = "+s", name;
    std::int64_t rows = 0;
    std::vector<Column> columns;
};
using Shared = std::shared_ptr<const Table>;

// What a schema or an array points to. Each has its own share of the table, since a reader may keep a child alone.
template <typename Node>
struct Held {
    Shared table;
    std::vector<std::unique_ptr<Node>> owned;
    std::vector<Node*> children;
    std::vector<const void*> buffers;
};

template <typename Node>
void release(Node* node) {
    for (std::int64_t at = 0; at < node->n_children; ++at) {
        Node* const child = node->children[at];
        if (child->release != nullptr) child->release(child);  // Null where a reader has moved it out.
    }
    delete static_cast<Held<Node>*>(node->private_data);
    node->release = nullptr;
}

// Fills what schemas and arrays have in common; a table has its columns as children.
template <typename Node>
Held<Node>& hold(Node& node, const Shared& table, std::size_t children) {
    auto held = std::make_unique<Held<Node>>();
    held->table = table;
    for (std::size_t at = 0; at < children; ++at) {
        held->children.push_back(held->owned.emplace_back(std::make_unique<Node>()).get());
    }
    node = {};
    node.n_children = static_cast<std::int64_t>(children);
    node.children = held->children.data();
    node.release = &release<Node>;
    node.private_data = held.get();
    return *held.release();
}

void describe(ArrowSchema& schema, const Shared& table) {
    hold(schema, table, table->columns.size());
    schema.format = table->format.c_str();
    schema.name = table->name.c_str();
    for (std::size_t at = 0; at < table->columns.size(); ++at) {
        ArrowSchema& child = *schema.children[at];
        hold(child, table, 0);
        child.format = table->columns[at].format.c_str();
        child.name = table->columns[at].name.c_str();
        child.flags = nullable;
    }
}

void point_to(ArrowArray& array, Held<ArrowArray>& held, std::int64_t rows) {
    array.length = rows;
    array.n_buffers = static_cast<std::int64_t>(held.buffers.size());
    array.buffers = held.buffers.data();
}

void give(ArrowArray& array, const Shared& table) {
    static constexpr std::array<std::int64_t, 1> nothing{};  // Some readers take no null for an empty buffer.
    Held<ArrowArray>& held = hold(array, table, table->columns.size());
    held.buffers.push_back(nullptr);  // No row is null as a whole.
    point_to(array, held, table->rows);
    for (std::size_t at = 0; at < table->columns.size(); ++at) {
        const Column& column = table->columns[at];
        ArrowArray& child = *array.children[at];
        Held<ArrowArray>& of_child = hold(child, table, 0);
        for (const std::vector<std::byte>& buffer : column.buffers) {
            of_child.buffers.push_back(buffer.empty() ? static_cast<const void*>(nothing.data()) : buffer.data());
        }
        point_to(child, of_child, table->rows);
        child.null_count = column.nulls;
    }
}

// One stream: the table, until it was given.
struct Source {
    Shared table;
    bool is_given = false;
};

Source& source_of(ArrowArrayStream* stream) {
    return *static_cast<Source*>(stream->private_data);
}

template <typename Work>
int guarded(Work work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
    return 0;
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    return guarded([&] { describe(*out, source_of(stream).table); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    Source& source = source_of(stream);
    *out = {};  // The end: an array that is released.
    if (source.is_given) return 0;
    source.is_given = true;
    return guarded([&] { give(*out, source.table); });
}

const char* get_last_error(ArrowArrayStream*) {
    return nullptr;
}

void release_stream(ArrowArrayStream* stream) {
    delete &source_of(stream);
    stream->release = nullptr;
}

void drop(PyObject* capsule) {
    auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, capsule_name));
    if (stream->release != nullptr) stream->release(stream);  // Null where a reader has moved it out.
    delete stream;
}

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
    const auto* const data = reinterpret_cast<const std::byte*>(bytes.c_str());
    return {data, data + bytes.size()};
}

using Given = std::tuple<std::string, std::string, std::int64_t, std::vector<nb::bytes>>;

nb::object arrow_stream(std::int64_t rows, const std::vector<Given>& columns) {
    auto table = std::make_shared<Table>();
    table->rows = rows;
    for (const auto& [name, format, nulls, buffers] : columns) {
        Column& column = table->columns.emplace_back(Column{name, format, nulls, {}});
        for (const nb::bytes& each : buffers) column.buffers.push_back(bytes_of(each));
    }
    auto source = std::make_unique<Source>(Source{std::move(table)});
    auto stream = std::make_unique<ArrowArrayStream>(
        ArrowArrayStream{&get_schema, &get_next, &get_last_error, &release_stream, source.get()});
    PyObject* const capsule = PyCapsule_New(stream.get(), capsule_name, &drop);
    if (capsule == nullptr) throw nb::python_error();
    static_cast<void>(source.release());
    static_cast<void>(stream.release());
    return nb::steal(capsule);
}

}  // namespace

void bind_arrow_stream(nb::module_& module) {
    module.def("arrow_stream", &arrow_stream, nb::arg("rows"), nb::arg("columns"));
}

}  // namespace isthmus::bindings
