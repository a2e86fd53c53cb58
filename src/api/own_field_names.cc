#include "api/own_field_names.h"

#include <algorithm>

namespace octavo {
namespace {

/// Whether `text` is that field or lies in it.
bool begins_with_field(std::string_view text, std::string_view field) {
  return text.starts_with(field) &&
         (text.size() == field.size() || std::string_view(".[:").contains(text[field.size()]));
}

}  // namespace

ApiError with_own_names(ApiError error, std::span<const OwnFieldName> names) {
  for (const OwnFieldName& name : names) {
    if (!begins_with_field(error.param, name.chat)) continue;
    error.param.replace(0, name.chat.size(), name.own);
    if (begins_with_field(error.message, name.chat)) error.message.replace(0, name.chat.size(), name.own);
    break;
  }
  return error;
}

std::vector<std::string> with_own_names(std::vector<std::string> warnings, std::span<const OwnFieldName> names) {
  for (std::string& warning : warnings) {
    const auto begins = [&](const OwnFieldName& name) { return begins_with_field(warning, name.chat); };
    if (const auto name = std::ranges::find_if(names, begins); name != names.end())
      warning.replace(0, name->chat.size(), name->own);
  }
  return warnings;
}

}  // namespace octavo
