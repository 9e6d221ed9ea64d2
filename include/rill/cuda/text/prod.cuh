// The products of all elements but one, by the host's own header.
#pragma once
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/prod_form.hpp"
#include "rill/cuda/text/threads.cuh"
#include "rill/ops/reduction/prod_kernels.hpp"

namespace rill::text {

/// What the products of elements of type T are computed in.
template <class T> using prod_number = std::conditional_t<(sizeof(T) < 4), float, T>;

inline kernels::axis_groups::group group_of(cuda::prod_axes const& axes) {
  kernels::axis_groups::group all;
  for (int i = 0; i < axes.count; ++i) all.push_back({axes.extents[i], axes.strides[i]});
  return all;
}

/// Computes kernels::prod_of_others: a thread for each result of the reduction.
template <class T>
void prod_of_others(global<T const> x, global<T const> t0, global<T const> t1, global<T const> t2, global<T const> t3,
                    global<T> to, global<prod_number<T>> scratch, cuda::prod_form const& form) {
  kernels::axis_groups::group const kept = group_of(form.kept);
  kernels::axis_groups const own{{}, group_of(form.reduced)};
  long const scratch_of_thread = own.reduced.elements() << form.directions;
  global<T const> const directions[] = {t0, t1, t2, t3};
  for_each_index(static_cast<long>(kept.elements()), [&](long i) {
    long const first = kept.offset(i);
    T const* along[kernels::most_directions];
    for (int d = 0; d < form.directions; ++d) along[d] = &directions[d][first];
    kernels::prod_of_others(own, form.directions, &x[first], along, &to[first], &scratch[i * scratch_of_thread],
                            parallel{});
  });
}

}  // namespace rill::text
