#include "rill/ops/table/segment_sum.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(segment_sum, adds_the_rows_of_each_segment) {
  graph g;
  auto x = placeholder<float, "n", 2>(g, "x");
  auto ids = placeholder<int, "n">(g, "ids");
  auto sums = segment_sum<4>(x, ids), means = segment_mean<4>(x, ids);
  static_assert(decltype(sums)::static_type == of<float, 4, 2>);
  session s{g};
  auto const [a, b] =
      s.run({{x, matrix<float>({{1, 2}, {3, 4}, {5, 6}})}, {ids, rill::vector<int>({0, 0, 2})}}, sums, means);
  EXPECT_EQ(test::to_doubles(a), (list{4, 6, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(test::to_doubles(b), (list{2, 3, 0, 0, 5, 6, 0, 0}));
}

TEST(segment_sum, of_unsorted_ids_of_any_rank_leaves_out_what_is_below_0) {
  auto const x = test::counting(dtype::float64, {2, 3, 2});
  auto const ids = test::from_doubles(dtype::int64, {2, 3}, {1, -1, 0, 1, 1, -5});
  auto const run = [&](value (*f)(value, value, std::int64_t)) {
    return test::to_doubles(test::run([f](auto const& in) { return f(in[0], in[1], 2); }, {x, ids}));
  };
  EXPECT_EQ(run(unsorted_segment_sum), (list{5, 6, 1 + 7 + 9, 2 + 8 + 10}));
  EXPECT_EQ(run(unsorted_segment_mean), (list{5, 6, 17. / 3, 20. / 3}));
}

TEST(segment_sum, is_the_same_on_any_number_of_threads_and_adds_short_floats_in_float) {
  std::vector<double> which(5000);
  for (std::size_t i = 0; i < which.size(); ++i) which[i] = static_cast<double>(i * 7919 % 103) - 3;
  auto const ids = test::from_doubles(dtype::int32, {5000}, which);
  auto const x = test::scattered(dtype::float32, {5000, 9});
  auto const f = [](auto const& in) { return unsorted_segment_sum(in[0], in[1], 100); };
  EXPECT_TRUE(same_bits(test::run(f, {x, ids}, 1), test::run(f, {x, ids}, 4)));
  auto const ones = test::from_doubles(dtype::float16, {4096}, list(4096, 1));
  auto const none = test::from_doubles(dtype::int32, {4096}, list(4096, 0));
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return segment_sum(in[0], in[1], 1); }, {ones, none})),
            (list{4096}));
}

TEST(segment_sum, names_the_id_that_is_wrong) {
  auto const run = [](list const& ids, bool sorted) {
    auto const x = test::counting(dtype::float32, {3});
    test::run(
        [&](auto const& in) { return sorted ? segment_sum(in[0], in[1], 3) : unsorted_segment_sum(in[0], in[1], 3); },
        {x, test::from_doubles(dtype::int32, {3}, ids)});
  };
  auto const bad = code::invalid_argument;
  test::expect_error(bad, "segment id 1 is 3, and there are 3 segments", [&] { run({0, 3, 1}, false); });
  test::expect_error(bad, "segment id 2 is 1, after 2, and sorted ids ascend", [&] { run({0, 2, 1}, true); });
  test::expect_error(bad, "segment id 0 is -1, and sorted ids are not negative", [&] { run({-1, 0, 1}, true); });
}

TEST(segment_sum, refuses_rows_that_do_not_match_the_ids) {
  graph g;
  auto const x = placeholder(g, of<float, 4, 2>), ids = placeholder(g, of<int, 3>),
             pairs = placeholder(g, of<int, 4, 2>), real = placeholder(g, of<float, 4>),
             whole = placeholder(g, of<int, 4>);
  auto const bad = code::invalid_argument;
  test::expect_error(bad, "there is not a row for each id", [&] { segment_sum(x, ids, 3); });
  test::expect_error(bad, "sorted ids are a list", [&] { segment_sum(x, pairs, 3); });
  test::expect_error(bad, "neither int32 nor int64", [&] { segment_sum(x, real, 3); });
  test::expect_error(bad, "number of segments is negative", [&] { unsorted_segment_sum(x, whole, -1); });
  test::expect_error(bad, "segment_mean: the rows are not of floats", [&] { segment_mean(whole, whole, 3); });
}

TEST(segment_take, refuses_another_number_of_segments) {
  graph g;
  auto const x = placeholder(g, of<float, 4, 2>), ids = placeholder(g, of<int, 3>);
  test::expect_error(code::invalid_argument, "there is not a row for each segment",
                     [&] { record_erased<ops::segment_take_op>(g, {3, false, false}, {x, ids}); });
}

}  // namespace
}  // namespace rill
