// Named tensors, as files contain them.
#pragma once
#include <span>
#include <string>
#include <unordered_set>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A tensor with its name in a file.
struct named_tensor {
  std::string name;
  tensor value;
};

/// Throws unless every name occurs once and every handle has a tensor; writers call it before they write anything.
void check_names(std::span<named_tensor const> tensors);

#if RILL_RUNTIME

RILL_INLINE void check_names(std::span<named_tensor const> tensors) {
  std::unordered_set<std::string> seen;
  for (auto const& [name, value] : tensors) {
    if (!value) throw error(code::failed_precondition, "can't write '" + name + "': its tensor handle is empty");
    if (!seen.insert(name).second)
      throw error(code::invalid_argument, "can't write two tensors with the same name '" + name + "'");
  }
}

#endif

}  // namespace rill
