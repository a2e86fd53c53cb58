// The Content-Security-Policy of a page that is one file.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// What the page may do: run the contents of its <script> and <style> elements, which are let in by the SHA-256 of each
/// and no others; call its own server; have the empty picture of a data: address. Nobody may show it in a frame.
std::string policy_of_page(std::string_view page);

}  // namespace octavo
