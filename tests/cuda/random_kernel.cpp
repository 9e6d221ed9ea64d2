#include "rill/cuda/random_kernel.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../io/scratch.hpp"
#include "real_nvrtc.hpp"
#include "rill/train/saver.hpp"
#include "rounding.hpp"
#include "sessions_on_both.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
constexpr dtype integers[] = {dtype::int8,  dtype::int16,  dtype::int32,  dtype::int64,
                              dtype::uint8, dtype::uint16, dtype::uint32, dtype::uint64};

// Parts of a block of the generator, of a tile of the host's, of a block of threads, and of several.
constexpr std::int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 255, 257, 1023, 4099};

tensor numbers(dtype element, shape const& extents, std::vector<double> const& of) {
  tensor made(element, extents);
  visit(element, [&]<class T>() {
    if constexpr (dtypes::floats.contains(dtype_of<T>))
      for (std::int64_t i = 0; i < elements(extents); ++i)
        static_cast<T*>(made.mutable_raw())[i] = static_cast<T>(of[static_cast<std::size_t>(i) % of.size()]);
  });
  return made;
}

struct random_on_gpu : test::sessions_on_both {};

// Records `f(g, type)` for each number of elements.
template <class F> auto of_each_count(dtype element, F const& f) {
  return [=](graph& g) {
    values all;
    for (auto const n : counts) all.push_back(f(g, type(element, {n})));
    all.push_back(f(g, type(element, {3, 5, 7})));
    all.push_back(f(g, type(element, {})));
    return all;
  };
}

struct floats_on_gpu : random_on_gpu, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
  std::string of(std::string const& what) const { return what + " of " + std::string(name(element)); }
};
INSTANTIATE_TEST_SUITE_P(each_type, floats_on_gpu, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(floats_on_gpu, are_the_hosts_if_they_are_uniform) {
  compare(of_each_count(element, [](graph& g, type const& t) { return uniform(g, t); }), of("uniform"));
  // Many of these round up to the upper bound, which is excluded; the others are as far apart as numbers can be.
  double const most = element == dtype::float16 ? 65504 : 0x1.fep127;
  compare([&](graph& g) { return values{uniform(g, {element, {9000}}, 1, 1.01)}; }, of("narrow uniform"));
  compare([&](graph& g) { return values{uniform(g, {element, {1000}}, -most, most)}; }, of("wide uniform"));
}
TEST_P(floats_on_gpu, are_the_hosts_if_they_are_normal) {
  compare(of_each_count(element, [](graph& g, type const& t) { return normal(g, t, 0.5, 3); }), of("normal"));
  // Enough to reach the far tail of the quantile function.
  compare([&](graph& g) { return values{normal(g, {element, {200'001}})}; }, of("many normal"));
}
TEST_P(floats_on_gpu, are_the_hosts_if_they_are_truncated_normal) {
  compare(of_each_count(element, [](graph& g, type const& t) { return truncated_normal(g, t, -1, 0.1); }),
          of("truncated_normal"));
}
TEST_P(floats_on_gpu, are_the_hosts_if_they_are_like_an_operand) {
  compare(
      [&](graph& g) {
        auto const x = constant(g, numbers(element, {3, 7}, {1}));
        return values{uniform_like(x, -1, 1), normal_like(x)};
      },
      of("numbers like an operand"));
}
TEST_P(floats_on_gpu, are_the_hosts_of_gamma) {
  double const infinite = std::numeric_limits<double>::infinity();
  std::vector<double> const shapes{1, 0.1, 2.5, 0, -1, 100, 0.5, std::nan(""), infinite, 3e4, 0.01, 1.001, 1. / 3};
  for (std::int64_t const n : {0, 1, 13, 5001})
    compare([&](graph& g) { return values{gamma(constant(g, numbers(element, {n}, shapes)))}; }, of("gamma"));
}
TEST_P(floats_on_gpu, are_the_hosts_of_poisson) {
  double const infinite = std::numeric_limits<double>::infinity();
  std::vector<double> const rates{1, 0.1, 9.99, 10, 0, -1, 50, 2.5, 1e4, 6e4, 5e9, infinite, std::nan(""), 1e12, 1e-3};
  for (std::int64_t const n : {0, 1, 15, 5001})
    compare([&](graph& g) { return values{poisson(constant(g, numbers(element, {n}, rates)))}; }, of("poisson"));
}
TEST_P(floats_on_gpu, are_the_hosts_of_other_distributions) {
  compare(of_each_count(element, [](graph& g, type const& t) { return exponential(g, t, 2); }), of("exponential"));
  compare(of_each_count(element, [](graph& g, type const& t) { return laplace(g, t, 1, 3); }), of("laplace"));
  compare([&](graph& g) { return values{gamma(g, {element, {501}}, 0.7, 2), poisson(g, {element, {501}}, 3)}; },
          of("gamma and poisson with one parameter"));
}

// Some logits are -infinity: nothing is drawn there.
tensor logits(dtype element, std::int64_t rows, std::int64_t n) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows * n; ++i) {
    double const x = static_cast<double>(i * i * 7919 % 2003) / 250 - 4;
    all.push_back(n > 1 && (i % n == n - 1 || i % 5 == 3) && i % n > 0 ? -std::numeric_limits<double>::infinity() : x);
  }
  if (all.empty()) all.push_back(0);
  return numbers(element, {rows, n}, all);
}

TEST_P(floats_on_gpu, choose_the_hosts_classes) {
  for (std::int64_t const n : {1, 2, 31, 32, 33, 333})
    compare(
        [&](graph& g) {
          values all;
          for (std::int64_t const rows : {0, 1, 19})
            for (std::int64_t const samples : {-1, 0, 1, 65})
              for (auto const index : {dtype::int32, dtype::int64})
                all.push_back(categorical(constant(g, logits(element, rows, n)), samples, index));
          return all;
        },
        of("categorical") + " with " + std::to_string(n) + " classes");
}

struct integers_on_gpu : random_on_gpu, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, integers_on_gpu, testing::ValuesIn(test::types_to_test(integers)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(integers_on_gpu, are_the_hosts) {
  std::string const of(name(GetParam()));
  bool const is_signed = of[0] == 'i';
  std::int64_t const low = is_signed ? -5 : 3;
  compare(of_each_count(GetParam(), [=](graph& g, type const& t) { return uniform(g, t, low, 100); }), of);
  compare([&](graph& g) { return values{uniform(g, {GetParam(), {1001}}, 0, 1)}; }, of + " of one number");
  std::int64_t const most = std::numeric_limits<std::int64_t>::max();
  if (GetParam() == dtype::int64)
    compare([&](graph& g) { return values{uniform(g, {GetParam(), {1001}}, -most - 1, most)}; }, of + " of all");
}

TEST_F(random_on_gpu, are_the_hosts_bools) {
  compare(of_each_count(dtype::boolean, [](graph& g, type const& t) { return bernoulli(g, t, 0.3); }), "bernoulli");
  compare(
      [](graph& g) {
        return values{bernoulli(value(constant(g, numbers(dtype::float32, {101}, {0, 0.1, 0.5, 1, 2}))))};
      },
      "bernoulli by element");
}

TEST_F(random_on_gpu, names_a_row_of_logits_that_is_no_distribution_as_the_host_does) {
  for (double const bad : {std::nan(""), std::numeric_limits<double>::infinity(), 0.}) {
    // Row 5 has the bad number, or only -infinities; and so has a later row.
    std::vector<double> all(9 * 40, 1.);
    for (std::size_t const row : {5u, 7u}) {
      if (bad == 0)
        for (std::size_t i = 0; i < 40; ++i) all[row * 40 + i] = -std::numeric_limits<double>::infinity();
      else all[row * 40 + 33] = bad;
    }
    auto const record = [&](graph& g) {
      return values{categorical(constant(g, numbers(dtype::float32, {9, 40}, all)), 3)};
    };
    auto const said = failure_of_both({}, record);
    EXPECT_NE(said.find("row 5"), std::string::npos) << said;
  }
}

// Iterations draw by other words than the step. Tagged execution has several iterations at once.
value looped_draws(graph& g) {
  auto const looped =
      while_loop([](auto i, auto const&) { return i < 5; },
                 [](auto i, auto const& x) { return std::tuple{i + 1, x * 0.5f + uniform_like(x) + poisson(abs(x))}; },
                 constant(g, 0), normal<float, 33>(g));
  return std::get<1>(looped) * 2.f;
}
TEST_F(random_on_gpu, are_the_hosts_in_each_iteration_of_a_loop) {
  auto const record = [](graph& g) { return values{looped_draws(g)}; };
  compare(record, "a loop");
  compare(record, "a loop in tagged execution", {.execution = execution::tagged});
}
TEST_F(random_on_gpu, are_drawn_there_in_a_loop) {
  graph g;
  auto const y = g.on("gpu:0", [&] { return looped_draws(g); });
  session s{g, {.threads = 1, .devices = {gpu(0)}}};
  auto const said = s.explain({}, y, stages::all);
  for (auto const* each : {"body/uniform", "body/poisson"}) {
    auto const at = said.find(each);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_NE(said.substr(at, said.find('\n', at) - at).find("/device:gpu:0"), std::string::npos) << said;
  }
}

// A model with dropout, its initial values drawn on the same device.
struct dropout_model {
  graph g{3};
  value x, y, loss;
  operation step;

  explicit dropout_model(char const* where) {
    g.on(where, [&] {
      x = placeholder<float, 16, 8>(g), y = placeholder<float, 16, 4>(g);
      auto const w = variable(value(truncated_normal(g, of<float, 8, 32>, 0, 0.3)), "w");
      auto const v = variable(value(normal(g, of<float, 32, 4>, 0, 0.3)), "v");
      auto const error = matmul(dropout(relu(matmul(x, w)), 0.4, true), v) - y;
      loss = mean(error * error);
      step = adam(0.01f).minimize(loss);
    });
  }
  // Returns the losses of `steps` steps.
  std::vector<float> train(session& s, int steps) const {
    std::vector<double> of;
    for (int i = 0; i < 97; ++i) of.push_back(std::sin(i));
    std::vector<feed> const fed{{x, numbers(dtype::float32, {16, 8}, of)}, {y, numbers(dtype::float32, {16, 4}, of)}};
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) {
      s.run(std::span<feed const>(fed), step);
      losses.push_back(tensor(s.run(std::span<feed const>(fed), loss)).to(host).at<float>());
    }
    return losses;
  }
};

TEST_F(random_on_gpu, train_a_model_with_dropout_to_the_hosts_bits_from_a_checkpoint_too) {
  dropout_model here("cpu:0"), there("gpu:0"), again("gpu:0");
  scratch const folder;
  session on_host{here.g, {.threads = 1}};
  on_host.run({}, initializer(here.g));
  auto const expected = here.train(on_host, 8);
  EXPECT_LT(expected[7], expected[0]);
  std::vector<float> found;
  {
    session s{there.g, {.threads = 1, .devices = {gpu(0)}}};
    s.run({}, initializer(there.g));
    found = there.train(s, 4);
    saver(there.g, folder / "checkpoints").save(s);
  }
  session s{again.g, {.threads = 1, .devices = {gpu(0)}}};
  ASSERT_TRUE(saver(again.g, folder / "checkpoints").restore(s));
  auto const rest = again.train(s, 4);
  found.insert(found.end(), rest.begin(), rest.end());
  auto const losses = [](std::vector<float> const& all) { return tensor::copy<float>(all, shape{8}); };
  test::expect_the_hosts_numbers(losses(found), losses(expected), "the losses");
}

TEST(random_kernels, are_those_that_a_gpu_has) {
  EXPECT_NE(cuda::random_kernel_of(definition<ops::uniform_op>()), nullptr);
  EXPECT_EQ(cuda::random_kernel_of(definition<ops::permutation_op>()), nullptr);
  EXPECT_EQ(cuda::random_kernel_of(definition<ops::add_op>()), nullptr);
}

struct random_text : test::on_real_nvrtc {};
TEST_F(random_text, is_compiled_by_nvrtc) {
  for (auto const x : floats) {
    add_text(cuda::draw_text("draw_uniform", x, {"double", "double"}), "uniform", x);
    add_text(cuda::draw_text("draw_normal", x, {"double", "double", "double", "double"}), "normal", x);
    add_text(cuda::draw_by_parameter_text("draw_gamma", x), "gamma", x);
    add_text(cuda::draw_by_parameter_text("draw_poisson", x), "poisson", x);
    add_text(cuda::class_sums_text(x), x);
  }
  for (auto const x : integers)
    add_text(cuda::draw_text("draw_integers", x, {"std::int64_t", "std::uint64_t"}), "integers", x);
  for (auto const x : {dtype::int32, dtype::int64}) add_text(cuda::draw_classes_text(x), x);
  expect_compiled();
}

}  // namespace
}  // namespace rill
