// UCX as tests have it: it patches no functions, for those of sanitizers would not survive that, and writes no log of
// processes that end.
#pragma once
#include <cstdlib>

namespace rill::test {

inline bool const ucx_is_quiet = ::setenv("UCX_MEM_EVENTS", "no", 0) == 0 && ::setenv("UCX_LOG_LEVEL", "fatal", 0) == 0;

}  // namespace rill::test
