// The page at `/`: src/server/chat_page.html, compiled in.
#pragma once

#include <string_view>

namespace octavo::server {

std::string_view chat_page();

}  // namespace octavo::server
