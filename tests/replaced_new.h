// operator new of a whole test program, replaced: allocations are counted, and one or all can be made to fail. Link
// replaced_new.cc to a program of its own, or every other test there pays for it.
#pragma once

#include <atomic>

namespace octavo::test {

extern std::atomic<long> num_allocations;
extern std::atomic<long> num_allocated_bytes;  // of all of them, whether they were freed or not
extern std::atomic<long> allocations_left;     // before one throws std::bad_alloc; below 0: none does
extern std::atomic<bool> out_of_memory;        // all throw it

}  // namespace octavo::test
