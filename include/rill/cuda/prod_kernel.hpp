// prod_of_others, of which the derivatives of products are made, as a kernel of a GPU.
#pragma once
#include <string>

#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `others`, which computes for each element the product of the others along the reduced
/// axes.
std::string prod_of_others_text(dtype element);

/// Returns the kernel of prod_of_others.
kernel prod_of_others_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text/prod_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/reduction/prod.hpp"
#include "rill/ops/sum/axes.hpp"

namespace rill::cuda {

namespace detail {

inline prod_form prod_form_of(kernel_request const& r) {
  static_assert(prod_axes::most == max_rank);
  auto const x = r.inputs[0].shape();
  auto const gone = ops::reduced_axes(decode<ops::prod_of_others_op::attributes>(r.at.attributes).axes, x.rank());
  std::array<std::int64_t, max_rank> strides{};
  std::int64_t stride = 1;
  for (std::size_t i = x.rank(); i-- > 0; stride *= x[i]) strides[i] = stride;
  prod_form form;
  form.directions = static_cast<int>(r.inputs.size()) - 1;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    auto& axes = gone[i] ? form.reduced : form.kept;
    axes.extents[axes.count] = x[i];
    axes.strides[axes.count++] = strides[i];
  }
  return form;
}

}  // namespace detail

RILL_CUDA_INLINE std::string prod_of_others_text(dtype element) {
  auto const t = name_in_text(element), given = "global<" + t + " const> ";
  return text_head("prod.cuh") + kernel_in_text("others(" + given + "x, " + given + "t0, " + given + "t1, " + given +
                                                    "t2, " + given + "t3, global<" + t + "> to, global<prod_number<" +
                                                    t + ">> scratch, rill::cuda::prod_form form)",
                                                "prod_of_others(x, t0, t1, t2, t3, to, scratch, form);");
}

RILL_CUDA_INLINE kernel prod_of_others_kernel(kernel_request const& r) {
  auto const& x = r.inputs[0];
  auto const n = elements(x.shape());
  if (n == 0) return empty_kernel();
  auto const form = detail::prod_form_of(r);
  std::int64_t kept = 1;
  for (int i = 0; i < form.kept.count; ++i) kept *= form.kept.extents[i];
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const bytes = (static_cast<std::size_t>(n) * std::max<std::size_t>(size_of(x.element), 4)) << form.directions;
  return kernel(
      [&on, form, run = on.find(prod_of_others_text(x.element), "others"),
       how = blocks_for(kept, 64, 64)](kernel_call const& call) {
        auto const along = [&](std::size_t i) { return i + 1 < call.inputs ? call.in(i + 1) : nullptr; };
        launch(on, *run, how, call.in(0), along(0), along(1), along(2), along(3), call.out(0), call.scratch(), form);
      },
      bytes);
}

}  // namespace rill::cuda
#endif
