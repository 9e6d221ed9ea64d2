// How many steps a test of many takes.
#pragma once
#include "base/share.hpp"

namespace rill::test {

inline int const many_steps = steps(100'000, 3000);

}  // namespace rill::test
