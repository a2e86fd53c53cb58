#include "hub/pull.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "hub/cache.h"
#include "hub/fetch_file.h"
#include "hub/file_choice.h"
#include "hub/folder_choice.h"
#include "hub/listing.h"
#include "hub/url.h"
#include "source/encoder_name.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

Result<void> check_settings(const Settings& settings, const fs::path& folder, const std::string& name) {
  if (settings.offline) return fail("{}: not here, and HF_HUB_OFFLINE forbids to fetch it", name);
  if (folder.empty()) return fail("{}: no folder to fetch it into is known: set HOME, XDG_CACHE_HOME or HF_HOME", name);
  return {};
}

std::vector<std::string> paths_of(const Listing& listing) {
  std::vector<std::string> paths;
  paths.reserve(listing.files.size());
  for (const RepoFile& file : listing.files) paths.push_back(file.path);
  return paths;
}

/// Files to fetch, and whether they make a folder.
struct Wanted {
  std::vector<RepoFile> files;
  bool is_folder;
  std::string draft = {};    // the path of a draft file among them, beside the model; empty: there is none
  std::string encoder = {};  // the file of an encoder of pictures
};

Result<ModelChoice> choose_files_of(std::span<const std::string> paths, const ModelRef& ref, PullKind kind) {
  if (kind != PullKind::kDraft && kind != PullKind::kEncoder) return choose_model(paths, ref.wanted);
  OCTAVO_TRY(std::vector<std::size_t> files,
             kind == PullKind::kDraft ? choose_draft_files(paths, ref.wanted) : choose_encoder(paths, ref.wanted));
  return ModelChoice{.files = std::move(files)};
}

std::string names_of_candidates(std::span<const std::string> paths, PullKind kind) {
  if (kind == PullKind::kDraft) return draft_candidates_text(paths);
  return kind == PullKind::kEncoder ? encoder_candidates_text(paths) : candidates_text(paths);
}

/// The files that a model of one file brings along.
void add_beside(const Listing& listing, std::span<const std::string> paths, PullKind kind, Wanted& wanted) {
  const std::string model = wanted.files.front().path;
  if (kind != PullKind::kModelToTalkTo && kind != PullKind::kModelWithAll) return;
  if (const auto encoder = encoder_beside(paths, model); encoder && !is_encoder_name(model)) {
    wanted.encoder = paths[*encoder];
    wanted.files.push_back(listing.files[*encoder]);
  }
  if (kind != PullKind::kModelWithAll) return;
  for (const std::size_t i : draft_files_beside(paths, model)) {
    if (wanted.draft.empty()) wanted.draft = paths[i];
    wanted.files.push_back(listing.files[i]);
  }
}

Result<Wanted> choose(const Listing& listing, const ModelRef& ref, PullKind kind) {
  const std::vector<std::string> paths = paths_of(listing);
  OCTAVO_TRY(const auto chosen, choose_files_of(paths, ref, kind));
  if (chosen.files.empty())
    return fail("{}: {} in {}, which has {}{}", ref.text(),
                ref.wanted.empty() ? "no usual type is" : fmt::format("no file of the name {} is", quote(ref.wanted)),
                ref.repo, names_of_candidates(paths, kind),
                chosen.is_folder ? ", nor config.json with all its safetensors" : "");
  Wanted wanted{.files = {}, .is_folder = chosen.is_folder};
  for (const std::size_t i : chosen.files) wanted.files.push_back(listing.files[i]);
  if (!chosen.is_folder && !is_draft_file(wanted.files.front().path)) add_beside(listing, paths, kind, wanted);
  return wanted;
}

/// "fetching a-Q4_0.gguf, mmproj-F16.gguf and mtp-a-Q4_0.gguf".
std::string text_of(const Wanted& wanted) {
  if (wanted.is_folder) return fmt::format("{} files", wanted.files.size());
  std::string text = printable(wanted.files.front().path);
  if (!wanted.encoder.empty())
    text += fmt::format("{}{}", wanted.draft.empty() ? " and " : ", ", printable(wanted.encoder));
  if (!wanted.draft.empty()) text += fmt::format(" and {}", printable(wanted.draft));
  return text;
}

/// Bytes that are there of a file, whole or in part.
std::uint64_t present_bytes(const CachedRepo& repo, const RepoFile& file) {
  std::error_code error;
  if (fs::exists(repo.blob(file.hash), error)) return file.size;
  const std::uintmax_t size = fs::file_size(repo.partial(file.hash), error);
  return error ? 0 : std::min<std::uint64_t>(size, file.size);
}

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576); }

}  // namespace

Result<std::optional<fs::path>> find_cached(const Settings& settings, const ModelRef& ref, PullKind kind) {
  if (settings.cache.empty()) return std::nullopt;
  for (const fs::path& snapshot : CachedRepo(settings.cache, ref.repo).snapshots()) {
    const std::vector<std::string> paths = files_in(snapshot);
    OCTAVO_TRY(const auto chosen, choose_files_of(paths, ref, kind));
    if (!chosen.files.empty()) return chosen.is_folder ? snapshot : snapshot / paths[chosen.files.front()];
  }
  return std::nullopt;
}

std::optional<fs::path> find_draft_beside(const fs::path& model) {
  const fs::path folder = model.parent_path();
  if (is_draft_file(model.filename().string())) return std::nullopt;
  std::vector<std::string> paths;
  for (const fs::path& place : {fs::path(), fs::path("MTP")}) {
    std::error_code error;
    for (fs::directory_iterator it(folder / place, error), end; !error && it != end; it.increment(error))
      paths.push_back((place / it->path().filename()).string());
  }
  const std::vector<std::size_t> files = draft_files_beside(paths, model.filename().string());
  if (files.empty()) return std::nullopt;
  return folder / paths[files.front()];
}

Result<fs::path> pull(const Settings& settings, const ModelRef& ref, const PullEvents& events, PullKind kind) {
  OCTAVO_TRY_VOID(check_settings(settings, settings.cache, ref.text()));
  OCTAVO_TRY(HubClient client, HubClient::create(settings, {}, events.say, events.stop));
  OCTAVO_TRY(const Listing listing, client.list(ref.repo));
  OCTAVO_TRY(const Wanted wanted, choose(listing, ref, kind));
  const CachedRepo repo(settings.cache, ref.repo);
  std::uint64_t total = 0, present = 0;
  for (const RepoFile& file : wanted.files) {
    total += file.size;
    present += present_bytes(repo, file);
  }
  OCTAVO_TRY_VOID(check_room(repo.folder(), total - present));
  if (events.admit) OCTAVO_TRY_VOID(events.admit(total - present));
  if (present < total)
    events.say(fmt::format("fetching {} of {}, {}{}", text_of(wanted), ref.repo, mebibytes(total),
                           present > 0 ? fmt::format(", {} of which are here", mebibytes(present)) : ""));
  fs::path first;
  std::uint64_t before = 0;
  for (const RepoFile& file : wanted.files) {
    const FileWanted fetched = {.url = client.file_url(ref.repo, listing.commit, file.path),
                                .hash = file.hash,
                                .size = file.size,
                                .path = repo.blob(file.hash),
                                .partial_path = repo.partial(file.hash),
                                .lock_path = repo.lock(file.hash)};
    OCTAVO_TRY_VOID(fetch_file(client, fetched, events.say, [&](std::uint64_t done, std::uint64_t size) {
      events.progress({.done_bytes = before + done,
                       .total_bytes = total,
                       .hash = file.hash,
                       .file_bytes = done,
                       .file_size = size});
    }));
    before += file.size;
    OCTAVO_TRY(const fs::path link, repo.link(listing.commit, file.path, file.hash));
    if (first.empty()) first = link;
    if (file.path != wanted.encoder) continue;
    // An engine looks in the model's folder alone.
    const std::string model = wanted.files.front().path;
    const std::string beside = model.substr(0, model.rfind('/') + 1) + file.path.substr(file.path.rfind('/') + 1);
    if (beside != file.path) OCTAVO_TRY_VOID(repo.link(listing.commit, beside, file.hash));
  }
  OCTAVO_TRY_VOID(repo.set_main(listing.commit));
  if (!wanted.draft.empty())
    events.say(fmt::format("{} drafts for {}: --draft mtp", printable(wanted.draft), ref.text()));
  return wanted.is_folder ? repo.snapshot(listing.commit) : first;
}

Result<fs::path> pull_url(const Settings& settings, const std::string& url, const std::string& sha256,
                          const PullEvents& events) {
  OCTAVO_TRY_VOID(origin_of(url));
  const std::string name = file_name_of(url);
  if (!is_safe_path(name) || !name.ends_with(".gguf"))
    return fail("{}: its last part is {}, expected a file's name that ends in .gguf", printable(url), quote(name));
  OCTAVO_TRY_VOID(check_settings(settings, settings.models, url));
  OCTAVO_TRY(HubClient client, HubClient::create(settings, {}, events.say, events.stop));
  fs::path path = settings.models / name;
  std::error_code ignored;
  if (fs::exists(path, ignored)) return fail("{}: it is there; octavo rm takes it away", path.string());
  events.say(fmt::format("fetching {}", printable(url)));
  const FileWanted wanted = {.url = url,
                             .hash = sha256,
                             .size = std::nullopt,
                             .path = path,
                             .partial_path = settings.models / ("." + sha256 + ".incomplete"),
                             .lock_path = settings.models / ("." + sha256 + ".lock")};
  OCTAVO_TRY_VOID(fetch_file(client, wanted, events.say, [&](std::uint64_t done, std::uint64_t size) {
    events.progress({.done_bytes = done, .total_bytes = size, .hash = sha256, .file_bytes = done, .file_size = size});
  }));
  return path;
}

}  // namespace octavo::hub
