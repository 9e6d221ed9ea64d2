// Training from end to end on real digits: the networks of examples/digits.cpp.
#include <gtest/gtest.h>

#include "../../examples/digits/data.hpp"
#include "../../examples/digits/model.hpp"
#include "base/limit.hpp"
#include "base/share.hpp"
#include "io/scratch.hpp"
#include "rill/train/saver.hpp"

namespace rill {
namespace {

digits::split const& data() {
  static auto const all = digits::read_csv(digits::digits_csv());
  return all;
}

struct training {
  graph g;
  digits::model m;
  session s;

  training(char const* kind, std::uint64_t seed, int threads)
      : g(seed), m(digits::record<8>(g, kind)), s(g, {.threads = threads}) {
    s.run(initializer(g));
  }
  void run(int many, std::uint64_t seed) {
    auto step = s.prepare(inputs(m.image, m.label), outputs(m.loss), m.train);
    for (auto const& [images, labels] : batches(data().training, 32, epochs(many), {.seed = seed}))
      step(images, labels);
  }
  double accuracy() {
    auto const& [images, labels] = data().test;
    return static_cast<double>(s.run({{m.image, images}, {m.label, labels}}, m.accuracy).item<float>());
  }
};

void expect_same_variables(session& a, session& b) {
  auto const left = a.state().variables(), right = b.state().variables();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    EXPECT_TRUE(same_bits(left[i]->read(), right[i]->read())) << left[i]->name();
}

// The mean of five runs; a sanitizer makes one.
double mean_accuracy(char const* kind, int epochs) {
  double sum = 0;
  auto const runs = test::steps(5, 1);
  for (int seed = 1; seed <= runs; ++seed) {
    training t(kind, static_cast<std::uint64_t>(seed), 2);
    t.run(epochs, static_cast<std::uint64_t>(seed));
    sum += t.accuracy();
  }
  return sum / runs;
}

TEST(digits, are_split_into_training_and_test_examples) {
  EXPECT_EQ(digits::count(data().training), 1437);
  EXPECT_EQ(digits::count(data().test), 360);
}

TEST(digits, train_to_the_same_bits_on_one_and_two_threads) {
  for (auto kind : {"linear", "mlp", "conv"}) {
    training one(kind, 7, 1), two(kind, 7, 2);
    one.run(2, 7);
    two.run(2, 7);
    expect_same_variables(one.s, two.s);
  }
}

TEST(digits, train_to_the_same_bits_fused_and_unfused) {
  training fused("mlp", 7, 1);
  fused.run(1, 7);
  graph g(7);
  auto const m = digits::record<8>(g, "mlp");
  session plain(
      g, {.threads = 1,
          .passes = {.common_subexpressions = false, .fold_constants = false, .identities = false, .fuse = false}});
  plain.run(initializer(g));
  auto step = plain.prepare(inputs(m.image, m.label), outputs(m.loss), m.train);
  for (auto const& [images, labels] : batches(data().training, 32, epochs(1), {.seed = 7})) step(images, labels);
  expect_same_variables(fused.s, plain);
}

// A network with noise on its images, so that its steps draw random numbers.
struct shaken {
  graph g{3};
  expr<of<float, "batch", 8, 8, 1>> image = placeholder<float, "batch", 8, 8, 1>(g, "image");
  expr<of<std::int32_t, "batch">> label = placeholder<std::int32_t, "batch">(g, "label");
  expr<of<float>> loss = mean(softmax_cross_entropy(digits::mlp(image + normal_like(image, 0, 0.1)), label));
  operation train = adam{}.minimize(loss);
  session s{g, {.threads = 2}};

  template <class Batches> void run(Batches& some, int steps) {
    auto step = s.prepare(inputs(image, label), outputs(loss), train);
    for (auto const& [images, labels] : some) {
      step(images, labels);
      if (--steps == 0) return;
    }
  }
};

TEST(digits, trained_after_a_restart_give_the_bits_of_uninterrupted_training) {
  scratch place;
  auto const some = [] { return batches(data().training, 32, epochs(3), {.seed = 5}); };
  shaken whole;
  whole.s.run(initializer(whole.g));
  auto all = some();
  whole.run(all, 120);
  {
    shaken first;
    first.s.run(initializer(first.g));
    auto half = some();
    first.run(half, 70);  // in the middle of the second epoch
    saver(first.g, place / "run").save(first.s, half.position());
  }
  shaken second;
  auto rest = some();
  auto const found = saver(second.g, place / "run").restore(second.s);
  ASSERT_TRUE(found);
  rest.resume(found->position);
  second.run(rest, 50);
  expect_same_variables(whole.s, second.s);
}

TEST(digits, are_learnt_by_the_network_with_a_hidden_layer) {
  EXPECT_GE(mean_accuracy("mlp", 20), test::steps(955, 935) / 1000.);
}

TEST(digits, are_learnt_by_the_convolutional_network) {
  test::allow(400);
  EXPECT_GE(mean_accuracy("conv", 20), test::steps(975, 955) / 1000.);
}

}  // namespace
}  // namespace rill
