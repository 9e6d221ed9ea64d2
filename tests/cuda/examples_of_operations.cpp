// Every operation that has an example, on the GPU and on the host, with extents of 0, 1 and 3.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "ops/examples.hpp"
#include "ops/list/walk.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/ops/list/io_operations.hpp"
#include "rill/rill.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

constexpr int parts = 16;  // each is a test, so that several run at a time

// Places all on the GPU that may run there.
place_choice choose_gpu(std::span<std::uint32_t const> candidates, std::span<std::uint32_t const>,
                        place_context const& context) {
  auto const there =
      std::find_if(candidates.begin(), candidates.end(), [&](std::uint32_t d) { return !context.devices[d].is_host; });
  return {there != candidates.end() ? *there : candidates[0], place_reason::fastest};
}

// The element types that an example is tried with, of those that its operation takes.
std::vector<dtype> elements_of(test::example const& e) {
  static auto const taken = [] {
    auto all = test::walk_of<operations>({}).taken;
    all.merge(test::walk_of<io_operations>({}).taken);
    return all;
  }();
  auto const at = taken.find(e.operation);
  auto const types = e.elements == dtypes{} && at != taken.end() ? at->second : e.elements;
  std::vector<dtype> some;
  for (auto const d : {dtype::float32, dtype::float16, dtype::int32, dtype::boolean, dtype::complex64})
    if (types == dtypes{} ? d == dtype::float32 : types.contains(d)) some.push_back(d);
  return test::types_to_test(some);
}

struct examples_on_gpu : test::on_gpu, testing::WithParamInterface<int> {
  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    test::on_gpu::TearDown();
  }
  void compare(test::example const& e, std::int64_t n, dtype element) {
    auto const what = test::described(e) + " of " + std::string(name(element)) + ", n = " + std::to_string(n);
    try {
      test::recorded r(e, n, element);
      session here{r.g, {.threads = 1}};
      session there{r.g, {.threads = 1, .devices = {on}, .soft_placement = true, .placement = choose_gpu}};
      auto const expected = test::run(r, r.outputs, here);
      auto const found = test::run(r, r.outputs, there);
      for (std::size_t i = 0; i < expected.size(); ++i)
        test::expect_the_hosts_numbers(found[i].to(host), expected[i], what + ", output " + std::to_string(i));
    } catch (error const& why) {
      ADD_FAILURE() << what << ": " << why.what();
    }
  }
};

TEST_P(examples_on_gpu, have_the_hosts_bits) {
  auto const& all = test::examples();
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < all.size(); i += parts)
    for (std::int64_t const n : {0, 1, 3})
      for (auto const element : elements_of(all[i]))
        if (n > 0 || !all[i].refuses_nothing) compare(all[i], n, element);
}
INSTANTIATE_TEST_SUITE_P(part, examples_on_gpu, testing::Range(0, parts));

}  // namespace
}  // namespace rill
