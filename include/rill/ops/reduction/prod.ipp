// The kernels of prod_of_others.
#pragma once

#if RILL_KERNELS
#include "rill/ops/reduction/prod_kernels.hpp"

namespace rill::ops {

template <class T>
void prod_of_others_op::run(call const& c, void const* const* inputs, void* to, void* scratch,
                            parallel const& threads) {
  rill::kernels::axis_groups groups;
  auto const take = [](auto& group, auto const& axes, int count) {
    for (int i = 0; i < count; ++i) group.push_back({axes[std::size_t(i)][0], axes[std::size_t(i)][1]});
  };
  take(groups.kept, c.kept, c.kept_axes);
  take(groups.reduced, c.reduced, c.reduced_axes);
  T const* directions[most_directions];
  for (int i = 0; i < c.directions; ++i) directions[i] = static_cast<T const*>(inputs[i + 1]);
  rill::kernels::prod_of_others(groups, c.directions, static_cast<T const*>(inputs[0]), directions, static_cast<T*>(to),
                                scratch, threads);
}

template <dtypes Set> constexpr prod_of_others_op::kernels prod_of_others_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = run<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

inline kernel prod_of_others_op::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  if (x.bytes() == 0) return kernel([](kernel_call const&) {});
  auto const gone = rill::ops::reduced_axes(decode<attributes>(r.at.attributes).axes, x.rank);
  call c;
  c.directions = static_cast<int>(r.inputs.size()) - 1;
  std::int64_t stride = 1;
  std::array<std::int64_t, max_rank> strides{};
  for (std::size_t i = x.rank; i-- > 0; stride *= x[i].extent) strides[i] = stride;
  for (std::size_t i = 0; i < x.rank; ++i) {
    auto& axis = gone[i] ? c.reduced[std::size_t(c.reduced_axes++)] : c.kept[std::size_t(c.kept_axes++)];
    axis = {x[i].extent, strides[i]};  // two statements, because g++ 14 refuses a list assigned to a ?:
  }
  auto const run = kernels_of<prod_of_others_op>(x.element).run[static_cast<std::size_t>(x.element)];
  auto const each = std::max<std::size_t>(size_of(x.element), 4);
  return kernel([=](kernel_call const& call) { run(c, call.pointers, call.out(0), call.scratch(), call.threads); },
                (static_cast<std::size_t>(stride) * each) << c.directions);
}

}  // namespace rill::ops
#endif
