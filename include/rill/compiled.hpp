// For programs that choose the instruction set of their kernels.
#pragma once
#include "rill/base/instruction_set.hpp"
