// Threads and KV memory that several engines of one process share.
//
//     auto resources = octavo::Resources::create({.num_threads = 8, .kv_memory_bytes = std::uint64_t{8} << 30});
//     if (!resources) return report(resources.error().message);
//     auto small = octavo::Engine::load({.model_path = "small.gguf", .kv_memory_bytes = 1 << 30, .resources =
//     *resources}); auto large = octavo::Engine::load({.model_path = "large.gguf", .resources = *resources});  // what
//     is left
//
// Each engine is driven by a thread of its own, or one thread drives several in turn. A step has all threads to itself:
// engines that have a step at the same time take turns, in the order in which they came. Where several engines have
// work, each fills its steps up to EngineOptions::itl_target_ms divided by the number of these engines. Loading takes
// turns of a few milliseconds. An engine's KV memory counts from its loading to its destruction. Sharing never changes
// an answer.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/result.h"

namespace octavo {

struct ResourceOptions {
  int num_threads = 0;                // 0: one thread for each physical core that this process may use, at most its
                                      // cgroup's quota rounded down
  std::uint64_t kv_memory_bytes = 0;  // the bytes for all engines together; 0: no common limit
};

/// The shared threads and memory; engines hold them as long as they live. Any thread may call it.
class Resources {
 public:
  /// Starts the threads. Errors: a number out of range; no threads or no memory.
  static Result<std::shared_ptr<Resources>> create(const ResourceOptions& options);
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  int num_threads() const;
  std::uint64_t kv_memory_bytes() const;  // 0: no common limit
  std::uint64_t kv_memory_taken() const;  // the sum over all loaded engines

  struct Impl;
  Impl& impl() { return *impl_; }  // for the library only

 private:
  explicit Resources(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
