// Every operation of rill in one list, which tests, docs and the library's build use.
#pragma once
#include "rill/base/type_list.hpp"
#include "rill/ops/arrange/diagonal.hpp"
#include "rill/ops/arrange/eye.hpp"
#include "rill/ops/arrange/linspace.hpp"
#include "rill/ops/arrange/pad.hpp"
#include "rill/ops/arrange/range.hpp"
#include "rill/ops/arrange/tile.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/broadcast_to.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/extents_of.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/full.hpp"
#include "rill/ops/array/merge_axes.hpp"
#include "rill/ops/array/one_hot.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/array/reverse.hpp"
#include "rill/ops/array/roll.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/array/source_positions.hpp"
#include "rill/ops/array/split.hpp"
#include "rill/ops/array/subscript.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/array/truncated.hpp"
#include "rill/ops/array/where.hpp"
#include "rill/ops/check/check.hpp"
#include "rill/ops/check/check_numerics.hpp"
#include "rill/ops/check/print.hpp"
#include "rill/ops/control/call.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/custom_gradient.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/ops/control/primitives.hpp"
#include "rill/ops/image/crop.hpp"
#include "rill/ops/image/resize.hpp"
#include "rill/ops/input/decode_csv.hpp"
#include "rill/ops/input/decode_raw.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/add_n.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/bits.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/complex.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/hyperbolic.hpp"
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/math/smooth_units.hpp"
#include "rill/ops/math/trigonometry.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/network/avg_pool.hpp"
#include "rill/ops/network/bias_add.hpp"
#include "rill/ops/network/conv2d.hpp"
#include "rill/ops/network/conv2d_transpose.hpp"
#include "rill/ops/network/depthwise_conv2d.hpp"
#include "rill/ops/network/losses.hpp"
#include "rill/ops/network/max_pool.hpp"
#include "rill/ops/network/sigmoid_cross_entropy.hpp"
#include "rill/ops/network/softmax.hpp"
#include "rill/ops/network/softmax_cross_entropy.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/ops/random/bernoulli.hpp"
#include "rill/ops/random/categorical.hpp"
#include "rill/ops/random/exponential.hpp"
#include "rill/ops/random/gamma.hpp"
#include "rill/ops/random/normal.hpp"
#include "rill/ops/random/permutation.hpp"
#include "rill/ops/random/poisson.hpp"
#include "rill/ops/random/uniform.hpp"
#include "rill/ops/reduction/all.hpp"
#include "rill/ops/reduction/argmax.hpp"
#include "rill/ops/reduction/count.hpp"
#include "rill/ops/reduction/cumprod.hpp"
#include "rill/ops/reduction/cumsum.hpp"
#include "rill/ops/reduction/linear_recurrence.hpp"
#include "rill/ops/reduction/logsumexp.hpp"
#include "rill/ops/reduction/max.hpp"
#include "rill/ops/reduction/min.hpp"
#include "rill/ops/reduction/moments.hpp"
#include "rill/ops/reduction/norm.hpp"
#include "rill/ops/reduction/prod.hpp"
#include "rill/ops/reduction/size.hpp"
#include "rill/ops/reduction/variance.hpp"
#include "rill/ops/sort/search_sorted.hpp"
#include "rill/ops/sort/sort.hpp"
#include "rill/ops/sort/unique.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/fused_update.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/sync/accumulator.hpp"
#include "rill/ops/sync/keyed_barrier.hpp"
#include "rill/ops/sync/training_rounds.hpp"
#include "rill/ops/sync/turnstile.hpp"
#include "rill/ops/sync/worker.hpp"
#include "rill/ops/table/boolean_mask.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/ops/table/gather_axis.hpp"
#include "rill/ops/table/gather_nd.hpp"
#include "rill/ops/table/scatter.hpp"
#include "rill/ops/table/scatter_update.hpp"
#include "rill/ops/table/segment_max.hpp"
#include "rill/ops/table/segment_sum.hpp"
#include "rill/ops/table/take_along_axis.hpp"
#include "rill/ops/table/tensor_array.hpp"

namespace rill {

// clang-format off
/// The operations, one a line: CMake reads their names from here.
using operations = type_list<
    ops::constant_op,
    ops::placeholder_op,
    ops::placeholder_with_default_op,
    ops::as_op,
    ops::variable_op,
    ops::read_op,
    ops::is_initialized_op,
    ops::assign_op,
    ops::initialize_op,
    ops::assign_add_op,
    ops::assign_sub_op,
    ops::scatter_add_op,
    ops::scatter_sub_op,
    ops::scatter_update_op,
    ops::no_op_op,
    ops::identity_op,
    ops::stop_gradient_op,
    ops::truncated_op,
    ops::custom_gradient_op,
    ops::fused_op,
    ops::fused_update_op,
    ops::broadcast_like_op,
    ops::sum_like_op,
    ops::extents_of_op,
    ops::fill_op,
    ops::broadcast_to_op,
    ops::range_op,
    ops::reshape_op,
    ops::reshape_like_op,
    ops::flatten_rows_op,
    ops::merge_axes_op,
    ops::expand_dims_op,
    ops::squeeze_op,
    ops::transpose_op,
    ops::reverse_op,
    ops::roll_op,
    ops::concat_op,
    ops::concat_piece_op,
    ops::split_op,
    ops::split_lengths_op,
    ops::slice_op,
    ops::pad_like_op,
    ops::subscript_op,
    ops::subscript_gradient_op,
    ops::pad_op,
    ops::unpad_op,
    ops::source_positions_op,
    ops::gather_op,
    ops::gather_variable_op,
    ops::rows_like_op,
    ops::scatter_like_op,
    ops::add_rows_op,
    ops::gather_axis_op,
    ops::scatter_axis_op,
    ops::take_along_axis_op,
    ops::scatter_along_axis_op,
    ops::row_numbers_op,
    ops::segment_sum_op,
    ops::segment_take_op,
    ops::segment_max_op,
    ops::array_new_op,
    ops::array_full_op,
    ops::array_write_op,
    ops::array_read_op,
    ops::array_stack_op,
    ops::one_hot_op,
    ops::positions_op,
    ops::where_op,
    ops::sort_op,
    ops::unique_op,
    ops::search_sorted_op,
    ops::add_op,
    ops::sub_op,
    ops::mul_op,
    ops::div_op,
    ops::neg_op,
    ops::square_op,
    ops::sqrt_op,
    ops::maximum_op,
    ops::minimum_op,
    ops::conj_op,
    ops::complex_op,
    ops::imag_op,
    ops::sign_op,
    ops::abs_op,
    ops::floor_op,
    ops::ceil_op,
    ops::round_op,
    ops::trunc_op,
    ops::floor_div_op,
    ops::mod_op,
    ops::pow_op,
    ops::equal_op,
    ops::less_op,
    ops::less_equal_op,
    ops::logical_and_op,
    ops::logical_or_op,
    ops::logical_xor_op,
    ops::logical_not_op,
    ops::is_nan_op,
    ops::is_inf_op,
    ops::is_finite_op,
    ops::exp_op,
    ops::expm1_op,
    ops::log_op,
    ops::log1p_op,
    ops::tanh_op,
    ops::sigmoid_op,
    ops::softplus_op,
    ops::erf_op,
    ops::silu_op,
    ops::gelu_op,
    ops::gelu_tanh_op,
    ops::mish_op,
    ops::normal_cdf_op,
    ops::sin_op,
    ops::cos_op,
    ops::tan_op,
    ops::atan2_op,
    ops::asin_op,
    ops::acos_op,
    ops::atan_op,
    ops::sinh_op,
    ops::cosh_op,
    ops::asinh_op,
    ops::acosh_op,
    ops::atanh_op,
    ops::exp2_op,
    ops::log2_op,
    ops::log10_op,
    ops::bit_and_op,
    ops::bit_or_op,
    ops::bit_xor_op,
    ops::bit_not_op,
    ops::shift_left_op,
    ops::shift_right_op,
    ops::relu_op,
    ops::relu_gradient_op,
    ops::select_op,
    ops::add_n_op,
    ops::cast_op,
    ops::cond_op,
    ops::reading_cond_op,
    ops::updating_cond_op,
    ops::loop_op,
    ops::reading_loop_op,
    ops::updating_loop_op,
    ops::switch_op,
    ops::merge_op,
    ops::enter_op,
    ops::exit_op,
    ops::next_iteration_op,
    ops::loop_cond_op,
    ops::iterations_op,
    ops::goes_on_op,
    ops::row_op,
    ops::collect_op,
    ops::drawn_by_row_op,
    ops::call_op,
    ops::reading_call_op,
    ops::updating_call_op,
    ops::enqueue_op,
    ops::enqueue_many_op,
    ops::dequeue_op,
    ops::dequeue_many_op,
    ops::queue_close_op,
    ops::queue_size_op,
    ops::queue_is_closed_op,
    ops::accumulator_apply_op,
    ops::accumulator_average_op,
    ops::accumulator_count_op,
    ops::accumulator_set_step_op,
    ops::worker_number_op,
    ops::on_worker_op,
    ops::begin_round_op,
    ops::end_round_op,
    ops::await_round_op,
    ops::after_round_op,
    ops::add_to_round_op,
    ops::average_of_round_op,
    ops::mutex_acquire_op,
    ops::mutex_release_op,
    ops::barrier_arrive_op,
    ops::keyed_insert_op,
    ops::keyed_take_op,
    ops::keyed_close_op,
    ops::keyed_size_op,
    ops::matmul_op,
    ops::matmul_like_op,
    ops::softmax_op,
    ops::log_softmax_op,
    ops::softmax_cross_entropy_op,
    ops::softmax_cross_entropy_dense_op,
    ops::sigmoid_cross_entropy_op,
    ops::weighted_sigmoid_cross_entropy_op,
    ops::absolute_error_op,
    ops::huber_op,
    ops::relative_entropy_op,
    ops::bias_add_op,
    ops::conv2d_op,
    ops::conv2d_input_gradient_op,
    ops::conv2d_filter_gradient_op,
    ops::conv2d_transpose_op,
    ops::depthwise_conv2d_op,
    ops::depthwise_conv2d_input_gradient_op,
    ops::depthwise_conv2d_filter_gradient_op,
    ops::max_pool_op,
    ops::max_pool_gradient_op,
    ops::max_pool_pick_op,
    ops::avg_pool_op,
    ops::avg_pool_gradient_op,
    ops::resize_nearest_op,
    ops::resize_bilinear_op,
    ops::resize_gradient_op,
    ops::crop_op,
    ops::crop_gradient_op,
    ops::decode_raw_op,
    ops::decode_csv_op,
    ops::sum_op,
    ops::mean_op,
    ops::max_op,
    ops::min_op,
    ops::prod_op,
    ops::prod_of_others_op,
    ops::all_op,
    ops::any_op,
    ops::variance_op,
    ops::logsumexp_op,
    ops::cumsum_op,
    ops::cumprod_op,
    ops::linear_recurrence_op,
    ops::delayed_op,
    ops::argmax_op,
    ops::argmin_op,
    ops::uniform_op,
    ops::normal_op,
    ops::truncated_normal_op,
    ops::categorical_op,
    ops::gamma_op,
    ops::poisson_op,
    ops::permutation_op,
    ops::check_numerics_op,
    ops::print_op,
    ops::check_op>;
// clang-format on

}  // namespace rill
