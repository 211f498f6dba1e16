// Writes records into a trace file, each thread into blocks of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interpose/mapped_file.hpp"
#include "trace/format.hpp"

namespace isthmus::trace {

class TraceFile;

// The blocks that one thread writes at a time. Never blocks but for a new block.
class Writer {
  public:
    explicit Writer(TraceFile& file) : file_(file) {}

    template <typename Record>
    void write(const Record& record) {
        static_assert(sizeof(Record) % 8 == 0);
        if (std::byte* place = reserve(Record::kind, sizeof record, sizeof record)) {
            publish(Record::kind, place, &record, sizeof record);
        }
    }

  private:
    friend class TraceFile;
    // `record_bytes` is what the block's header says, `bytes` what is to be written.
    std::byte* reserve(Kind kind, std::size_t record_bytes, std::size_t bytes);
    bool publish(Kind kind, std::byte* place, const void* record, std::size_t bytes);

    // What its header in the file says, which is never read: a page of a file may be gone.
    struct Block {
        BlockHeader* header = nullptr;
        std::size_t bytes = 0, used = 0;
        std::size_t next_bytes = alignment;
    };
    TraceFile& file_;
    std::array<Block, kinds> blocks_;
};

// One process's file. Everything may be called from any thread.
class TraceFile {
  public:
    // `path` must not exist yet. `process` tells the process from all others of the trace.
    static Result<std::unique_ptr<TraceFile>> create(const std::string& path, const std::string& name,
                                                     std::int32_t rank, std::uint32_t flags, std::uint64_t now_ns);

    // A writer for the calling thread, given back with `recycle` when it ends.
    Writer* writer();
    void recycle(Writer* writer);

    // The index of a text, written when it is seen first. 0 when there are too many, or no room.
    std::uint32_t text(std::string_view text);
    // A sentence for the caller that reads the trace.
    void note(std::string_view text);
    void add_dropped(std::uint64_t records);
    void add_flags(std::uint32_t flags);
    // Everything was written: `now_ns` says when, 0 that something is missing.
    void finish(std::uint64_t now_ns);

  private:
    friend class Writer;
    TraceFile(interpose::MappedFile file, std::uint64_t process)
        : file_(std::move(file)), process_(process), texts_writer_(*this) {}
    BlockHeader* new_block(Kind kind, std::size_t record_bytes, std::size_t bytes);
    // Counts a record that was not written.
    void lose(std::uint64_t records);
    // Changes the process's record, here and in the file.
    template <typename Change>
    void change(const Change& change);

    interpose::MappedFile file_;
    std::uint64_t process_;
    std::mutex process_mutex_;
    ProcessRecord process_record_{};
    ProcessRecord* record_ = nullptr;
    std::atomic<bool> finished_ = false;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Writer>> writers_;
    std::vector<Writer*> idle_;
    std::unordered_map<std::string, std::uint32_t> texts_;
    Writer texts_writer_;
};

inline bool Writer::publish(Kind kind, std::byte* place, const void* record, std::size_t bytes) {
    Block& block = blocks_[static_cast<std::size_t>(kind)];
    if (!file_.file_.store(place, record, bytes, &block.header->used_bytes, block.used + bytes)) {
        block.header = nullptr;
        file_.lose(1);
        return false;
    }
    block.used += bytes;
    return true;
}

}  // namespace isthmus::trace
