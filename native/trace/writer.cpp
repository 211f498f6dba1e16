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

std::atomic_ref<std::uint64_t> shared(std::uint64_t& value) {
    return std::atomic_ref(value);
}

}  // namespace

std::byte* Writer::reserve(Kind kind, std::size_t record_bytes, std::size_t bytes) {
    Block& block = blocks_[static_cast<std::size_t>(kind)];
    const auto room = [&] { return block.header->block_bytes - sizeof(BlockHeader) - block.header->used_bytes; };
    if (block.header == nullptr || room() < bytes) {
        const std::size_t wanted =
            std::max(block.next_bytes, (sizeof(BlockHeader) + bytes + alignment - 1) / alignment * alignment);
        block.header = file_.new_block(kind, record_bytes, wanted);
        if (block.header == nullptr) return nullptr;
        block.next_bytes = std::min(block.next_bytes * 4, largest_block);
    }
    return reinterpret_cast<std::byte*>(block.header + 1) + block.header->used_bytes;
}

void Writer::publish(Kind kind, std::size_t bytes) {
    BlockHeader* header = blocks_[static_cast<std::size_t>(kind)].header;
    // Not before the record itself, as whoever reads the file of a running program sees it.
    shared(header->used_bytes).store(header->used_bytes + bytes, std::memory_order_release);
}

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path, const std::string& name,
                                                     std::int32_t rank, std::uint32_t flags, std::uint64_t now_ns) {
    ISTHMUS_TRY_ASSIGN(file, MappedFile::create(path));
    // Processes of one machine differ in their number, those of several in when they started, to the nanosecond.
    const std::uint64_t process = (static_cast<std::uint64_t>(getpid()) << 40U) ^ now_ns;
    std::unique_ptr<TraceFile> made(new TraceFile(std::move(file), process));
    Writer* writer = made->writer();
    writer->write(ProcessRecord{
        .started_ns = now_ns, .ended_ns = 0, .dropped = 0, .name = 0, .rank = rank, .flags = flags, .disk_full = 0});
    BlockHeader* header = writer->blocks_[static_cast<std::size_t>(Kind::process)].header;
    if (header == nullptr) return Status(Code::call_failed, path + ": no room on the disk");
    made->record_ = reinterpret_cast<ProcessRecord*>(header + 1);
    made->record_->name = made->text(name);
    made->recycle(writer);
    return made;
}

BlockHeader* TraceFile::new_block(Kind kind, std::size_t record_bytes, std::size_t bytes) {
    std::byte* place = file_.claim(bytes);
    if (place == nullptr) {
        // What a program does after its end is no loss.
        if (finished_.load(std::memory_order_relaxed)) return nullptr;
        if (record_ != nullptr) std::atomic_ref(record_->disk_full).store(1, std::memory_order_relaxed);
        add_dropped(1);
        return nullptr;
    }
    auto* header = reinterpret_cast<BlockHeader*>(place);
    header->version = format_version;
    header->kind = kind;
    header->record_bytes = static_cast<std::uint32_t>(record_bytes);
    header->pid = static_cast<std::uint32_t>(getpid());
    header->process = process_;
    header->block_bytes = bytes;
    // Last, because it makes a block of it.
    shared(header->magic).store(magic, std::memory_order_release);
    return header;
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
    const auto found = texts_.find(std::string(text));
    if (found != texts_.end()) return found->second;
    if (texts_.size() >= most_texts) return 0;
    const TextHeader header{static_cast<std::uint32_t>(texts_.size() + 1), static_cast<std::uint32_t>(text.size())};
    const std::size_t bytes = sizeof header + (text.size() + 7) / 8 * 8;
    std::byte* place = texts_writer_.reserve(Kind::text, 1, bytes);
    if (place == nullptr) return 0;
    std::memcpy(place, &header, sizeof header);
    std::memcpy(place + sizeof header, text.data(), text.size());
    texts_writer_.publish(Kind::text, bytes);
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
    if (record_ != nullptr) shared(record_->dropped).fetch_add(records, std::memory_order_relaxed);
}

void TraceFile::add_flags(std::uint32_t flags) {
    std::atomic_ref(record_->flags).fetch_or(flags, std::memory_order_relaxed);
}

void TraceFile::finish(std::uint64_t now_ns) {
    finished_.store(true, std::memory_order_relaxed);
    shared(record_->ended_ns).store(now_ns, std::memory_order_relaxed);
    file_.finish();
}

}  // namespace isthmus::trace
