#include "rill/tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(tensor, is_nothing_before_it_is_made) {
  tensor const t;
  EXPECT_FALSE(t);
  EXPECT_EQ(refusal([&] { t.data<float>(); }), code::failed_precondition);
}

TEST(tensor, holds_a_scalar) {
  tensor const t(2.5);
  EXPECT_EQ(t.type(), of<double>);
  EXPECT_EQ(t.item<double>(), 2.5);
  EXPECT_EQ(tensor(std::string("text")).item<std::string>(), "text");
  EXPECT_EQ(t.at<double>(), 2.5);
}

TEST(tensor, refuses_to_be_read_as_another_type) {
  EXPECT_EQ(refusal([] { tensor(1.f).data<std::int32_t>(); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { tensor(1.f).item<double>(); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { tensor(std::string("a")).data<bool>(); }), code::invalid_argument);
}

TEST(tensor, copies_adopts_and_borrows_elements) {
  std::vector<float> v{1, 2, 3, 4, 5, 6};
  auto const copied = tensor::copy(std::span<float const>(v), {2, 3});
  auto const borrowed = tensor::borrow(std::span<float>(v), {3, 2});
  v[0] = 9;
  EXPECT_EQ(copied.at<float>(0, 0), 1);
  EXPECT_EQ(borrowed.at<float>(0, 0), 9);
  auto const* const data = v.data();
  auto const adopted = tensor::adopt(std::move(v), {6});
  EXPECT_EQ(adopted.raw(), data);
  EXPECT_EQ(refusal([&] { tensor::copy(adopted.span<float>(), {7}); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { tensor::adopt(std::vector<int>{1, 2}, {3}); }), code::invalid_argument);
}

TEST(tensor, refuses_a_share_that_reaches_beyond_its_buffer) {
  auto const b = buffer::allocate(16);
  EXPECT_NO_THROW(tensor(dtype::float32, {4}, b));
  EXPECT_NO_THROW(tensor(dtype::float32, {0}, b, 16));
  EXPECT_EQ(refusal([&] { tensor(dtype::float32, {4}, b, 4); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { tensor(dtype::float32, {1}, b, SIZE_MAX); }), code::invalid_argument);
}

TEST(tensor, refuses_sizes_that_overflow_or_are_negative) {
  auto const most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal([&] { tensor(dtype::float32, {most, most}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { tensor(dtype::float64, {most / 4}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { tensor(dtype::int8, {most / 16}); }), code::resource_exhausted);
  EXPECT_EQ(refusal([&] { tensor(dtype::float32, {2, -1}); }), code::invalid_argument);
}

TEST(tensor, may_be_empty) {
  tensor const t(dtype::float32, {3, 0, 2});
  EXPECT_TRUE(t);
  EXPECT_EQ(t.elements(), 0);
  EXPECT_TRUE(t.span<float>().empty());
  EXPECT_TRUE(same_bits(t, t.clone()));
  EXPECT_EQ(t.rows(1, 3).shape(), (shape{2, 0, 2}));
  EXPECT_EQ(t.reshaped({0}).rank(), 1);
  EXPECT_EQ(refusal([&] { t.item<float>(); }), code::invalid_argument);
}

TEST(tensor, shares_elements_until_it_is_cloned) {
  tensor t(1.f);
  auto const share = t, own = t.clone();
  *t.mutable_data<float>() = 2;
  EXPECT_EQ(share.item<float>(), 2);
  EXPECT_EQ(own.item<float>(), 1);
}

TEST(tensor, is_indexed_with_care) {
  auto const m = matrix<int>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(m.at<int>(1, 2), 6);
  EXPECT_EQ(refusal([&] { m.at<int>(2, 0); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { m.at<int>(0, -1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { m.at<int>(0); }), code::invalid_argument);
}

TEST(tensor, cuts_rows_without_copying) {
  auto const m = matrix<int>({{1, 2}, {3, 4}, {5, 6}});
  auto const rows = m.rows(1, 3);
  EXPECT_TRUE(same_bits(rows, matrix<int>({{3, 4}, {5, 6}})));
  EXPECT_EQ(rows.data<int>(), m.data<int>() + 2);
  EXPECT_EQ(m.rows(2, 2).elements(), 0);
  EXPECT_EQ(m.rows(3, 3).elements(), 0);
  EXPECT_EQ(refusal([&] { m.rows(2, 4); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { m.rows(2, 1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { m.rows(-1, 1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { tensor(1).rows(0, 0); }), code::invalid_argument);
  EXPECT_TRUE(same_bits(rows.clone(), rows));
}

TEST(tensor, is_reshaped_to_as_many_elements) {
  auto const m = matrix<int>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(m.reshaped({6}).at<int>(4), 5);
  EXPECT_EQ(refusal([&] { m.reshaped({5}); }), code::invalid_argument);
}

TEST(tensor, is_assigned_one_of_the_same_type_only) {
  tensor t(dtype::string, {2});
  t.assign(vector<std::string>({"a", "b"}));
  EXPECT_EQ(t.at<std::string>(1), "b");
  EXPECT_EQ(refusal([&] { t.assign(vector<std::string>({"a"})); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { t.assign(vector<int>({1, 2})); }), code::invalid_argument);
}

TEST(tensor, without_elements_is_copied_as_such_and_not_assigned) {
  EXPECT_FALSE(tensor().clone());
  tensor one(1.f), moved(2.f);
  EXPECT_EQ(refusal([&] { one.assign(tensor()); }), code::failed_precondition);
  EXPECT_EQ(refusal([&] { tensor().assign(one); }), code::failed_precondition);
  tensor const other = std::move(moved);
  EXPECT_FALSE(moved.clone());  // NOLINT: what is left
  EXPECT_TRUE(same_bits(tensor(), tensor()));
  EXPECT_FALSE(same_bits(tensor(), one));
}

TEST(tensor, of_strings_without_room_is_an_error) {
  EXPECT_EQ(refusal([] { tensor(dtype::string, {std::int64_t{1} << 42}); }), code::resource_exhausted);
}

TEST(tensor, compares_bits) {
  auto const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same_bits(tensor(nan), tensor(nan)));
  EXPECT_FALSE(same_bits(tensor(0.f), tensor(-0.f)));
  EXPECT_FALSE(same_bits(tensor(1.f), tensor(1)));
  EXPECT_FALSE(same_bits(vector<int>({1}), tensor(1)));
  EXPECT_TRUE(same_bits(vector<std::string>({"a"}), vector<std::string>({"a"})));
}

TEST(typed_tensor, checks_what_it_is_made_of) {
  using rows = tensor_of<of<float, "n", 2>>;
  EXPECT_NO_THROW(rows(matrix<float>({{1, 2}})));
  EXPECT_EQ(refusal([] { rows(matrix<float>({{1, 2, 3}})); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { rows(matrix<double>({{1, 2}})); }), code::invalid_argument);
  EXPECT_FALSE(rows());
}

TEST(typed_tensor, reads_as_its_number_if_it_is_a_scalar) {
  float const x = tensor_of<of<float>>(tensor(1.5f));
  EXPECT_EQ(x, 1.5f);
  EXPECT_FALSE(tensor_of<of<bool>>(tensor(false)));
  EXPECT_TRUE(tensor_of<of<bool>>(tensor(true)));
}

TEST(typed_tensor, refuses_rows_of_different_lengths) {
  EXPECT_EQ(refusal([] { matrix<int>({{1, 2}, {3}}); }), code::invalid_argument);
  EXPECT_EQ(matrix<int>({}).shape(), (shape{0, 0}));
}

TEST(tensor, has_elements_that_can_be_written_by_their_index) {
  tensor t(dtype::float32, {2, 3});
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) t.at<float>(i, k) = static_cast<float>(10 * i + k);
  t.at<float>(1, 2) += 0.5f;
  EXPECT_EQ(t.at<float>(1, 2), 12.5f);
  EXPECT_EQ(t.data<float>()[3], 10);
  tensor words(dtype::string, {1});
  words.at<std::string>(0) = "a";
  EXPECT_EQ(words.at<std::string>(0), "a");
  static_assert(std::same_as<decltype(std::as_const(t).at<float>(0, 0)), float>);
  static_assert(std::same_as<decltype(tensor(t).at<float>(0, 0)), float>);  // no reference into a temporary
  EXPECT_THROW(t.at<float>(2, 0) = 1, error);
  EXPECT_THROW(t.at<float>(0) = 1, error);
  EXPECT_THROW(t.at<int>(0, 0) = 1, error);
}

TEST(tensor, is_made_of_nested_lists_of_any_rank) {
  auto const t = array<int, 3>({{{1, 2, 3}, {4, 5, 6}}});
  static_assert(decltype(t)::static_type == of<int, unknown, unknown, unknown>);
  EXPECT_EQ(t.shape(), (shape{1, 2, 3}));
  EXPECT_EQ(t.at<int>(0, 1, 2), 6);
  EXPECT_EQ((array<std::string, 1>({"a", "b"}).at<std::string>(1)), "b");
  EXPECT_EQ((array<float, 4>({{{{1}}}, {{{2}}}}).shape()), (shape{2, 1, 1, 1}));
  EXPECT_EQ((array<float, 3>({}).shape()), (shape{0, 0, 0}));
  EXPECT_EQ((array<float, 3>({{}, {}}).shape()), (shape{2, 0, 0}));
  EXPECT_THROW((array<int, 2>({{1, 2}, {3}})), error);
  EXPECT_THROW((array<int, 3>({{{1}, {2}}, {{3}}})), error);
}

TEST(tensor, is_made_of_a_contiguous_range) {
  std::vector<double> const numbers{1, 2, 3};
  auto const t = vector(numbers);
  static_assert(decltype(t)::static_type == of<double, unknown>);
  EXPECT_NE(t.raw(), numbers.data());
  EXPECT_EQ(t.at<double>(2), 3);
  EXPECT_EQ(vector(std::span(numbers).first(2)).elements(), 2);
}

TEST(tensor, shares_no_buffer_of_other_objects_nor_out_of_line) {
  auto const invalid = [](auto&& make) {
    try {
      make();
    } catch (error const& e) {
      return e.code() == code::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(invalid([] { tensor(dtype::string, {1}, buffer::allocate(64)); }));
  EXPECT_TRUE(invalid([] { tensor(dtype::int64, {1}, tensor(dtype::string, {1}).storage()); }));
  EXPECT_TRUE(invalid([] { tensor(dtype::int64, {1}, buffer::allocate(64), 3); }));
  EXPECT_EQ(tensor(dtype::string, {0}, buffer::allocate(0)).elements(), 0);
  EXPECT_EQ(tensor::adopt(std::vector<std::string>{"a"}, {1}).at<std::string>(0), "a");
}

TEST(tensor, borrows_elements_that_nobody_may_change) {
  std::vector<float> const numbers{1, 2, 3};
  auto const t = tensor::borrow(std::span(numbers), {3});
  EXPECT_EQ(t.raw(), numbers.data());
  EXPECT_FALSE(t.storage().unique());
  std::vector<std::string> const words{"a", "b"};
  EXPECT_EQ(tensor::borrow(std::span(words), {2}).at<std::string>(1), "b");
}

}  // namespace
}  // namespace rill
