#include "hub/file_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo::hub {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Paths = std::vector<std::string>;

/// The names that are chosen, or the error.
Paths choose(const Paths& paths, std::string_view wanted) {
  const auto chosen = choose_files(paths, wanted);
  if (!chosen) return {"error: " + chosen.error().message};
  Paths names;
  for (const std::size_t i : *chosen) names.push_back(paths[i]);
  return names;
}

const Paths kUsual = {"README.md",          "m-Q4_0.gguf", "m-Q4_0_4_4.gguf", "m-Q4_K_M.gguf", "m-q8_0.gguf",
                      "mmproj-m-Q8_0.gguf", "m.imatrix",   "m-IQ4_XS.gguf",   "m-F16.gguf"};

TEST(FileChoice, ATypeIsAWordOfTheNameInEitherCase) {
  EXPECT_THAT(choose(kUsual, "q4_k_m"), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(choose(kUsual, "Q8_0"), ElementsAre("m-q8_0.gguf"));
  EXPECT_THAT(choose(kUsual, "f16"), ElementsAre("m-F16.gguf"));
  EXPECT_THAT(choose(kUsual, "4_XS"), ElementsAre()) << "the middle of a word is no word";
  EXPECT_THAT(choose(kUsual, "Q5_0"), ElementsAre());
}

/// The draft file that is chosen by its name, or the error.
Paths choose_draft(const Paths& paths, std::string_view wanted) {
  const auto chosen = choose_draft_files(paths, wanted);
  if (!chosen) return {"error: " + chosen.error().message};
  Paths names;
  for (const std::size_t i : *chosen) names.push_back(paths[i]);
  return names;
}

Paths draft_beside(const Paths& paths, std::string_view model) {
  Paths names;
  for (const std::size_t i : draft_files_beside(paths, model)) names.push_back(paths[i]);
  return names;
}

/// The encoder that goes with a model; empty: none.
std::string encoder_of(const Paths& paths, std::string_view model) {
  const auto found = encoder_beside(paths, model);
  return found ? paths[*found] : "";
}

/// The encoder that is chosen by its name, or the error.
Paths choose_encoder_of(const Paths& paths, std::string_view wanted) {
  const auto chosen = choose_encoder(paths, wanted);
  if (!chosen) return {chosen.error().message};
  Paths names;
  for (const std::size_t i : *chosen) names.push_back(paths[i]);
  return names;
}

const Paths kWithDrafts = {"m-Q4_K_M.gguf", "m-Q8_0.gguf", "mtp-m-BF16.gguf", "mtp-m-Q4_K_M.gguf", "mtp-m-Q8_0.gguf"};
const Paths kWithFolder = {"it-mtp-Q4_K_M.gguf", "it-mtp-BF16.gguf", "MTP/it-Q8_0-MTP.gguf", "MTP/it-BF16-MTP.gguf"};

TEST(FileChoice, DraftFilesAreNoModels) {
  EXPECT_THAT(choose(kWithDrafts, "Q8_0"), ElementsAre("m-Q8_0.gguf"));
  EXPECT_THAT(choose(kWithDrafts, ""), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(choose(kWithDrafts, "BF16"), ElementsAre());
  EXPECT_THAT(choose(kWithFolder, "BF16"), ElementsAre("it-mtp-BF16.gguf"));
  EXPECT_THAT(choose(kWithDrafts, "mtp-m-Q8_0.gguf"), ElementsAre("mtp-m-Q8_0.gguf")) << "by its whole name";
  EXPECT_EQ(model_files(kWithDrafts).size(), 2U);
}

TEST(FileChoice, ADraftFileIsChosenByItsTypeOrTheUsualOne) {
  EXPECT_THAT(choose_draft(kWithDrafts, ""), ElementsAre("mtp-m-Q8_0.gguf"));
  EXPECT_THAT(choose_draft(kWithDrafts, "bf16"), ElementsAre("mtp-m-BF16.gguf"));
  EXPECT_THAT(choose_draft(kWithDrafts, "F32"), ElementsAre());
  EXPECT_THAT(choose_draft(kWithDrafts, "m-Q8_0.gguf"), ElementsAre("m-Q8_0.gguf")) << "a model may have a head";
  EXPECT_THAT(choose_draft({"m-Q8_0.gguf", "MTP/a-F16.gguf", "MTP/b-F16.gguf"}, ""),
              ElementsAre(AllOf(HasSubstr("MTP/a-F16.gguf, MTP/b-F16.gguf"), Not(HasSubstr("m-Q8_0")))));
  EXPECT_THAT(choose_draft({"assistant-Q4_0.gguf", "assistant-F16.gguf"}, ""), ElementsAre("assistant-Q4_0.gguf"))
      << "an assistant in a repository of its own";
}

TEST(FileChoice, TheDraftFileBesideAModelHasItsTypeOrTheUsualOne) {
  EXPECT_THAT(draft_beside(kWithDrafts, "m-Q4_K_M.gguf"), ElementsAre("mtp-m-Q4_K_M.gguf"));
  EXPECT_THAT(draft_beside(kWithDrafts, "m-IQ4_XS.gguf"), ElementsAre("mtp-m-Q8_0.gguf"));
  EXPECT_THAT(draft_beside(kWithFolder, "it-mtp-BF16.gguf"), ElementsAre("MTP/it-BF16-MTP.gguf"));
  EXPECT_THAT(draft_beside(kWithFolder, "it-mtp-Q4_K_M.gguf"), ElementsAre("MTP/it-Q8_0-MTP.gguf"));
  EXPECT_THAT(draft_beside(kUsual, "m-Q4_0.gguf"), ElementsAre());
  EXPECT_THAT(draft_beside({"mtp-a-Q8_0.gguf", "mtp-b-Q8_0.gguf"}, "a-Q8_0.gguf"), ElementsAre())
      << "nobody knows which one it is";
}

TEST(FileChoice, AWholeWordGoesBeforeOneThatGoesOn) {
  EXPECT_THAT(choose(kUsual, "Q4_0"), ElementsAre("m-Q4_0.gguf"));
  EXPECT_THAT(choose(kUsual, "Q4_K"), ElementsAre("m-Q4_K_M.gguf"));
}

TEST(FileChoice, WithoutATypeTheFirstOfTheUsualOnesIsTaken) {
  EXPECT_THAT(choose(kUsual, ""), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(choose({"m-F16.gguf", "m-Q4_0.gguf", "m-Q8_0.gguf"}, ""), ElementsAre("m-Q4_0.gguf"));
  EXPECT_THAT(choose({"readme", "whatever.gguf"}, ""), ElementsAre("whatever.gguf"));
  EXPECT_THAT(choose({"readme"}, ""), ElementsAre());
  EXPECT_THAT(choose({"a.gguf", "b.gguf"}, ""), ElementsAre(AllOf(HasSubstr("a.gguf"), HasSubstr("b.gguf"))));
}

TEST(FileChoice, SeveralOfATypeAreAnErrorThatNamesThem) {
  EXPECT_THAT(
      choose({"a-1B-Q4_0.gguf", "a-3B-Q4_0.gguf", "a-Q8_0.gguf"}, "q4_0"),
      ElementsAre(AllOf(HasSubstr("a-1B-Q4_0.gguf, a-3B-Q4_0.gguf"), HasSubstr("'q4_0'"), Not(HasSubstr("Q8")))));
}

TEST(FileChoice, AFileIsNamedByItsPathOrItsLastPart) {
  EXPECT_THAT(choose(kUsual, "m-q8_0.gguf"), ElementsAre("m-q8_0.gguf"));
  EXPECT_THAT(choose(kUsual, "mmproj-m-Q8_0.gguf"), ElementsAre("mmproj-m-Q8_0.gguf"));
  const Paths folders = {"x/m.gguf", "y/m.gguf", "m.gguf"};
  EXPECT_THAT(choose(folders, "y/m.gguf"), ElementsAre("y/m.gguf"));
  EXPECT_THAT(choose(folders, "m.gguf"), ElementsAre("m.gguf"));
  EXPECT_THAT(choose({"x/m.gguf", "y/n.gguf"}, "n.gguf"), ElementsAre("y/n.gguf"));
  EXPECT_THAT(choose(folders, "z.gguf"), ElementsAre());
}

TEST(FileChoice, ShardsAreTakenTogetherInTheirOrderAndOnlyWhole) {
  const Paths paths = {"q/m-Q4_0-00002-of-00003.gguf", "q/m-Q4_0-00003-of-00003.gguf", "q/m-Q4_0-00001-of-00003.gguf",
                       "m-Q8_0-00001-of-00002.gguf"};
  const auto all =
      ElementsAre("q/m-Q4_0-00001-of-00003.gguf", "q/m-Q4_0-00002-of-00003.gguf", "q/m-Q4_0-00003-of-00003.gguf");
  EXPECT_THAT(choose(paths, "Q4_0"), all);
  EXPECT_THAT(choose(paths, ""), all);
  EXPECT_THAT(choose(paths, "m-Q4_0-00002-of-00003.gguf"), all);
  EXPECT_THAT(choose(paths, "Q8_0"), ElementsAre()) << "one of its two is not there";
}

TEST(FileChoice, CandidatesAreNamedForMessages) {
  EXPECT_EQ(candidates_text(Paths{"a.md"}), "no GGUF file");
  EXPECT_EQ(candidates_text(Paths{"b-Q4_0.gguf", "a.gguf", "mmproj.gguf"}), "b-Q4_0.gguf, a.gguf");
}

RC_GTEST_PROP(FileChoice, AnyNamesGiveDistinctIndexesOfThem, (const Paths& stems, const std::string& wanted)) {
  Paths paths;
  for (const std::string& stem : stems) paths.push_back(stem + ".gguf");
  const auto chosen = choose_files(paths, wanted);
  if (!chosen) {
    RC_ASSERT(!chosen.error().message.empty());
    return;
  }
  for (std::size_t i = 0; i < chosen->size(); ++i) {
    RC_ASSERT((*chosen)[i] < paths.size());
    for (std::size_t j = 0; j < i; ++j) RC_ASSERT((*chosen)[i] != (*chosen)[j]);
  }
}

TEST(FileChoice, AnEncoderIsTheNearestToTheModelAndToItsBits) {
  const Paths paths = {"mmproj-BF16.gguf",
                       "mmproj-F32.gguf",
                       "mmproj-Q8_0.gguf",
                       "m-Q4_K_M.gguf",
                       "m-F32.gguf",
                       "a/m-Q4_0.gguf",
                       "b/c/m-Q4_0-00001-of-00002.gguf",
                       "b/mmproj-F16.gguf"};
  EXPECT_EQ(encoder_of(paths, "m-Q4_K_M.gguf"), "mmproj-Q8_0.gguf");
  EXPECT_EQ(encoder_of(paths, "m-F32.gguf"), "mmproj-F32.gguf");
  EXPECT_EQ(encoder_of(paths, "a/m-Q4_0.gguf"), "mmproj-Q8_0.gguf") << "above it";
  EXPECT_EQ(encoder_of(paths, "b/c/m-Q4_0-00001-of-00002.gguf"), "b/mmproj-F16.gguf") << "the deepest";
  EXPECT_EQ(encoder_of({"a/mmproj-F16.gguf", "m-Q8_0.gguf"}, "m-Q8_0.gguf"), "") << "beside another model";
}

TEST(FileChoice, AnEncoderIsChosenByItsNameToo) {
  const Paths paths = {"m-Q8_0.gguf", "mmproj-BF16.gguf", "mmproj-F32.gguf", "mmproj-Q8_0.gguf"};
  EXPECT_THAT(choose_encoder_of(paths, ""), ElementsAre("mmproj-BF16.gguf"));
  EXPECT_THAT(choose_encoder_of(paths, "q8_0"), ElementsAre("mmproj-Q8_0.gguf"));
  EXPECT_THAT(choose_encoder_of(paths, "mmproj-F32.gguf"), ElementsAre("mmproj-F32.gguf"));
  EXPECT_THAT(choose_encoder_of(paths, "Q4_0"), ElementsAre());
  EXPECT_THAT(choose_encoder_of({"m-Q8_0.gguf"}, ""), ElementsAre());
  EXPECT_EQ(encoder_candidates_text(paths), "mmproj-BF16.gguf, mmproj-F32.gguf, mmproj-Q8_0.gguf");
  EXPECT_EQ(encoder_candidates_text(Paths{"m-Q8_0.gguf"}), "no encoder of pictures (mmproj)");
}

}  // namespace
}  // namespace octavo::hub
