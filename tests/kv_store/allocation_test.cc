// Each allocation of a store's thread fails once: the task ends, nothing wrong is read, and the store goes on.
#include <gtest/gtest.h>

#include <new>

#include "kv_store/kv_store.h"
#include "kv_store/stored_blocks.h"
#include "replaced_new.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

/// Runs a task during which allocation number `failing` throws, wherever it is made.
template <class Call>
bool ends(OneStore& store, long failing, const Call& call, bool& was_refused) {
  allocations_left = failing;
  KvStore::Job job = 0;
  try {
    job = call();
  } catch (const std::bad_alloc&) {
    was_refused = true;
  }
  if (!was_refused) store->wait(std::chrono::seconds(60));
  allocations_left = -1;
  return !was_refused && store.end_of(job);
}

TEST(KvStoreAllocations, AnyThatFailsIsATaskThatFails) {
  const TempFolder temp;
  const StateLayout layout = with_a_window();
  const PrefixName prefix = prefix_of(5);
  const auto blocks = blocks_of(layout, prefix), others = blocks_of(layout, prefix, 0, 10'000);
  int failures = 0;
  for (long failing = 0; failing < 200; ++failing) {
    OneStore store({.folder = temp.path() / std::to_string(failing)}, layout);
    store.settle();
    fill(store.memory(), layout, prefix, blocks);
    fill(store.memory(), layout, prefix_of(5, 1), others);
    store.done().reserve(100);
    bool was_refused = false;
    const bool wrote = ends(store, failing, [&] { return store->write(prefix, blocks); }, was_refused);
    failures += wrote ? 0 : 1;
    EXPECT_EQ(store->bytes_in_flight(), 0U);
    ASSERT_TRUE(store.write(prefix)) << failing;
    was_refused = false;
    const bool read = ends(store, failing, [&] { return store->read(prefix, others); }, was_refused);
    failures += read ? 0 : 1;
    EXPECT_TRUE(!read || count_wrong(store.memory(), layout, prefix, others) == 0) << failing;
    ASSERT_EQ(store.read(prefix), 5) << failing;
    if (wrote && read) break;
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace octavo::test
