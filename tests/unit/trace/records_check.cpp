// Writes one record of each kind, of which every field is its place among the fields.
#include "trace/writer.hpp"

using namespace isthmus::trace;

int main(int count, char** words) {
    if (count < 2) return 2;
    auto made = TraceFile::create(words[1], "program", -1, 0, 1);
    if (!made.ok()) return 3;
    Writer* writer = made.value()->writer();
    writer->write(ProcessRecord{1, 2, 3, 4, 5, 6, static_cast<Lack>(7)});
    writer->write(CopyRecord{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    writer->write(CallRecord{1, 2, 3, 4, 5, 6});
    writer->write(OperandsRecord{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, static_cast<Timing>(11)});
    writer->write(KernelRecord{1, 2, 3, 4, 5, 6});
    writer->write(MemsetRecord{1, 2, 3, 4, 5, 6, 7});
    writer->write(MigrationRecord{1, 2, 3, 4, 5, 6, 7, 8});
    writer->write(FaultRecord{1, 2, 3, 4, 5, 6});
    writer->write(AllocationRecord{1, 2, 3, 4, 5, 6, 7});
    writer->write(DeviceRecord{1, 2});
    writer->write(NoteRecord{1, 2});
    writer->write(WindowRecord{1, 2, 3});
    writer->write(HostWorkRecord{1, 2, 3, 4});
    made.value()->finish(1);
    return 0;
}
