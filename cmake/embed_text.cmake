# Turns a text file into a function that gives it:  cmake -DINPUT=page.html -DOUTPUT=page.cc -P embed_text.cmake
# The file is src/server/chat_page.html; as bytes, since compilers limit the length of string literals.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"server/chat_page.h\"

namespace octavo::server {
namespace {
constexpr unsigned char kPage[] = {
${bytes}};
}  // namespace
std::string_view chat_page() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }
}  // namespace octavo::server
")
