// The operations that Eigen computes: a list beside that of operations.hpp, so that the core does without Eigen.
#pragma once
#include "rill/base/type_list.hpp"
#include "rill/ops/matrix/determinant.hpp"
#include "rill/ops/matrix/inverse.hpp"

namespace rill {

/// What `all_operations<eigen_operations>()` has beyond `all_operations()`.
using eigen_operations = type_list<ops::inverse_op, ops::determinant_op>;

}  // namespace rill
