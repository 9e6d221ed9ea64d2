// Single kernels, called as in the peers' programs: a chain of elementwise operations, and matrix products.
#pragma once
#include <rill/ops/control/flow.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/matrix/matmul.hpp>
#include <rill/ops/state/assign.hpp>

#include "model.hpp"

namespace bench {

/// Creates a variable with a first value; a number is added to a name that is taken.
inline rill::variable_value variable(model& m, rill::tensor const& first, char const* name = "v") {
  return rill::variable(rill::constant(m.graph, first), rill::detail::numbered_variable(m.graph, name, ""));
}

/// Returns a step that computes y from variables and returns it as a tensor, which the caller releases at once. torch
/// and JAX do the same; TensorFlow's program keeps y. No program copies the elements.
inline step result_of(std::shared_ptr<model> m, rill::value y) {
  m->session.run(rill::initializer(m->graph));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(y));
  return [m, call]() mutable { call(); };
}

/// Computes tanh(x * w + b) * s on vectors of n elements.
inline step chain(std::int64_t n) {
  return recorded([&](std::shared_ptr<model> const& m) {
    auto const v = [&] { return rill::value(variable(*m, normal({n}))); };
    auto const x = v(), w = v(), b = v(), s = v();
    return result_of(m, rill::tanh(x * w + b) * s);
  });
}

/// Computes the product of two n × n matrices.
inline step matmul(std::int64_t n) {
  return recorded([&](std::shared_ptr<model> const& m) {
    auto const v = [&] { return rill::value(variable(*m, normal({n, n}))); };
    auto const a = v(), b = v();
    return result_of(m, rill::matmul(a, b));
  });
}

}  // namespace bench
