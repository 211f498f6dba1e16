// What a filter of system calls (seccomp) leaves of what the library needs.
#pragma once

namespace isthmus {

// Whether the process may start threads. A filter may end it for trying: one that the process itself has installed
// since the library was loaded is taken for such a one. With one that it began with, as in any container, threads are
// started where others have been, or where a child has tried, invisible to the program.
bool may_start_threads() noexcept;

}  // namespace isthmus
