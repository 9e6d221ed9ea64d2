// Operations that move elements: gather, slices, transposes.
#include <rill/bench.hpp>
#include <rill/ops/array/split.hpp>
#include <rill/ops/array/transpose.hpp>
#include <rill/ops/table/gather.hpp>

namespace {

auto const halves = [](auto const& x) { return rill::split<2>(x); };
auto const turned = [](auto const& x) { return rill::transpose<1, 0>(x); };

RILL_BENCHMARK(rill::gather, rill::of<float, 1024, 64>, rill::of<std::int32_t, 1024>);
RILL_BENCHMARK(halves, rill::of<float, 1024, 1024>);
RILL_BENCHMARK(turned, rill::of<float, 1024, 1024>);

}  // namespace
