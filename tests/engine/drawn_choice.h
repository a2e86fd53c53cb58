// A choice whose next mask is wanted, and what finds it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "constraint/constraint_compiler.h"
#include "constraint/vocabulary.h"
#include "engine/answers/mask_finder.h"

namespace octavo::test {

/// A choice that has just drawn "a" under "a[bc]d|a[bc]{9}".
struct DrawnChoice {
  explicit DrawnChoice(double most_ms) : finder(threads, static_cast<int>(vocabulary->size()), most_ms) {
    request.constraint = compiler.compile({.text = "a[bc]d|a[bc]{9}"}).value();
    request.owner = "somebody";
    choice.active = true;
    choice.constraint.begin(request.constraint, std::nullopt);
    EXPECT_TRUE(choice.constraint.accept('a'));
  }
  std::vector<MaskWord> truth() const {
    std::vector<MaskWord> bits(mask_words(vocabulary->size()));
    ConstraintState state;
    state.begin(ConstraintCompiler(vocabulary, {}).compile({.text = "a[bc]d|a[bc]{9}"}).value(), std::nullopt);
    EXPECT_TRUE(state.accept('a'));
    EXPECT_TRUE(state.allow(bits));
    return bits;
  }

  const std::shared_ptr<const ConstraintVocabulary> vocabulary = byte_vocabulary();
  ConstraintCompiler compiler{vocabulary, {}};
  ThreadPool threads{2};
  ModelTokenizer words;
  ActiveRequest request;
  Choice choice{words};
  MaskFinder finder;
};

}  // namespace octavo::test
