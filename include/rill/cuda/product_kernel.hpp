// Matrix products as kernels of a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/kernel_operand.hpp"
#include "rill/cuda/text/product_form.hpp"
#include "rill/device/kernel.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/ops/matrix/matmul.hpp"

namespace rill::cuda {

/// A product of matrices on a GPU, and how it is distributed over blocks of threads, which changes no result.
struct product_plan {
  dtype element;
  product_form form;
  int side = 32;                    ///< of the tiles of C that a block of threads computes
  int most_blocks = 0x7fff'ffff;    ///< of threads; each computes several tiles if there are more
  std::int64_t pieces_of_part = 1;  ///< 1 if pieces are parts of the depth, else the number of blocks in each part

  /// Cuts C into tiles of `side`, small_side or large_side, and the depth into parts or into blocks.
  void cut(int side, bool into_blocks);

  static constexpr int small_side = 32;
  /// Returns the side at which a thread's sums just fit into registers.
  int large_side() const { return size_of(element) == 4 ? 128 : 64; }
  std::int64_t results() const { return form.kept.count * form.m * form.n; }
  /// Returns the bytes of the sums of pieces; 0: there is one piece, whose sums go to C.
  std::size_t scratch() const;
};

/// Whether GPUs multiply matrices of this type.
bool has_product(dtype element);

/// How the text of a kernel that writes a product's elements names what takes them.
struct taken_in_text {
  std::string definitions;  ///< what stands before the kernel (head_with)
  std::string parameter;    ///< the kernel's last parameter, with a comma before it
  std::string argument;     ///< the function's last argument, with a comma before it
};
/// Returns how a text names the program after a product whose elements, of this type, would be at `c`; empty strings
/// if there is none, or if the kernel writes sums of pieces (`apart`).
taken_in_text taken_by(kernel_ends const& ends, std::string const& element, std::string const& c, bool apart);

/// Plans the product of two batches of matrices, summed to the extents of y (ops::matmul_op, ops::matmul_like_op). All
/// extents are known, and y has elements.
product_plan plan_product(transposed const& which, type const& a, type const& b, type const& y);

/// Returns the text of a kernel `product`, which multiplies matrices in tiles of side * side elements of C. Its
/// parameters are the addresses of A, B and the result, and a product_form. The result is C, or the sums of each piece
/// of the depth if `apart`; else, if there is a program after the product, its last parameter is that program's, and
/// one of the program's outputs, with elements of the same size, is at C, where sums are kept meanwhile.
std::string product_text(dtype element, int side, bool apart, kernel_ends const& ends = {});

/// Returns the text of a kernel `add_pieces`, which adds the pieces' sums up to C. Its parameters are the addresses of
/// the sums and of C, and the numbers of C's elements, of pieces, and of pieces in a part.
std::string add_pieces_text(dtype element, kernel_ends const& ends = {});

/// A product that is compiled for a GPU.
class bound_product {
 public:
  bound_product(gpu_device const& on, product_plan const& plan, kernel_ends const& ends = {});

  /// Puts the kernels on the stream of kernels. `scratch`: of plan.scratch() bytes.
  void operator()(void const* a, void const* b, void* c, void* scratch) const { (*this)(a, b, c, c, scratch); }
  /// The same with a program after the product: `to` is its parameter, and `c` the address of one of its outputs.
  void operator()(void const* a, void const* b, void* c, kernel_argument to, void* scratch) const;

 private:
  gpu_device const& on_;
  product_plan plan_;
  std::shared_ptr<gpu_device::function const> multiply_, add_;
};

/// Returns the kernel of a node of `matmul` or `matmul_like` whose elements have `has_product`.
kernel product_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <utility>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/ops/matrix/gemm_plan.hpp"

namespace rill::cuda {

namespace detail {

// Integers wrap as unsigned ones.
inline dtype element_in_product(dtype element) {
  switch (element) {
    case dtype::int8:
      return dtype::uint8;
    case dtype::int16:
      return dtype::uint16;
    case dtype::int32:
      return dtype::uint32;
    case dtype::int64:
      return dtype::uint64;
    default:
      return element;
  }
}
inline bool is_integer(dtype element) {
  element = element_in_product(element);
  return element == dtype::uint8 || element == dtype::uint16 || element == dtype::uint32 || element == dtype::uint64;
}
// Of what products are summed in: sum_of in text/product.cuh.
inline std::size_t sum_bytes(dtype element) { return std::max<std::size_t>(size_of(element), 4); }

// The plan's order of summation is the same for every type and number of threads.
inline rill::kernels::gemm_plan<float> order_of_sums(product_form const& form) {
  return {form.m, form.n, form.k * form.summed.count, 1};
}

// Joins an axis with the one before where it continues that.
inline void push_back(product_axes& axes, std::int64_t extent, std::int64_t a_apart, std::int64_t b_apart) {
  axes.count *= extent;
  if (extent == 1) return;
  if (int const last = axes.rank - 1; last >= 0 && a_apart == axes.a_apart[last] * axes.extents[last] &&
                                      b_apart == axes.b_apart[last] * axes.extents[last]) {
    axes.extents[last] *= extent;
    return;
  }
  axes.extents[axes.rank] = extent, axes.a_apart[axes.rank] = a_apart, axes.b_apart[axes.rank] = b_apart;
  ++axes.rank;
}

// The strides of the axes of a batch, from the last one to the first; those that are broadcast have stride 0.
class batch_steps {
 public:
  explicit batch_steps(type const& x) : x_(x), apart_(extent(1) * extent(2)) {}
  std::int64_t operator()(std::size_t from_end) {
    if (from_end > x_.rank || extent(from_end) == 1) return 0;
    return std::exchange(apart_, apart_ * extent(from_end));
  }

 private:
  std::int64_t extent(std::size_t from_end) const { return ops::extent_from_end(x_, from_end).extent; }

  type const& x_;
  std::int64_t apart_;
};

// If all matrices of A are multiplied by the same B, their rows are those of one matrix. This changes the order of
// sums, which depends on the number of rows.
inline void join_rows(product_form& form) {
  form.m *= form.kept.count;
  form.kept = {};
}
// Summed matrices that are contiguous are one deeper matrix, whose sums have the same order.
inline void join_depth(product_form& form) {
  if (form.summed.rank != 1 || form.summed.a_apart[0] != form.k * form.a_column ||
      form.summed.b_apart[0] != form.k * form.b_row)
    return;
  form.k *= form.summed.count;
  form.summed = {};
}

// What ops::product_batch and ops::make_product do: matmul.ipp has them only where operations are defined.
inline product_form form_of(transposed const& which, type const& a, type const& b, type const& y) {
  auto const extent = [](type const& x, std::size_t from_end) { return ops::extent_from_end(x, from_end).extent; };
  product_form form{};
  form.m = extent(y, 2), form.n = extent(y, 1), form.k = extent(a, which.a ? 2 : 1);
  form.a_row = 1, form.a_column = extent(a, 1), form.b_row = 1, form.b_column = extent(b, 1);
  if (!which.a) std::swap(form.a_row, form.a_column);
  if (!which.b) std::swap(form.b_row, form.b_column);
  auto const whole = form.k == 0 ? y : ops::matmul_op::infer(which, a, b);  // an empty sum is one product
  batch_steps a_steps(a), b_steps(b);
  bool shares_b = true;
  for (std::size_t i = 3; i <= whole.rank; ++i) {
    auto const a_apart = a_steps(i), b_apart = b_steps(i);
    bool const keeps = i <= y.rank && extent(y, i) == extent(whole, i);
    push_back(keeps ? form.kept : form.summed, extent(whole, i), a_apart, b_apart);
    shares_b = shares_b && keeps && b_apart == 0;
  }
  if (!which.a && shares_b) join_rows(form);
  join_depth(form);
  return form;
}

inline std::int64_t blocks_of_threads(product_plan const& plan) {
  auto const tiles = [&](std::int64_t extent) { return (extent + plan.side - 1) / plan.side; };
  return tiles(plan.form.m) * tiles(plan.form.n) * plan.form.pieces * plan.form.kept.count;
}

// The large tiles are faster if there are enough of them, and the blocks of the depth are computed apart if there would
// be too few.
inline void choose_cut(product_plan& plan) {
  constexpr std::int64_t enough = 128;  // multiprocessors of a large GPU
  constexpr std::size_t most_scratch = std::size_t{64} << 20;
  auto const has_enough = [&](int side, bool into_blocks) {
    plan.cut(side, into_blocks);
    return blocks_of_threads(plan) >= enough;
  };
  auto const may_cut = [&](int side) {
    plan.cut(side, true);
    return plan.scratch() <= most_scratch;
  };
  int const large = plan.large_side();
  bool const suits_large = std::min(plan.form.m, plan.form.n) > large / 2;
  if (suits_large && has_enough(large, false)) return;
  if (suits_large && may_cut(large) && has_enough(large, true)) return;
  if (has_enough(product_plan::small_side, false)) return;
  plan.cut(product_plan::small_side, may_cut(product_plan::small_side));
}

}  // namespace detail

RILL_CUDA_INLINE bool has_product(dtype element) { return is_in_text(element) && element != dtype::boolean; }

RILL_CUDA_INLINE std::size_t product_plan::scratch() const {
  if (form.pieces == 1) return 0;
  return static_cast<std::size_t>(form.pieces) * static_cast<std::size_t>(results()) * detail::sum_bytes(element);
}

RILL_CUDA_INLINE void product_plan::cut(int side_, bool into_blocks) {
  auto const order = detail::order_of_sums(form);
  side = side_;
  form.depth = order.depth;
  form.pieces = into_blocks ? std::max<std::int64_t>(order.blocks(), 1) : order.parts;
  form.piece_depth = into_blocks ? order.depth : order.part_blocks * order.depth;
  pieces_of_part = into_blocks ? order.part_blocks : 1;
  // Integers wrap in any order.
  if (detail::is_integer(element)) form.depth = form.piece_depth;
}

RILL_CUDA_INLINE product_plan plan_product(transposed const& which, type const& a, type const& b, type const& y) {
  product_plan plan{a.element, detail::form_of(which, a, b, y)};
  detail::choose_cut(plan);
  return plan;
}

RILL_CUDA_INLINE taken_in_text taken_by(kernel_ends const& ends, std::string const& element, std::string const& c,
                                        bool apart) {
  if (apart || !ends.after) return {};
  auto const to = ends.output(element);
  return {to.definitions, ", " + to.parameter + " to", ", rill::text::given_to{" + to.of("to") + ", " + c + "}"};
}

RILL_CUDA_INLINE std::string product_text(dtype element, int side, bool apart, kernel_ends const& ends) {
  auto const in = name_in_text(detail::element_in_product(element));
  bool const holds_sums = size_of(element) == detail::sum_bytes(element);
  auto const out = apart && !holds_sums ? "sum_of<" + in + ">" : in;
  auto const take = taken_by(ends, in, "c", apart);
  // With as many blocks on a multiprocessor, registers hold (nearly) all that a thread needs.
  auto const bounds = side == product_plan::small_side ? "(256, 3)" : "(256, 2)";
  return head_with("product.cuh", take.definitions) +
         kernel_in_text(
             "product(global<" + in + " const> a, global<" + in + " const> b, global<" + out +
                 "> c, __grid_constant__ product_form const form" + take.parameter + ")",
             "multiply<" + std::to_string(side) + ", " + in + ", " + out + ">(a, b, c, form" + take.argument + ");",
             bounds);
}

RILL_CUDA_INLINE std::string add_pieces_text(dtype element, kernel_ends const& ends) {
  auto const in = name_in_text(detail::element_in_product(element));
  auto const to = ends.output(in);
  return head_with("product.cuh", to.definitions) +
         kernel_in_text("add_pieces(global<sum_of<" + in + "> const> sums, " + to.parameter +
                            " to, long count, long pieces, long pieces_of_part)",
                        "add_sums<" + in + ", sum_of<" + in + ">>(sums, " + to.of("to") +
                            ", count, pieces, pieces_of_part, [](long i) { return i; });");
}

RILL_CUDA_INLINE bound_product::bound_product(gpu_device const& on, product_plan const& plan, kernel_ends const& ends)
    : on_(on), plan_(plan) {
  bool const apart = plan.form.pieces > 1;
  multiply_ = on.find(product_text(plan.element, plan.side, apart, ends), "product");
  if (apart) add_ = on.find(add_pieces_text(plan.element, ends), "add_pieces");
}

RILL_CUDA_INLINE void bound_product::operator()(void const* a, void const* b, void* c, kernel_argument to,
                                                void* scratch) const {
  auto plan = plan_;  // parameters are passed by pointers that are not const
  void* all[] = {&a, &b, add_ ? &scratch : &c, &plan.form, to.at()};  // the last is a parameter if there is a program
  auto const blocks = std::min<std::int64_t>(detail::blocks_of_threads(plan), plan.most_blocks);
  on_.launch(*multiply_, gpu_device::launch_shape{static_cast<unsigned>(blocks), 256}, all);
  if (!add_) return;
  auto results = plan.results();
  void* sums[] = {&scratch, to.at(), &results, &plan.form.pieces, &plan.pieces_of_part};
  on_.launch(*add_, on_.shape_for(static_cast<std::size_t>(results)), sums);
}

RILL_CUDA_INLINE kernel product_kernel(kernel_request const& r) {
  if (elements(r.outputs[0].shape()) == 0) return empty_kernel();
  auto const plan = plan_product(decode<transposed>(r.at.attributes), r.inputs[0], r.inputs[1], r.outputs[0]);
  return kernel([run = bound_product(static_cast<gpu_device const&>(*r.on), plan)](
                    kernel_call const& call) { run(call.in(0), call.in(1), call.out(0), call.scratch()); },
                plan.scratch());
}

}  // namespace rill::cuda
#endif
