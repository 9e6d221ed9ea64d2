// The metrics as values/record_metrics.py states them, and divisions of examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "ops/run.hpp"
#include "rill/train/classification_metrics.hpp"
#include "rill/train/folds.hpp"
#include "rill/train/regression_metrics.hpp"
#include "train/recorded_values.hpp"

namespace rill {
namespace {

tensor recorded(std::string const& name) { return test::recorded_value("metrics", name); }
double number(std::string const& name) { return recorded(name).item<double>(); }

// Updates a metric by three batches.
void update_by(auto& metric, tensor const& labels, tensor const& predictions) {
  auto const n = labels.shape()[0];
  std::int64_t const ends[] = {0, 7, 7, 64, n};
  for (std::size_t i = 0; i + 1 < std::size(ends); ++i)
    metric.update(labels.rows(ends[i], ends[i + 1]), predictions.rows(ends[i], ends[i + 1]));
}

TEST(metrics, of_many_classes_are_as_recorded) {
  auto const labels = recorded("labels"), scores = recorded("scores");
  metrics::accuracy accuracy;
  metrics::top_k_accuracy first(1), second(2), third(3);
  metrics::confusion_matrix confusion(6);
  metrics::perplexity perplexity;
  update_by(accuracy, labels, scores);
  update_by(first, labels, scores);
  update_by(second, labels, scores);
  update_by(third, labels, scores);
  update_by(confusion, labels, scores);
  update_by(perplexity, labels, scores);
  EXPECT_DOUBLE_EQ(accuracy.result(), number("accuracy"));
  EXPECT_EQ(first.result(), accuracy.result());
  EXPECT_EQ(confusion.accuracy(), accuracy.result());
  EXPECT_DOUBLE_EQ(second.result(), number("top_2"));
  EXPECT_DOUBLE_EQ(third.result(), number("top_3"));
  EXPECT_NEAR(perplexity.result(), number("perplexity"), 1e-12);
  EXPECT_TRUE(same_bits(confusion.result(), recorded("confusion")));
  for (auto const& [by, name] : {std::pair(metrics::averaging::macro, "macro"),
                                 {metrics::averaging::micro, "micro"},
                                 {metrics::averaging::weighted, "weighted"}}) {
    auto const all = recorded(name);
    EXPECT_NEAR(confusion.precision(by), all.at<double>(0), 1e-15) << name;
    EXPECT_NEAR(confusion.recall(by), all.at<double>(1), 1e-15) << name;
    EXPECT_NEAR(confusion.f1(by), all.at<double>(2), 1e-15) << name;
  }
}

TEST(metrics, of_two_classes_are_as_recorded) {
  auto const labels = recorded("two"), probabilities = recorded("probabilities");
  metrics::confusion_matrix confusion(2);
  metrics::roc_auc auc;
  metrics::accuracy accuracy;
  update_by(confusion, labels, probabilities);
  update_by(auc, labels, probabilities);
  update_by(accuracy, labels, probabilities);
  auto const all = recorded("binary");
  EXPECT_DOUBLE_EQ(confusion.precision(metrics::averaging::binary), all.at<double>(0));
  EXPECT_DOUBLE_EQ(confusion.recall(metrics::averaging::binary), all.at<double>(1));
  EXPECT_DOUBLE_EQ(confusion.f1(metrics::averaging::binary), all.at<double>(2));
  EXPECT_DOUBLE_EQ(accuracy.result(), number("two_accuracy"));
  EXPECT_NEAR(auc.result(), number("auc"), 1e-15);
}

TEST(metrics, of_numbers_are_as_recorded) {
  auto const y = recorded("y"), p = recorded("p");
  metrics::mse mse;
  metrics::mae mae;
  metrics::r_squared r;
  update_by(mse, y, p);
  update_by(mae, y, p);
  update_by(r, y, p);
  EXPECT_NEAR(mse.result(), number("mse"), 1e-14);
  EXPECT_NEAR(mae.result(), number("mae"), 1e-14);
  EXPECT_NEAR(r.result(), number("r_squared"), 1e-13);
}

TEST(metrics, take_each_kind_of_labels_and_predictions) {
  metrics::accuracy a;
  a.update(test::from_doubles(dtype::boolean, {3}, {1, 0, 1}), vector<float>({0.7f, 0.5f, 0.2f}));
  a.update(test::from_doubles(dtype::uint8, {2}, {4, 0}), test::from_doubles(dtype::int64, {2}, {4, 1}));
  a.update(test::from_doubles(dtype::int32, {1, 2}, {1, 0}),
           test::from_doubles(dtype::float16, {1, 2, 3}, {0, 2, 2, 5, 1, 0}));
  a.update(tensor(2), vector<float>({std::numeric_limits<float>::quiet_NaN(), -3, -2}));
  EXPECT_DOUBLE_EQ(a.result(), 6.0 / 8);
  a.reset();
  test::expect_error(code::failed_precondition, "accuracy: expected an update() before the result, got none",
                     [&] { a.result(); });
}

TEST(metrics, rank_equal_scores_by_class_and_nan_below_all) {
  metrics::top_k_accuracy top(2);
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  auto const hit = [&](int label, std::initializer_list<double> scores) {
    top.reset();
    top.update(tensor(label), vector<double>(scores));
    return top.result();
  };
  EXPECT_EQ(hit(1, {3, 3, 3}), 1);
  EXPECT_EQ(hit(2, {3, 3, 3}), 0);
  EXPECT_EQ(hit(2, {3, nan, 1}), 1);
  EXPECT_EQ(hit(1, {3, nan, 1}), 0);
  EXPECT_EQ(hit(0, {3}), 1);
}

TEST(metrics, give_zero_for_classes_without_examples) {
  metrics::confusion_matrix m(2);
  m.update(vector<int>({0, 0}), vector<int>({0, 0}));
  EXPECT_EQ(m.precision(metrics::averaging::binary), 0);
  EXPECT_EQ(m.recall(metrics::averaging::binary), 0);
  EXPECT_EQ(m.f1(metrics::averaging::binary), 0);
  EXPECT_EQ(m.f1(metrics::averaging::macro), 1) << "class 1 does not occur";
  m.reset();
  EXPECT_THROW(m.f1(metrics::averaging::macro), error);
}

TEST(metrics, of_equal_labels_and_of_infinite_logits) {
  metrics::r_squared r;
  r.update(vector<float>({2, 2, 2}), vector<float>({2, 2, 2}));
  EXPECT_EQ(r.result(), 1);
  r.update(vector<float>({2}), vector<float>({3}));
  EXPECT_EQ(r.result(), 0);
  metrics::perplexity p;
  p.update(vector<int>({1}), matrix<float>({{1e30f, 1e30f}}));
  EXPECT_DOUBLE_EQ(p.result(), 2);
  metrics::roc_auc auc;
  double const infinite = std::numeric_limits<double>::infinity();
  auc.update(vector<int>({0, 1, 1, 0}), vector<double>({-infinite, infinite, 0.0, -0.0}));
  EXPECT_DOUBLE_EQ(auc.result(), 3.5 / 4) << "0 and -0 are equal";
  metrics::mean m;
  m.update(2);
  m.update(5, 3);
  m.update(vector<int>({1, 2}));
  EXPECT_DOUBLE_EQ(m.result(), 20.0 / 6);
  m.update(std::numeric_limits<double>::quiet_NaN(), 0);
  EXPECT_DOUBLE_EQ(m.result(), 20.0 / 6) << "the loss of an empty batch";
}

TEST(metrics, refuse_what_they_can_not_count) {
  metrics::accuracy a;
  metrics::confusion_matrix m(2);
  metrics::roc_auc auc;
  metrics::top_k_accuracy top(1);
  metrics::perplexity perplexity;
  metrics::mse mse;
  auto const refused = [](std::string_view words, std::function<void()> const& f) {
    test::expect_error(code::invalid_argument, words, f);
  };
  auto const two = vector<int>({0, 1});
  refused("accuracy: expected integers or bools as classes, got a tensor of type float32[2]",
          [&] { a.update(vector<float>({0, 1}), two); });
  refused("accuracy: expected classes from 0 on, got -1", [&] { a.update(vector<int>({0, -1}), two); });
  refused("accuracy: expected predictions with the extents of the labels", [&] { a.update(two, vector<int>({1})); });
  refused("accuracy: expected scores of floats", [&] { a.update(two, matrix<float>({{1, 2}})); });
  refused("accuracy: expected scores of floats", [&] { a.update(two, tensor(dtype::float32, {2, 0})); });
  refused("accuracy: expected integers", [&] { a.update(tensor(), tensor()); });
  refused("confusion_matrix: expected classes below 2, got 2", [&] { m.update(vector<int>({0, 2}), two); });
  refused("confusion_matrix: expected a number of classes above 0", [] { metrics::confusion_matrix(0); });
  EXPECT_EQ(recorded("two").element(), dtype::int64);
  EXPECT_EQ(m.result().at<std::int64_t>(0, 0), 0) << "a refused batch is not counted";
  refused("binary averaging expects 2 classes, got 3", [&] {
    metrics::confusion_matrix three(3);
    three.update(two, two);
    three.f1(metrics::averaging::binary);
  });
  refused("roc_auc: expected labels 0 and 1, got 2", [&] { auc.update(vector<int>({2}), vector<float>({1})); });
  refused("roc_auc: expected scores that compare, got NaN",
          [&] { auc.update(vector<int>({1}), vector<float>({std::numeric_limits<float>::quiet_NaN()})); });
  auc.update(vector<int>({1, 1}), vector<float>({1, 2}));
  test::expect_error(code::failed_precondition, "roc_auc: expected examples of both classes", [&] { auc.result(); });
  refused("top_k_accuracy: expected a k above 0", [] { metrics::top_k_accuracy(0); });
  refused("expected labels below the 2 classes, got 7", [&] { top.update(tensor(7), vector<float>({1, 2})); });
  refused("expected labels below the 2 classes, got 7", [&] { perplexity.update(tensor(7), vector<float>({1, 2})); });
  refused("mse: expected predictions with the extents of the labels", [&] { mse.update(two, tensor(1)); });
  refused("mse: expected numbers", [&] { mse.update(tensor(std::string("a")), tensor(std::string("b"))); });
}

TEST(folds, split_off_as_many_examples_as_the_fraction_says_in_decimals) {
  EXPECT_EQ(train_test_split(100, 0.07).testing.size(), 7u);  // 0.07 * 100 is 7.000000000000001
  EXPECT_EQ(train_test_split(100, 0.29).testing.size(), 29u);
  EXPECT_EQ(train_test_split(10, 0.21).testing.size(), 3u);
}

TEST(splits, hold_each_example_once_and_repeat_by_seed) {
  auto const folds = k_folds(11, 3, 5);
  ASSERT_EQ(folds.size(), 3u);
  std::multiset<std::int64_t> tested;
  for (auto const& f : folds) {
    EXPECT_EQ(f.training.size() + f.testing.size(), 11u);
    std::set<std::int64_t> both(f.training.begin(), f.training.end());
    both.insert(f.testing.begin(), f.testing.end());
    EXPECT_EQ(both.size(), 11u);
    tested.insert(f.testing.begin(), f.testing.end());
  }
  EXPECT_EQ(folds[0].testing.size(), 4u);
  EXPECT_EQ(folds[2].testing.size(), 3u);
  EXPECT_EQ(tested.size(), 11u);
  EXPECT_EQ(std::set(tested.begin(), tested.end()).size(), 11u);
  EXPECT_EQ(k_folds(11, 3, 5)[1].testing, folds[1].testing);
  EXPECT_NE(k_folds(11, 3, 6)[1].testing, folds[1].testing);

  auto const split = train_test_split(10, 0.25, 3);
  EXPECT_EQ(split.testing.size(), 3u) << "rounded up";
  EXPECT_EQ(split.training.size(), 7u);
  EXPECT_EQ(train_test_split(10, 0.25, 3).training, split.training);
  for (double const fraction : {0.0, 1.0, -1.0, 2.0, 0.95, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(train_test_split(10, fraction), error) << fraction;
  EXPECT_THROW(train_test_split(0, 0.5), error);
  EXPECT_THROW(k_folds(10, 1), error);
  EXPECT_THROW(k_folds(2, 3), error);
}

TEST(splits, take_rows_of_all_tensors) {
  auto const x = matrix<float>({{1, 2}, {3, 4}, {5, 6}});
  auto const names = vector<std::string>({"a", "b", "c"});
  auto const [some, called] = take_rows(std::tuple{x, names}, {2, 0, 2});
  static_assert(std::same_as<decltype(some), tensor_of<of<float, unknown, unknown>> const>);
  EXPECT_TRUE(same_bits(some, matrix<float>({{5, 6}, {1, 2}, {5, 6}})));
  EXPECT_TRUE(same_bits(called, vector<std::string>({"c", "a", "c"})));
  EXPECT_EQ(take_rows(x, {}).shape(), (shape{0, 2}));
  test::expect_error(code::invalid_argument, "take_rows: expected rows from 0 to 2, got 3", [&] { take_rows(x, {3}); });
  EXPECT_THROW(take_rows(tensor(1), {}), error);
}

TEST(standardizers, move_and_scale_columns_as_recorded) {
  auto const x = recorded("x"), standard = recorded("standard");
  standardizer const by(x);
  auto const y = by.transform(x), again = by.inverse(y);
  ASSERT_EQ(y.type(), standard.type());
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    EXPECT_NEAR(y.data<float>()[i], standard.data<float>()[i], 1e-6) << i;
    EXPECT_NEAR(again.data<float>()[i], x.data<float>()[i], 1e-4) << i;
  }
  EXPECT_EQ(by.deviations()[2], 1) << "a column of equal numbers";
  standardizer const tenths(test::from_doubles(dtype::float64, {3, 1}, {0.1, 0.1, 0.1}));
  EXPECT_EQ(tenths.deviations()[0], 1);
  EXPECT_EQ(by.transform(tensor(dtype::float32, {0, 3})).elements(), 0);
  EXPECT_EQ(by.transform(test::from_doubles(dtype::bfloat16, {3}, {5, -3, 7})).element(), dtype::bfloat16);
  for (auto const& t : {tensor(), tensor(1.f), tensor(dtype::int32, {3}), tensor(dtype::float32, {2})})
    EXPECT_THROW(by.transform(t), error);
  EXPECT_THROW(standardizer(tensor(dtype::float32, {0, 3})), error);
}

}  // namespace
}  // namespace rill
