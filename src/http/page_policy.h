// The Content-Security-Policy of a page that is a single file.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// The policy. The page may run the contents of its <script> and <style> elements, which are allowed by their SHA-256
/// and nothing else; call its own server; and have the empty picture of a data: address. Nobody may show it in a frame.
std::string policy_of_page(std::string_view page);

}  // namespace octavo
