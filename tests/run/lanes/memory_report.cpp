// What a step needs of each memory, before it runs.
#include "rill/run/lanes/memory_report.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill {
namespace {

TEST(memory_report, of_a_training_step_is_what_the_step_takes) {
  auto const fast = emulated("accelerator:0");
  graph g(3);
  auto x = placeholder<float, "n", 32>(g, "x");
  auto t = placeholder<float, "n", 16>(g, "t");
  auto [loss, step] = g.on("accelerator", [&] {
    auto w = variable<float, 32, 64>(g, "w", glorot());
    auto v = variable<float, 64, 16>(g, "v", glorot());
    auto l = mean(square(matmul(tanh(matmul(x, w)), v) - t));
    return std::pair(l, gradient_descent{.rate = 0.1f}.minimize(l));
  });
  for (std::int64_t rows : {8, 100, 333}) {
    session s{g, {.threads = 1, .devices = {fast}}};
    s.run(initializer(g));
    s.trim();
    auto const run = [&] { return s.run({{x, test::digits(rows, 32)}, {t, test::digits(rows, 16)}}, loss, step); };
    auto const told = s.memory({{x, test::digits(rows, 32)}, {t, test::digits(rows, 16)}}, loss, step);
    auto const& need = told.of("accelerator:0");
    EXPECT_TRUE(need.exact()) << told.text();
    EXPECT_EQ(need.variables, (32 * 64 + 64 * 16) * sizeof(float));
    run();
    fast->memory().reset_peak();
    run();
    // A buffer takes whole multiples of 64 bytes of the memory; its usage counts what was asked for.
    auto const bytes = static_cast<std::int64_t>(need.peak), buffers = fast->memory().usage().count + 8;
    EXPECT_GE(bytes, fast->memory().usage().peak) << told.text();
    EXPECT_LT(bytes - 64 * buffers, fast->memory().usage().peak) << told.text();
  }
}

TEST(memory_report, names_what_is_open) {
  auto const fast = emulated("accelerator:0");
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto const last = fold([](auto v, auto row) { return tanh(v + row); }, x, uniform<float, 3, 4>(g, 0, 1));
  session s{g, {.devices = {fast}}};
  auto const told = s.memory({{x, vector<float>({1, 2, 3, 4})}}, last);
  EXPECT_FALSE(told.spaces.front().exact());
  EXPECT_NE(told.text().find("open: loop"), std::string::npos) << told.text();
  EXPECT_THROW(told.of("accelerator:1"), error);
}

TEST(memory_report, refuses_a_step_that_does_not_fit) {
  auto const small = emulated("accelerator:0", {.memory = 64 << 10});
  graph g;
  auto x = placeholder<float, "n", 64>(g, "x");
  auto y = g.on("accelerator", [&] { return tanh(matmul(x, transpose(x)) + 1.f); });
  auto z = sum(y);
  session s{g, {.devices = {small}}};
  EXPECT_EQ(s.run({{x, tensor::copy<float>(std::vector<float>(64), {1, 64})}}, z).to(host).item<float>(),
            std::tanh(1.f));
  try {
    s.run({{x, test::digits(200, 64)}}, z);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
    EXPECT_NE(e.message().find("bytes of the memory of '/device:accelerator:0', which has 65536"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(s.run({{x, tensor::copy<float>(std::vector<float>(64), {1, 64})}}, z).to(host).item<float>(),
            std::tanh(1.f));
}

TEST(memory_report, is_part_of_what_explain_prints) {
  auto const fast = emulated("accelerator:0");
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("accelerator", [&] { return sum(exp(x)); });
  session s{g, {.devices = {fast}}};
  auto const text = s.explain({{x, vector<float>({1, 2, 3, 4})}}, y, stages::memory);
  EXPECT_NE(text.find("memory of each device\n  /device:cpu:0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  /device:accelerator:0\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill
