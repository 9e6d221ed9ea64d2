// What GPUs have for operations: their kernels, and how they copy or reduce.
#pragma once
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "rill/graph/op_def.hpp"

namespace rill::cuda {

/// Values of type T, each for an operation.
template <class T> class operation_table {
 public:
  operation_table(std::initializer_list<std::pair<op_def const* const, T>> all) : all_(all) {}

  /// Returns the value of an operation; null if there is none.
  T find(op_def const& op) const {
    auto const at = all_.find(&op);
    return at == all_.end() ? T{} : at->second;
  }

 private:
  std::unordered_map<op_def const*, T> all_;
};

}  // namespace rill::cuda
