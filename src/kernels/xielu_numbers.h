// The parameters of xIELU. Plain header: kernels of devices and every instruction set's unit include it.
#pragma once

namespace octavo {

/// xIELU (Huang and Schlag, 2024): for g > 0 `above` g^2 + slope g, else `below` (exp(min(g, most)) - 1 - g) + slope g.
struct XieluNumbers {
  float above = 0, below = 0;
  float slope = 0;
  float most = 0;  // a number below 0
};

}  // namespace octavo
