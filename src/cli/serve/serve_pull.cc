#include "cli/serve/serve_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/options/options.h"
#include "cli/terminal/parse.h"
#include "hub/model_ref.h"
#include "hub/pull.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kSha256Digits = 64;

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    names.emplace_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), names.back().size() + 1));
  }
  return names;
}

Result<void> check_name(std::string_view name) {
  if (hub::ModelRef::parse(name)) return {};
  return fail("found '{}', expected ORG/REPO or ORG/REPO:TYPE, such as org/repo:Q4_K_M, of the server's own hub",
              printable(name));
}

/// Removes the path of the operator's cache from an error, which a client will see.
Error without_folder(Error error, const std::string& folder) {
  constexpr std::string_view kInstead = "the hub's cache";
  for (std::size_t at = 0; !folder.empty() && (at = error.message.find(folder, at)) != std::string::npos;
       at += kInstead.size())
    error.message.replace(at, folder.size(), kInstead);
  return error;
}

Result<bool> fetch(const server::FetchCall& call, PulledModels& pulled, Context& context) {
  const auto ref = hub::ModelRef::parse(call.name);
  if (!ref) return fail("{}: expected ORG/REPO or ORG/REPO:TYPE", call.name);
  OCTAVO_TRY_VOID(pulled.check_room(call.name));
  const hub::PullEvents events = {
      .say = [&](const std::string& text) { context.err << "octavo: for a client: " << text << '\n'
                                                        << std::flush; },
      .progress =
          [&](const hub::PullProgress& progress) {
            const char* const kind = progress.hash.size() == kSha256Digits ? "sha256" : "sha1";
            call.on_progress({.digest = fmt::format("{}:{}", kind, progress.hash),
                              .completed_bytes = progress.file_bytes,
                              .total_bytes = progress.file_size});
          },
      .stop = call.stop,
      .admit = call.admit};
  auto path = hub::pull(context.hub, *ref, events, hub::PullKind::kModelToTalkTo);
  if (!path) return std::unexpected(without_folder(std::move(path.error()), context.hub.cache.string()));
  return pulled.add(call.name, std::move(*path));
}

}  // namespace

void add_pull_options(Command& command, server::PullOptions& pull, const std::shared_ptr<PulledModels>& pulled,
                      Context& context) {
  const auto take = [&pull, &pulled, &context](const std::string& text) -> Result<void> {
    pull.fetch = {};
    if (text == "false") return {};
    pull.fetch = [pulled, &context](const server::FetchCall& call) { return fetch(call, *pulled, context); };
    pull.check_name = check_name;
    if (text == "true") return {};
    OCTAVO_TRY(pull.max_bytes, parse_size(text));
    if (pull.max_bytes == 0) return fail("found '0', expected at least a byte, or no size: as the disk has room");
    return {};
  };
  const Option* allow =
      command
          .add_option_function("--allow-pull", take,
                               "Clients may have models fetched from the hub, by ollama's /api/pull; with =SIZE, such "
                               "as --allow-pull=40GiB, they write no more than that in all")
          ->type_name("")
          ->of_servers();
  add_parsed(
      command, "--allow-pull-keys", "NAMES",
      [](const std::string& text) -> Result<std::vector<std::string>> { return split_names(text); },
      store_in(pull.keys), "The names of the keys that may, between commas; '*': all. Needed where there are keys")
      ->check(refuse_empty)
      ->needs(allow)
      ->of_servers();
}

Result<void> check_pulls(const server::PullOptions& pull, const server::ApiKeys& keys, const Context& context) {
  if (!pull.fetch) return {};
  if (context.hub.offline) return fail("--allow-pull: found --offline or HF_HUB_OFFLINE, expected a hub to ask");
  if (keys.empty() && !pull.keys.empty()) return fail("--allow-pull-keys: found no keys, expected --api-key-file");
  if (!keys.empty() && pull.keys.empty())
    return fail("--allow-pull: found keys, expected --allow-pull-keys with the names of those that may, or '*'");
  for (const std::string& name : pull.keys)
    if (name != "*" && !keys.has_name(name))
      return fail("--allow-pull-keys: found '{}', expected the names of keys between commas, or '*'", printable(name));
  return {};
}

}  // namespace octavo::cli
