#include "engine/text/prompt_pictures.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "tokenizer/text_encoder.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kLookAgain(20);  // how often to look whether the work is to stop

std::span<const std::byte> bytes_of(const PictureInput& input) { return std::as_bytes(std::span(*input.bytes)); }

std::string size_text(PictureSize size) { return fmt::format("{} x {}", size.width, size.height); }

/// An error of a picture, with the picture's place in front.
std::unexpected<Error> at_place(std::string_view place, const Error& error) {
  return std::unexpected(Error{.message = fmt::format("{}: {}", place, error.message), .kind = error.kind});
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  /// Hashes bytes with their length before them, so that two texts never look like a third.
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    update(std::as_bytes(std::span(&size, 1)));
    update(bytes);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::array<std::uint8_t, 32> digest() {
    std::array<std::uint8_t, 32> made = {};
    OCTAVO_CHECK(EVP_DigestFinal_ex(context_.get(), made.data(), nullptr) == 1, "a digest without an end");
    return made;
  }

 private:
  void update(std::span<const std::byte> bytes) {
    OCTAVO_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "{} bytes", bytes.size());
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::array<std::uint8_t, 32> digest_of_tile(std::span<const std::uint8_t> picture, std::size_t tile) {
  Sha256 hash;
  hash.add(std::as_bytes(picture));
  hash.add(fmt::format("tile {}", tile));
  return hash.digest();
}

}  // namespace

Result<std::vector<PromptPictures::Measured>> PromptPictures::measure(
    std::span<const PictureInput* const> pictures) const {
  if (std::cmp_greater(pictures.size(), rules_.bounds.pictures))
    return fail_as(ErrorKind::kPictureTooLarge, "found {} pictures, expected at most {} in a prompt", pictures.size(),
                   rules_.bounds.pictures);
  std::vector<Measured> measured;
  for (const PictureInput* picture : pictures) {
    std::string place = picture->place;
    if (place.empty()) place = fmt::format("picture {}", measured.size() + 1);
    OCTAVO_TRY(measured.emplace_back(), measure_one(*picture, std::move(place)));
  }
  return measured;
}

Result<PromptPictures::Measured> PromptPictures::measure_one(const PictureInput& input, std::string place) const {
  if (input.bytes == nullptr)
    return fail_as(ErrorKind::kInvalidPicture, "{}: found no bytes, expected a picture", place);
  const PictureLimits limits{.bytes = rules_.bounds.bytes, .pixels = static_cast<std::int64_t>(rules_.bounds.pixels)};
  const Result<PictureHeader> header = read_picture_header(bytes_of(input), limits);
  if (!header) return at_place(place, header.error());
  const int max = input.max_tokens > 0 ? input.max_tokens : rules_.max_tokens;
  const int min = input.min_tokens > 0 ? input.min_tokens : std::min(rules_.min_tokens, max);
  const int most = rules_.most_tokens > 0 ? rules_.most_tokens : rules_.family->most_tokens;
  const TokenRange tokens{.min = min, .max = std::min(max, most)};
  return Measured{.input = &input,
                  .place = std::move(place),
                  .header = *header,
                  .layout = rules_.family->lay_out(header->size, rules_.geometry, tokens)};
}

Result<void> PromptPictures::expand(std::span<const Measured> pictures, std::size_t max_tokens,
                                    ChatPrompt& prompt) const {
  const auto places = to_size(std::ranges::count(prompt.tokens, rules_.placeholder));
  if (places != pictures.size())
    return fail("found {} pictures, but the prompt has places for {}", pictures.size(), places);
  std::size_t size = prompt.tokens.size();
  for (const Measured& measured : pictures) size += to_size(measured.layout.num_tokens()) - 1;
  if (max_tokens != 0 && size > max_tokens) return too_many_tokens(max_tokens);
  std::vector<TokenId> tokens;
  tokens.reserve(size);
  auto next = pictures.begin();
  for (const TokenId token : prompt.tokens) {
    if (token == rules_.placeholder) {
      OCTAVO_TRY_VOID(add_picture(*next, to_size(next - pictures.begin()), tokens, prompt));
      ++next;
    } else {
      tokens.push_back(token);
    }
    if (max_tokens != 0 && tokens.size() > max_tokens) return too_many_tokens(max_tokens);
  }
  prompt.tokens = std::move(tokens);
  return {};
}

Result<void> PromptPictures::add_text(const std::string& text, std::vector<TokenId>& tokens) const {
  if (text.empty()) return {};
  OCTAVO_CHECK(rules_.tokenizer != nullptr, "no tokenizer for {}", text);
  OCTAVO_TRY(const std::vector<TokenId> more, rules_.tokenizer->encode(text, {.add_special = false}));
  tokens.insert(tokens.end(), more.begin(), more.end());
  return {};
}

Result<void> PromptPictures::add_picture(const Measured& measured, std::size_t number, std::vector<TokenId>& tokens,
                                         ChatPrompt& prompt) const {
  const PictureLayout& layout = measured.layout;
  const PictureMarkup& markup = rules_.family->markup;
  if (!markup.number_begin.empty())
    OCTAVO_TRY_VOID(add_text(fmt::format("{}{}{}", markup.number_begin, number, markup.number_end), tokens));
  for (const PictureTile& tile : layout.tiles) {
    OCTAVO_TRY_VOID(add_text(tile.before, tokens));
    const int step = layout.row_end.empty() ? tile.num_tokens() : tile.columns;
    for (int index = 0; index < tile.num_tokens(); index += step) {
      if (index > 0) OCTAVO_TRY_VOID(add_text(layout.row_end, tokens));
      prompt.pictures.push_back({.first = static_cast<std::int32_t>(tokens.size()), .count = step, .index = index});
      tokens.insert(tokens.end(), to_size(step), rules_.row_token());
    }
  }
  OCTAVO_TRY_VOID(add_text(layout.after, tokens));
  if (const int asked = measured.input->max_tokens; asked > 0 && layout.num_tokens() > asked)
    prompt.warnings.push_back(fmt::format("{}: the picture is {} tokens, and no fewer: {} were asked for",
                                          measured.place, layout.num_tokens(), asked));
  const PictureSize was = measured.header.size, is = layout.seen();
  if (2 * is.width < was.width || 2 * is.height < was.height)
    prompt.warnings.push_back(fmt::format("{}: the picture of {} pixels was made {}, which is {} tokens",
                                          measured.place, size_text(was), size_text(is), layout.num_tokens()));
  return {};
}

Result<void> PromptPictures::decode(std::span<const Measured> pictures, RequestWork* work, ChatPrompt& prompt) const {
  std::map<Digest, Tiles> known;  // the pictures of this prompt
  auto next = prompt.pictures.begin();
  for (const Measured& measured : pictures) {
    Tiles& tiles = known[digest_of(measured)];
    if (tiles.empty()) {
      {
        std::unique_lock lock(mutex_);
        while (decode_bytes_ > 0 && decode_bytes_ + measured.header.decode_bytes > kMostDecodeBytes) {
          if (work != nullptr && work->is_stopped()) return std::unexpected(work->stopped());
          has_room_.wait_for(lock, kLookAgain);
        }
        decode_bytes_ += measured.header.decode_bytes;
      }
      Result<Tiles> made = prepare(measured);
      {
        const std::lock_guard lock(mutex_);
        decode_bytes_ -= measured.header.decode_bytes;
      }
      has_room_.notify_all();
      if (!made) return at_place(measured.place, made.error());
      tiles = std::move(*made);
    }
    for (const std::shared_ptr<const PreparedPicture>& tile : tiles)
      for (int left = tile->num_tokens(); left > 0; left -= next++->count) next->picture = tile;
    if (work != nullptr && work->is_stopped()) return std::unexpected(work->stopped());
  }
  return {};
}

Result<PromptPictures::Tiles> PromptPictures::prepare(const Measured& measured) const try {
  OCTAVO_TRY(const Picture picture,
             decode_picture(bytes_of(*measured.input),
                            {.bytes = rules_.bounds.bytes, .pixels = static_cast<std::int64_t>(rules_.bounds.pixels)}));
  std::vector<Picture> made = make_tiles(picture, measured.layout, rules_.family->filter);
  const Digest digest = digest_of(measured);
  Tiles tiles;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const PictureTile& tile = measured.layout.tiles[i];
    tiles.push_back(std::make_shared<const PreparedPicture>(
        PreparedPicture{.pixels = std::move(made[i]),
                        .rows = tile.rows,
                        .columns = tile.columns,
                        .ends_picture = i + 1 == made.size(),
                        .digest = made.size() == 1 ? digest : digest_of_tile(digest, i)}));
  }
  return tiles;
} catch (const std::bad_alloc&) {
  return fail_as(ErrorKind::kOutOfMemory, "the system has no memory to decode {}", size_text(measured.header.size));
}

PromptPictures::Digest PromptPictures::digest_of(const Measured& measured) const {
  Sha256 hash;
  hash.add(rules_.family->name);
  hash.add(rules_.encoder_hash);
  for (const PictureSize size : measured.layout.scaled) hash.add(size_text(size));
  for (const PictureTile& tile : measured.layout.tiles) hash.add(size_text(tile.size));
  hash.add(bytes_of(*measured.input));
  return hash.digest();
}

}  // namespace octavo
