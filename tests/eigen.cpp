#include "rill/eigen.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(eigen, maps_a_matrix_row_after_row_without_a_copy) {
  tensor t = matrix<float>({{1, 2, 3}, {4, 5, 6}});
  auto m = as_eigen<float>(t);
  EXPECT_EQ(m.rows(), 2);
  EXPECT_EQ(m(1, 0), 4.f);
  m(1, 0) = 40;
  EXPECT_EQ(t.at<float>(1, 0), 40.f);
  EXPECT_EQ((m * m.transpose()).rows(), 2);
}

TEST(eigen, maps_a_vector_upright_and_a_scalar_as_one_by_one) {
  tensor v = vector<double>({1, 2, 3});
  EXPECT_EQ(as_eigen<double>(v).rows(), 3);
  EXPECT_EQ(as_eigen<double>(v).cols(), 1);
  tensor const s(5.0);
  EXPECT_EQ(as_eigen<double>(s).sum(), 5.0);
}

TEST(eigen, maps_tensors_without_elements) {
  tensor t(dtype::float32, {0, 3});
  EXPECT_EQ(as_eigen<float>(t).cols(), 3);
  EXPECT_EQ(as_eigen<float>(t).sum(), 0.f);
}

TEST(eigen, maps_a_constant_tensor_for_reading_only) {
  tensor const t = matrix<float>({{1, 2}});
  static_assert(!std::is_assignable_v<decltype(as_eigen<float>(t)(0, 0)), float>);
  EXPECT_EQ(as_eigen<float>(t)(0, 1), 2.f);
}

TEST(eigen, refuses_other_ranks_and_element_types) {
  tensor deep(dtype::float32, {1, 1, 1}), ints = vector<std::int32_t>({1}), none;
  EXPECT_THROW(as_eigen<float>(deep), error);
  EXPECT_THROW(as_eigen<float>(ints), error);
  EXPECT_THROW(as_eigen<float>(none), error);
}

TEST(eigen, copies_matrices_of_either_order_and_expressions) {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  EXPECT_TRUE(same_bits(from_eigen(m), matrix<float>({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TRUE(same_bits(from_eigen(m.transpose() * 2), matrix<float>({{2, 8}, {4, 10}, {6, 12}})));
  EXPECT_TRUE(same_bits(from_eigen(m.array() + 1), matrix<float>({{2, 3, 4}, {5, 6, 7}})));
  EXPECT_TRUE(same_bits(from_eigen(m.block(0, 1, 2, 2)), matrix<float>({{2, 3}, {5, 6}})));
}

TEST(eigen, gives_vectors_rank_one_and_keeps_empty_extents) {
  EXPECT_TRUE(same_bits(from_eigen(Eigen::Vector3d(1, 2, 3)), vector<double>({1, 2, 3})));
  EXPECT_TRUE(same_bits(from_eigen(Eigen::RowVector2i(1, 2)), vector<std::int32_t>({1, 2})));
  EXPECT_EQ(from_eigen(Eigen::MatrixXf(0, 4)).shape(), (shape{0, 4}));
}

TEST(eigen, borrows_row_major_matrices_and_vectors_without_a_copy) {
  eigen_matrix<float> m(2, 2);
  m << 1, 2, 3, 4;
  Eigen::VectorXd v = Eigen::VectorXd::Ones(3);
  tensor t = borrow(m), u = borrow(v);
  EXPECT_EQ(t.raw(), m.data());
  EXPECT_EQ(u.raw(), v.data());
  EXPECT_EQ(t.shape(), (shape{2, 2}));
  EXPECT_EQ(u.shape(), (shape{3}));
  m(0, 1) = 20;
  EXPECT_EQ(t.at<float>(0, 1), 20.f);
}

template <class M>
concept borrowable = requires(M&& m) { borrow(std::forward<M>(m)); };

TEST(eigen, does_not_borrow_temporaries) {
  static_assert(borrowable<Eigen::VectorXd&>);
  static_assert(!borrowable<Eigen::VectorXd>);
}

}  // namespace
}  // namespace rill
