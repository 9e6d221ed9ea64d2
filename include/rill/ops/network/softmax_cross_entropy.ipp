// The kernels of cross entropies, and the check of labels.
#pragma once

#if RILL_KERNELS
namespace rill::ops {

template <dtypes Set> constexpr softmax_cross_entropy_op::kernels softmax_cross_entropy_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = rill::kernels::cross_entropy<T>; });
  return k;
}

template <dtypes Set> constexpr softmax_cross_entropy_dense_op::kernels softmax_cross_entropy_dense_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = rill::kernels::cross_entropy_dense<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

inline kernel softmax_cross_entropy_op::cpu(kernel_request const& r) {
  auto const element = r.inputs[0].element;
  auto const run = kernels_of<softmax_cross_entropy_op>(element).run[static_cast<std::size_t>(element)];
  auto const x = r.inputs[0].shape();
  auto const n = x[x.rank() - 1];
  auto const rows = rill::elements(r.inputs[1].shape());
  bool const wide = r.inputs[1].element == dtype::int64;
  return kernel([=](kernel_call const& call) {
    for (std::int64_t i = 0; i < rows; ++i)
      if (auto const l = wide ? call.in<std::int64_t>(1)[i] : call.in<std::int32_t>(1)[i]; l < 0 || l >= n)
        throw error(code::invalid_argument, "softmax_cross_entropy: the label of row " + std::to_string(i) + " is " +
                                                std::to_string(l) + ", and there are " + std::to_string(n) +
                                                " classes");
    run(static_cast<std::size_t>(rows), static_cast<std::size_t>(n), call.in(0), call.in(1), wide, call.out(0),
        call.out(1), call.threads);
  });
}

inline kernel softmax_cross_entropy_dense_op::cpu(kernel_request const& r) {
  auto const element = r.inputs[0].element;
  auto const run = kernels_of<softmax_cross_entropy_dense_op>(element).run[static_cast<std::size_t>(element)];
  auto const x = r.inputs[0].shape();
  auto const n = static_cast<std::size_t>(x[x.rank() - 1]);
  auto const rows = static_cast<std::size_t>(rill::elements(r.outputs[0].shape()));
  return kernel(
      [=](kernel_call const& call) { run(rows, n, call.in(0), call.in(1), call.out(0), call.out(1), call.threads); });
}

}  // namespace rill::ops
#endif
