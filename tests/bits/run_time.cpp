#define RILL_RUNTIME 1
#include <rill/io.hpp>
#include <rill/rill.hpp>
#if RILL_TEST_NET
#include <rill/net.hpp>
#endif
#if RILL_TEST_CUDA
#include <rill/cuda.hpp>
#endif
