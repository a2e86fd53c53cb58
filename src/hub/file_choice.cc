#include "hub/file_choice.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.h"
#include "source/encoder_name.h"
#include "source/shard_name.h"

namespace octavo::hub {
namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::size_t kMostShown = 12;  // in a message

/// The types in the order in which one is taken where a name has none: from what most people want to what takes most
/// memory.
constexpr std::array<std::string_view, 18> kDefaultTypes = {"Q4_K_M", "Q4_K_S", "Q4_K_XL", "Q4_K",   "Q4_0",   "Q4_1",
                                                            "MXFP4",  "IQ4_XS", "IQ4_NL",  "Q5_K_M", "Q5_K_S", "Q6_K",
                                                            "Q8_0",   "Q3_K_M", "IQ3_M",   "BF16",   "F16",    "F32"};

struct Candidate {
  std::string name;       // the name of the file, or of the first shard, in lower case
  std::string word_text;  // the name without its suffix and the numbers of shards
  std::vector<std::size_t> files;
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_model(std::string_view path) {
  const std::string name = lower_case(base_name(path));
  return name.ends_with(kSuffix) && !is_encoder_name(path) && !name.contains("imatrix") && !is_draft_file(path);
}

/// All files and complete sets of shards that `keep` accepts.
template <class Keep>
std::vector<Candidate> candidates_of(std::span<const std::string> paths, const Keep& keep) {
  std::vector<Candidate> found;
  std::map<std::string, std::map<std::uint32_t, std::size_t>> shards;  // by the name of the first shard
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!keep(paths[i])) continue;
    if (const auto shard = ShardName::parse(paths[i])) {
      shards[shard->file_name(1)][shard->number] = i;
    } else {
      const std::string name = lower_case(paths[i]);
      found.push_back({name, name.substr(0, name.size() - kSuffix.size()), {i}});
    }
  }
  for (const auto& [first, numbers] : shards) {
    const ShardName name = ShardName::parse(first).value();
    if (numbers.size() != name.count) continue;
    Candidate& candidate = found.emplace_back(lower_case(first), lower_case(name.stem), std::vector<std::size_t>{});
    for (const auto& [number, index] : numbers) candidate.files.push_back(index);
  }
  return found;
}

enum class Match { kNone, kGoesOn, kWhole };

/// How `word` is contained in `text`; both in lower case.
Match match_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
  Match best = Match::kNone;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (at > 0 && is_letter(static_cast<unsigned char>(text[at - 1]))) continue;
    if (end < text.size() && is_letter(static_cast<unsigned char>(text[end]))) continue;
    if (end == text.size() || text[end] != '_') return Match::kWhole;
    best = Match::kGoesOn;
  }
  return best;
}

std::vector<const Candidate*> with_word(std::span<const Candidate> candidates, std::string_view word) {
  for (const Match wanted : {Match::kWhole, Match::kGoesOn}) {
    std::vector<const Candidate*> found;
    for (const Candidate& candidate : candidates)
      if (match_word(candidate.word_text, word) == wanted) found.push_back(&candidate);
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<const Candidate*> pointers_to(std::span<const Candidate> candidates) {
  std::vector<const Candidate*> all;
  all.reserve(candidates.size());
  for (const Candidate& candidate : candidates) all.push_back(&candidate);
  return all;
}

std::string names_of(std::span<const Candidate* const> candidates, std::span<const std::string> paths) {
  std::string text;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostShown); ++i)
    text += (i > 0 ? ", " : "") + printable(paths[candidates[i]->files.front()]);
  return text + (candidates.size() > kMostShown ? ", ..." : "");
}

Result<std::vector<std::size_t>> only_one(std::span<const Candidate* const> found, std::span<const std::string> paths,
                                          std::string_view meant) {
  if (found.empty()) return std::vector<std::size_t>();
  if (found.size() == 1) return found.front()->files;
  return fail("{} means several files: {}; name one of them behind the colon", meant, names_of(found, paths));
}

/// Chooses by a file's name: by its path, else by its base name.
Result<std::vector<std::size_t>> choose_by_name(std::span<const std::string> paths, std::string_view wanted) {
  const std::string name = lower_case(wanted);
  const auto is_named = [&](std::string_view path, bool whole) {
    const std::string text = lower_case(path);
    return name == (whole ? std::string_view(text) : base_name(text));
  };
  for (const bool whole : {true, false}) {
    // Any shard may be named.
    const std::vector<Candidate> candidates =
        candidates_of(paths, [](std::string_view path) { return lower_case(path).ends_with(kSuffix); });
    std::vector<const Candidate*> found;
    for (const Candidate& candidate : candidates)
      if (std::ranges::any_of(candidate.files, [&](std::size_t i) { return is_named(paths[i], whole); }))
        found.push_back(&candidate);
    if (!found.empty()) return only_one(found, paths, quote(wanted));
  }
  return std::vector<std::size_t>();
}

/// Chooses by a type; without one, the only candidate or the one with the first type of `usual` that there is.
Result<std::vector<std::size_t>> choose_by_type(std::span<const Candidate> candidates,
                                                std::span<const std::string> paths, std::string_view wanted,
                                                std::span<const std::string_view> usual) {
  if (!wanted.empty()) return only_one(with_word(candidates, lower_case(wanted)), paths, quote(wanted));
  if (candidates.size() == 1) return candidates.front().files;
  for (const std::string_view type : usual)
    if (const auto found = with_word(candidates, lower_case(type)); !found.empty()) return only_one(found, paths, type);
  return only_one(pointers_to(candidates), paths, "a name without a type");
}

std::vector<std::string_view> types_of_drafts() {
  std::vector<std::string_view> types = {kDraftType};
  types.insert(types.end(), kDefaultTypes.begin(), kDefaultTypes.end());
  return types;
}

}  // namespace

bool is_draft_file(std::string_view path) {
  std::string all = "/";
  all += lower_case(path);
  return all.ends_with(kSuffix) && (base_name(all).starts_with("mtp-") || all.contains("/mtp/"));
}

Result<std::vector<std::size_t>> choose_files(std::span<const std::string> paths, std::string_view wanted) {
  if (lower_case(wanted).ends_with(kSuffix)) return choose_by_name(paths, wanted);
  return choose_by_type(candidates_of(paths, is_model), paths, wanted, kDefaultTypes);
}

Result<std::vector<std::size_t>> choose_draft_files(std::span<const std::string> paths, std::string_view wanted) {
  const std::vector<Candidate> candidates = candidates_of(paths, is_draft_file);
  if (candidates.empty() || lower_case(wanted).ends_with(kSuffix)) return choose_files(paths, wanted);
  return choose_by_type(candidates, paths, wanted, types_of_drafts());
}

std::vector<std::size_t> draft_files_beside(std::span<const std::string> paths, std::string_view model) {
  const std::vector<Candidate> candidates = candidates_of(paths, is_draft_file);
  if (candidates.empty()) return {};
  const std::string name = lower_case(base_name(model));
  for (const std::string_view type : kDefaultTypes)
    if (const std::string word = lower_case(type); match_word(name, word) == Match::kWhole)
      if (const auto found = with_word(candidates, word); found.size() == 1) return found.front()->files;
  return choose_by_type(candidates, paths, {}, types_of_drafts()).value_or(std::vector<std::size_t>());
}

std::optional<std::size_t> encoder_beside(std::span<const std::string> paths, std::string_view model) {
  constexpr std::size_t kNone = std::string_view::npos;
  const int bits = bits_by_name(model);
  const auto folder_of = [](std::string_view path) { return path.substr(0, path.rfind('/') + 1); };
  std::optional<std::size_t> best;
  std::size_t best_depth = kNone;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string_view folder = folder_of(paths[i]);
    if (!is_encoder_name(paths[i]) || !model.starts_with(folder)) continue;
    const bool is_nearer = best_depth == kNone || folder.size() > best_depth;
    if (!is_nearer && (folder.size() < best_depth || !suits_better(paths[i], paths[*best], bits))) continue;
    best = i;
    best_depth = folder.size();
  }
  return best;
}

Result<std::vector<std::size_t>> choose_encoder(std::span<const std::string> paths, std::string_view wanted) {
  if (lower_case(wanted).ends_with(kSuffix)) return choose_by_name(paths, wanted);
  std::vector<Candidate> candidates = candidates_of(paths, is_encoder_name);
  if (!wanted.empty() || candidates.empty()) return choose_by_type(candidates, paths, wanted, {});
  constexpr int kBits = 16;
  return std::ranges::min_element(
             candidates, [](const Candidate& a, const Candidate& b) { return suits_better(a.name, b.name, kBits); })
      ->files;
}

std::vector<std::vector<std::size_t>> model_files(std::span<const std::string> paths) {
  std::vector<Candidate> candidates = candidates_of(paths, is_model);
  std::ranges::sort(candidates, {}, &Candidate::name);
  std::vector<std::vector<std::size_t>> files;
  files.reserve(candidates.size());
  for (Candidate& candidate : candidates) files.push_back(std::move(candidate.files));
  return files;
}

std::string draft_candidates_text(std::span<const std::string> paths) {
  const std::vector<Candidate> candidates = candidates_of(paths, is_draft_file);
  return candidates.empty() ? candidates_text(paths) : names_of(pointers_to(candidates), paths);
}

std::string encoder_candidates_text(std::span<const std::string> paths) {
  const std::vector<Candidate> candidates = candidates_of(paths, is_encoder_name);
  return candidates.empty() ? "no encoder of pictures (mmproj)" : names_of(pointers_to(candidates), paths);
}

std::string candidates_text(std::span<const std::string> paths) {
  const std::vector<Candidate> candidates = candidates_of(paths, is_model);
  return candidates.empty() ? "no GGUF file" : names_of(pointers_to(candidates), paths);
}

}  // namespace octavo::hub
