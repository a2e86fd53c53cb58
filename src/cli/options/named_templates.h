// Chat templates that have names, the same as in llama.cpp's server: the formats of families, in Jinja.
//
// Constants; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace octavo::cli {

/// The template of this name. None: there is none.
std::optional<std::string_view> named_chat_template(std::string_view name);
std::vector<std::string_view> named_chat_templates();

/// Whether a value is a template's text, rather than the name of a template or a file.
bool is_template_text(std::string_view text);

}  // namespace octavo::cli
