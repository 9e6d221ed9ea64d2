// Matrix products: square, of a small network's layers, with transposed operands, of other element types.
#include <rill/bench.hpp>

namespace {

auto const first_transposed = [](auto const& a, auto const& b) {
  return rill::matmul<rill::transposed{.a = true}>(a, b);
};
auto const second_transposed = [](auto const& a, auto const& b) {
  return rill::matmul<rill::transposed{.b = true}>(a, b);
};

RILL_BENCHMARK(rill::matmul, rill::of<float, 64, 64>, rill::of<float, 64, 64>);
RILL_BENCHMARK(rill::matmul, rill::of<float, 256, 256>, rill::of<float, 256, 256>);
RILL_BENCHMARK(rill::matmul, rill::of<float, 1024, 1024>, rill::of<float, 1024, 1024>);
RILL_BENCHMARK(rill::matmul, rill::of<double, 256, 256>, rill::of<double, 256, 256>);
RILL_BENCHMARK(rill::matmul, rill::of<rill::bfloat16, 256, 256>, rill::of<rill::bfloat16, 256, 256>);

RILL_BENCHMARK(rill::matmul, rill::of<float, 32, 64>, rill::of<float, 64, 128>);
RILL_BENCHMARK(rill::matmul, rill::of<float, 32, 128>, rill::of<float, 128, 10>);
RILL_BENCHMARK(first_transposed, rill::of<float, 32, 64>, rill::of<float, 32, 128>);
RILL_BENCHMARK(second_transposed, rill::of<float, 32, 10>, rill::of<float, 128, 10>);
RILL_BENCHMARK(first_transposed, rill::of<float, 128, 784>, rill::of<float, 128, 1024>);
RILL_BENCHMARK(second_transposed, rill::of<float, 128, 1024>, rill::of<float, 1024, 1024>);

}  // namespace
