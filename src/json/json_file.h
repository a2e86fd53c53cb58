// A file of JSON that comes with a model, and typed look-ups in its objects. Errors begin with the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json_limits.h"
#include "octavo/chat.h"

namespace octavo {

/// All bytes of a file. Errors: it is missing, cannot be read, or has more than `most` bytes.
Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t most);
/// The object of a file's text. Errors, behind `path`: no object, or more than `most` values.
Result<TemplateValue> read_json_object(std::string_view text, const std::filesystem::path& path, std::size_t most);
/// The object of a file. Errors: those of read_text_file(); no object; more values than allowed.
Result<TemplateValue> read_json_file(const std::filesystem::path& path, const JsonLimits& limits);

/// An object of a file, for look-ups: a view that is cheap to copy. A member that is null counts as missing.
class JsonObject {
 public:
  /// `path` is the place of the object in the file: "" for the whole, else "text_config.".
  JsonObject(const TemplateDict& members, std::string_view file, std::string path = {})
      : members_(&members), file_(file), path_(std::move(path)) {}
  /// The object of a value. Error: the value is of another kind.
  static Result<JsonObject> of(const TemplateValue& value, std::string_view file, std::string path = {});

  const TemplateDict& members() const { return *members_; }
  /// A member; nullptr where it is missing or null. The last of two equal names counts.
  const TemplateValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// A list; nullptr where the member is missing, null, or no list.
  const TemplateList* find_list(std::string_view name) const;

  /// A member that must be there. Errors: the member is missing, of another kind, or out of range.
  Result<std::uint64_t> size(std::string_view name) const;
  Result<double> number(std::string_view name) const;
  Result<std::string_view> text(std::string_view name) const;
  /// A member that may be missing.
  Result<std::optional<std::uint64_t>> size_if(std::string_view name) const;
  Result<std::optional<double>> number_if(std::string_view name) const;
  Result<bool> flag_or(std::string_view name, bool otherwise) const;
  Result<std::optional<JsonObject>> object_if(std::string_view name) const;

  /// The beginning of a message: "config.json: rope_scaling.factor".
  std::string place(std::string_view name) const;

 private:
  const TemplateDict* members_;
  std::string_view file_;
  std::string path_;
};

/// A value for a message: "a text", "12", "a list of 3".
std::string describe_json(const TemplateValue& value);

}  // namespace octavo
