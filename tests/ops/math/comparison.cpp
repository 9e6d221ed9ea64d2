#include "rill/ops/math/comparison.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(equal, compares_strings_and_broadcasts_them) {
  tensor a(dtype::string, shape{2, 1}), b(dtype::string, shape{3});
  a.mutable_data<std::string>()[0] = "x";
  a.mutable_data<std::string>()[1] = "";
  b.mutable_data<std::string>()[0] = "x";
  b.mutable_data<std::string>()[1] = "y";
  auto const y = test::run([](auto const& in) { return equal(in[0], in[1]); }, {a, b});
  EXPECT_EQ(y.shape(), (shape{2, 3}));
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(test::run([](auto const& in) { return equal(in[0], in[1]); }, {a, tensor(dtype::string, shape{0})}).shape(),
            (shape{2, 0}));
}

TEST(equal, is_false_for_NaN) {
  auto const x = test::from_doubles(dtype::float16, {2}, {NAN, 1});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return equal(in[0], in[0]); }, {x})),
            (std::vector<double>{0, 1}));
}

TEST(comparison, of_strings_joins_no_fused_group) {
  tensor a(dtype::string, shape{2});
  a.mutable_data<std::string>()[0] = "x";
  auto const y = test::run([](auto const& in) { return equal(equal(in[0], in[0]), equal(in[1], in[1])); },
                           {a, test::counting(dtype::int8, {2})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace rill
