// A CUPTI that reports what a file says: for refusals, late and lost reports, and kinds that nobody knows.
//
// FAKE_CUPTI_RECORDS names the file: a line of numbers (activity kind, counter kind, value, address, flags) for each
// record. Every flush delivers the next line, so that reports come late. FAKE_CUPTI_LOST records are lost with the
// first. FAKE_CUPTI_ENABLE is the code that cuptiActivityEnable returns.
// FAKE_CUPTI_LOG names a file for what was enabled and disabled.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "fake_violations.hpp"

namespace {

struct Record {
    int kind, counter_kind;
    std::uint64_t value, start, end, address;
    std::uint32_t source, destination, stream, process, flags, padding;
};

void (*request)(std::uint8_t**, std::size_t*, std::size_t*) = nullptr;
void (*complete)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) = nullptr;
std::ifstream records;
std::size_t lost = 0;

void log(const char* text) {
    if (const char* path = std::getenv("FAKE_CUPTI_LOG")) std::ofstream(path, std::ios::app) << text << '\n';
}

}  // namespace

extern "C" {

int cuptiGetVersion(std::uint32_t* version) {
    fake::refuse_forked(__func__);
    return *version = 130000, 0;
}
int cuptiGetResultString(int code, const char** text) {
    fake::refuse_forked(__func__);
    return *text = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR", 0;
}
int cuptiActivityRegisterCallbacks(decltype(request) requested, decltype(complete) completed) {
    fake::refuse_forked(__func__);
    return request = requested, complete = completed, 0;
}
int cuptiActivityConfigureUnifiedMemoryCounter(void*, std::uint32_t count) {
    fake::refuse_forked(__func__);
    return count == 4 ? 0 : 1;
}
int cuptiActivityEnable(int kind) {
    fake::refuse_forked(__func__);
    if (const char* code = std::getenv("FAKE_CUPTI_ENABLE")) return std::atoi(code);
    if (const char* path = std::getenv("FAKE_CUPTI_RECORDS")) records.open(path);
    if (const char* count = std::getenv("FAKE_CUPTI_LOST")) lost = std::strtoul(count, nullptr, 10);
    return log("enabled"), kind == 25 ? 0 : 1;
}
int cuptiActivityDisable(int) {
    fake::refuse_forked(__func__);
    return log("disabled"), 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
    fake::refuse_forked(__func__);
    Record record{};
    if (!(records >> record.kind >> record.counter_kind >> record.value >> record.address >> record.flags)) return 0;
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0;
    request(&buffer, &bytes, &most);
    std::memcpy(buffer, &record, sizeof record);
    complete(nullptr, 0, buffer, bytes, sizeof record);
    return 0;
}
// One record a buffer: the first call finds it, the second is at the end.
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t, Record** record) {
    fake::refuse_forked(__func__);
    if (*record != nullptr) return 12;
    return *record = reinterpret_cast<Record*>(buffer), 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
    fake::refuse_forked(__func__);
    return *dropped = lost, lost = 0, 0;
}

}  // extern "C"
