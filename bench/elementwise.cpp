// Elementwise operations: cheap and transcendental, in cache and in memory, with broadcasting, and lambdas of several
// operations.
#include <rill/bench.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/math/relu.hpp>

namespace {

auto const chain = [](auto const& x, auto const& w, auto const& b, auto const& s) { return rill::tanh(x * w + b) * s; };
auto const swish = [](auto const& x, auto const& beta) { return x / (1.0f + exp(-(beta * x))); };

RILL_BENCHMARK(rill::add, rill::of<float, 1 << 10>, rill::of<float, 1 << 10>);
RILL_BENCHMARK(rill::add, rill::of<float, 1 << 20>, rill::of<float, 1 << 20>);
RILL_BENCHMARK(rill::add, rill::of<float, 1024, 1024>, rill::of<float, 1024>);
RILL_BENCHMARK(rill::add, rill::of<float, 1024, 1024>, rill::of<float, 1024, 1>);
RILL_BENCHMARK(rill::mul, rill::of<double, 1 << 20>, rill::of<double, 1 << 20>);
RILL_BENCHMARK(rill::relu, rill::of<float, 1 << 20>);
RILL_BENCHMARK(rill::exp, rill::of<float, 1 << 10>);
RILL_BENCHMARK(rill::exp, rill::of<float, 1 << 20>);
RILL_BENCHMARK(rill::log, rill::of<float, 1 << 20>);
RILL_BENCHMARK(rill::tanh, rill::of<float, 1 << 20>);
RILL_BENCHMARK(rill::sigmoid, rill::of<float, 1 << 20>);
RILL_BENCHMARK(chain, rill::of<float, 1 << 10>, rill::of<float, 1 << 10>, rill::of<float, 1 << 10>,
               rill::of<float, 1 << 10>);
RILL_BENCHMARK(chain, rill::of<float, 1 << 20>, rill::of<float, 1 << 20>, rill::of<float, 1 << 20>,
               rill::of<float, 1 << 20>);
RILL_BENCHMARK(swish, rill::of<float, 1 << 20>, rill::of<float>);

}  // namespace
