// Graphs that hold something of everything, for what ships and reads them.
#pragma once
#include <string>

#include "rill/graph/codec.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {

/// An operation with an attribute of every kind.
struct everything_op {
  static constexpr std::string_view name = "everything";
  static constexpr std::int8_t arity = -2;
  static constexpr std::size_t outputs = 2;
  struct attributes {
    bool flag = false;
    std::int64_t integer = 0;
    double number = 0;
    std::string text = {};
    dtype element = dtype::boolean;
    type of = {};
    extents axes = {};
    tensor value = {};
    std::shared_ptr<program const> what = {};
    std::vector<std::string> names = {};
    static constexpr auto fields(auto const& take) {
      return take(field{"flag", &attributes::flag}, field{"integer", &attributes::integer},
                  field{"number", &attributes::number}, field{"text", &attributes::text},
                  field{"element", &attributes::element}, field{"of", &attributes::of},
                  field{"axes", &attributes::axes}, field{"value", &attributes::value},
                  field{"what", &attributes::what}, field{"names", &attributes::names});
    }
  };
  static std::array<type, 2> infer(attributes const& a, std::span<type const>) { return {a.of, type(a.element)}; }
};

/// add(input, 2.5f) and its square.
inline std::shared_ptr<program const> sample_program() {
  program p;
  p.inputs = {dtype::float32};
  p.immediates = {immediate::of(2.5f)};
  p.instructions.push_back({definition<ops::add_op>().elementwise, {0, 1}, dtype::float32});
  p.instructions.push_back({definition<ops::square_op>().elementwise, {2}, dtype::float32});
  p.outputs = {2, 3};
  return std::make_shared<program const>(std::move(p));
}

/// rill's operations and the one above.
inline std::vector<op_def const*> sample_operations() {
  auto const all = all_operations();
  std::vector<op_def const*> known(all.begin(), all.end());
  known.push_back(&definition<everything_op>());
  return known;
}

inline void fill_sample(graph& g) {
  value const x = placeholder(g, of<float, "batch", 2>, "x");
  placeholder(g, type::of_unknown_rank(dtype::string), "words");
  value const w = variable(constant(g, matrix<float>({{1, 2}, {3, 4}})), "w");
  g.near(w, [&] { g.scope("layer", [&] { g.on("/device:cpu:0", [&] { add(matmul(x, w), x); }); }); });
  constant(g, vector<std::string>({"", "a\0b", "größe"}), "strings");
  constant(g, tensor(dtype::float64, {0, 3}), "empty");
  constant(g, vector<bool>({true, false}), "bools");
  constant(g, tensor(half(0.5f)), "half");
  record_erased<everything_op>(g,
                               {true,
                                -7,
                                std::numeric_limits<double>::quiet_NaN(),
                                "text",
                                dtype::complex64,
                                of<std::int8_t, "n", unknown, 3>,
                                extents{1, -1},
                                tensor(3.0),
                                sample_program(),
                                {"a", ""}},
                               {x, w});
  record_erased<ops::fused_op>(g, {sample_program()}, {x});
  value const half_of = constant(g, 0.5f);
  rill::function(g, "halve", {of<float, "n">, of<float>}, {of<float, "n">}, [&](std::vector<value> const& in) {
    value const one = constant(g, 1.f);
    return std::vector<value>{cond(
        less(in[1], one), [&] { return mul(in[0], half_of); },
        [&] { return call(g, "halve", in[0], mul(in[1], half_of))[0]; })};
  });
  call(g, "halve", constant(g, vector<float>({1, 2})), half_of);
  group(g, {initializer(g), no_op(g)}, "all");
}

}  // namespace rill
