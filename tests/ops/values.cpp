// Every operation that has a result, in every element type, against what NumPy makes of the same random inputs:
// values/record*.py record that.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rill/ops/list/registry.hpp"
#include "values/arrays.hpp"
#include "values/convolutions.hpp"
#include "values/cumulative.hpp"
#include "values/functions.hpp"
#include "values/layers.hpp"
#include "values/matrix.hpp"
#include "values/recorded.hpp"
#include "values/units.hpp"

namespace rill {
namespace {

using test::bound_map, test::call, test::recorder_map, test::recording;

// The updates of x by x - b * b, as one program.
std::shared_ptr<program const> descent(dtype d) {
  program p;
  p.inputs = {d, d};
  p.instructions.push_back({definition<ops::square_op>().elementwise, {1}, d});
  p.instructions.push_back({definition<ops::sub_op>().elementwise, {0, 2}, d});
  p.outputs = {3};
  return std::make_shared<program const>(std::move(p));
}
// x / (1 + exp(-b * x)).
std::shared_ptr<program const> swish(dtype d) {
  program p;
  p.inputs = {d, d};
  p.immediates = {visit(d, []<class T>() -> immediate {
    if constexpr (std::same_as<T, half> || std::same_as<T, bfloat16>) return immediate::of(T(1.f));
    else if constexpr (std::floating_point<T>) return immediate::of(T(1));
    else throw error(code::invalid_argument, "swish is of floats");
  })};
  auto const line = [&](op_def const& op, std::uint16_t a, std::uint16_t b = 0) {
    p.instructions.push_back({op.elementwise, {a, b}, d});
  };
  line(definition<ops::mul_op>(), 1, 0);  // 3
  line(definition<ops::neg_op>(), 3);     // 4
  line(definition<ops::exp_op>(), 4);     // 5
  line(definition<ops::add_op>(), 5, 2);  // 6
  line(definition<ops::div_op>(), 0, 6);  // 7
  p.outputs = {7};
  return std::make_shared<program const>(std::move(p));
}

recorder_map const& recorders() {
  static auto const all = [] {
    recorder_map r;
    auto const unary = [&](std::string const& name, value (*f)(value)) {
      r[name] = [f](call const& c) { return f(c.x[0]); };
    };
    auto const binary = [&](std::string const& name, value (*f)(value, value)) {
      r[name] = r[name + " of columns"] = [f](call const& c) { return f(c.x[0], c.x[1]); };
    };
    binary("add", [](value a, value b) { return add(a, b); });
    binary("sub", [](value a, value b) { return sub(a, b); });
    binary("mul", [](value a, value b) { return mul(a, b); });
    binary("div", [](value a, value b) { return div(a, b); });
    binary("maximum", [](value a, value b) { return maximum(a, b); });
    binary("minimum", [](value a, value b) { return minimum(a, b); });
    binary("equal", [](value a, value b) { return equal(a, b); });
    binary("less", [](value a, value b) { return less(a, b); });
    binary("less_equal", [](value a, value b) { return less_equal(a, b); });
    binary("equal not", [](value a, value b) { return not_equal(a, b); });
    binary("less swapped", [](value a, value b) { return greater(a, b); });
    binary("less_equal swapped", [](value a, value b) { return greater_equal(a, b); });
    binary("logical_and", [](value a, value b) { return logical_and(a, b); });
    binary("logical_or", [](value a, value b) { return logical_or(a, b); });
    unary("logical_not", [](value x) { return logical_not(x); });
    binary("mod", [](value a, value b) { return mod(a, b); });
    binary("floor_div", [](value a, value b) { return floor_div(a, b); });
    binary("pow", [](value a, value b) { return pow(a, b); });
    binary("atan2", [](value a, value b) { return atan2(a, b); });
    binary("logical_xor", [](value a, value b) { return logical_xor(a, b); });
    binary("relu_gradient", [](value y, value dy) { return relu_gradient(y, dy); });
    binary("bias_add", [](value a, value b) { return bias_add(a, b); });
    unary("neg", [](value x) { return neg(x); });
    unary("square", [](value x) { return square(x); });
    unary("conj", [](value x) { return record_erased<ops::conj_op>(*x.graph, {}, {x}); });
    unary("relu", [](value x) { return relu(x); });
    unary("exp", [](value x) { return exp(x); });
    unary("log", [](value x) { return log(x); });
    unary("sqrt", [](value x) { return sqrt(x); });
    unary("tanh", [](value x) { return tanh(x); });
    unary("sigmoid", [](value x) { return sigmoid(x); });
    unary("abs", [](value x) { return abs(x); });
    unary("sign", [](value x) { return sign(x); });
    unary("floor", [](value x) { return floor(x); });
    unary("ceil", [](value x) { return ceil(x); });
    unary("round", [](value x) { return round(x); });
    unary("trunc", [](value x) { return trunc(x); });
    unary("expm1", [](value x) { return expm1(x); });
    unary("log1p", [](value x) { return log1p(x); });
    unary("softplus", [](value x) { return softplus(x); });
    unary("erf", [](value x) { return erf(x); });
    unary("sin", [](value x) { return sin(x); });
    unary("cos", [](value x) { return cos(x); });
    unary("tan", [](value x) { return tan(x); });
    unary("is_nan", [](value x) { return is_nan(x); });
    unary("is_inf", [](value x) { return is_inf(x); });
    unary("is_finite", [](value x) { return is_finite(x); });
    unary("identity", [](value x) { return identity(x); });
    unary("stop_gradient", [](value x) { return stop_gradient(x); });
    unary("print", [](value x) { return print(x); });
    unary("check_numerics", [](value x) { return check_numerics(x); });
    unary("placeholder", [](value x) { return x; });
    unary("placeholder_with_default", [](value x) { return placeholder_with_default(x); });
    unary("as", [](value x) { return as(x, type(x.type().element, {"rows", "columns"})); });
    unary("softmax", [](value x) { return softmax(x); });
    unary("log_softmax", [](value x) { return log_softmax(x); });
    unary("fill", [](value x) { return fill(x, shape{2, 3}); });
    unary("reshape", [](value x) { return reshape(x, extents{-1, 6}); });
    unary("expand_dims", [](value x) { return expand_dims(x, 1); });
    unary("flatten_rows", [](value x) { return flatten_rows(x); });
    unary("positions", [](value x) { return positions(x, 1, dtype::int64); });
    unary("positions by int32", [](value x) { return positions(x, -1); });
    unary("where", [](value x) { return where(x); });
    unary("squeeze", [](value x) { return squeeze(x, 1); });
    for (int axis : {0, 1, 2})
      r["split along " + std::to_string(axis)] = [=](call const& c) { return split(c.x[0], 3, axis)[0]; };
    unary("transpose", [](value x) { return transpose(x, extents{2, 0, -2}); });
    unary("transpose reversed", [](value x) { return transpose(x, extents{}); });
    unary("slice", [](value x) { return slice(x, extents{1, 0, 1}, extents{-1, 2, 2}); });
    unary("subscript", [](value x) { return x(seq{.step = -2}, 1, seq{1, 3}); });
    unary("subscript of the end", [](value x) { return x(-1, rill::all(), seq{.begin = -3}); });
    r["subscript_gradient"] = [](call const& c) {
      return subscript_gradient(c.x[0], c.x[1], detail::subscripts_of(seq{.step = -2}, 1));
    };
    r["select"] = [](call const& c) { return select(c.x[0], c.x[1], c.x[2]); };
    r["add_n"] = [](call const& c) { return add_n(c.x); };
    for (auto d : {dtype::boolean, dtype::int8, dtype::int16, dtype::int32, dtype::int64, dtype::uint8, dtype::uint16,
                   dtype::uint32, dtype::uint64, dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64,
                   dtype::complex64, dtype::complex128})
      r["cast to " + std::string(name(d))] = [d](call const& c) { return cast(c.x[0], d); };

    struct way {
      std::string words;
      extents axes;
      bool keep;
    };
    for (auto const& [words, axes, keep] : {way{" of all", {}, false}, way{" of rows", {0}, false},
                                            way{" of the middle", {-2}, true}, way{" of two", {0, 2}, false}}) {
      r["sum" + words] = [=](call const& c) { return sum(c.x[0], axes, keep); };
      r["mean" + words] = [=](call const& c) { return mean(c.x[0], axes, keep); };
      r["max" + words] = [=](call const& c) { return max(c.x[0], axes, keep); };
      r["min" + words] = [=](call const& c) { return min(c.x[0], axes, keep); };
      r["prod" + words] = [=](call const& c) { return prod(c.x[0], axes, keep); };
      r["prod_of_others" + words] = [=](call const& c) { return prod_of_others(c.x[0], {}, axes); };
      r["all" + words] = [=](call const& c) { return rill::all(c.x[0], axes, keep); };
      r["any" + words] = [=](call const& c) { return rill::any(c.x[0], axes, keep); };
      r["variance" + words] = [=](call const& c) { return variance(c.x[0], axes, keep); };
      r["variance of samples" + words] = [=](call const& c) { return variance(c.x[0], axes, keep, ddof{1}); };
      r["logsumexp" + words] = [=](call const& c) { return logsumexp(c.x[0], axes, keep); };
    }
    for (int axis : {0, 1, 2})
      r["argmax along " + std::to_string(axis)] = [=](call const& c) {
        return argmax(c.x[0], axis, axis == 0 ? dtype::int32 : dtype::int64);
      };
    for (int axis : {0, 1, 2})
      r["argmin along " + std::to_string(axis)] = [=](call const& c) {
        return argmin(c.x[0], axis, axis == 0 ? dtype::int32 : dtype::int64);
      };

    r["constant"] = [](call const& c) { return constant(c.g, c.fed[0]); };
    r["variable"] = [](call const& c) { return value(c.own()); };
    r["read"] = [](call const& c) { return read(c.own()); };
    r["is_initialized"] = [](call const& c) { return record_erased<ops::is_initialized_op>(c.g, {}, {c.own()}); };
    r["assign"] = [](call const& c) { return value(assign(c.own(), c.x[1])); };
    r["assign_add"] = [](call const& c) { return value(assign_add(c.own(), c.x[1])); };
    r["assign_sub"] = [](call const& c) { return value(assign_sub(c.own(), c.x[1])); };
    r["scatter_add"] = [](call const& c) {
      auto const v = c.own();
      return c.after(scatter_add(v, c.x[1], c.x[2]), v);
    };
    r["scatter_sub"] = [](call const& c) {
      auto const v = c.own();
      return c.after(scatter_sub(v, c.x[1], c.x[2]), v);
    };
    r["custom_gradient"] = [](call const& c) {
      return record_erased<ops::custom_gradient_op>(c.g, {}, {c.x[0], c.x[1]});
    };
    r["fused"] = [](call const& c) { return record_erased<ops::fused_op>(c.g, {swish(c.fed[0].element())}, c.x); };
    r["fused_update"] = [](call const& c) {
      return record_erased<ops::fused_update_op>(c.g, {descent(c.fed[0].element()), 1}, {c.own(), c.x[1]});
    };

    r["broadcast_like"] = [](call const& c) { return broadcast_like(c.x[0], c.x[1], extents{1}); };
    r["broadcast_like shared out"] = [](call const& c) { return share_like(c.x[0], c.x[1], extents{-2}); };
    r["sum_like"] = [](call const& c) { return sum_like(c.x[0], c.x[1]); };
    r["sum_like with means"] = [](call const& c) { return record_erased<ops::sum_like_op>(c.g, {{}, true}, c.x); };
    r["reshape_like"] = [](call const& c) { return reshape_like(c.x[0], c.x[1]); };
    for (int axis : {0, 1, 2})
      r["concat along " + std::to_string(axis)] = [=](call const& c) { return concat(c.x, axis); };
    r["concat_piece"] = [](call const& c) { return concat_piece(c.x[0], {c.x[1], c.x[2]}, -1, 1); };
    r["pad_like"] = [](call const& c) { return pad_like(c.x[0], c.x[1], {{1, 1}, {-1, 4}}); };
    for (auto index : {"int32", "int64"}) {
      r["gather by " + std::string(index)] = [](call const& c) { return gather(c.x[0], c.x[1]); };
      r["gather_variable by " + std::string(index)] = [](call const& c) { return gather(c.own(), c.x[1]); };
    }
    unary("reverse", [](value x) { return reverse(x, extents{0, -1}); });
    r["rows_like"] = [](call const& c) { return flat_rows(c.x[0], c.x[1], c.x[2]); };
    r["scatter_like"] = [](call const& c) { return scatter_like(c.x[0], c.x[1], c.x[2]); };

    for (bool left : {false, true})
      for (bool right : {false, true})
        r[std::string("matmul") + (left ? " transposed left" : "") + (right ? " transposed right" : "")] =
            [=](call const& c) { return matmul(c.x[0], c.x[1], transposed{left, right}); };
    for (auto const* words : {"matmul of batches", "matmul of batches by one", "matmul of batches that broadcast"})
      r[words] = [](call const& c) { return matmul(c.x[0], c.x[1], transposed{false, true}); };
    for (auto const* words : {"matmul_like", "matmul_like of rows", "matmul_like of columns"})
      r[words] = [](call const& c) { return record_erased<ops::matmul_like_op>(c.g, {true, false}, c.x); };
    r["softmax_cross_entropy"] =
        r["softmax_cross_entropy_dense"] = [](call const& c) { return softmax_cross_entropy(c.x[0], c.x[1]); };
    for (auto const& [words, how] : {std::pair<std::string, convolution>{"", {}},
                                     {" valid", {.stride = {2, 1}, .pad = padding::valid}},
                                     {" dilated", {.stride = {2, 2}, .dilation = {2, 2}}},
                                     {" given", {.stride = {1, 3}, .pad = padding::given, .pads = {1, 0, 2, 1}}}}) {
      convolution const a = how;
      r["conv2d" + words] = [=](call const& c) { return conv2d(c.x[0], c.x[1], a); };
      r["conv2d_input_gradient" + words] = [=](call const& c) {
        return conv2d_input_gradient(c.x[0], c.x[1], c.x[2], a);
      };
      r["conv2d_filter_gradient" + words] = [=](call const& c) {
        return conv2d_filter_gradient(c.x[0], c.x[1], c.x[2], a);
      };
    }
    for (auto const& [words, how] :
         {std::pair<std::string, pooling>{"", {}},
          {" same", {.window = {3, 2}, .stride = {1, 2}, .pad = padding::same}},
          {" given", {.window = {3, 3}, .stride = {2, 2}, .pad = padding::given, .pads = {2, 1, 0, 2}}}}) {
      pooling const a = how;
      r["max_pool" + words] = [=](call const& c) { return max_pool(c.x[0], a); };
      r["max_pool_gradient" + words] = [=](call const& c) { return max_pool_gradient(c.x[0], c.x[1], a); };
      r["max_pool_pick" + words] = [=](call const& c) { return max_pool_pick(c.x[0], c.x[1], a); };
      for (bool counted : {false, true}) {
        average_pooling const b{a.window, a.stride, a.pad, a.pads, counted};
        auto const more = words + (counted ? " counted" : "");
        r["avg_pool" + more] = [=](call const& c) { return avg_pool(c.x[0], b); };
        r["avg_pool_gradient" + more] = [=](call const& c) { return avg_pool_gradient(c.x[0], c.x[1], b); };
      }
    }
    struct size {
      std::string words;
      std::int64_t height, width;
    };
    for (auto const& [words, height, width] : {size{" larger", 5, 6}, size{" smaller", 2, 3}}) {
      auto const h = height, w = width;
      r["resize_nearest" + words] = [=](call const& c) { return resize_nearest(c.x[0], h, w); };
      r["resize_bilinear" + words] = [=](call const& c) { return resize_bilinear(c.x[0], h, w); };
      for (auto const& [method, how] :
           {std::pair{" nearest", ops::interpolation::nearest}, {" bilinear", ops::interpolation::bilinear}}) {
        auto const a = how;
        r["resize_gradient" + words + method] = [=](call const& c) {
          return resize_gradient(c.x[0], c.x[1], {h, w, a});
        };
      }
    }
    for (auto index : {" by int32", " by int64"}) {
      r["crop" + std::string(index)] = [](call const& c) { return crop(c.x[0], c.x[1], 2, 2); };
      r["crop_gradient" + std::string(index)] = [](call const& c) {
        return crop_gradient(c.x[0], c.x[1], c.x[2], {2, 2});
      };
    }
    binary("sigmoid_cross_entropy", [](value x, value z) { return sigmoid_cross_entropy(x, z); });
    binary("absolute_error", [](value x, value y) { return absolute_error(x, y); });
    binary("huber", [](value x, value y) { return huber(x, y, 0.5); });
    binary("relative_entropy", [](value p, value l) { return record<ops::relative_entropy_op>(p, l); });
    r["weighted_sigmoid_cross_entropy"] = [](call const& c) { return sigmoid_cross_entropy(c.x[0], c.x[1], c.x[2]); };
    r["one_hot"] = [](call const& c) { return one_hot(c.x[0], 4, c.tried); };
    unary("decode_raw", [](value x) { return decode_raw(x, of<std::int16_t, 3>); });
    unary("decode_raw turned", [](value x) { return decode_raw(x, of<std::uint16_t, 3>, true); });
    unary("decode_csv", [](value x) { return decode_csv(x, {of<double, 2>})[0]; });
    r.merge(test::matrix_recorders());
    r.merge(test::function_recorders());
    r.merge(test::layer_recorders());
    r.merge(test::array_recorders());
    r.merge(test::convolution_recorders());
    r.merge(test::cumulative_recorders());
    r.merge(test::unit_recorders());
    return r;
  }();
  return all;
}

bound_map const& bounds() {
  // What is said of each elementary function, and one more for NumPy's own; softmax rounds x - max before exp.
  static auto const all = [] {
    bound_map b{{"exp", {2.25}},
                {"log", {2}},
                {"tanh", {2.5}},
                {"sigmoid", {3}},
                {"mul", {4}},
                {"div", {4}},
                {"sqrt", {4}},
                {"square", {4}},
                {"fused", {8, true}},
                {"softmax", {12}},
                {"log_softmax", {4, true}},
                {"sum", {4, true}},
                {"prod", {16}},
                {"prod_of_others", {16, true}},
                {"mean", {4, true}},
                {"expm1", {2.75}},
                {"log1p", {2}},
                {"softplus", {2.75}},
                {"erf", {2.75}},
                {"sin", {2}},
                {"cos", {2}},
                {"tan", {3.25}},
                {"pow", {2}},
                {"atan2", {3.25}},
                {"floor_div", {1}}};
    b.merge(test::function_bounds());
    b.merge(test::layer_bounds());
    b.merge(test::cumulative_bounds());
    b.merge(test::unit_bounds());
    return b;
  }();
  return all;
}

std::vector<recording> const& recordings() {
  static auto const all = [] {
    std::vector<recording> list;
    for (auto const* archive : {"values",        //
                                "matrix",        //
                                "functions",     //
                                "layers",        //
                                "arrays",        //
                                "convolutions",  //
                                "cumulative",    //
                                "units"}) {
      auto const more = test::read_recordings(archive);
      list.insert(list.end(), more.begin(), more.end());
    }
    return list;
  }();
  return all;
}

void expect_all(session_options const& options) {
  EXPECT_GT(recordings().size(), 800u);
  test::expect_recordings(recordings(), recorders(), bounds(), options);
}

TEST(values, are_those_of_numpy_with_every_pass) { expect_all({.threads = 1}); }

TEST(values, are_those_of_numpy_without_passes) { expect_all({.threads = 2, .passes = pass_options::none()}); }

// The operations without values of their own, and who tests what they do instead.
std::set<std::string_view> const tested_otherwise{
    "no_op",                 // nothing to compare
    "truncated",             // run/tasks/short_floats.cpp
    "cond",                  // ops/control
    "reading_cond",          // ops/control
    "updating_cond",         // ops/control
    "loop",                  // ops/control
    "reading_loop",          // ops/control
    "updating_loop",         // ops/control
    "switch",                // ops/control/primitives
    "merge",                 // ops/control/primitives
    "enter",                 // ops/control/primitives
    "exit",                  // ops/control/primitives
    "next_iteration",        // ops/control/primitives
    "loop_cond",             // ops/control/primitives
    "iterations",            // ops/control/primitives
    "goes_on",               // ops/control/primitives
    "row",                   // ops/control/primitives
    "collect",               // ops/control/primitives
    "drawn_by_row",          // ops/control/primitives
    "add_rows",              // ops/array/gather
    "extents_of",            // ops/array/extents_of
    "array_new",             // ops/array/tensor_array
    "array_full",            // ops/array/tensor_array
    "array_write",           // ops/array/tensor_array
    "array_read",            // ops/array/tensor_array
    "array_stack",           // ops/array/tensor_array
    "call",                  // ops/control
    "reading_call",          // ops/control
    "updating_call",         // ops/control
    "enqueue",               // ops/queues
    "enqueue_many",          // ops/queues
    "dequeue",               // ops/queues
    "dequeue_many",          // ops/queues
    "queue_close",           // ops/queues
    "queue_size",            // ops/queues
    "queue_is_closed",       // ops/queues
    "initialize",            // ops/state
    "worker_number",         // ops/sync
    "on_worker",             // ops/sync
    "begin_round",           // ops/sync
    "end_round",             // ops/sync
    "await_round",           // ops/sync
    "after_round",           // ops/sync
    "add_to_round",          // ops/sync
    "average_of_round",      // ops/sync
    "accumulator_apply",     // ops/sync
    "accumulator_average",   // ops/sync
    "accumulator_count",     // ops/sync
    "accumulator_set_step",  // ops/sync
    "mutex_acquire",         // ops/sync
    "mutex_release",         // ops/sync
    "barrier_arrive",        // ops/sync
    "keyed_insert",          // ops/sync
    "keyed_take",            // ops/sync
    "keyed_close",           // ops/sync
    "keyed_size",            // ops/sync
    "check",                 // nothing to compare: tests/ops/check/check.cpp
    "uniform",               // tests/ops/random/uniform.cpp
    "normal",                // tests/ops/random/normal.cpp
    "truncated_normal",      // tests/ops/random/normal.cpp
    "categorical",           // tests/ops/random/categorical.cpp
    "permutation",           // tests/ops/random/permutation.cpp
    "gamma",                 // tests/ops/random/gamma.cpp
    "poisson"                // tests/ops/random/poisson.cpp
};

TEST(values, are_recorded_for_every_operation_and_every_element_type_that_it_takes) {
  std::map<std::string, dtypes> tried;
  for (auto const& r : recordings()) tried[r.operation()] = tried[r.operation()] | r.tried;
  for (auto const* op : all_operations())
    EXPECT_NE(tried.contains(std::string(op->name)), tested_otherwise.contains(op->name))
        << op->name << " needs a case in one of values/record*.py and a recorder";
  operations::for_each([&]<class Op>() {
    if (tested_otherwise.contains(Op::name)) return;
    dtypes takes = dtypes::any_element;
    if constexpr (requires { Op::elements; }) takes = Op::elements;
    else if (Op::name == "fused" || Op::name == "fused_update")
      takes = dtypes::floats;  // and whatever their lines take
    else if (Op::name == "one_hot" || Op::name == "pad_like" || Op::name == "subscript_gradient")
      takes = dtypes::numeric_or_bool;
    else if (Op::name == "sum_like" || Op::name.starts_with("assign_") || Op::name.starts_with("scatter_"))
      takes = dtypes::numbers;
    for (std::size_t i = 0; i < dtype_count; ++i) {
      auto const d = static_cast<dtype>(i);
      EXPECT_TRUE(!takes.contains(d) || tried[std::string(Op::name)].contains(d))
          << Op::name << " takes " << name(d) << ", and no value is recorded for that";
    }
  });
}

}  // namespace
}  // namespace rill
