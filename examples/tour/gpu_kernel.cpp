// A kernel of your own on a GPU: CUDA source that NVRTC compiles when a step first runs it.
#include <rill/cuda.hpp>
#include <rill/cuda/launch.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace {

struct reverse_op {
  static constexpr std::string_view name = "reverse_rows";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::type infer(rill::no_attributes, rill::type const& x, rill::checks expects = {}) {
    expects(x.element == rill::dtype::float32, "reverse_rows: expected float32");
    expects(x.has_rank() && x.rank > 0, "reverse_rows: expected at least one axis");
    return x;
  }
  static rill::kernel cpu(rill::kernel_request const& r) {
    auto const n = rill::elements(r.outputs[0].shape()), row = r.outputs[0].shape()[r.outputs[0].rank - 1];
    return rill::kernel([=](rill::kernel_call const& call) {
      for (std::int64_t at = 0; at < n; at += row)
        std::reverse_copy(call.in<float>(0) + at, call.in<float>(0) + at + row, call.out<float>(0) + at);
    });
  }
};

constexpr char source[] = R"(#include "rill/cuda/text/global.cuh"
using rill::text::global;

extern "C" __global__ void reverse(global<float const> x, global<float> y, long n, long row) {
  for (long i = long(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += long(gridDim.x) * blockDim.x)
    y[i] = x[i - i % row + (row - 1 - i % row)];
}
)";

rill::kernel reverse_on_gpu(rill::kernel_request const& r) {
  auto const& on = static_cast<rill::gpu_device const&>(*r.on);
  auto const n = rill::elements(r.outputs[0].shape()), row = r.outputs[0].shape()[r.outputs[0].rank - 1];
  return rill::kernel([&on, n, row, run = on.find(source, "reverse")](rill::kernel_call const& call) {
    auto const how = on.shape_for(static_cast<std::size_t>(n));  // blocks and threads
    rill::cuda::launch(on, *run, how, call.in(0), call.out(0), n, row);
  });
}

// Chooses the kernel of a node; null: the GPU has none.
rill::kernel_factory choose(rill::node const& n, std::span<rill::type const> inputs) {
  if (n.op == &rill::definition<reverse_op>()) return reverse_on_gpu;
  return rill::cuda::gpu_kernels().rule()(n, inputs);
}

}  // namespace

int main() {
  auto const kernels = rill::cuda::gpu_kernels(choose);  // must outlive the device
  rill::graph g;
  auto x = rill::placeholder<float, 2, 3>(g, "x");
  auto y = g.on("gpu:0", [&] { return rill::tanh(rill::record<reverse_op>(x)); });
  auto const log = [](std::string_view text) { std::cerr << text; };
  rill::session s{g, {.log = log, .devices = {rill::gpu(0, {}, kernels)}, .soft_placement = true}};
  std::cout << s.run({{x, rill::matrix<float>({{1, 2, 3}, {4, 5, 6}})}}, y).to(rill::host) << "\n";
}
