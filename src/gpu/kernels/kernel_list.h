// The list of all kernels of a card: X(name, type of its one argument). A plain header.
#pragma once

#include "gpu/kernels/act_pair.h"
#include "gpu/kernels/product_list.h"

#define OCTAVO_GPU_KERNELS(X)                        \
  X(octavo_quantize_rows, octavo::gpu::QuantizeRows) \
  OCTAVO_GPU_PRODUCTS(X)
