#include "cli/llama/llama_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/options/nearest.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

bool is_truthy(std::string_view text) { return text == "on" || text == "enabled" || text == "true" || text == "1"; }

class Reader {
 public:
  Reader(Command& serve, Dialect dialect) : serve_(serve), dialect_(dialect) {}

  Result<void> read(std::span<const std::string> args);
  Result<void> read_variables(const hub::Environment& environment);
  LlamaCommandLine take() { return std::move(line_); }

 private:
  const LlamaArgument* find_row(std::string_view name) const;
  Result<void> read_own(const std::string& arg, std::span<const std::string>& rest);
  Result<void> give(GivenArgument given);
  bool is_overridden(const LlamaArgument& row) const;
  std::unexpected<Error> unknown(const std::string& name) const;

  Command& serve_;
  const Dialect dialect_;
  LlamaCommandLine line_;
  bool has_words_ = false;
};

/// The row of a name. In Octavo's dialect, a name that both programs have is Octavo's.
const LlamaArgument* Reader::find_row(std::string_view name) const {
  if (dialect_ == Dialect::kLlamaServer) return find_llama_argument(name);
  if (serve_.find_option(name) != nullptr) return nullptr;
  const LlamaArgument* row = find_llama_argument(name);
  return row == nullptr || row->fate == LlamaFate::kAction ? nullptr : row;
}

std::unexpected<Error> Reader::unknown(const std::string& name) const {
  const std::vector<std::string> known = llama_argument_names();
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = did_you_mean(name, serve_.option_names());
  return fail("there is no argument {}{}; known are {}", name, hint, fmt::join(known, " "));
}

/// Takes a given argument. Of a flag and its opposite the last one counts, as does the last value of an argument; names
/// and keys add up.
Result<void> Reader::give(GivenArgument given) {
  const LlamaArgument& row = *given.row;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (row.value == "N" && !parse_integer(given.value, -kMax, kMax))
    return fail("{}: found '{}', expected an integer", given.name, given.value);
  if (const LlamaArgument* opposite = opposite_of(row))
    std::erase_if(line_.given, [&](const GivenArgument& other) { return other.row == opposite; });
  const auto same = std::ranges::find(line_.given, &row, &GivenArgument::row);
  if (same == line_.given.end()) {
    line_.given.push_back(std::move(given));
    return {};
  }
  const bool adds_up = !same->is_variable && (row.has_name("--alias") || row.has_name("--api-key"));
  if (adds_up) given.value = same->value + "," + given.value;
  *same = std::move(given);
  return {};
}

/// Reads an option of Octavo, with its value, or a word.
Result<void> Reader::read_own(const std::string& arg, std::span<const std::string>& rest) {
  const std::size_t equals = std::min(arg.find('='), arg.size());
  const Option* option = serve_.find_option(arg.substr(0, equals));
  if (option == nullptr && dialect_ == Dialect::kLlamaServer) return unknown(arg);
  line_.own.push_back(arg);
  if (option == nullptr) {
    has_words_ |= !arg.starts_with('-');
    line_.values.push_back(arg);
    return {};
  }
  line_.own_options.push_back(option);
  if (equals < arg.size()) {
    line_.values.push_back(arg.substr(equals + 1));
  } else if (!option->is_flag() && !rest.empty()) {
    line_.own.push_back(rest.front());
    line_.values.push_back(rest.front());
    rest = rest.subspan(1);
  }
  return {};
}

Result<void> Reader::read(std::span<const std::string> args) {
  while (!args.empty()) {
    const std::string& arg = args.front();
    args = args.subspan(1);
    if (arg == "--" && dialect_ == Dialect::kOctavo) {
      line_.own.push_back(arg);
      line_.own.insert(line_.own.end(), args.begin(), args.end());
      has_words_ |= !args.empty();
      return {};
    }
    const LlamaArgument* row = find_row(arg);
    if (row != nullptr && row->is_flag()) {
      OCTAVO_TRY_VOID(give({.row = row, .name = arg}));
    } else if (row != nullptr) {
      if (args.empty()) return fail("{}: found no value, expected {}", arg, row->value);
      OCTAVO_TRY_VOID(give({.row = row, .name = arg, .value = args.front()}));
      args = args.subspan(1);
    } else if (const std::size_t equals = arg.find('=');
               equals != std::string::npos && find_row(arg.substr(0, equals))) {
      const std::string name = arg.substr(0, equals);
      if (find_row(name)->is_flag()) return fail("{}: found a value, expected none", name);
      OCTAVO_TRY_VOID(give({.row = find_row(name), .name = name, .value = arg.substr(equals + 1)}));
    } else {
      OCTAVO_TRY_VOID(read_own(arg, args));
    }
  }
  return {};
}

/// Whether something on the command line goes before the row's variable.
bool Reader::is_overridden(const LlamaArgument& row) const {
  constexpr std::string_view kModelNames[] = {"--model", "--hf-repo", "--models-dir"};
  const auto is_given = [&](const LlamaArgument* other) {
    return std::ranges::any_of(line_.given,
                               [&](const GivenArgument& one) { return !one.is_variable && one.row == other; });
  };
  const bool names_model = std::ranges::any_of(kModelNames, [&](std::string_view name) { return row.has_name(name); });
  if (names_model && has_words_) return true;
  for (const std::string_view name : kModelNames)
    if (names_model && (line_.has_own(name) || is_given(find_llama_argument(name)))) return true;
  const LlamaArgument* opposite = opposite_of(row);
  return line_.has_own(row.first_name()) || is_given(&row) || (opposite != nullptr && is_given(opposite));
}

Result<void> Reader::read_variables(const hub::Environment& environment) {
  for (const LlamaArgument& row : llama_arguments()) {
    if (row.variable.empty()) continue;
    const std::string name(row.variable);
    const std::optional<std::string> value = environment(name.c_str());
    if (!value || is_overridden(row)) continue;
    const bool is_meant = !row.is_flag() || row.is_negative() || is_truthy(*value);
    const LlamaArgument* meant = is_meant ? &row : opposite_of(row);
    if (meant == nullptr) continue;
    OCTAVO_TRY_VOID(
        give({.row = meant, .name = name, .value = meant->is_flag() ? std::string() : *value, .is_variable = true}));
  }
  return {};
}

}  // namespace

bool LlamaCommandLine::has_own(std::string_view option) const {
  return std::ranges::any_of(own_options, [&](const Option* given_one) { return given_one->has_name(option); });
}

const GivenArgument* LlamaCommandLine::find(std::string_view name) const {
  const auto found = std::ranges::find_if(given, [&](const GivenArgument& one) { return one.row->has_name(name); });
  return found == given.end() ? nullptr : &*found;
}

Result<std::optional<int>> LlamaCommandLine::integer(std::string_view name, int low, int high) const {
  const GivenArgument* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto value = parse_integer(found->value, low, high);
  if (!value) return fail("{}: {}", found->name, value.error().message);
  return static_cast<int>(*value);
}

Result<LlamaCommandLine> read_llama_arguments(std::span<const std::string> args, Command& serve, Dialect dialect,
                                              const hub::Environment& environment) {
  Reader reader(serve, dialect);
  OCTAVO_TRY_VOID(reader.read(args));
  if (environment) OCTAVO_TRY_VOID(reader.read_variables(environment));
  return reader.take();
}

}  // namespace octavo::cli
