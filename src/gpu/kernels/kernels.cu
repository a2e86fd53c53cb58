// The source of all kernels, which clang compiles to PTX.
#include "gpu/kernels/all_kernels.h"
