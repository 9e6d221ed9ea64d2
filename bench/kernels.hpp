// Single kernels as the peers' programs call them: a chain of elementwise operations, and matrix products.
#pragma once
#include <rill/ops/control/flow.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/matrix/matmul.hpp>
#include <rill/ops/state/assign.hpp>

#include "model.hpp"

namespace bench {

/// A variable with its first value, its name numbered where it is taken.
inline rill::variable_value variable(model& m, rill::tensor const& first, char const* name = "v") {
  return rill::variable(rill::constant(m.graph, first), rill::detail::numbered_variable(m.graph, name, ""));
}

/// A step that computes y from variables and hands it out as a tensor that the caller lets go of at once: what torch
/// and JAX do (TensorFlow's program computes y and keeps it). The elements are not copied by any of them.
inline step result_of(std::shared_ptr<model> m, rill::value y) {
  m->session.run(rill::initializer(m->graph));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(y));
  return [m, call]() mutable { call(); };
}

/// tanh(x * w + b) * s on vectors of n elements.
inline step chain(std::int64_t n) {
  auto m = std::make_shared<model>();
  auto const v = [&] { return rill::value(variable(*m, normal({n}))); };
  auto const x = v(), w = v(), b = v(), s = v();
  return result_of(m, rill::tanh(x * w + b) * s);
}

/// The product of two matrices of n × n.
inline step matmul(std::int64_t n) {
  auto m = std::make_shared<model>();
  auto const v = [&] { return rill::value(variable(*m, normal({n, n}))); };
  auto const a = v(), b = v();
  return result_of(m, rill::matmul(a, b));
}

}  // namespace bench
