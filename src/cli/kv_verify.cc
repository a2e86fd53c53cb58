#include "cli/kv_verify.h"

#include <spdlog/logger.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/to_size.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "kv_store/verification.h"

namespace octavo::cli {
namespace {

constexpr std::chrono::seconds kLongestWrite(60);

/// A folder that is removed at the end of the scope, with all that is in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::string name = (std::filesystem::temp_directory_path() / "octavo-verify-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail("{}: cannot be made: {}", name, std::generic_category().message(errno));
    return ScratchFolder(name);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

struct Verified {
  std::uint64_t files = 0, not_computed = 0;
  ComparedBlocks blocks = {};
};

/// Computes the prefix of a run in a cache domain of its own, where nothing is found, and keeps it. False: it could not
/// be computed, or not be kept.
bool compute(Engine& engine, const SampledRun& run, const std::string& domain) {
  Request request;
  request.tokens = run.tokens;
  request.tokens.push_back(run.tokens.back());  // the last token never comes from the cache
  request.max_tokens = 1;
  request.ignore_eos = true;
  request.cache_domain = domain;
  const std::uint64_t written = engine.stats().kv_store.writes;
  if (!engine.submit(std::move(request), [](const TokenEvent&) {})) return false;
  const auto until = std::chrono::steady_clock::now() + kLongestWrite;
  engine.run();
  while (engine.stats().kv_store.writes == written) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    engine.step();
  }
  return true;
}

Verified verify_sample(Engine& engine, const StoreSample& sample, const std::filesystem::path& scratch,
                       const AddressDigest& address) {
  Verified verified;
  int number = 0;
  for (const SampledRun& run : sample.runs) {
    const std::string domain = fmt::format("verify-{}", number++);
    const bool is_computed = compute(engine, run, domain);
    const auto again = is_computed ? find_run(scratch, address, domain, run.header.end) : std::nullopt;
    if (!again) {
      ++verified.not_computed;
      continue;
    }
    const ComparedBlocks blocks = compare_runs(run.header, *again);
    ++verified.files;
    verified.blocks.compared += blocks.compared;
    verified.blocks.different += blocks.different;
  }
  return verified;
}

}  // namespace

Result<int> verify(const std::string& folder, const VerifyOptions& options, Context& context) {
  OCTAVO_TRY(const ScratchFolder scratch, ScratchFolder::make());
  EngineOptions engine_options = options.engine;
  engine_options.kv_store = {.folder = scratch.path(), .min_compute_s = 0, .write_share = 1};
  engine_options.kv_store.on_warning = [log = context.log](const std::string& words) { log->warn("{}", words); };
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), options.model, context));
  OCTAVO_TRY(const AddressDigest address, only_address(scratch.path()));
  OCTAVO_TRY(const StoreSample sample, sample_store(folder, address, to_size(options.sample)));
  const Verified verified = verify_sample(*engine, sample, scratch.path(), address);
  context.out
      << fmt::format(
             "files: compared {} of {}, damaged {}, without their beginning {}, with pictures {}, not computed {}\n",
             verified.files, sample.files, sample.damaged, sample.incomplete, sample.seeing, verified.not_computed)
      << fmt::format("blocks: compared {}, different {}\n", verified.blocks.compared, verified.blocks.different)
      << std::flush;
  OCTAVO_TRY(const int code, finish_output(context));
  return sample.damaged > 0 || verified.blocks.different > 0 ? 1 : code;
}

}  // namespace octavo::cli
