#include "octavo/resources.h"

#include <new>
#include <system_error>

#include "base/cpu_info.h"
#include "base/error.h"
#include "engine/resources_impl.h"

namespace octavo {

Resources::Resources(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Resources::~Resources() = default;

Result<std::shared_ptr<Resources>> Resources::create(const ResourceOptions& options) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads)
    return fail("num_threads: found {}, expected 0 to {}", options.num_threads, kMaxThreads);
  const bool is_default = options.num_threads == 0;
  const int num_threads = is_default ? default_threads() : options.num_threads;
  const auto cpus = [is_default] { return is_default ? default_threads() : usable_cpus(); };
  try {
    auto impl = std::make_unique<Impl>(num_threads, cpus, options.kv_memory_bytes);
    return std::shared_ptr<Resources>(new Resources(std::move(impl)));
  } catch (const std::bad_alloc&) {
    return fail("found no memory left while starting {} threads", num_threads);
  } catch (const std::system_error& error) {  // the system refuses another thread
    return fail("starting {} threads: {}", num_threads, error.what());
  }
}

int Resources::num_threads() const { return impl_->threads.num_threads(); }
std::uint64_t Resources::kv_memory_bytes() const { return impl_->kv_memory.total(); }
std::uint64_t Resources::kv_memory_taken() const { return impl_->kv_memory.taken(); }

}  // namespace octavo
