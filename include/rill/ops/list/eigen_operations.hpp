// The operations that Eigen computes: a list beside that of operations.hpp, so that the core does without Eigen.
#pragma once
#include "rill/base/type_list.hpp"
#include "rill/ops/matrix/cholesky.hpp"
#include "rill/ops/matrix/determinant.hpp"
#include "rill/ops/matrix/eigh.hpp"
#include "rill/ops/matrix/inverse.hpp"
#include "rill/ops/matrix/log_determinant.hpp"
#include "rill/ops/matrix/qr.hpp"
#include "rill/ops/matrix/solve.hpp"
#include "rill/ops/matrix/svd.hpp"
#include "rill/ops/matrix/triangular_solve.hpp"

namespace rill {

/// What `all_operations<eigen_operations>()` has beyond `all_operations()`.
using eigen_operations = type_list<ops::inverse_op, ops::determinant_op, ops::log_determinant_op, ops::solve_op,
                                   ops::triangular_solve_op, ops::cholesky_op, ops::qr_op, ops::eigh_op, ops::svd_op>;

}  // namespace rill
