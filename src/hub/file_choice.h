// Which files of a repository a name such as Q4_K_M means. Pure; any thread.
//
// Candidates are files that end in .gguf; the shards of one model are one candidate, if all of them are there. Files of
// vision parts (mmproj), of importance matrices (imatrix) and draft files are none. Draft files, which only draft for a
// model beside them, are those that begin with mtp- and those in a folder MTP. A candidate has a type's name if the
// name stands in its own as a word, in upper or lower case: Q4_0 is in "m-Q4_0.gguf" and "m.q4_0.gguf". It is also in
// "m-Q4_0_4_4.gguf", where "_" goes on with it; such a candidate counts where no other has the name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::hub {

/// The indexes of the files that `wanted` means, in the order of shards; none: no candidate has that name. `wanted` is
/// a type's name or a file's, with its folders or without; empty: the first of kDefaultTypes that a candidate has,
/// else the only candidate. Error: several candidates are meant; names them.
Result<std::vector<std::size_t>> choose_files(std::span<const std::string> paths, std::string_view wanted);

/// The indexes of the draft file that `wanted` means; without a type the first that has kDraftType or one of
/// kDefaultTypes. Where no file is one by its name, all of them are candidates: a repository may hold an assistant
/// alone.
Result<std::vector<std::size_t>> choose_draft_files(std::span<const std::string> paths, std::string_view wanted);

/// Whether a file's name marks it as a draft file.
bool is_draft_file(std::string_view path);

/// The draft file beside a model of these files: the one that has the model's type, else that of choose_draft_files().
/// Empty: there is none, or it is not known which.
std::vector<std::size_t> draft_files_beside(std::span<const std::string> paths, std::string_view model);

/// The encoder of pictures for a model of these files: of those in the model's folder or above it the nearest, of
/// several there the one whose bits are nearest to the model's. None: there is none.
std::optional<std::size_t> encoder_beside(std::span<const std::string> paths, std::string_view model);

/// The index of the encoder that `wanted` means, by the rules of choose_files(); without a type, the one nearest to 16
/// bits. Error: several are meant.
Result<std::vector<std::size_t>> choose_encoder(std::span<const std::string> paths, std::string_view wanted);

/// The type of a draft file where no other is asked for: most makers offer none that is smaller.
inline constexpr std::string_view kDraftType = "Q8_0";

/// The models among files, in the order of their names, each with the indexes of its files.
std::vector<std::vector<std::size_t>> model_files(std::span<const std::string> paths);

/// The candidates' names, one for each, for a message: "a-Q4_0.gguf, a-Q8_0.gguf", or "no GGUF file".
std::string candidates_text(std::span<const std::string> paths);
/// The candidates of choose_draft_files(), for a message.
std::string draft_candidates_text(std::span<const std::string> paths);
/// The candidates of choose_encoder(), for a message.
std::string encoder_candidates_text(std::span<const std::string> paths);

}  // namespace octavo::hub
