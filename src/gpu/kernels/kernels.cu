// All kernels, for clang to compile to PTX.
#include "gpu/kernels/all_kernels.h"
