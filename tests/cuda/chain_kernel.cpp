#include "rill/cuda/chain_kernel.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "on_both.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/convolution_products.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/cuda/kernel_operand.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/reduce_kernel.hpp"
#include "rill/cuda/softmax_kernel.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

using test::expect_the_hosts_numbers;
using test::filled;

// Returns the numbers of a random sequence, for which products and sums don't overflow.
tensor small_numbers(dtype element, shape const& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  bool const is_signed = is_float(element) || element == dtype::int32 || element == dtype::int64;
  return filled(element, extents, [&](std::int64_t) {
    auto const n = static_cast<double>(random() % 41);
    return is_float(element) ? (n - 20) / 8 : is_signed ? n - 20 : n;
  });
}

using expression = std::function<std::vector<value>(std::vector<value> const&)>;

struct chains : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  // Expects the host's results of what `f` records there and here, and that so many chains are made of it there.
  void expect(std::vector<tensor> const& inputs, expression const& f, std::size_t count, std::string const& of) {
    SCOPED_TRACE(of);
    compare(inputs, f, of);
    EXPECT_EQ(chains_made, count);
  }
  // Expects the host's results.
  void compare(std::vector<tensor> const& inputs, expression const& f, std::string const& of) {
    auto const expected = run("cpu:0", inputs, f);
    for (auto const order : test::thread_orders()) {
      test::set_thread_order(order);
      auto const found = run("gpu:0", inputs, f);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t o = 0; o < found.size(); ++o) expect_the_hosts_numbers(found[o], expected[o], of);
    }
  }
  std::size_t chains_made = 0;  // in the last step

  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }

 private:
  std::vector<tensor> run(std::string_view where, std::vector<tensor> const& inputs, expression const& f) {
    graph g;
    std::vector<value> placeholders;
    std::vector<feed> feeds;
    for (auto const& x : inputs) {
      placeholders.push_back(placeholder(g, type(x.element(), x.shape())));
      feeds.emplace_back(placeholders.back(), x);
    }
    auto const results = g.on(where, [&] { return f(placeholders); });
    session s{g, {.threads = 1, .devices = {on}}};
    auto const said = [&](auto const&... fetches) {
      return s.explain(std::span<feed const>(feeds), fetches..., stages::rewrite);
    };
    chains_made = chains_in(results.size() == 1   ? said(results[0])
                            : results.size() == 2 ? said(results[0], results[1])
                                                  : said(results[0], results[1], results[2]));
    std::vector<tensor> there;
    for (auto const& t : s.run(std::span<feed const>(feeds), results)) there.push_back(t.to(host));
    return there;
  }
  // A report has a line for each result of a chain.
  static std::size_t chains_in(std::string const& report) {
    std::set<std::string> chains;
    std::istringstream lines(report);
    for (std::string line; std::getline(lines, line);)
      if (line.find("fuse chains: joined") != line.npos) chains.insert(line);
    return chains.size();
  }
};

expression one(std::function<value(std::vector<value> const&)> f) {
  return [f = std::move(f)](std::vector<value> const& x) { return std::vector{f(x)}; };
}

TEST_F(chains, of_reductions_have_the_hosts_bits) {
  rill::extents const axes[] = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}};
  for (auto const element : {dtype::float32, dtype::float16, dtype::float64, dtype::int32})
    for (auto const& extents : {shape{3, 5, 7}, shape{1, 70, 300}, shape{2, 1, 3}})
      for (auto const& over : axes) {
        if (element != dtype::float32 && extents != shape{3, 5, 7}) continue;
        auto const x = small_numbers(element, extents, 1), row = small_numbers(element, {extents[2]}, 2);
        auto const squares = [&](std::vector<value> const& in) { return sum(square(in[0] - in[1]), over); };
        std::int64_t reduced = 1;
        for (auto const axis : over) reduced *= extents[static_cast<std::size_t>(axis)];
        expect({x, row}, one(squares), reduced > 1 ? 1 : 0, std::string(name(element)) + " over " + over.text());
      }
}

TEST_F(chains, take_all_reductions_with_programs_on_both_sides) {
  auto const x = small_numbers(dtype::float32, {40, 130}, 3), bias = small_numbers(dtype::float32, {40}, 4);
  auto const around = [](std::function<value(value)> reduce) {
    return one(
        [reduce](std::vector<value> const& in) -> value { return tanh(reduce(in[0] * 0.5f + 1.f) - in[1]) * 3.f; });
  };
  expect({x, bias}, around([](value v) -> value { return sum(v, {1}); }), 1, "sum");
  expect({x, bias}, around([](value v) -> value { return mean(v, {1}); }), 1, "mean");
  expect({x, bias}, around([](value v) -> value { return max(v, {1}); }), 1, "max");
  expect({x, bias}, around([](value v) -> value { return min(v, {1}); }), 1, "min");
  expect({x, bias}, around([](value v) -> value { return prod(v * 0.1f, {1}); }), 1, "prod");
  expect({x}, one([](std::vector<value> const& in) -> value { return any(in[0] > 2.f, {0}); }), 1, "any");
  expect({x}, one([](std::vector<value> const& in) -> value { return logical_not(all(in[0] < 2.4f, {1})); }), 1, "all");
  expect({x}, one([](std::vector<value> const& in) -> value {
           return cast(sum(cast(in[0] > 0.f, dtype::int32), {0, 1}), dtype::float64);
         }),
         1, "counts");
}

TEST_F(chains, cut_long_axes_into_parts) {
  auto const x = small_numbers(dtype::float32, {3, 20'000}, 5);
  expect({x}, one([](std::vector<value> const& in) -> value { return sqrt(mean(square(in[0]), {1})); }), 1, "lines");
  auto const tall = small_numbers(dtype::float32, {5'000, 3}, 6);
  expect({tall}, one([](std::vector<value> const& in) -> value { return sqrt(mean(square(in[0]), {0})); }), 1,
         "columns");
}

TEST_F(chains, of_rows_have_the_hosts_bits) {
  for (auto const element : {dtype::float32, dtype::bfloat16, dtype::float64})
    for (auto const n : {1, 3, 64, 1'100}) {
      auto const x = small_numbers(element, {5, n}, 7), mask = small_numbers(element, {n}, 8),
                 scale = small_numbers(element, {5, 1}, 9);
      auto const of = std::string(name(element)) + " " + std::to_string(n);
      expect({x, mask, scale},
             one([](std::vector<value> const& in) -> value { return softmax(in[0] * in[2] + in[1]) * in[0] + in[1]; }),
             1, of);
      expect({x, mask}, one([](std::vector<value> const& in) -> value { return softmax(in[0]) * in[1]; }), 1, of);
      expect({x, mask}, one([](std::vector<value> const& in) -> value { return exp(log_softmax(in[0] + in[1])); }), 1,
             of + " log");
    }
}

TEST_F(chains, of_products_have_the_hosts_bits) {
  for (auto const element : {dtype::float32, dtype::float16, dtype::float64, dtype::int32, dtype::int8})
    for (auto const& [m, k, n] : {std::array{3, 5, 7}, std::array{33, 700, 65}, std::array{1, 1, 1}}) {
      if (element != dtype::float32 && m == 33) continue;
      auto const a = small_numbers(element, {m, k}, 10), b = small_numbers(element, {k, n}, 11),
                 bias = small_numbers(element, {n}, 12);
      auto const of = std::string(name(element)) + " " + std::to_string(m) + " " + std::to_string(k);
      expect({a, b, bias},
             one([](std::vector<value> const& in) -> value { return relu(matmul(in[0], in[1]) + in[2]); }), 1, of);
    }
}

TEST_F(chains, of_convolutions_have_the_hosts_bits) {
  for (auto const element : {dtype::float32, dtype::float16, dtype::float64})
    for (auto const channels : {3, 40}) {
      auto const x = small_numbers(element, {2, 7, 5, channels}, 21),
                 w = small_numbers(element, {3, 3, channels, 6}, 22), bias = small_numbers(element, {6}, 23);
      auto const of = std::string(name(element)) + " " + std::to_string(channels);
      expect({x, w, bias}, one([](std::vector<value> const& in) -> value {
               return relu(conv2d(in[0], in[1], {.stride = {2, 1}}) + in[2]);
             }),
             1, of);
    }
}

// A derivative needs what comes before the activation, too: the program after the product has two results.
TEST_F(chains, write_several_results) {
  auto const a = small_numbers(dtype::float32, {17, 300}, 13), b = small_numbers(dtype::float32, {300, 9}, 14),
             bias = small_numbers(dtype::float32, {9}, 15);
  auto const both = [](std::vector<value> const& in) {
    value const linear = matmul(in[0], in[1]) + in[2];
    return std::vector<value>{linear, gelu(linear), cast(linear > 0.f, dtype::int8)};
  };
  expect({a, b, bias}, both, 1, "three results");
}

TEST_F(chains, are_not_made_of_what_others_read) {
  auto const x = small_numbers(dtype::float32, {6, 8}, 16);
  expect(
      {x}, [](std::vector<value> const& in) { return std::vector<value>{square(in[0]), sum(square(in[0]), {1})}; }, 0,
      "the program before is fetched");
  expect(
      {x},
      [](std::vector<value> const& in) {
        value const total = sum(in[0], {1});
        return std::vector<value>{total, exp(total)};
      },
      0, "the result is fetched");
  expect({x}, one([](std::vector<value> const& in) -> value { return sum(in[0], {1}) + 1.f; }), 1,
         "a program after alone");
  expect({x}, one([](std::vector<value> const& in) -> value {
           value const total = sum(square(in[0]), {1}, true);
           return in[0] / total;
         }),
         1, "what follows has other extents");
  // Both sums read one program, whose results are then stored.
  expect(
      {x},
      [](std::vector<value> const& in) { return std::vector<value>{sum(square(in[0]), {0}), max(square(in[0]), {1})}; },
      0, "two readers");
}

TEST_F(chains, compute_nothing_of_no_elements) {
  auto const x = small_numbers(dtype::float32, {0, 8}, 17), y = small_numbers(dtype::float32, {8, 0}, 17);
  expect({x}, one([](std::vector<value> const& in) -> value { return sum(square(in[0]), {0}) + 1.f; }), 1,
         "an empty sum");
  expect({y}, one([](std::vector<value> const& in) -> value { return sum(square(in[0]), {0}) + 1.f; }), 0, "no sums");
  expect({x}, one([](std::vector<value> const& in) -> value { return softmax(in[0] * 2.f); }), 1, "no rows");
}

// The derivatives of a network of dense layers with a norm and attention, as users write it.
TEST_F(chains, train_as_the_host_does) {
  auto const x = small_numbers(dtype::float32, {12, 20}, 18), w = small_numbers(dtype::float32, {20, 16}, 19),
             bias = small_numbers(dtype::float32, {16}, 20);
  auto const gradients_of = [](std::vector<value> const& in) {
    value const h = gelu(matmul(in[0], in[1] * 0.1f) + in[2]);
    value const centred = h - mean(h, {1}, true);
    value const normal = centred / sqrt(mean(square(centred), {1}, true) + 1e-5f);
    value const scores = softmax(matmul(normal, normal, transposed{.b = true}) * 0.25f);
    value const loss = mean(square(matmul(scores, normal)));
    auto made = gradients(loss, {in[1], in[2]});
    made.push_back(loss);
    return made;
  };
  compare({x, w, bias}, gradients_of, "gradients");
  EXPECT_GE(chains_made, 5u);
}

struct chain_text : test::on_real_nvrtc {
  // x * y of two arrays of these elements, of which the second one is broadcast along axis 0 of [3, 4].
  static cuda::bound_operand product_of(dtype element, cuda::bound_operand::place where) {
    program p;
    p.inputs = {element, element};
    p.instructions = {{definition<ops::mul_op>().elementwise, {0, 1}, element}};
    p.outputs = {2};
    return {p, {shape{3, 4}, shape{4}}, shape{3, 4}, where};
  }
  // A program of an array of these elements and an array of bools, in which each function is called that takes them.
  static program all_functions_of(dtype element) {
    program p;
    p.inputs = {element, dtype::boolean};
    for (auto const* op : all_operations()) {
      auto const* const f = op->elementwise;
      if (!f || !f->formula || op->name == "cast") continue;
      for (auto const first : {element, dtype::boolean}) {
        std::vector<dtype> types(f->arity, element);
        types[0] = first;
        auto const result = f->result(types.data(), element);
        if (f->arity < (first == element ? 1 : 2) || !f->tile(types.data(), result)) continue;
        program::instruction line{f, {}, result};
        line.operands[0] = first == element ? 0 : 1;
        p.instructions.push_back(line);
        break;
      }
    }
    p.outputs = {0};
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      p.outputs.push_back(static_cast<std::uint16_t>(p.first_result() + i));
    return p;
  }
};
// Headers of kernels may not hide a function that a formula calls.
TEST_F(chain_text, has_each_function) {
  using place = cuda::bound_operand::place;
  for (auto const element : {dtype::float32, dtype::float16, dtype::int32}) {
    auto const all = all_functions_of(element);
    ASSERT_GT(all.instructions.size(), 10u);
    std::vector<shape> const shapes(2, shape{3, 4});
    cuda::bound_operand const before(all, shapes, shape{3, 4}, place::before),
        after(all, shapes, shape{3, 4}, place::after);
    add_text(cuda::reduce_text(ops::reducer::max, element, cuda::types_of(ops::reducer::max, element), true, true,
                               {before, after}),
             "reduction", element);
    add_text(cuda::product_text(element, cuda::product_plan::small_side, false, {{}, after}), "product", element);
    if (!is_float(element)) continue;
    add_text(cuda::rows_text("softmax", {element}, 1, true, {before, after}), "softmax", element);
    add_text(cuda::convolution_text(cuda::convolution_part::result, {element}, cuda::product_plan::small_side, false,
                                    {{}, after}),
             "convolution", element);
  }
  expect_compiled();
}
TEST_F(chain_text, is_compiled_by_nvrtc) {
  using place = cuda::bound_operand::place;
  for (auto const element : {dtype::float16, dtype::float32, dtype::float64, dtype::int32}) {
    auto const before = product_of(element, place::before), after = product_of(element, place::after);
    for (bool const lines : {false, true})
      for (bool const one_part : {false, true})
        add_text(cuda::reduce_text(ops::reducer::sum, element, cuda::types_of(ops::reducer::sum, element), lines,
                                   one_part, {before, after}),
                 element, lines ? "lines" : "columns", one_part ? "" : "parts");
    for (int const side : {cuda::product_plan::small_side, 64})
      add_text(cuda::product_text(element, side, false, {{}, after}), "product", element, std::to_string(side));
    add_text(cuda::add_pieces_text(element, {{}, after}), "product of pieces", element);
    if (!is_float(element)) continue;
    for (bool const long_rows : {false, true}) {
      add_text(cuda::rows_text("softmax", {element}, 1, long_rows, {before, after}), "softmax", element,
               long_rows ? "long" : "");
      add_text(cuda::rows_text("cross_entropy_dense", {element, element}, 2, long_rows, {before, {}}), "cross entropy",
               element, long_rows ? "long" : "");
    }
    add_text(cuda::convolution_text(cuda::convolution_part::result, {element}, 64, false, {{}, after}), "convolution",
             element);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
