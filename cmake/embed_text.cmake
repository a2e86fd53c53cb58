# Turns a text file into a function that gives it:
#     cmake -DINPUT=page.html -DOUTPUT=page.cc -DHEADER=server/page.h -DNAMESPACE=octavo::server -DFUNCTION=page -P embed_text.cmake
# The text is written as bytes, since compilers limit the length of string literals.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {
constexpr unsigned char kText[] = {
${bytes}};
}  // namespace
std::string_view ${FUNCTION}() { return {reinterpret_cast<const char*>(kText), sizeof kText}; }
}  // namespace ${NAMESPACE}
")
