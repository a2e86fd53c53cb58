// The definitions of all kernels, which kernels.cu compiles for the card.
#pragma once

#include "gpu/kernels/activations.h"
#include "gpu/kernels/attention.h"
#include "gpu/kernels/delta.h"
#include "gpu/kernels/experts.h"
#include "gpu/kernels/heads.h"
#include "gpu/kernels/products.h"
#include "gpu/kernels/rows.h"
