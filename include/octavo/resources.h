// Threads and KV memory that several engines of one process share.
//
//     auto resources = octavo::Resources::create({.num_threads = 8, .kv_memory_bytes = std::uint64_t{8} << 30});
//     if (!resources) return report(resources.error().message);
//     auto small = octavo::Engine::load({.model_path = "small.gguf", .kv_memory_bytes = 1 << 30, .resources =
//     *resources}); auto large = octavo::Engine::load({.model_path = "large.gguf", .resources = *resources});  // what
//     is left
//
// Each engine is driven by a thread of its own, or one thread drives several in turn. A step has all threads to itself:
// engines that want them at the same time take turns, in the order in which they came. Where several have work, each
// one's steps are filled up to EngineOptions::itl_target_ms divided by their number. Loading takes its turns too, a few
// milliseconds each. An engine's KV memory is counted from loading until the engine is destroyed. Sharing never
// changes an answer.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/result.h"

namespace octavo {

struct ResourceOptions {
  int num_threads = 0;                // 0: one for each physical core that this process may use, no more than its
                                      // cgroup's quota rounded down
  std::uint64_t kv_memory_bytes = 0;  // of all engines together; 0: no common limit
};

/// Any thread may call it. Engines hold it as long as they live.
class Resources {
 public:
  /// Starts the threads. Errors: a number out of range, no threads or memory to be had.
  static Result<std::shared_ptr<Resources>> create(const ResourceOptions& options);
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  int num_threads() const;
  std::uint64_t kv_memory_bytes() const;  // 0: no common limit
  std::uint64_t kv_memory_taken() const;  // by engines that are there

  struct Impl;
  Impl& impl() { return *impl_; }  // for the library

 private:
  explicit Resources(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
