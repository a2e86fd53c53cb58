// The tables of fields in docs/server/ are those of the rows by which the APIs are read. A page has a place for each:
//   <!-- fields of openai_chat -->  ...  <!-- end of fields -->
// What stands between is written anew, to be read as a diff, by
//   OCTAVO_WRITE_DOCS=1 build/release/test_api --gtest_filter='FieldTables.*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/api.h"
#include "api/call/tool_fields.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/openai_messages.h"
#include "api/fields/reasoning_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/llama/llama_props.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/openai_completion.h"
#include "api/vectors/vector_fields.h"
#include "fake_text.h"
#include "support/source_dir.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = "<!-- end of fields -->";

/// Rows that several APIs are read by stand once, at a heading of their own.
struct SharedTable {
  std::string_view name;
  FieldTable rows;
  std::string_view page;
  std::string_view heading;
};

std::vector<SharedTable> shared_tables() {
  return {{"ollama", ollama_chat_fields().front(), "ollama.md", "Fields of both"},
          {"sampling", kSamplingFields, "fields.md", "Sampling"},
          {"streams", kStreamFields, "fields.md", "What an answer has"},
          {"constraints", kConstraintFields, "fields.md", "The form of an answer"},
          {"messages of chats", kMessagePartFields, "conversations.md", "Messages of chats"},
          {"pictures", kPictureFields, "conversations.md", "Pictures"},
          {"tools", kToolPartFields, "conversations.md", "Tools"},
          {"functions", kFunctionPartFields, "conversations.md", "Functions"},
          {"formats", kFormatFields, "fields.md", "OpenAI's and llama.cpp's forms"},
          {"grammars", kGrammarFields, "fields.md", "OpenAI's and llama.cpp's forms"},
          {"thinking", kThinkingFields, "fields.md", "Thinking"},
          {"efforts", kEffortFields, "fields.md", "Thinking"},
          {"thinking objects", kThinkingObjectFields, "fields.md", "Thinking"},
          {"reasoning objects", kReasoningObjectFields, "fields.md", "Thinking"},
          {"no thinking", kNoThinkingFields, "fields.md", "Thinking"},
          {"drafts", kDraftFields, "fields.md", "Drafts"},
          {"unsupported", kUnsupportedFields, "fields.md", "What there is not"},
          {"hints", kHintFields, "fields.md", "What changes nothing"},
          {"completions", kCompletionFields, "openai.md", "Limits of completions"},
          {"texts", kTextFields, "embeddings.md", "Fields of several"},
          {"ollama models", ollama_embed_fields().front(), "embeddings.md", "ollama"}};
}

bool is_same(FieldTable a, FieldTable b) { return a.data() == b.data(); }

std::string range(std::string_view what, double least, double most) {
  const bool has_least = least > -1e15, has_most = most < 2e9;  // beyond these stand the bounds of the types alone
  if (has_least && has_most) return fmt::format("{} from {} to {}", what, least, most);
  if (has_least) return fmt::format("{} from {}", what, least);
  return std::string(what);
}

std::string values_of(const ApiField& field) {
  if (!field.values.empty()) return fmt::format("`{}`", fmt::join(field.values, "`, `"));
  switch (field.form) {
    case FieldForm::kBoolean: return "`true`, `false`";
    case FieldForm::kInteger: return range("an integer", field.min, field.max);
    case FieldForm::kNumber: return range("a number", field.min, field.max);
    case FieldForm::kString: return "a string";
    case FieldForm::kStrings: return "an array of strings";
    case FieldForm::kStringOrArray: return "a string or an array";
    case FieldForm::kStringOrObject: return "a string or an object";
    case FieldForm::kBooleanOrObject: return "`true`, `false` or an object";
    case FieldForm::kArray: return "an array";
    case FieldForm::kObject: return "an object";
    case FieldForm::kAny: return "";
  }
  return "";
}

/// A default that is a value of JSON is written as one.
std::string default_of(const ApiField& field) {
  if (field.is_needed) return "required";
  boost::system::error_code error;
  boost::json::parse(field.otherwise, error);
  return error ? std::string(field.otherwise) : fmt::format("`{}`", field.otherwise);
}

bool is_in_elements(const ApiField& row) { return row.path.contains(kElements); }

std::string lines_of(const std::vector<ApiField>& rows, FieldUse use, bool are_in_elements) {
  std::string lines;
  for (const ApiField& row : rows) {
    if (row.use != use || is_in_elements(row) != are_in_elements) continue;
    if (use == FieldUse::kHonoured) {
      lines += fmt::format("| `{}` | {} | {} | {} |\n", row.path, values_of(row), default_of(row), row.text);
    } else {
      const std::string neutral = row.neutral == 0 ? "" : fmt::format("; {} asks for nothing", row.neutral);
      lines += fmt::format("| `{}` | {}{} |\n", row.path, row.text, neutral);
    }
  }
  return lines;
}

/// Fields that the answer depends on, then those that it does not.
std::string tables_of(const std::vector<ApiField>& rows) {
  struct Part {
    FieldUse use;
    std::string_view title;
    std::string_view head;
    bool are_in_elements = false;
  };
  constexpr Part kParts[] = {
      {FieldUse::kHonoured, "", "| field | values | default | |\n|---|---|---|---|\n"},
      {FieldUse::kHonoured, "In their elements:", "| field | values | default | |\n|---|---|---|---|\n", true},
      {FieldUse::kHint, "Taken, and no answer depends on them:", "| field | |\n|---|---|\n"},
      {FieldUse::kIgnored, "Ignored, with a line in the answer's `warnings`:", "| field | why |\n|---|---|\n"},
      {FieldUse::kRefused, "Refused with a 400, but for values that ask for nothing:", "| field | why |\n|---|---|\n"}};
  std::string made;
  for (const Part& part : kParts) {
    const std::string lines = lines_of(rows, part.use, part.are_in_elements);
    if (lines.empty()) continue;
    if (!part.title.empty() && (!made.empty() || part.use != FieldUse::kHint))
      made += fmt::format("\n{}\n", part.title);
    made += fmt::format("\n{}{}", part.head, lines);
  }
  return made;
}

std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      anchor += static_cast<char>(std::tolower(c));
    else if (c == ' ')
      anchor += '-';
  return anchor;
}

/// The rows of an API that no other has, and where the others stand.
std::string fields_of(ApiFields tables) {
  std::vector<ApiField> own;
  std::vector<std::string> links;
  for (const FieldTable table : tables) {
    bool is_shared = false;
    for (const SharedTable& shared : shared_tables()) {
      if (!is_same(shared.rows, table)) continue;
      is_shared = true;
      std::string link = fmt::format("[{}]({}#{})", shared.heading, shared.page, anchor_of(shared.heading));
      if (std::ranges::find(links, link) == links.end()) links.push_back(std::move(link));
    }
    if (!is_shared) own.insert(own.end(), table.begin(), table.end());
  }
  const auto place = [](const ApiField& row) {
    return row.is_needed && !row.path.contains('.') ? 0 : row.path == "model" ? 1 : 2;
  };
  std::ranges::stable_sort(own, std::less(), place);
  if (links.empty()) return tables_of(own) + "\n";
  return fmt::format("{}\nBeside them: {}.\n", tables_of(own), fmt::join(links, ", "));
}

/// What belongs after each mark; of APIs that have the same fields the first one's mark has them.
std::map<std::string, std::string, std::less<>> made_tables() {
  std::map<std::string, std::string, std::less<>> made;
  std::vector<std::string> told;
  for (const SharedTable& shared : shared_tables())
    made[std::string(shared.name)] = tables_of({shared.rows.begin(), shared.rows.end()});
  for (const Api& api : all_apis()) {
    std::string fields = fields_of(api.fields());
    const bool is_told = std::ranges::find(told, fields) != told.end();
    made[std::string(api.name)] = is_told ? "\nThe same fields.\n\n" : fields;
    told.push_back(std::move(fields));
  }
  return made;
}

std::string read_text(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A page with the tables that belong to its marks, whose names are kept.
std::string with_tables(std::string_view page, std::multiset<std::string>& names) {
  constexpr std::string_view kBegin = "<!-- fields of ", kBeginEnd = " -->\n";
  const auto tables = made_tables();
  std::string made;
  for (std::size_t begin = page.find(kBegin); begin != std::string_view::npos; begin = page.find(kBegin)) {
    const std::size_t name_begin = begin + kBegin.size(), name_end = page.find(kBeginEnd, name_begin);
    const std::size_t end = page.find(kEnd, name_begin);
    const std::string name(page.substr(name_begin, name_end - name_begin));
    const auto table = tables.find(name);
    if (end == std::string_view::npos || name_end > end || table == tables.end()) {
      ADD_FAILURE() << "found the mark of " << name << ", expected a table of that name and an end";
      break;
    }
    names.insert(name);
    made += fmt::format("{}{}\n{}", page.substr(0, name_end + kBeginEnd.size()), table->second, kEnd);
    page.remove_prefix(end + kEnd.size());
  }
  return made.append(page);
}

TEST(FieldTables, ThePagesHaveEachTableOnceAndAsItsRowsAre) {
  const bool is_written = std::getenv("OCTAVO_WRITE_DOCS") != nullptr;
  std::multiset<std::string> found;
  std::multiset<std::string> expected;
  for (const auto& [name, table] : made_tables()) expected.insert(name);
  for (const auto& entry : fs::directory_iterator(test::source_dir() + "/docs/server")) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = read_text(entry.path());
    const std::string made = with_tables(page, found);
    if (is_written && made != page) std::ofstream(entry.path()) << made;
    EXPECT_TRUE(is_written || made == page)
        << entry.path().filename() << ": found tables that are not those of the rows, expected what "
        << "OCTAVO_WRITE_DOCS=1 writes there (tests/api/field_tables_test.cc)";
  }
  EXPECT_EQ(found, expected);
}

TEST(FieldTables, ATextFitsIntoATableAndIsThere) {
  for (const auto& [name, table] : made_tables()) {
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| ")) continue;
      const auto num_bars = std::ranges::count(line, '|');
      EXPECT_TRUE(num_bars == 5 || num_bars == 3) << name << ": " << line;
    }
  }
  for (const Api& api : all_apis())
    for (const FieldTable rows : api.fields())
      for (const ApiField& row : rows) EXPECT_FALSE(row.text.empty()) << api.name << ": " << row.path;
}

/// The number at the end of a default in words.
std::optional<std::string_view> number_in_words(std::string_view otherwise) {
  constexpr std::string_view kElse = "the model's, else ";
  if (!otherwise.starts_with(kElse) || otherwise.ends_with('`')) return std::nullopt;
  return otherwise.substr(kElse.size());
}

TEST(FieldTables, ADefaultInWordsIsThatOfASamplerThatIsToldNothing) {
  const test::FakeText words;
  const auto settings = [&words](const SamplingParams& sampling) {
    return llama_props({.id = "m", .sampling_defaults = sampling}, words.info());
  };
  int num_checked = 0;
  for (const ApiField& row : kSamplingFields) {
    const auto number = number_in_words(row.otherwise);
    if (!number) continue;
    const auto body = boost::json::parse(fmt::format(R"({{"{}": {}}})", row.path, *number));
    const ServedModel model{.id = "m"};
    const ApiContext context{.words = words, .model = model};
    ApiRequest request;
    FieldReader reader(body.as_object(), context, request);
    row.take(reader, row);
    ASSERT_FALSE(reader.failed()) << row.path;
    EXPECT_EQ(settings(request.settings.sampling), settings(SamplingParams())) << row.path;
    ++num_checked;
  }
  EXPECT_GT(num_checked, 18);
}

}  // namespace
}  // namespace octavo
