// Writes records into a trace file.
#include "trace/writer.hpp"

#include <unistd.h>

#include <algorithm>

namespace isthmus::trace {
namespace {

constexpr std::size_t largest_block = std::size_t{256} << 10;
// Names of kernels can be made at run time without end; the rest of a trace is of bounded size per record.
constexpr std::size_t most_texts = 200'000;
constexpr std::size_t longest_text = 16384;

std::string sentence(Lack lack) {
    switch (lack) {
        case Lack::file_size: return "no room below the limit on the size of files (ulimit -f)";
        case Lack::path: return "cannot be opened any more";
        case Lack::memory: return "no memory, address space or file descriptor for it (ulimit -v, ulimit -n)";
        default: return "no room on the disk";
    }
}

}  // namespace

std::byte* Writer::reserve(Kind kind, std::size_t record_bytes, std::size_t bytes) {
    Block& block = blocks_[static_cast<std::size_t>(kind)];
    if (block.header == nullptr || block.bytes - sizeof(BlockHeader) - block.used < bytes) {
        const std::size_t wanted =
            std::max(block.next_bytes, (sizeof(BlockHeader) + bytes + alignment - 1) / alignment * alignment);
        block.header = file_.new_block(kind, record_bytes, wanted);
        if (block.header == nullptr) return nullptr;
        block.bytes = wanted;
        block.used = 0;
        block.next_bytes = std::min(block.next_bytes * 4, largest_block);
    }
    return reinterpret_cast<std::byte*>(block.header + 1) + block.used;
}

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path, const std::string& name,
                                                     std::int32_t rank, std::uint32_t flags, std::uint64_t now_ns) {
    ISTHMUS_TRY_ASSIGN(file, interpose::MappedFile::create(path));
    // Processes of one machine differ in their number, those of several in when they started, to the nanosecond.
    const std::uint64_t process = (static_cast<std::uint64_t>(getpid()) << 40U) ^ now_ns;
    std::unique_ptr<TraceFile> made(new TraceFile(std::move(file), process));
    Writer* writer = made->writer();
    made->process_record_ = {.started_ns = now_ns,
                             .ended_ns = 0,
                             .dropped = 0,
                             .name = 0,
                             .rank = rank,
                             .flags = flags,
                             .lack = Lack::nothing};
    writer->write(made->process_record_);
    BlockHeader* header = writer->blocks_[static_cast<std::size_t>(Kind::process)].header;
    if (header == nullptr) return Status(Code::call_failed, path + ": " + sentence(made->file_.lack()));
    made->record_ = reinterpret_cast<ProcessRecord*>(header + 1);
    const std::uint32_t index = made->text(name);
    made->change([&](ProcessRecord& record) { record.name = index; });
    made->recycle(writer);
    return made;
}

BlockHeader* TraceFile::new_block(Kind kind, std::size_t record_bytes, std::size_t bytes) {
    std::byte* place = file_.claim(bytes);
    if (place == nullptr) {
        lose(1);
        return nullptr;
    }
    auto* header = reinterpret_cast<BlockHeader*>(place);
    const BlockHeader made{.magic = 0,
                           .version = format_version,
                           .kind = kind,
                           .record_bytes = static_cast<std::uint32_t>(record_bytes),
                           .pid = static_cast<std::uint32_t>(getpid()),
                           .process = process_,
                           .block_bytes = bytes,
                           .used_bytes = 0,
                           .reserved = {}};
    // The letters last, because they make a block of it.
    if (file_.store(place, &made, sizeof made, &header->magic, magic)) return header;
    lose(1);
    return nullptr;
}

template <typename Change>
void TraceFile::change(const Change& change) {
    const std::lock_guard lock(process_mutex_);
    change(process_record_);
    if (record_ == nullptr) return;
    // Its last word last, as a store has it.
    constexpr std::size_t before = sizeof process_record_ - sizeof(std::uint64_t);
    auto* place = reinterpret_cast<std::byte*>(record_);
    std::uint64_t last = 0;
    std::memcpy(&last, reinterpret_cast<const std::byte*>(&process_record_) + before, sizeof last);
    file_.store(place, &process_record_, before, reinterpret_cast<std::uint64_t*>(place + before), last);
}

void TraceFile::lose(std::uint64_t records) {
    // What a program does after its end is no loss.
    if (finished_.load(std::memory_order_relaxed)) return;
    change([&](ProcessRecord& record) {
        record.dropped += records;
        record.lack = file_.lack();
    });
}

Writer* TraceFile::writer() {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
        Writer* writer = idle_.back();
        idle_.pop_back();
        return writer;
    }
    return writers_.emplace_back(std::make_unique<Writer>(*this)).get();
}

void TraceFile::recycle(Writer* writer) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(writer);
}

std::uint32_t TraceFile::text(std::string_view text) {
    text = text.substr(0, longest_text);
    const std::lock_guard lock(mutex_);
    const auto entry = texts_.find(std::string(text));
    if (entry != texts_.end()) return entry->second;
    if (texts_.size() >= most_texts) return 0;
    const TextHeader header{static_cast<std::uint32_t>(texts_.size() + 1), static_cast<std::uint32_t>(text.size())};
    const std::size_t bytes = sizeof header + (text.size() + 7) / 8 * 8;
    std::byte* place = texts_writer_.reserve(Kind::text, 1, bytes);
    if (place == nullptr) return 0;
    std::string padded(bytes, '\0');
    std::memcpy(padded.data(), &header, sizeof header);
    std::memcpy(padded.data() + sizeof header, text.data(), text.size());
    if (!texts_writer_.publish(Kind::text, place, padded.data(), bytes)) return 0;
    texts_.emplace(text, header.index);
    return header.index;
}

void TraceFile::note(std::string_view sentence) {
    const std::uint32_t index = text(sentence);
    Writer* writer = this->writer();
    writer->write(NoteRecord{.text = index, .padding = 0});
    recycle(writer);
}

void TraceFile::add_dropped(std::uint64_t records) {
    change([&](ProcessRecord& record) { record.dropped += records; });
}

void TraceFile::add_flags(std::uint32_t flags) {
    change([&](ProcessRecord& record) { record.flags |= flags; });
}

void TraceFile::finish(std::uint64_t now_ns) {
    finished_.store(true, std::memory_order_relaxed);
    change([&](ProcessRecord& record) { record.ended_ns = now_ns; });
    file_.finish();
}

}  // namespace isthmus::trace
