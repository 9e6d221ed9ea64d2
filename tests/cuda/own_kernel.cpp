// Kernels that users write.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// y[i] = x[i] + x[n - 1 - i]; the host has no such kernel.
struct folded_op {
  static constexpr std::string_view name = "folded";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(x.element == dtype::float32 && x.rank == 1, "folded: expected a vector of float32");
    return x;
  }
};

kernel folded_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = elements(r.outputs[0].shape());
  auto const run = on.find(
      "#include \"rill/cuda/text/global.cuh\"\n"
      "using rill::text::global;\n"
      "extern \"C\" __global__ void fold(global<float const> x, global<float> y, long n) {\n"
      "  for (long i = long(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += long(gridDim.x) * blockDim.x)\n"
      "    y[i] = x[i] + x[n - 1 - i];\n"
      "}\n",
      "fold");
  return kernel([&on, n, run](kernel_call const& call) {
    cuda::launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), call.in(0), call.out(0), n);
  });
}
kernel_factory choose(node const& n, std::span<type const> inputs) {
  if (n.op == &definition<folded_op>()) return folded_kernel;
  return cuda::gpu_kernels().rule()(n, inputs);
}

struct own_kernels : test::on_gpu {
  kernel_table const kernels = cuda::gpu_kernels(choose);
};

TEST_F(own_kernels, run_beside_rills_and_its_fused_nodes) {
  graph g;
  auto const x = placeholder<float, 5>(g);
  auto const y = g.on("gpu:0", [&] { return value(tanh(record<folded_op>(x * 2.f)) * 3.f + 1.f); });
  session s{g, {.threads = 1, .devices = {gpu(0, {}, kernels)}}};
  auto const fed = tensor::copy<float>(std::vector<float>{1, 2, 3, 4, 6}, shape{5});
  auto const found = tensor(s.run({{x, fed}}, y)).to(host);
  graph here;
  auto const sums = placeholder<float, 5>(here);
  session on_host{here, {.threads = 1}};
  auto const folded = tensor::copy<float>(std::vector<float>{14, 12, 12, 12, 14}, shape{5});
  EXPECT_TRUE(same_bits(found, tensor(on_host.run({{sums, folded}}, tanh(sums) * 3.f + 1.f))));
}

// A product that is rill's, and is counted.
int products_made = 0;
kernel counted_product(kernel_request const& r) {
  ++products_made;
  std::vector<type> const inputs(r.inputs.begin(), r.inputs.end());
  return cuda::gpu_kernels().rule()(r.at, inputs)(r);
}
kernel_factory choose_products(node const& n, std::span<type const> inputs) {
  return n.op->name == "matmul" ? counted_product : cuda::gpu_kernels().rule()(n, inputs);
}

TEST_F(own_kernels, are_not_replaced_by_rills_of_several_operations) {
  auto const table = cuda::gpu_kernels(choose_products);
  graph g;
  auto const x = placeholder<float, 2, 2>(g);
  auto const y = g.on("gpu:0", [&] { return value(tanh(matmul(x, x) + 1.f)); });
  session s{g, {.threads = 1, .devices = {gpu(0, {}, table)}}};
  products_made = 0;
  s.run({{x, tensor::copy<float>(std::vector<float>{1, 2, 3, 4}, shape{2, 2})}}, y);
  EXPECT_EQ(products_made, 1);
}

TEST_F(own_kernels, are_not_those_of_other_gpus) {
  graph g;
  auto const x = placeholder<float, 5>(g);
  auto const y = g.on("gpu:0", [&] { return value(record<folded_op>(x)); });
  session s{g, {.threads = 1, .devices = {gpu(0)}}};
  auto const fed = tensor::copy<float>(std::vector<float>{1, 2, 3, 4, 6}, shape{5});
  EXPECT_THROW(s.run({{x, fed}}, y), error);
}

}  // namespace
}  // namespace rill
