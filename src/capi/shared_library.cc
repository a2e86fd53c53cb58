// The shared library has the layers' objects alone; octavo.map says which names leave it.
#include "octavo.h"
