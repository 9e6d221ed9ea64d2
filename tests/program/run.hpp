// What tests of programs share: the function of an operation, and a program run on tensors.
#pragma once
#include <vector>

#include "rill/dsl/definition.hpp"
#include "rill/program/interpreter.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

template <class Op> scalar_function const* function() { return definition<Op>().elementwise; }

inline std::vector<tensor> run(program const& p, std::vector<tensor> inputs, shape const& output,
                               parallel const& threads = {}) {
  std::vector<shape> shapes;
  std::vector<void*> pointers;
  for (auto& t : inputs) shapes.push_back(t.shape()), pointers.push_back(t.mutable_raw());
  std::vector<tensor> outputs;
  for (auto o : p.outputs) pointers.push_back(outputs.emplace_back(p.element(o), output).mutable_raw());
  bound_program(p, shapes, output)(pointers.data(), threads);
  return outputs;
}

}  // namespace rill
