// A call or more of every operation that is a function of its inputs: what the test that walks the list tries.
#pragma once
#include "examples/arrays.hpp"
#include "examples/convolutions.hpp"
#include "examples/cumulative.hpp"
#include "examples/example.hpp"
#include "examples/functions.hpp"
#include "examples/layers.hpp"
#include "examples/matrix.hpp"

namespace rill::test {

inline std::vector<example> elementwise_examples() {
  std::vector<example> all;
  auto const add = [&](std::vector<example> more) { all.insert(all.end(), more.begin(), more.end()); };
  add(binary("add", [](value x, value y) { return rill::add(x, y); }));
  add(binary("sub", [](value x, value y) { return rill::sub(x, y); }));
  add(binary("mul", [](value x, value y) { return rill::mul(x, y); }));
  add(binary("div", [](value x, value y) { return rill::div(x, y); }));
  add(binary("maximum", [](value x, value y) { return maximum(x, y); }));
  add(binary("minimum", [](value x, value y) { return minimum(x, y); }));
  add(binary("equal", [](value x, value y) { return equal(x, y); }, false));
  add(binary("less", [](value x, value y) { return less(x, y); }, false));
  add(binary("less_equal", [](value x, value y) { return less_equal(x, y); }, false));
  add(binary("logical_and", [](value x, value y) { return logical_and(x, y); }, false));
  add(binary("logical_or", [](value x, value y) { return logical_or(x, y); }, false));
  add(binary("logical_xor", [](value x, value y) { return logical_xor(x, y); }, false));
  for (auto const& [name, f] : std::initializer_list<std::pair<std::string_view, value (*)(value)>>{
           {"logical_not", [](value x) { return logical_not(x); }},
           {"is_nan", [](value x) { return is_nan(x); }},
           {"is_inf", [](value x) { return is_inf(x); }},
           {"is_finite", [](value x) { return is_finite(x); }}})
    for (auto e : unary(name, f)) {
      e.differentiable = false;
      all.push_back(e);
    }
  add(unary("abs", [](value x) { return abs(x); }));
  add(unary("sign", [](value x) { return sign(x); }));
  add(unary("floor", [](value x) { return floor(x); }));
  add(unary("ceil", [](value x) { return ceil(x); }));
  add(unary("round", [](value x) { return round(x); }));
  add(unary("trunc", [](value x) { return trunc(x); }));
  add(binary("floor_div", [](value x, value y) { return floor_div(x, y); }));
  add(binary("mod", [](value x, value y) { return mod(x, y); }));
  for (auto e : binary("pow", [](value x, value y) { return pow(x, y); })) {
    e.positive = true;
    all.push_back(e);
  }
  add(unary("expm1", [](value x) { return expm1(x); }));
  add(unary("log1p", [](value x) { return log1p(x); }, true));
  add(unary("softplus", [](value x) { return softplus(x); }));
  add(unary("erf", [](value x) { return erf(x); }));
  // silu and gelu_tanh themselves take complex numbers, too, as compositions.
  add(unary("silu", [](value x) { return record_erased<ops::silu_op>(*x.graph, {}, {x}); }));
  add(unary("gelu", [](value x) { return gelu(x); }));
  add(unary("gelu_tanh", [](value x) { return record_erased<ops::gelu_tanh_op>(*x.graph, {}, {x}); }));
  add(unary("mish", [](value x) { return mish(x); }));
  add(unary("normal_cdf", [](value x) { return normal_cdf(x); }));
  add(unary("sin", [](value x) { return sin(x); }));
  add(unary("cos", [](value x) { return cos(x); }));
  add(unary("tan", [](value x) { return tan(x * 0.5); }));  // not near pi / 2
  add(binary("atan2", [](value y, value x) { return atan2(y, x); }));
  add(unary("neg", [](value x) { return neg(x); }));
  add(unary("square", [](value x) { return square(x); }));
  add(unary("sqrt", [](value x) { return sqrt(x); }, true));
  add(unary("exp", [](value x) { return exp(x); }));
  add(unary("log", [](value x) { return log(x); }, true));
  add(unary("tanh", [](value x) { return tanh(x); }));
  add(unary("sigmoid", [](value x) { return sigmoid(x); }));
  add(unary("relu", [](value x) { return relu(x); }));
  add(binary("relu_gradient", [](value y, value dy) { return relu_gradient(y, dy); }));
  add(unary("conj", [](value x) { return record_erased<ops::conj_op>(*x.graph, {}, {x}); }));
  all.push_back({.operation = "select",
                 .inputs = [](auto n) { return std::vector{truth({n, 1}), d({n, 3}), d({3})}; },
                 .record = [](in x) { return select(x[0], x[1], x[2]); }});
  all.push_back({.operation = "add_n",
                 .inputs = [](auto n) { return std::vector{d({n, 3}), d({n, 3}), d({n, 3})}; },
                 .record = [](in x) { return add_n(x); }});
  all.push_back({.operation = "bias_add",
                 .inputs = [](auto n) { return std::vector{d({2, n, 3}), d({3})}; },
                 .record = [](in x) { return bias_add(x[0], x[1]); }});
  for (auto to : {dtype::float64, dtype::float32, dtype::int32, dtype::boolean, dtype::complex64})
    all.push_back({.operation = "cast",
                   .inputs = [](auto n) { return std::vector{d({n, 3})}; },
                   .record = [to](in x) { return record_erased<ops::cast_op>(*x[0].graph, {to}, {x[0]}); },
                   .differentiable = to == dtype::float64});
  return all;
}

inline std::vector<example> reduction_examples() {
  std::vector<example> all;
  struct way {
    extents axes;
    bool keep;
  };
  for (auto const& [axes, keep] :
       {way{{}, false}, way{{0}, false}, way{{1}, true}, way{{-1, 0}, false}, way{{2}, false}}) {
    auto const inputs = [](auto n) { return std::vector{d({n, 2, 3})}; };
    all.push_back({.operation = "sum", .inputs = inputs, .record = [=](in x) { return sum(x[0], axes, keep); }});
    all.push_back({.operation = "mean", .inputs = inputs, .record = [=](in x) { return mean(x[0], axes, keep); }});
    all.push_back({.operation = "max",
                   .inputs = inputs,
                   .record = [=](in x) { return max(x[0], axes, keep); },
                   .refuses_nothing = axes.empty() || axes.contains(0)});
    all.push_back({.operation = "min",
                   .inputs = inputs,
                   .record = [=](in x) { return min(x[0], axes, keep); },
                   .refuses_nothing = axes.empty() || axes.contains(0)});
    all.push_back({.operation = "prod", .inputs = inputs, .record = [=](in x) { return prod(x[0], axes, keep); }});
    all.push_back(
        {.operation = "logsumexp", .inputs = inputs, .record = [=](in x) { return logsumexp(x[0], axes, keep); }});
    auto const truths = [](auto n) { return std::vector{truth({n, 2, 3})}; };
    all.push_back({.operation = "all",
                   .inputs = truths,
                   .record = [=](in x) { return rill::all(x[0], axes, keep); },
                   .differentiable = false});
    all.push_back({.operation = "any",
                   .inputs = truths,
                   .record = [=](in x) { return any(x[0], axes, keep); },
                   .differentiable = false});
  }
  for (auto const& [axes, keep] : {way{{1}, false}, way{{-1, 1}, true}, way{{1, 2}, false}, way{{2}, false}})
    for (std::int64_t by : {0, 1})
      all.push_back({.operation = "variance",
                     .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                     .record = [=](in x) { return variance(x[0], axes, keep, ddof{by}); }});
  all.push_back({.operation = "variance",
                 .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                 .record = [](in x) { return variance(x[0], extents{}); }});
  for (auto const& axes : {extents{}, extents{1}, extents{2, 0}}) {
    auto const inputs = [](auto n) { return std::vector(1, d({n, 2, 3})); };
    all.push_back({.operation = "prod_of_others", .inputs = inputs, .record = [=](in x) {
                     return prod_of_others(x[0], {}, axes);
                   }});
    all.push_back({.operation = "prod_of_others",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 3}), d({n, 2, 3})}; },
                   .record = [=](in x) { return prod_of_others(x[0], {x[1]}, axes); }});
  }
  for (auto axis : {0, 1, -1})
    for (bool least : {false, true})
      all.push_back({.operation = least ? "argmin" : "argmax",
                     .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                     .record =
                         [=](in x) {
                           auto const index = axis == 0 ? dtype::int64 : dtype::int32;
                           return least ? argmin(x[0], axis, index) : argmax(x[0], axis, index);
                         },
                     .refuses_nothing = axis == 0,
                     .differentiable = false});
  return all;
}

inline std::vector<example> array_examples() {
  std::vector<example> all;
  for (bool share : {false, true}) {
    all.push_back(
        {.operation = "broadcast_like",
         .inputs = [](auto n) { return std::vector{d({n, 3}), d({n, 2, 3})}; },
         .record =
             [=](in x) { return share ? share_like(x[0], x[1], extents{1}) : broadcast_like(x[0], x[1], extents{-2}); },
         .elements = share ? dtypes::floats | dtypes::complexes : dtypes{}});
    all.push_back(
        {.operation = "sum_like",
         .inputs = [](auto n) { return std::vector{d({2, n, 3}), d({n, 1})}; },
         .record = [=](in x) { return record_erased<ops::sum_like_op>(*x[0].graph, {{}, share}, {x[0], x[1]}); },
         .elements = share ? dtypes::floats | dtypes::complexes : dtypes::numbers});
  }
  all.push_back({.operation = "fill",
                 .inputs = [](auto) { return std::vector{d({})}; },
                 .record = [](in x) { return fill(x[0], shape{2, 3}); }});
  all.push_back({.operation = "reshape",
                 .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                 .record = [](in x) { return reshape(x[0], extents{3, -1, 2}); }});
  all.push_back({.operation = "reshape_like",
                 .inputs = [](auto n) { return std::vector{d({n, 2, 3}), d({n, 6})}; },
                 .record = [](in x) { return record_erased<ops::reshape_like_op>(*x[0].graph, {}, {x[0], x[1]}); }});
  for (auto axis : {0, 2, -1})
    all.push_back({.operation = "expand_dims",
                   .inputs = [](auto n) { return std::vector{d({n, 3})}; },
                   .record = [=](in x) { return expand_dims(x[0], axis); }});
  for (auto const& t : {d({0, 2, 3}), d({3, 0}), d({3})})
    all.push_back({.operation = "flatten_rows",  // 0 stands for n
                   .inputs =
                       [t](auto n) {
                         auto x = t;
                         std::replace(x.dims.begin(), x.dims.begin() + x.rank, dim(0), dim(n));
                         return std::vector{x};
                       },
                   .record = [](in x) { return flatten_rows(x[0]); }});
  all.push_back({.operation = "squeeze",
                 .inputs = [](auto n) { return std::vector{d({n, 1, 3})}; },
                 .record = [](in x) { return squeeze(x[0], -2); }});
  for (auto axis : {0, 1, -1})
    all.push_back({.operation = "split",
                   .inputs = [](auto n) { return std::vector{d({2 * n, 2, 4})}; },
                   .record = [=](in x) { return split(x[0], 2, axis)[0]; }});
  for (auto const& axes : {extents{}, extents{1, 0, 2}, extents{2, 0, 1}, extents{-1, -2, -3}, extents{0, 2, 1}})
    all.push_back({.operation = "transpose",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                   .record = [=](in x) { return transpose(x[0], axes); }});
  for (auto const& axes : {extents{0}, extents{-1}, extents{0, 2}, extents{1}})
    all.push_back({.operation = "reverse",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                   .record = [=](in x) { return reverse(x[0], axes); }});
  for (auto axis : {0, 1, -1})
    all.push_back({.operation = "concat",
                   .inputs =
                       [=](auto n) {
                         return std::vector{d({n, 2, 3}),
                                            axis == 1   ? d({n, 4, 3})
                                            : axis == 0 ? d({1, 2, 3})
                                                        : d({n, 2, 0}),
                                            d({n, 2, 3})};
                       },
                   .record = [=](in x) { return concat(x, axis); }});
  all.push_back({.operation = "concat_piece",
                 .inputs = [](auto n) { return std::vector{d({5, n}), d({2, n}), d({3, n})}; },
                 .record = [](in x) { return concat_piece(x[0], {x[1], x[2]}, 0, 1); }});
  all.push_back({.operation = "subscript",
                 .inputs = [](auto n) { return std::vector{d({5, 2, n + 2})}; },
                 .record = [](in x) { return x[0](seq{.step = -2}, 1, seq{.begin = 1}); }});
  all.push_back({.operation = "subscript",
                 .inputs = [](auto n) { return std::vector{d({n, 3})}; },
                 .record = [](in x) { return x[0](rill::all(), seq{.step = 2}); }});
  all.push_back(
      {.operation = "subscript_gradient",
       .inputs = [](auto n) { return std::vector{d({3, n}), d({5, 2, 4, n})}; },
       .record = [](in x) { return subscript_gradient(x[0], x[1], detail::subscripts_of(seq{.step = -2}, 1, 3)); }});
  all.push_back({.operation = "slice",
                 .inputs = [](auto n) { return std::vector{d({4, n, 3})}; },
                 .record = [](in x) { return slice(x[0], extents{1, 0, 1}, extents{2, -1, 2}); }});
  all.push_back({.operation = "pad_like",
                 .inputs = [](auto n) { return std::vector{d({2, n, 2}), d({4, n, 3})}; },
                 .record = [](in x) { return pad_like(x[0], x[1], {{1, 0, 1}, {2, -1, 2}}); }});
  all.push_back({.operation = "gather",
                 .inputs = [](auto n) { return std::vector{d({3, 2}), i32({n})}; },
                 .record = [](in x) { return gather(x[0], x[1]); }});
  all.push_back({.operation = "gather",
                 .inputs = [](auto n) { return std::vector{d({3, n}), i64({2, 2})}; },
                 .record = [](in x) { return gather(x[0], x[1]); }});
  all.push_back({.operation = "rows_like",
                 .inputs = [](auto n) { return std::vector{d({2, n, 3}), d({4, 3}), i64({2, n})}; },
                 .record = [](in x) { return flat_rows(x[0], x[1], x[2]); }});
  all.push_back({.operation = "scatter_like",
                 .inputs = [](auto n) { return std::vector{i32({n}), d({n, 2}), d({3, 2})}; },
                 .record = [](in x) { return scatter_like(x[0], x[1], x[2]); }});
  all.push_back({.operation = "add_rows",
                 .inputs = [](auto n) { return std::vector{d({3, 2}), i32({n}), d({n, 2})}; },
                 .record = [](in x) { return add_rows(x[0], x[1], x[2]); }});
  all.push_back({.operation = "one_hot",
                 .inputs = [](auto n) { return std::vector{i64({n, 2})}; },
                 .record = [](in x) { return one_hot(x[0], 3, dtype::float64); }});
  all.push_back({.operation = "positions",
                 .inputs = [](auto n) { return std::vector{d({2, n})}; },
                 .record = [](in x) { return positions(x[0], -1); },
                 .differentiable = false});
  all.push_back({.operation = "extents_of",
                 .inputs = [](auto n) { return std::vector{d({2, n})}; },
                 .record = [](in x) { return extents_of(x[0]); },
                 .differentiable = false});
  all.push_back({.operation = "identity",
                 .inputs = [](auto n) { return std::vector{d({n})}; },
                 .record = [](in x) { return identity(x[0]); }});
  all.push_back({.operation = "check_numerics",
                 .inputs = [](auto n) { return std::vector{d({n})}; },
                 .record = [](in x) { return check_numerics(x[0]); }});
  all.push_back({.operation = "print",
                 .inputs = [](auto n) { return std::vector{d({n})}; },
                 .record = [](in x) { return print(x[0]); }});
  return all;
}

inline std::vector<example> network_examples() {
  std::vector<example> all;
  for (bool a : {false, true})
    for (bool b : {false, true})
      all.push_back(
          {.operation = "matmul",
           .inputs = [=](auto n) { return std::vector{a ? d({4, n}) : d({n, 4}), b ? d({3, 4}) : d({4, 3})}; },
           .record = [=](in x) { return matmul(x[0], x[1], transposed{a, b}); }});
  for (auto const& [a, b] : {std::pair{d({2, 0}), d({0, 3})},
                             {d({0, 2, 4}), d({0, 4, 3})},
                             {d({0, 2, 4}), d({4, 3})},
                             {d({2, 0, 4}), d({4, 3})},
                             {d({2, 1, 2, 4}), d({0, 4, 3})}})
    all.push_back({.operation = "matmul",  // 0 stands for n
                   .inputs =
                       [a, b](auto n) {
                         std::vector both{a, b};
                         for (auto& t : both) std::replace(t.dims.begin(), t.dims.begin() + t.rank, dim(0), dim(n));
                         return both;
                       },
                   .record = [](in x) { return matmul(x[0], x[1]); }});
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (auto const& like : {d({2, 3}), d({2, 1, 2, 3})})
        all.push_back(
            {.operation = "matmul_like",
             .inputs =
                 [=](auto n) {
                   return std::vector{a ? d({2, n, 4, 2}) : d({2, n, 2, 4}), b ? d({2, n, 3, 4}) : d({2, n, 4, 3}),
                                      like};
                 },
             .record =
                 [=](in x) { return record_erased<ops::matmul_like_op>(*x[0].graph, {a, b}, {x[0], x[1], x[2]}); }});
  for (bool last : {false, true}) {
    auto const inputs = [=](auto n) { return std::vector{last ? d({2, n}) : d({n, 2, 5})}; };
    all.push_back({.operation = "softmax", .inputs = inputs, .record = [](in x) { return softmax(x[0]); }});
    all.push_back({.operation = "log_softmax", .inputs = inputs, .record = [](in x) { return log_softmax(x[0]); }});
  }
  for (auto& e : binary("sigmoid_cross_entropy", [](value x, value z) { return sigmoid_cross_entropy(x, z); }))
    all.push_back(e);
  for (auto& e : binary("absolute_error", [](value x, value y) { return absolute_error(x, y); })) all.push_back(e);
  for (auto& e : binary("relative_entropy", [](value p, value l) { return record<ops::relative_entropy_op>(p, l); })) {
    e.positive = true;
    all.push_back(e);
  }
  all.push_back({.operation = "weighted_sigmoid_cross_entropy",
                 .inputs = [](auto n) { return std::vector{d({n, 3}), d({n, 3}), d({3})}; },
                 .record = [](in x) { return sigmoid_cross_entropy(x[0], x[1], x[2]); }});
  for (auto const& delta : {d({}), d({3}), d({2, 1, 3})})
    all.push_back({.operation = "huber",
                   .inputs = [=](auto n) { return std::vector{d({n, 3}), d({3}), delta}; },
                   .record = [](in x) { return record<ops::huber_op>(x[0], x[1], x[2]); },
                   .positive = true});
  all.push_back({.operation = "softmax_cross_entropy",
                 .inputs = [](auto n) { return std::vector{d({n, 3}), i32({n})}; },
                 .record = [](in x) { return softmax_cross_entropy(x[0], x[1]); }});
  all.push_back({.operation = "softmax_cross_entropy",
                 .inputs = [](auto n) { return std::vector{d({2, n, 3}), i64({2, n})}; },
                 .record = [](in x) { return softmax_cross_entropy(x[0], x[1]); }});
  all.push_back({.operation = "softmax_cross_entropy_dense",
                 .inputs = [](auto n) { return std::vector{d({n, 3}), d({n, 3})}; },
                 .record = [](in x) { return softmax_cross_entropy(x[0], x[1]); }});
  struct slide {
    convolution how;
    dim height, width;  // of the result, for an image of 5 x 4 and a filter of 3 x 2
  };
  slide const slides[] = {{{}, 5, 4},
                          {{.stride = {2, 1}, .pad = padding::valid}, 2, 3},
                          {{.stride = {2, 2}, .dilation = {2, 2}}, 3, 2},
                          {{.stride = {1, 3}, .pad = padding::given, .pads = {1, 0, 2, 1}}, 4, 2}};
  for (auto const& [how, height, width] : slides) {
    dim const h = height, w = width;
    convolution const a = how;
    all.push_back({.operation = "conv2d",
                   .inputs = [](auto n) { return std::vector{d({n, 5, 4, 2}), d({3, 2, 2, 3})}; },
                   .record = [=](in x) { return conv2d(x[0], x[1], a); }});
    all.push_back({.operation = "conv2d_input_gradient",
                   .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 2}), d({3, 2, 2, 3}), d({n, h, w, 3})}; },
                   .record = [=](in x) { return conv2d_input_gradient(x[0], x[1], x[2], a); }});
    all.push_back({.operation = "conv2d_filter_gradient",
                   .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 2}), d({3, 2, 2, 3}), d({n, h, w, 3})}; },
                   .record = [=](in x) { return conv2d_filter_gradient(x[0], x[1], x[2], a); }});
  }
  all.push_back({.operation = "conv2d",
                 .inputs = [](auto n) { return std::vector{d({2, 3, 3, n}), d({2, 2, n, 2})}; },
                 .record = [](in x) { return conv2d(x[0], x[1], {}); }});
  all.push_back({.operation = "conv2d",
                 .inputs = [](auto n) { return std::vector{d({2, 3, 3, 2}), d({2, 2, 2, n})}; },
                 .record = [](in x) { return conv2d(x[0], x[1], {}); }});
  all.push_back({.operation = "conv2d",
                 .inputs = [](auto n) { return std::vector{d({2, n, 3, 2}), d({2, 2, 2, 2})}; },
                 .record = [](in x) { return conv2d(x[0], x[1], {}); }});
  struct pool {
    pooling how;
    dim height, width;  // of the result, for an image of 5 x 4
  };
  pool const pools[] = {{{}, 2, 2},
                        {{.window = {3, 2}, .stride = {1, 2}, .pad = padding::same}, 5, 2},
                        {{.window = {3, 3}, .stride = {2, 2}, .pad = padding::given, .pads = {2, 1, 0, 2}}, 3, 2}};
  for (auto const& [how, height, width] : pools) {
    dim const h = height, w = width;
    pooling const a = how;
    all.push_back({.operation = "max_pool",
                   .inputs = [](auto n) { return std::vector{d({n, 5, 4, 2})}; },
                   .record = [=](in x) { return max_pool(x[0], a); }});
    all.push_back({.operation = "max_pool_gradient",
                   .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 2}), d({n, h, w, 2})}; },
                   .record = [=](in x) { return max_pool_gradient(x[0], x[1], a); }});
    all.push_back({.operation = "max_pool_pick",
                   .inputs = [](auto n) { return std::vector{d({n, 5, 4, 2}), d({n, 5, 4, 2})}; },
                   .record = [=](in x) { return max_pool_pick(x[0], x[1], a); }});
    for (bool counted : {false, true}) {
      average_pooling const b{a.window, a.stride, a.pad, a.pads, counted};
      all.push_back({.operation = "avg_pool",
                     .inputs = [](auto n) { return std::vector{d({n, 5, 4, 2})}; },
                     .record = [=](in x) { return avg_pool(x[0], b); }});
      all.push_back({.operation = "avg_pool_gradient",
                     .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 2}), d({n, h, w, 2})}; },
                     .record = [=](in x) { return avg_pool_gradient(x[0], x[1], b); }});
    }
  }
  return all;
}

inline std::vector<example> image_examples() {
  std::vector<example> all;
  struct size {
    std::int64_t height, width;
  };
  for (auto const& [height, width] : {size{5, 6}, size{2, 3}, size{1, 9}, size{3, 4}}) {
    auto const h = height, w = width;
    auto const resized = [=](bool batch) {
      return [=](auto n) { return batch ? std::vector{d({n, 3, 4, 2})} : std::vector{d({3, 4, n})}; };
    };
    for (bool batch : {true, false}) {
      all.push_back({.operation = "resize_nearest", .inputs = resized(batch), .record = [=](in x) {
                       return resize_nearest(x[0], h, w);
                     }});
      all.push_back({.operation = "resize_bilinear", .inputs = resized(batch), .record = [=](in x) {
                       return record_erased<ops::resize_bilinear_op>(*x[0].graph, {h, w}, {x[0]});
                     }});
    }
    for (auto method : {ops::interpolation::nearest, ops::interpolation::bilinear})
      all.push_back({.operation = "resize_gradient",
                     .inputs = [=](auto n) { return std::vector{d({n, 3, 4, 2}), d({n, h, w, 2})}; },
                     .record = [=](in x) { return resize_gradient(x[0], x[1], {h, w, method}); }});
  }
  all.push_back({.operation = "resize_bilinear",
                 .inputs = [](auto n) { return std::vector{d({2, n, 4, 1})}; },
                 .record = [](in x) { return record_erased<ops::resize_bilinear_op>(*x[0].graph, {2, 2}, {x[0]}); },
                 .refuses_nothing = true});
  all.push_back({.operation = "crop",
                 .inputs = [](auto n) { return std::vector{d({n, 4, 3, 2}), i64({n, 2})}; },
                 .record = [](in x) { return crop(x[0], x[1], 2, 3); }});
  all.push_back({.operation = "crop",
                 .inputs = [](auto n) { return std::vector{d({4, 3, n}), i32({2})}; },
                 .record = [](in x) { return crop(x[0], x[1], 3, 2); }});
  all.push_back({.operation = "crop_gradient",
                 .inputs = [](auto n) { return std::vector{d({n, 4, 3, 2}), i64({n, 2}), d({n, 2, 2, 2})}; },
                 .record = [](in x) { return crop_gradient(x[0], x[1], x[2], {2, 2}); }});
  return all;
}

inline type words(std::initializer_list<dim> extents) { return {dtype::string, extents}; }

inline std::vector<example> input_examples() {
  std::vector<example> all;
  all.push_back({.operation = "decode_raw",  // an input that is a number's text has one or more of its bytes
                 .inputs = [](auto n) { return std::vector{words({n, 2})}; },
                 .record = [](in x) { return decode_raw(x[0], of<std::uint8_t, 8>); },
                 .differentiable = false});
  all.push_back({.operation = "decode_csv",
                 .inputs = [](auto n) { return std::vector{words({n, 2})}; },
                 .record = [](in x) { return decode_csv(x[0], {of<double, 1>})[0]; },
                 .differentiable = false});
  return all;
}

/// All of them.
inline std::vector<example> const& examples() {
  static std::vector<example> const all = [] {
    auto list = elementwise_examples();
    for (auto const& more :
         {reduction_examples(), array_examples(), network_examples(), image_examples(), input_examples(),
          matrix_examples(), function_examples(), layer_examples(), all_array_examples(), convolution_examples(),
          cumulative_examples(), segment_examples(), moment_examples(), complex_examples()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

}  // namespace rill::test
