// Positions and numbers at equal distances on a GPU have the host's bits.
#include "rill/cuda/positions_kernel.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

struct positions_on_gpu : test::on_both {};

TEST_F(positions_on_gpu, are_the_hosts) {
  for (auto const index : {dtype::int32, dtype::int64})
    for (std::int64_t const n : {0, 1, 3, 1001})
      compare(
          {tensor(dtype::float32, {2, n})}, [&](values const& in) { return positions(in[0], -1, index); },
          "positions of " + std::to_string(n));
}

TEST_F(positions_on_gpu, come_from_where_the_host_says) {
  using attributes = ops::source_positions_op::attributes;
  auto const with = [&](std::int64_t n, attributes const& a) {
    compare(
        {tensor(dtype::float32, {n, 2})}, [&](values const& in) { return source_positions(in[0], a); },
        "sources of " + std::to_string(n) + " elements beyond border " + std::to_string(static_cast<int>(a.beyond)));
  };
  for (auto const beyond : {border::edge, border::reflect, border::symmetric, border::wrap})
    for (std::int64_t const n : {1, 2, 5, 300}) with(n, {0, beyond, 13, 9, 1, 1});
  with(5, {.times = 3});
  with(5, {.each = 4});
  with(5, {.before = 2, .after = 7, .times = 2, .each = 3});
  with(5, {.times = 0});
  with(0, {.times = 3});
}

TEST_F(positions_on_gpu, have_the_extents_of_what_they_are_asked_for) {
  for (auto const& x : {shape{}, shape{3}, shape{2, 0, 7}, shape{1, 2, 3, 4, 5, 6, 7, 8}})
    compare({tensor(dtype::int8, x)}, [](values const& in) { return extents_of(in[0]); }, "extents " + x.text());
}

struct ranges_on_gpu : test::on_both, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
  static auto of(std::int64_t count) {
    return [count](values const& in) {
      return record_erased<ops::range_op>(*in[0].graph, {count}, {in[0], in[1], in[2]});
    };
  }
  std::vector<tensor> ends(double start, double limit, double step) const {
    std::vector<tensor> all;
    for (double const x : {start, limit, step})
      all.push_back(test::filled(element, {}, [x](std::int64_t) { return x; }));
    return all;
  }
};
constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
INSTANTIATE_TEST_SUITE_P(each_type, ranges_on_gpu, testing::ValuesIn(test::types_to_test(reals)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(ranges_on_gpu, have_the_hosts_bits) {
  compare(ends(3, 3, 1), of(0), "no number");
  compare(ends(3, 100, 7), of(14), "numbers upwards");
  if (!dtypes::unsigned_integers.contains(element)) compare(ends(100, -20, -11), of(11), "numbers downwards");
  if (is_float(element)) {
    auto const third = ends(-1, 100, 1. / 3);
    auto const count = visit(element, [&]<class T>() -> std::int64_t {
      if constexpr (dtypes::floats.contains(dtype_of<T>))
        return ops::numbers_in_range(third[0].at<T>(), third[1].at<T>(), third[2].at<T>());
      else return -1;
    });
    compare(third, of(count), "numbers that are rounded");
  }
}

TEST_P(ranges_on_gpu, refuse_another_number_of_numbers_with_the_hosts_words) {
  for (auto const& [all, count] : {std::pair(ends(3, 100, 7), 13), std::pair(ends(3, 100, 0), 5)}) {
    auto const here = failure_here(all, of(count)), there = failure_there(all, of(count));
    ASSERT_TRUE(here && there);
    EXPECT_EQ(there->code(), code::invalid_argument);
    EXPECT_EQ(there->message(), here->message());
  }
}

struct positions_text : test::on_real_nvrtc {};
TEST_F(positions_text, is_compiled_by_nvrtc) {
  for (auto const index : {dtype::int32, dtype::int64}) add_text(cuda::positions_text(index), index);
  add_text(cuda::source_positions_text());
  for (auto const element : reals) add_text(cuda::range_text(element), element);
  for (std::size_t const n : {1u, 8u}) add_text(cuda::numbers_text(n), std::to_string(n) + " numbers");
  expect_compiled();
}

}  // namespace
}  // namespace rill
