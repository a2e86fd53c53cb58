// The forms of activations that some products read.
#pragma once

#include "kernels/kernels.h"

namespace octavo {

/// The forms beside floats in which rows are needed: none, one, or both where matrices of several types read them.
struct RowForms {
  bool int8 = false, bf16 = false;

  static constexpr RowForms of(ActivationForm form) {
    return {.int8 = form == ActivationForm::kInt8Blocks, .bf16 = form == ActivationForm::kBf16Blocks};
  }
  constexpr bool any() const { return int8 || bf16; }
  friend constexpr RowForms operator|(RowForms a, RowForms b) {
    return {.int8 = a.int8 || b.int8, .bf16 = a.bf16 || b.bf16};
  }
  RowForms& operator|=(RowForms other) { return *this = *this | other; }
  friend constexpr bool operator==(RowForms, RowForms) = default;
};

}  // namespace octavo
