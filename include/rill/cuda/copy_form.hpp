// What operations copy from where to where, as plain data.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rill/graph/kernel_request.hpp"
#include "rill/type/shape.hpp"

namespace rill::cuda {

/// Elements of an array that lie at regular distances.
struct lattice {
  std::int64_t start = 0;                            ///< the first element
  std::array<std::int64_t, max_rank + 1> strides{};  ///< in elements, over the axes of a copied part; one is for words
};

/// Elements of an input that are copied to elements of an output.
struct copied_part {
  std::uint32_t input = 0, output = 0;
  std::vector<std::int64_t> extents;  ///< at most max_rank axes, outermost first
  lattice from, to;
};

/// What an operation copies, part after part: a later part may overwrite elements of an earlier one.
struct copy_form {
  bool clears = false;  ///< output 0 is filled with zeros first
  std::vector<copied_part> parts;
};

/// Returns the form of an operation that copies elements.
using copy_form_of = copy_form (*)(kernel_request const&);

/// Returns how an operation of this kind copies; null: it isn't one that copies.
copy_form_of find_copy_form(op_def const& op);

/// Returns a part without axes of extent 1, and with axes merged that lie one after the other in both arrays.
copied_part simplified(copied_part part);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>

#include "rill/cuda/operation_table.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/array/box.hpp"
#include "rill/ops/list/operations.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE copied_part simplified(copied_part part) {
  copied_part made{part.input, part.output, {}, {part.from.start, {}}, {part.to.start, {}}};
  for (std::size_t i = 0; i < part.extents.size(); ++i) {
    auto const n = part.extents[i], from = part.from.strides[i], to = part.to.strides[i];
    if (n == 1) continue;
    auto const last = made.extents.size();
    if (last > 0 && made.from.strides[last - 1] == from * n && made.to.strides[last - 1] == to * n) {
      made.extents[last - 1] *= n;
      made.from.strides[last - 1] = from;
      made.to.strides[last - 1] = to;
    } else {
      made.from.strides[last] = from;
      made.to.strides[last] = to;
      made.extents.push_back(n);
    }
  }
  return made;
}

namespace detail {

inline std::vector<std::int64_t> extents_of(shape const& s) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < s.rank(); ++i) all.push_back(s[i]);
  return all;
}

/// Returns where the box of an array lies that starts at `begin`.
inline lattice box_in(shape const& array, extents const& begin) {
  lattice made;
  std::int64_t apart = 1;
  for (std::size_t i = array.rank(); i-- > 0; apart *= array[i]) {
    made.strides[i] = apart;
    made.start += begin[i] * apart;
  }
  return made;
}
/// Returns where all elements of an array lie.
inline lattice all_of(shape const& array) { return box_in(array, ops::zeros(array.rank())); }

inline copy_form one(shape const& size, lattice const& from, lattice const& to, bool clears = false) {
  return {clears, {{0, 0, extents_of(size), from, to}}};
}

inline copy_form slice_form(kernel_request const& r) {
  auto const y = r.outputs[0].shape();
  return one(y, box_in(r.inputs[0].shape(), decode<ops::boxed>(r.at.attributes).begin), all_of(y));
}
inline copy_form pad_like_form(kernel_request const& r) {
  auto const x = r.inputs[0].shape();
  return one(x, all_of(x), box_in(r.outputs[0].shape(), decode<ops::boxed>(r.at.attributes).begin), true);
}
inline copy_form unpad_form(kernel_request const& r) {
  auto const y = r.outputs[0].shape();
  return one(y, box_in(r.inputs[0].shape(), decode<ops::margins>(r.at.attributes).before), all_of(y));
}
inline copy_form pad_form(kernel_request const& r) {
  auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
  copied_part const margin{1, 0, extents_of(y), {}, all_of(y)};  // the scalar, everywhere
  return {false, {margin, {0, 0, extents_of(x), all_of(x), box_in(y, decode<ops::margins>(r.at.attributes).before)}}};
}

inline copy_form concat_form(kernel_request const& r) {
  auto const y = r.outputs[0].shape();
  auto const axis = checked_axis(decode<ops::concat_op::attributes>(r.at.attributes).axis, y.rank(),
                                 "concat: the axis is out of range");
  auto const boxes = ops::boxes_along(y, axis, r.inputs);
  copy_form form;
  for (std::uint32_t i = 0; i < boxes.size(); ++i) {
    auto const x = r.inputs[i].shape();
    form.parts.push_back({i, 0, extents_of(x), all_of(x), box_in(y, boxes[i].begin)});
  }
  return form;
}
inline copy_form concat_piece_form(kernel_request const& r) {
  auto const a = decode<ops::concat_piece_op::attributes>(r.at.attributes);
  auto const y = r.outputs[0].shape(), x = r.inputs[0].shape();
  auto const axis = checked_axis(a.axis, y.rank(), "concat_piece: the axis is out of range");
  auto const boxes = ops::boxes_along(x, axis, r.inputs.subspan(1));
  return one(y, box_in(x, boxes[static_cast<std::size_t>(a.which)].begin), all_of(y));
}
template <class Op> copy_form split_form(kernel_request const& r) {
  auto const x = r.inputs[0].shape();
  auto const axis =
      checked_axis(decode<typename Op::attributes>(r.at.attributes).axis, x.rank(), "split: the axis is out of range");
  auto const boxes = ops::boxes_along(x, axis, r.outputs);
  copy_form form;
  for (std::uint32_t i = 0; i < boxes.size(); ++i) {
    auto const y = r.outputs[i].shape();
    form.parts.push_back({0, i, extents_of(y), box_in(x, boxes[i].begin), all_of(y)});
  }
  return form;
}

inline copy_form transpose_form(kernel_request const& r) {
  auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
  auto const source = ops::transpose_op::sources(decode<ops::transpose_op::attributes>(r.at.attributes), x.rank());
  auto const whole = all_of(x);
  lattice from;
  for (std::size_t i = 0; i < x.rank(); ++i) from.strides[i] = whole.strides[source[i]];
  return one(y, from, all_of(y));
}
inline copy_form reverse_form(kernel_request const& r) {
  auto const x = r.inputs[0].shape();
  auto const turned = ops::reverse_op::turned(decode<ops::reverse_op::attributes>(r.at.attributes), x.rank());
  auto from = all_of(x);
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (turned[i]) {
      from.start += (x[i] - 1) * from.strides[i];
      from.strides[i] = -from.strides[i];
    }
  return one(x, from, all_of(x));
}

// Each axis is cut into two pieces that change places.
inline copy_form roll_form(kernel_request const& r) {
  auto const a = decode<ops::roll_op::attributes>(r.at.attributes);
  auto const x = r.inputs[0].shape();
  auto by = ops::zeros(x.rank());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    auto const axis = checked_axis(a.axes[i], x.rank(), "roll: an axis is out of range");
    if (auto const n = x[axis]; n > 0) by[axis] = (a.shifts[i] % n + n) % n;
  }
  copy_form form;
  for (unsigned which = 0; which < 1u << x.rank(); ++which) {
    auto size = extents_of(x);
    auto from = ops::zeros(x.rank()), to = from;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      bool const wraps = (which >> i & 1) != 0;
      size[i] = wraps ? by[i] : x[i] - by[i];
      (wraps ? from : to)[i] = wraps ? x[i] - by[i] : by[i];
    }
    if (std::find(size.begin(), size.end(), 0) == size.end())
      form.parts.push_back({0, 0, size, box_in(x, from), box_in(x, to)});
  }
  return form;
}

/// Returns the part of an array that subscripts name: its extents, an axis for each of the array's, and where it lies.
inline copied_part part_at(shape const& array, ops::subscripts const& at) {
  copied_part part;
  auto const whole = all_of(array);
  for (std::size_t i = 0; i < array.rank(); ++i) {
    auto const p = at.along(i, array[i]);
    part.extents.push_back(p.count);
    part.from.start += p.first * whole.strides[i];
    part.from.strides[i] = p.count > 1 ? p.step * whole.strides[i] : 0;
  }
  return part;
}
/// Returns how a dense array of these extents lies.
inline lattice dense(std::vector<std::int64_t> const& extents) {
  lattice made;
  std::int64_t apart = 1;
  for (std::size_t i = extents.size(); i-- > 0; apart *= extents[i]) made.strides[i] = apart;
  return made;
}
inline copy_form subscript_form(kernel_request const& r) {
  auto part = part_at(r.inputs[0].shape(), decode<ops::subscripts>(r.at.attributes));
  part.to = dense(part.extents);
  return {false, {part}};
}
inline copy_form subscript_gradient_form(kernel_request const& r) {
  auto part = part_at(r.outputs[0].shape(), decode<ops::subscripts>(r.at.attributes));
  part.to = part.from;
  part.from = dense(part.extents);
  return {true, {part}};
}

}  // namespace detail

RILL_CUDA_INLINE copy_form_of find_copy_form(op_def const& op) {
  static operation_table<copy_form_of> const all{
      {&definition<ops::slice_op>(), detail::slice_form},
      {&definition<ops::pad_like_op>(), detail::pad_like_form},
      {&definition<ops::pad_op>(), detail::pad_form},
      {&definition<ops::unpad_op>(), detail::unpad_form},
      {&definition<ops::concat_op>(), detail::concat_form},
      {&definition<ops::concat_piece_op>(), detail::concat_piece_form},
      {&definition<ops::split_op>(), detail::split_form<ops::split_op>},
      {&definition<ops::split_lengths_op>(), detail::split_form<ops::split_lengths_op>},
      {&definition<ops::transpose_op>(), detail::transpose_form},
      {&definition<ops::reverse_op>(), detail::reverse_form},
      {&definition<ops::roll_op>(), detail::roll_form},
      {&definition<ops::subscript_op>(), detail::subscript_form},
      {&definition<ops::subscript_gradient_op>(), detail::subscript_gradient_form}};
  return all.find(op);
}

}  // namespace rill::cuda
#endif
