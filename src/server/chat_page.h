// The page at `/`: src/server/chat_page.html, compiled into the program.
#pragma once

#include <string_view>

namespace octavo::server {

std::string_view chat_page();

}  // namespace octavo::server
