// Training loops in one process, and over tasks of one process.
#include "rill/train/training_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"
#include "train/loops.hpp"

namespace rill {
namespace {

using namespace test::loops;

TEST(training_loop, goes_on_with_the_bits_of_a_run_that_never_stopped) {
  scratch place;
  trainer whole;
  auto const all = whole.run(quiet(place / "whole"));
  EXPECT_TRUE(all.finished);
  EXPECT_EQ(all.steps, 30);
  EXPECT_EQ(all.exit_code(), 0);
  for (std::int64_t const until : {0, 7, 13}) {
    trainer part;
    std::stop_source stop;
    auto o = quiet(place / std::to_string(until).c_str());
    o.stop = stop.get_token();
    training_loop loop(part.s, o);
    loop.every(1, [&](training_progress const& at) {
      if (at.steps == until) stop.request_stop();
    });
    if (until == 0) stop.request_stop();
    auto const stopped = loop.run(inputs(part.n.x, part.n.label), part.n.loss, part.train, data_of(5, 3, {.seed = 3}));
    EXPECT_FALSE(stopped.finished);
    EXPECT_EQ(stopped.steps, until);
    EXPECT_EQ(stopped.exit_code(), 75);
    trainer rest;
    auto const finished = rest.run(quiet(place / std::to_string(until).c_str()));
    EXPECT_TRUE(finished.finished);
    EXPECT_EQ(finished.steps, 30);
    EXPECT_EQ(finished.loss, all.loss);
    expect_same(rest.n.variables(rest.s), whole.n.variables(whole.s));
  }
}

TEST(training_loop, that_is_stopped_by_another_thread_goes_on_with_the_same_bits) {
  scratch place;
  trainer whole, part, rest;
  whole.run(quiet(place / "whole"), 40);
  std::stop_source stop;
  auto o = quiet(place / "part");
  o.stop = stop.get_token();
  std::jthread const other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  part.run(o, 40);
  EXPECT_TRUE(rest.run(quiet(place / "part"), 40).finished);
  expect_same(rest.n.variables(rest.s), whole.n.variables(whole.s));
}

TEST(training_loop, throws_what_the_programs_functions_throw) {
  scratch place;
  trainer one, two;
  training_loop first(one.s, quiet(place / "one")), second(two.s, quiet(place / "two"));
  first.every(2, [](auto&) { throw std::runtime_error("the hook's own"); });
  second.every(2, [](auto&) { throw error(code::out_of_range, "an evaluation's end"); });
  auto const run = [](training_loop& loop, trainer& t) {
    return loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train, data_of(5, 1));
  };
  EXPECT_THROW(run(first, one), std::exception);
  EXPECT_NE(sentence([&] { run(second, two); }).find("an evaluation's end"), std::string::npos);
}

TEST(training_loop, saves_calls_hooks_and_says_how_far_it_is) {
  scratch place;
  trainer t;
  std::vector<std::string> lines;
  std::vector<std::int64_t> called;
  int ended = 0, started = 0;
  auto o = quiet(place / "run");
  o.log = [&](std::string_view line) { lines.emplace_back(line); };
  o.log_every = std::chrono::nanoseconds(1);
  o.steps = 10;
  o.checkpoints = {.keep = 1, .better = better::lower};
  double metric = 9;
  o.metric = [&] { return std::abs(metric -= 2); };  // 7, 5, 3, 1
  o.at_start = [&] { ++started; };
  o.at_end = [&] { ++ended; };
  training_loop loop(t.s, o);
  loop.every(3, [&](training_progress const& at) { called.push_back(at.steps); });
  auto const result = loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train, data_of(5, 3));
  EXPECT_EQ(result.steps, 10);
  EXPECT_EQ(called, (std::vector<std::int64_t>{3, 6, 9}));
  EXPECT_EQ(started, 1);
  EXPECT_EQ(ended, 1);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[0].find("step 1 of 10, loss "), 0u) << lines[0];
  EXPECT_NE(lines[0].find(" examples/s, "), std::string::npos) << lines[0];
  EXPECT_NE(lines[9].find(", 0:00 left"), std::string::npos) << lines[9];
  saver const saves(t.n.g, place / "run", {.better = better::lower});
  ASSERT_EQ(saves.checkpoints().size(), 1u);
  EXPECT_EQ(saves.checkpoints()[0].trained, 10);
  EXPECT_EQ(saves.checkpoints()[0].metric, 1.);
}

TEST(training_loop, ends_with_a_loss_that_is_not_finite) {
  scratch place;
  trainer t;
  auto images = test::digits(examples, 8);
  images.mutable_data<float>()[8] = std::nanf("");
  training_loop loop(t.s, quiet(place / "run"));
  auto const text = sentence([&] {
    loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train,
             batches(std::tuple{images, test::digits(examples, 2)}, 5, epochs(1), {.shuffle = false}));
  });
  EXPECT_NE(text.find("the loss of step 1 is nan"), text.npos) << text;
}

TEST(training_loop, trains_what_a_queue_gives_until_it_is_closed) {
  scratch place;
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
  auto const w = variable(constant(g, 1.f), "w");
  auto const x = dequeue(q);
  auto const loss = square(w - x);
  auto const train = gradient_descent{.rate = 0.1f}.minimize(loss);
  session s{g};
  auto const given = placeholder<float>(g, "given");
  auto const put = q.enqueue(given);
  for (int i = 0; i < 4; ++i) s.run({{given, 2.f}}, put);
  s.run(q.close());
  auto o = quiet(place / "run");
  o.save = {};
  auto const result = training_loop(s, o).run(loss, train);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.steps, 4);
}

TEST(training_loop, ends_with_the_error_of_a_checkpoint_that_cannot_be_written) {
  scratch place;
  trainer t;
  std::ofstream(place / "file") << "no folder";
  EXPECT_NE(sentence([&] { t.run(quiet(place / "file")); }).find("create the directory"), std::string::npos);
}

TEST(training_loop, refuses_options_that_make_no_sense) {
  trainer t;
  training_loop loop(t.s, quiet({}));
  EXPECT_NE(sentence([&] {
              loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train, data_of(50, 1, {.partial = false}));
            }).find("the input has no batch for 1 worker"),
            std::string::npos);
  EXPECT_NE(sentence([&] { training_loop(t.s, {.name = ""}); }).find("must not be empty"), std::string::npos);
  EXPECT_NE(sentence([&] { training_loop(t.s, {.steps = -1}); }).find("must not be negative"), std::string::npos);
  EXPECT_NE(sentence([&] { training_loop(t.s, {.attempts = 0}); }).find("at least one"), std::string::npos);
  EXPECT_NE(sentence([&] { training_loop(t.s).every(0, {}); }).find("positive"), std::string::npos);
}

/// Three workers and two ps tasks.
struct cluster {
  cluster() { test::allow(600); }

  local_cluster all{{{"ps", 2}, {"worker", 3}}, [](device_name const&) { return task_options{.threads = 1}; }};
  std::string worker(std::size_t i) const { return "/job:worker/task:" + std::to_string(i); }

  struct outcome {
    std::vector<training_result> results{3};
    std::vector<std::string> errors{3};
    std::vector<tensor> variables;
  };
  /// Trains with all workers, each on a thread of its own. `with(loop, worker)` prepares a loop.
  template <class With>
  outcome train(std::filesystem::path const& folder, operation (*minimize)(value), With const& with,
                std::int64_t passes = 3) {
    outcome made;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        trainer t(all.target(worker(i)), minimize);
        auto o = quiet(folder);
        try {
          with(o, t, i);
          made.results[i] = t.run(o, passes);
        } catch (error const& e) {
          made.errors[i] = e.what();
        }
      });
    threads.clear();
    for (auto const& e : made.errors) EXPECT_EQ(e, "");
    if (::testing::Test::HasFailure()) return made;
    trainer t(all.target(), minimize);
    made.variables = t.n.variables(t.s);
    return made;
  }
};

void expect_all(cluster::outcome const& made, bool finished, std::int64_t steps) {
  for (auto const& r : made.results) {
    EXPECT_EQ(r.finished, finished);
    EXPECT_EQ(r.steps, steps);
  }
}

TEST(training_loop, of_workers_in_rounds_goes_on_with_the_same_bits) {
  scratch place;
  cluster undisturbed, first, second;
  auto const nothing = [](auto&, auto&, auto) {};
  auto const whole = undisturbed.train(place / "whole", in_rounds, nothing, 100);
  expect_all(whole, true, 300);  // each epoch three rounds of 15 of the 47 examples; 2 are fewer than the workers
  std::stop_source stop;         // is given to one worker: the chief stops all at one step
  auto const with = [&](training_options& o, trainer&, std::size_t i) {
    if (i == 1) o.stop = stop.get_token();
    if (i == 0)
      o.metric = [&, n = 0]() mutable {
        if (++n == 3) stop.request_stop();
        if (n >= 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return 1.;
      };
  };
  auto const part = first.train(place / "part", in_rounds, with, 100);
  expect_all(part, false, part.results[0].steps);
  EXPECT_LT(part.results[0].steps, 300);
  EXPECT_EQ(part.results[0].exit_code(), 75);
  auto const rest = second.train(place / "part", in_rounds, nothing, 100);
  expect_all(rest, true, 300);
  expect_same(rest.variables, whole.variables);
}

// What a task does that was started anew.
void start_anew(container& task) {
  task.begin_generation(1);
  task.reset();
}

TEST(training_loop, of_workers_goes_back_to_a_checkpoint_when_variables_are_lost) {
  scratch place;
  cluster undisturbed, disturbed;
  auto const whole = undisturbed.train(place / "whole", in_rounds, [](auto&, auto&, auto) {});
  int lost = 0;
  auto const with_losses = disturbed.train(place / "lost", in_rounds, [&](auto& o, trainer&, std::size_t i) {
    if (i == 0)
      o.metric = [&] {
        if (++lost == 2 || lost == 3) start_anew(disturbed.all.state(lost == 2 ? "/job:ps/task:0" : "/job:ps/task:1"));
        return 1.;
      };
  });
  expect_all(with_losses, true, 9);
  for (auto const& r : with_losses.results) EXPECT_GE(r.rollbacks, 2);
  expect_same(with_losses.variables, whole.variables);
}

// Trains with three workers; `run(trainer, loop, worker)` throws on each. Returns what they throw.
template <class Run> std::vector<std::string> sentences_of_all(std::filesystem::path const& folder, Run const& run) {
  cluster c;
  std::vector<std::string> said(3);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      trainer t(c.all.target(c.worker(i)), in_rounds);
      training_loop loop(t.s, quiet(folder));
      said[i] = sentence([&] { run(t, loop, i); });
    });
  threads.clear();
  return said;
}

TEST(training_loop, of_workers_ends_everywhere_with_the_error_of_one) {
  scratch place;
  auto const said = sentences_of_all(place / "run", [](trainer& t, training_loop& loop, std::size_t i) {
    auto images = test::digits(examples, 8);
    if (i == 1) std::fill_n(images.mutable_data<float>(), images.elements(), std::nanf(""));
    loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train,
             batches(std::tuple{images, test::digits(examples, 2)}, 5, epochs(2), loop.share()));
  });
  for (auto const& e : said) EXPECT_NE(e.find("is nan"), e.npos) << e;
  EXPECT_NE(said[1].find("the loss of step 1 of /job:worker/task:1 is nan"), std::string::npos) << said[1];
}

TEST(training_loop, of_workers_in_rounds_goes_on_where_one_process_stopped) {
  scratch place;
  trainer one;
  auto o = quiet(place / "run");
  o.steps = 25;  // of 30: 5 are left of the third epoch, 22 examples
  EXPECT_TRUE(one.run(o).finished);
  cluster c;
  auto const rest = c.train(place / "run", in_rounds, [](auto&, auto&, auto) {});
  expect_all(rest, true, 27);
}

TEST(training_loop, of_workers_in_rounds_says_whose_input_ends_early) {
  scratch place;
  for (auto const early : {std::size_t{0}, std::size_t{2}}) {
    auto const run = [&](trainer& t, training_loop& loop, std::size_t i) {
      loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train, data_of(5, i == early ? 1 : 2, loop.share()));
    };
    for (auto const& e : sentences_of_all(place / (early == 0 ? "zero" : "two"), run))
      EXPECT_NE(e.find("the input of /job:worker/task:" + std::to_string(early) + " has ended after 3 steps"), e.npos)
          << e;
  }
}

TEST(training_loop, of_asynchronous_workers_counts_the_steps_of_each) {
  scratch place;
  cluster first, second;
  int lost = 0;
  auto const part = first.train(place / "run", alone, [&](training_options& o, trainer&, std::size_t i) {
    o.steps = 6;
    if (i == 0)
      o.metric = [&] {
        if (++lost == 2) start_anew(first.all.state("/job:ps/task:1"));
        return 1.;
      };
  });
  expect_all(part, true, 6);
  auto const rest = second.train(place / "run", alone, [](auto&, auto&, auto) {});
  expect_all(rest, true, 9);
  // What the others have trained while the chief had finished is in the last checkpoint.
  trainer t;
  ASSERT_TRUE(saver(t.n.g, place / "run").restore(t.s));
  expect_same(t.n.variables(t.s), rest.variables);
  EXPECT_EQ(saver(t.n.g, place / "run").checkpoints().back().trained, 9);
}

TEST(training_loop, of_asynchronous_workers_goes_on_from_a_checkpoint_of_one_process) {
  scratch place;
  trainer one;
  EXPECT_TRUE(one.run(quiet(place / "run")).finished);
  cluster c;
  auto const all = c.train(place / "run", alone, [](auto&, auto&, auto) {});
  expect_all(all, true, 9);
}

}  // namespace
}  // namespace rill
