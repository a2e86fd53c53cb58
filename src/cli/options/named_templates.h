// Chat templates that have names, as llama.cpp's server knows them: the formats of families, in Jinja.
//
// Constants; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace octavo::cli {

/// None: there is no template of that name.
std::optional<std::string_view> named_chat_template(std::string_view name);
std::vector<std::string_view> named_chat_templates();

/// Whether a value is the text of a template, rather than the name of one or of a file.
bool is_template_text(std::string_view text);

}  // namespace octavo::cli
