// Pictures of a conversation become rows of a prompt: as many as their heads tell, before anything is decoded.
#include "engine/text/prompt_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "support/source_dir.h"
#include "support/tiny_vocab.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TokenId kPlaceholder = 7;

std::shared_ptr<const std::string> file(const std::string& name) {
  std::ifstream in(test::source_dir() + "/tests/data/pictures/" + name, std::ios::binary);
  return std::make_shared<const std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

PictureInput picture(std::shared_ptr<const std::string> bytes, int min_tokens = 0, int max_tokens = 0) {
  return {.bytes = std::move(bytes), .place = "there", .min_tokens = min_tokens, .max_tokens = max_tokens};
}

std::vector<const PictureInput*> pointers(const std::vector<PictureInput>& inputs) {
  std::vector<const PictureInput*> pointers;
  for (const PictureInput& input : inputs) pointers.push_back(&input);
  return pointers;
}

PromptPictures rules(PictureBounds bounds = {}) {
  return PromptPictures({.family = find_picture_family("qwen3vl_merger"),
                         .geometry = {},
                         .placeholder = kPlaceholder,
                         .min_tokens = 1,
                         .max_tokens = 100,
                         .bounds = bounds,
                         .encoder_hash = "of the encoder"});
}

TEST(PromptPictures, ArePutInThePlaceOfTheirPlaceholders) {
  const PromptPictures pictures = rules();
  const std::vector<PictureInput> inputs = {picture(file("420.jpg")), picture(file("grey-alpha8.png"), 4, 4)};
  const auto measured = pictures.measure(pointers(inputs));
  ASSERT_TRUE(measured) << measured.error().message;
  const int first = (*measured)[0].layout.num_tokens(), second = (*measured)[1].layout.num_tokens();
  ChatPrompt prompt{.tokens = {1, kPlaceholder, 2, kPlaceholder}};
  ASSERT_TRUE(pictures.expand(*measured, 0, prompt));
  EXPECT_EQ(prompt.tokens.size(), static_cast<std::size_t>(2 + first + second));
  ASSERT_EQ(prompt.pictures.size(), 2U);
  EXPECT_EQ(prompt.pictures[0].first, 1);
  EXPECT_EQ(prompt.pictures[1].first, 2 + first);
  EXPECT_EQ(prompt.pictures[0].picture, nullptr) << "it is decoded before its place is known";
  ASSERT_TRUE(pictures.decode(*measured, nullptr, prompt));
  EXPECT_EQ(prompt.pictures[0].picture->num_tokens(), prompt.pictures[0].count);
  EXPECT_EQ(prompt.pictures[1].picture->pixels.size, (*measured)[1].layout.tiles.front().size);
}

TEST(PromptPictures, TheSameBytesAtAnotherSizeAreAnotherPicture) {
  const PromptPictures pictures = rules();
  const auto bytes = file("420.jpg");
  const std::vector<PictureInput> inputs = {picture(bytes), picture(bytes, 4, 4), picture(bytes)};
  const auto measured = pictures.measure(pointers(inputs));
  ASSERT_TRUE(measured);
  ChatPrompt prompt{.tokens = {kPlaceholder, kPlaceholder, kPlaceholder}};
  ASSERT_TRUE(pictures.expand(*measured, 0, prompt));
  ASSERT_TRUE(pictures.decode(*measured, nullptr, prompt));
  EXPECT_NE(prompt.pictures[0].picture->digest, prompt.pictures[1].picture->digest);
  EXPECT_EQ(prompt.pictures[0].picture, prompt.pictures[2].picture) << "it is decoded twice";
}

TEST(PromptPictures, APromptWithoutRoomIsRefusedBeforeAnythingIsDecoded) {
  const PromptPictures pictures = rules();
  const auto measured = pictures.measure({});
  ASSERT_TRUE(measured);
  const std::vector<PictureInput> inputs = {picture(file("420.jpg"), 50)};
  const auto one = pictures.measure(pointers(inputs));
  ASSERT_TRUE(one);
  ChatPrompt prompt{.tokens = {1, kPlaceholder}};
  const auto expanded = pictures.expand(*one, 10, prompt);
  ASSERT_FALSE(expanded);
  EXPECT_EQ(expanded.error().kind, ErrorKind::kContextOverflow);
}

TEST(PromptPictures, ATemplateThatLosesOneIsToldOf) {
  const PromptPictures pictures = rules();
  const std::vector<PictureInput> inputs = {picture(file("420.jpg"))};
  const auto measured = pictures.measure(pointers(inputs));
  ChatPrompt prompt{.tokens = {1, 2}};
  EXPECT_THAT(pictures.expand(*measured, 0, prompt).error().message,
              HasSubstr("found 1 pictures, but the prompt has places for 0"));
}

TEST(PromptPictures, ErrorsNameThePlaceAndTheirKind) {
  const auto error = [](const PromptPictures& pictures, const std::vector<PictureInput>& inputs) {
    const auto measured = pictures.measure(pointers(inputs));
    return measured ? Error{"none"} : measured.error();
  };
  const Error none = error(rules(), {picture(std::make_shared<const std::string>("text"))});
  EXPECT_EQ(none.kind, ErrorKind::kInvalidPicture);
  EXPECT_THAT(none.message, HasSubstr("there: "));
  EXPECT_EQ(error(rules({.pixels = 10}), {picture(file("420.jpg"))}).kind, ErrorKind::kPictureTooLarge);
  EXPECT_EQ(error(rules({.bytes = 10}), {picture(file("420.jpg"))}).kind, ErrorKind::kPictureTooLarge);
  const Error many = error(rules({.pictures = 1}), {picture(file("420.jpg")), picture(file("420.jpg"))});
  EXPECT_EQ(many.kind, ErrorKind::kPictureTooLarge);
  EXPECT_THAT(many.message, HasSubstr("found 2 pictures, expected at most 1"));
}

TEST(PromptPictures, RowsHaveTheirEndsAndTilesTheTextsInFrontOfThem) {
  test::TinyVocab vocab(30);
  constexpr std::int32_t kControl = 3;
  vocab.set(20, "[IMG_BREAK]", kControl);
  vocab.set(21, "[IMG_END]", kControl);
  vocab.set(22, "<fake_token_around_image>", kControl);
  TokenId next = 23;
  for (const char* mark : {"<global-img>", "<row_1_col_1>", "<row_1_col_2>", "<row_2_col_1>", "<row_2_col_2>"})
    vocab.set(next++, mark, kControl);
  vocab.set(next, "\u010A", 1);  // a line's end
  const auto words = vocab.load();
  const auto prompt_of = [&](const char* family, const PictureGeometry& geometry) {
    const PromptPictures pictures({.family = find_picture_family(family),
                                   .geometry = geometry,
                                   .placeholder = kPlaceholder,
                                   .tokenizer = &words->tokenizer(),
                                   .min_tokens = 1,
                                   .max_tokens = 100});
    const std::vector<PictureInput> inputs = {picture(file("420.jpg")), picture(file("420.jpg"))};
    const auto measured = pictures.measure(pointers(inputs));
    EXPECT_TRUE(measured) << measured.error().message;
    ChatPrompt prompt{.tokens = {1, kPlaceholder, 2, kPlaceholder}};
    EXPECT_TRUE(pictures.expand(*measured, 0, prompt));
    EXPECT_TRUE(pictures.decode(*measured, nullptr, prompt));
    return prompt;
  };
  const ChatPrompt rows = prompt_of("pixtral", {.patch_side = 16, .merge_side = 1, .longest_side = 32});
  ASSERT_GE(rows.pictures.size(), 2U);
  const int num_rows = rows.pictures.front().picture->rows;
  ASSERT_EQ(rows.pictures.size(), 2U * static_cast<std::size_t>(num_rows));
  EXPECT_EQ(rows.pictures[1].index, rows.pictures[1].picture->columns);
  EXPECT_EQ(std::ranges::count(rows.tokens, 20), 2 * (num_rows - 1));
  EXPECT_EQ(std::ranges::count(rows.tokens, 21), 2);
  EXPECT_EQ(rows.pictures.front().picture, rows.pictures.back().picture) << "it is decoded twice";

  const ChatPrompt tiles =
      prompt_of("idefics3", {.patch_side = 8, .merge_side = 2, .tile_side = 16, .longest_side = 32});
  ASSERT_GE(tiles.pictures.size(), 6U);
  EXPECT_EQ(std::ranges::count(tiles.tokens, 22), std::ssize(tiles.pictures) + 2);
  const std::size_t num_tiles = tiles.pictures.size() / 2;
  for (std::size_t i = 0; i < num_tiles; ++i) {
    EXPECT_EQ(tiles.pictures[i].picture, tiles.pictures[num_tiles + i].picture);
    EXPECT_EQ(tiles.pictures[i].picture->pixels.size, (PictureSize{16, 16}));
    EXPECT_EQ(tiles.pictures[i].picture->ends_picture, i + 1 == num_tiles);
    for (std::size_t other = 0; other < i; ++other)
      EXPECT_NE(tiles.pictures[i].picture->digest, tiles.pictures[other].picture->digest);
  }
}

TEST(PromptPictures, OneThatIsMadeMuchSmallerIsWarnedOf) {
  const PromptPictures pictures = rules();
  const std::vector<PictureInput> inputs = {picture(file("420.jpg"), 1, 1)};
  auto measured = pictures.measure(pointers(inputs));
  ASSERT_TRUE(measured);
  measured->front().header.size = {200, 100};
  ChatPrompt prompt{.tokens = {kPlaceholder}};
  ASSERT_TRUE(pictures.expand(*measured, 0, prompt));
  EXPECT_THAT(prompt.warnings, ElementsAre(HasSubstr("there: the picture of 200 x 100 pixels was made 32 x 32")));
}

}  // namespace
}  // namespace octavo
