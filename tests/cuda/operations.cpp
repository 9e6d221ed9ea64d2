// Operations on a GPU that are more than a map: each result has the host's bits.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/cuda/reduce_kernel.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::numbers_in_text;

using values = std::vector<value>;

// Numbers whose sums round and don't overflow.
tensor summable(dtype element, shape const& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return visit(element, [&]<class T>() -> tensor {
    if constexpr (std::is_same_v<T, std::string>) throw error(code::internal, "no numbers");
    else {
      tensor made(element, extents);
      for (std::int64_t i = 0; i < elements(extents); ++i) {
        auto const bits = random();
        auto& to = static_cast<T*>(made.mutable_raw())[i];
        if constexpr (std::is_same_v<T, bool>) to = bits % 16 != 0;
        else if constexpr (std::is_integral_v<T>) to = static_cast<T>(bits);
        else {
          double const size =
              std::ldexp(1 + static_cast<double>(bits >> 40) / (1 << 24), static_cast<int>(bits % 9) - 6);
          if constexpr (requires(T z) { z.real(); })
            to = T(static_cast<typename T::value_type>(bits & 16 ? size : -size), 1);
          else to = T(static_cast<float>(bits & 16 ? size : -size));
        }
      }
      return made;
    }
  });
}
tensor summable(dtype element, shape const& extents) { return summable(element, extents, 1); }

struct gpu_operations : test::on_gpu {
  // Records `f` of what is fed on both, runs it in two orders of threads, and compares the results.
  void compare(std::vector<tensor> const& fed, std::function<values(values const&)> const& f, std::string const& of) {
    for (auto const order : test::thread_orders()) {
      test::set_thread_order(order);
      compare_in_order(fed, f, of);
      if (HasFailure()) return;
    }
  }
  void compare(std::vector<tensor> const& fed, std::function<value(values const&)> const& f, std::string const& of) {
    compare(fed, [&](values const& in) { return values{f(in)}; }, of);
  }

 private:
  std::shared_ptr<gpu_device> on_ = gpu(0);

  void TearDown() override {
    on_.reset();
    test::on_gpu::TearDown();
  }
  void compare_in_order(std::vector<tensor> const& fed, std::function<values(values const&)> const& f,
                        std::string const& of) try {
    graph g;
    values in, there, here;
    std::vector<feed> feeds;
    for (auto const& t : fed) {
      in.push_back(placeholder(g, t.type()));
      feeds.emplace_back(in.back(), t);
    }
    g.on("gpu:0", [&] { there = f(in); });
    g.on("cpu:0", [&] { here = f(in); });
    session s{g, {.threads = 1, .devices = {on_}}};
    auto const a = s.run(std::span<feed const>(feeds), there), b = s.run(std::span<feed const>(feeds), here);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].shape(), b[i].shape()) << of;
      ASSERT_NE(a[i].space(), nullptr) << of;
      test::expect_same_numbers(a[i].to(host), b[i], of);
    }
  } catch (error const& e) {
    FAIL() << of << ": " << e.what();
  }
};

struct gpu_operations_of : gpu_operations, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
  std::string of(std::string_view what) const { return std::string(what) + " of " + std::string(name(element)); }
};
INSTANTIATE_TEST_SUITE_P(each_type, gpu_operations_of, testing::ValuesIn(test::types_to_test(numbers_in_text)),
                         [](auto const& i) { return std::string(name(i.param)); });

// Lines and columns of one part and of several, and none of anything.
constexpr std::array<std::array<std::int64_t, 3>, 11> arrays{{{3, 5, 1},
                                                              {2, 15, 1},
                                                              {3, 16, 1},
                                                              {2, 700, 1},
                                                              {2, 9001, 1},
                                                              {2, 5, 3},
                                                              {1, 259, 70},
                                                              {2, 1030, 3},
                                                              {2, 0, 3},
                                                              {0, 4, 1},
                                                              {4, 1, 1}}};

template <class F> void for_each_reduction(dtype element, F const& f) {
  if (element == dtype::boolean) {
    f("all", [](value x, extents const& axes, bool keeping) { return all(x, axes, keeping); });
    f("any", [](value x, extents const& axes, bool keeping) { return any(x, axes, keeping); });
    return;
  }
  f("sum", [](value x, extents const& axes, bool keeping) { return sum(x, axes, keeping); });
  f("prod", [](value x, extents const& axes, bool keeping) { return prod(x, axes, keeping); });
  f("max", [](value x, extents const& axes, bool keeping) { return max(x, axes, keeping); });
  f("min", [](value x, extents const& axes, bool keeping) { return min(x, axes, keeping); });
  if (is_float(element)) f("mean", [](value x, extents const& axes, bool keeping) { return mean(x, axes, keeping); });
}

TEST_P(gpu_operations_of, reduce_over_an_axis_as_the_host_does) {
  for_each_reduction(element, [&](std::string_view name, auto const& reduce) {
    for (auto const& [outer, middle, inner] : arrays) {
      if (middle == 0 && (name == "max" || name == "min")) continue;  // below
      compare(
          {summable(element, shape{outer, middle, inner})}, [&](values const& in) { return reduce(in[0], {1}, false); },
          of(name) + " over " + std::to_string(middle) + " in the middle of " + std::to_string(outer) + ", " +
              std::to_string(inner));
    }
  });
}
TEST_P(gpu_operations_of, reduce_over_several_axes_as_the_host_does) {
  for_each_reduction(element, [&](std::string_view name, auto const& reduce) {
    auto const x = summable(element, shape{3, 20, 2, 300});
    for (auto const& axes : {extents{}, extents{0, 2}, extents{1, 3}, extents{0}, extents{-1}})
      compare({x}, [&](values const& in) { return reduce(in[0], axes, true); }, of(name));
  });
}

TEST_F(gpu_operations, keep_a_NaN_in_maxima_and_minima_and_the_sign_of_a_single_zero) {
  auto x = summable(dtype::float32, shape{4, 40});
  x.at<float>(2, 17) = std::nanf("");
  compare(
      {x}, [](values const& in) { return values{max(in[0], {1}), min(in[0], {1}), max(in[0], {0}), min(in[0], {0})}; },
      "extremes with a NaN");
  auto const zeros = tensor::copy<float>(std::vector<float>{-0.0f, 0.0f}, shape{2, 1});
  compare({zeros}, [](values const& in) { return sum(in[0], {1}); }, "the sum of one zero");
}

TEST_F(gpu_operations, refuse_extremes_of_nothing_as_the_host_does) {
  graph g;
  auto const x = placeholder(g, type(dtype::float32, shape{2, 0}));
  auto const y = g.on("gpu:0", [&] { return max(x, {1}); });
  session s{g, {.threads = 1, .devices = {gpu(0)}}};
  try {
    s.run({{x, tensor(dtype::float32, shape{2, 0})}}, y);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_NE(e.message().find("max: there are no elements"), std::string::npos) << e.what();
  }
}

TEST_F(gpu_operations, sum_one_row_to_the_extents_of_a_value_that_is_used_too) {
  compare(
      {summable(dtype::float32, shape{1, 4}), summable(dtype::float32, shape{4}, 2)},
      [](values const& in) { return values{sum_like(in[0], in[1] * in[1]), in[1] * in[1]}; }, "sum_like");
}

TEST_F(gpu_operations, share_among_copies_and_sum_to_extents) {
  for (auto const element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    auto const x = summable(element, shape{5, 1, 7}), wide = summable(element, shape{2, 5, 3, 7});
    compare(
        {x, wide},
        [](values const& in) {
          return values{share_like(in[0], in[1]), broadcast_like(in[0], in[1]), sum_like(in[1], in[0])};
        },
        std::string(name(element)));
  }
}

TEST_P(gpu_operations_of, copy_boxes_as_the_host_does) {
  ops::subscripts steps;
  steps.add(-1);
  steps.add(seq{.step = -2});
  steps.add(seq{1, 5, 3});
  auto const x = summable(element, shape{3, 4, 5}), y = summable(element, shape{3, 2, 5}, 2);
  compare(
      {x, y, summable(element, shape{})},
      [&](values const& in) {
        auto const &a = in[0], &b = in[1];
        values all{slice(a, {1, 0, 2}, {2, 3, -1}),
                   slice(a, {0, 4, 0}, {-1, 0, -1}),
                   concat(values{a, b, a}, 1),
                   transpose(a, {2, 0, 1}),
                   transpose(a, {}),
                   transpose(a, {0, 2, 1}),
                   reverse(a, {0, 2}),
                   roll(a, {1, -2}, {0, 2}),
                   pad(a, {1, 0, 2}, {0, 1, 0}, in[2]),
                   unpad(a, {1, 0, 2}, {1, 1, 0}),
                   pad_like(b, a, {{0, 2, 0}, {3, 2, 5}}),
                   broadcast_to(b, {2, 3, 2, 5}),
                   fill(in[2], {3, 2}),
                   subscript(a, steps),
                   subscript_gradient(subscript(a, steps), a, steps)};
        for (auto const& part : split(a, 2, 1)) all.push_back(part);
        return all;
      },
      of("copies"));
}

TEST_F(gpu_operations, move_elements_that_they_do_not_compute_with) {
  for (auto const element : {dtype::complex64, dtype::complex128}) {
    auto const x = summable(element, shape{3, 4, 2});
    graph g;
    auto const in = placeholder(g, x.type());
    auto const f = [&] { return concat(values{transpose(in, {1, 0, 2}), reverse(transpose(in, {1, 0, 2}), {0})}, 1); };
    auto const there = g.on("gpu:0", f), here = g.on("cpu:0", f);
    session s{g, {.threads = 1, .devices = {gpu(0)}}};
    tensor const a = s.run({{in, x}}, there), b = s.run({{in, x}}, here);
    EXPECT_TRUE(same_bits(a.to(host), b));
  }
}

TEST_F(gpu_operations, return_what_they_are_given_in_other_extents) {
  compare({summable(dtype::float32, shape{6, 4})}, [](values const& in) { return reshape(in[0], {3, 8}); }, "reshape");
}

struct operations_text : test::on_real_nvrtc {};
TEST_F(operations_text, is_compiled_by_nvrtc) {
  using ops::reducer;
  for (auto const element : numbers_in_text)
    for (auto const& [what, called] :
         {std::pair(reducer::sum, "sum"), std::pair(reducer::mean, "mean"), std::pair(reducer::prod, "prod"),
          std::pair(reducer::min, "min"), std::pair(reducer::max, "max")}) {
      bool const compares = what == reducer::min || what == reducer::max;
      if ((element == dtype::boolean && !compares) || (what == reducer::mean && !is_float(element))) continue;
      auto const types = cuda::types_of(what, element);
      for (bool const lines : {true, false})
        add_text(cuda::reduce_text(what, element, types, lines, lines), called, element, lines ? "lines" : "columns");
      add_text(cuda::reduce_text(what, element, {types.with, types.with, types.to}, true, false), called, element,
               "of parts");
    }
  for (auto const element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64})
    add_text(cuda::share_text(element), element);
  for (std::size_t const bytes : {1u, 2u, 4u, 8u})
    add_text(cuda::copy_text(bytes, bytes, bytes == 8), bytes, bytes == 8 ? "wide" : "");
  add_text(cuda::clear_text());
  expect_compiled();
}

// Variables in the memory of a GPU.
struct gpu_variables : test::on_gpu {
  graph g;
  session_options options(std::shared_ptr<device> on = gpu(0)) { return {.threads = 1, .devices = {std::move(on)}}; }
};

TEST_F(gpu_variables, are_assigned_and_updated_in_place_there) {
  value sum, less, read;
  operation start;
  auto const x = placeholder<float, 3>(g);
  g.on("gpu:0", [&] {
    auto const v = variable(fill<3>(constant(g, 1.f)), "v");
    start = initializer(g);
    sum = assign_add(v, x);
    less = assign_sub(v, x * 2.f);
    read = v * 1.f;
  });
  session s{g, options()};
  s.run({}, start);
  auto const fed = tensor::copy<float>(std::vector<float>{1, 2, 3}, shape{3});
  tensor const more = s.run({{x, fed}}, sum);
  ASSERT_NE(more.space(), nullptr);
  EXPECT_EQ(more.to(host).at<float>(2), 4);
  tensor const after = s.run({{x, fed}}, less);
  EXPECT_EQ(after.to(host).at<float>(0), 0);
  EXPECT_EQ(more.to(host).at<float>(2), 4);  // a value that a caller holds is not updated
  tensor const now = s.run({}, read);
  EXPECT_EQ(now.to(host).at<float>(2), -2);
}

TEST_F(gpu_variables, are_read_there_behind_an_update_and_before) {
  value before, behind, had, has;
  operation start;
  g.on("gpu:0", [&] {
    auto const v = variable(fill<3>(constant(g, 1.f)), "v");
    before = v * 2.f;
    value const update = assign_add(v, fill<3>(constant(g, 4.f)));
    behind = g.after({operation(update)}, [&] { return value(read(v)); });
    start = initializer(g);
    had = is_initialized(v);
    has = g.after({start}, [&] { return value(is_initialized(v)); });
  });
  session s{g, options()};
  EXPECT_FALSE(tensor(s.run({}, had)).to(host).item<bool>());
  EXPECT_TRUE(tensor(s.run({}, has)).to(host).item<bool>());
  for (float const now : {1.f, 5.f}) {
    auto const [old, fresh] = s.run({}, before, behind);
    ASSERT_NE(fresh.space(), nullptr);
    EXPECT_EQ(old.to(host).template at<float>(1), 2 * now);
    EXPECT_EQ(fresh.to(host).template at<float>(1), now + 4);
  }
}

TEST_F(gpu_variables, train_to_the_hosts_bits) {
  auto const train = [](session_options options, char const* where) {
    graph trained;
    value loss;
    operation start, step;
    value const x = placeholder<float, 16, 8>(trained), y = placeholder<float, 16, 4>(trained);
    trained.on(where, [&] {
      auto const w = variable(value(broadcast_to(constant(trained, .1f), {8, 4})), "w");
      auto const b = variable(value(broadcast_to(constant(trained, 0.f), {4})), "b");
      value const wide = sum(reshape(x, {16, 8, 1}) * reshape(w, {1, 8, 4}), {1}) + b;
      auto const error = wide - y;
      loss = mean(error * error);
      step = adam(0.01f).minimize(loss);
      start = initializer(trained);
    });
    session s{trained, std::move(options)};
    std::vector<feed> const fed{{x, summable(dtype::float32, shape{16, 8})},
                                {y, summable(dtype::float32, shape{16, 4}, 2)}};
    s.run({}, start);
    for (int i = 0; i < 5; ++i) s.run(std::span<feed const>(fed), step);
    return tensor(s.run(std::span<feed const>(fed), loss)).to(host);
  };
  auto const there = train({.threads = 1, .devices = {gpu(0)}}, "gpu:0"), here = train({.threads = 1}, "cpu:0");
  EXPECT_TRUE(same_bits(there, here));
}

}  // namespace
}  // namespace rill
