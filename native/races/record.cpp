// What was seen, in a file that is there whatever becomes of the process.
#include "races/record.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <new>

#include "interpose/environment.hpp"
#include "interpose/own_file.hpp"
#include "interpose/undisturbed.hpp"

namespace isthmus::races {

Finding* Record::slot(std::uint32_t site, std::uint64_t touch, std::uint32_t how) {
    for (std::size_t i = 0; i < findings; ++i) {
        if (all[i].site == site && all[i].touch == touch && all[i].how == how) return &all[i];
    }
    if (findings == most_findings) return ++without_slot, nullptr;
    Finding& added = all[findings++];
    added.site = site;
    added.touch = touch;
    added.how = how;
    return &added;
}

void Record::add_reason(const char* reason) {
    const std::size_t used = std::strlen(reasons.data()), length = std::strlen(reason);
    if (std::strstr(reasons.data(), reason) != nullptr || used + length + 2 > reasons.size()) return;
    if (used != 0) reasons[used] = '\n';
    std::memcpy(reasons.data() + used + (used != 0 ? 1 : 0), reason, length + 1);
}

Record* make_record() {
    const interpose::Undisturbed undisturbed;
    const std::string folder = interpose::folder_in("ISTHMUS_RACES_FOLDER");
    if (folder.empty()) return nullptr;
    constexpr std::size_t page = interpose::alignment, bytes = (sizeof(Record) + page - 1) / page * page;
    auto file = interpose::make_named(folder, ".races",
                                      [](const std::string& path) { return interpose::OwnFile::create(path); });
    if (!file.ok()) return nullptr;
    const auto mapped = file.value().append(bytes, bytes);
    if (mapped.pages == nullptr) return nullptr;
    // The file is all zero.
    auto* const record = reinterpret_cast<Record*>(mapped.pages);
    record->process = static_cast<std::uint64_t>(getpid());
    std::ifstream("/proc/self/comm").getline(record->program.data(), std::streamsize{sizeof record->program});
    record->format = Record::magic;
    return record;
}

}  // namespace isthmus::races
