// A tensor with its name, as files hold many of them.
#pragma once
#include <span>
#include <string>
#include <unordered_set>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// One of the tensors of a file.
struct named_tensor {
  std::string name;
  tensor value;
};

/// That every name occurs once and every handle holds a tensor; writers ask before they write anything.
void check_names(std::span<named_tensor const> tensors);

#if RILL_RUNTIME

RILL_INLINE void check_names(std::span<named_tensor const> tensors) {
  std::unordered_set<std::string> seen;
  for (auto const& [name, value] : tensors) {
    if (!value) throw error(code::failed_precondition, "there is no tensor to write under the name '" + name + "'");
    if (!seen.insert(name).second)
      throw error(code::invalid_argument, "two tensors would be written under the name '" + name + "'");
  }
}

#endif

}  // namespace rill
