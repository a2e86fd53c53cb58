// The parts of a conversation, of any API: a row for each kind says what becomes of it. An agent sends its whole
// history each time, so no part of the history is refused for its kind: a note of a few words tells the model what it
// cannot see. Parts of the user's newest message are refused instead, and the error says what is missing. A model that
// sees gets the pictures of the whole history.
//
// A HistoryReader serves one body on one thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/call/api_error.h"
#include "api/call/picture_parts.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// The note about something that the model cannot see: "[an image that this model cannot see]". `name`: its own.
std::string unseen(std::string_view what, std::string_view name = {});

/// The tool's name for a call without one.
inline constexpr std::string_view kUnknownTool = "unknown";

/// A part of a message's content, in the form that the model gets.
struct ReadPart {
  enum class Kind : std::uint8_t { kNothing, kSaid, kThought, kPicture };
  Kind kind = Kind::kNothing;
  std::string text = {};
  FoundPicture picture = {};  // the picture of a kPicture; it is not decoded yet
};

/// Who sent a message, as far as newest_of() needs it.
enum class Speaker : std::uint8_t { kUser, kTool, kModel, kAside };

/// The index of the user's newest message: the last one that is no message of the system. The number of messages where
/// that one is not the user's, or follows a result of a tool: clients send the result's picture in a user's message.
std::size_t newest_of(std::span<const Speaker> speakers);

/// A call's arguments as the text that the model wrote. A value that is no string is written as JSON; null gives "".
std::string arguments_text(const boost::json::value* given);

/// Appends a piece of reasoning as a paragraph.
void add_thought(std::string_view thought, std::string& reasoning);

class HistoryReader {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// The depth beyond which a part only counts as something that the model cannot see.
  static constexpr int kMaxDepth = 8;

  HistoryReader() = default;  // for a model that sees nothing
  explicit HistoryReader(PictureReader pictures) : pictures_(std::move(pictures)) {}

  /// Reads a part. Errors: fields of a wrong type; in the newest message also a part that is no text, nor a picture for
  /// a model that sees.
  ApiResult<ReadPart> read_part(const JsonCursor& part, bool is_newest);
  /// Appends a part to the message's parts, or to the reasoning where it is an assistant's thought. Errors: those of
  /// PictureReader::decode().
  ApiResult<void> add(ReadPart part, ChatMessage& message);
  PictureReader& pictures() { return pictures_; }
  /// The texts in a value of a form that is not known, such as a result of another server's tool: one line for each.
  std::string texts_in(const boost::json::value& value);
  /// The note for something of an unknown kind. It is counted for warnings().
  std::string unknown(const JsonCursor& found);

  /// The names of tools that results have named.
  const Names& named_tools() const { return named_tools_; }
  /// Warnings for the client: about unknown kinds (the first by name, the others as a number), and about pictures that
  /// could not be had (PictureReader::warning()).
  std::vector<std::string> warnings() const;

 private:
  PictureReader pictures_;
  Names named_tools_;
  std::string first_unknown_;  // the place and the value of the first unknown kind
  std::size_t num_unknown_ = 0;
};

}  // namespace octavo
