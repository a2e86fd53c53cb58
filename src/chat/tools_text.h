// The text that describes tools to a model whose chat template has no place for them: src/chat/tools_text.jinja,
// compiled in. described_tools.h renders it.
#pragma once

#include <string_view>

namespace octavo {

std::string_view tools_text();

}  // namespace octavo
