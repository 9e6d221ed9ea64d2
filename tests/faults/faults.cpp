// There is no memory, or no thread, for the n-th who asks, for each n: whatever users call then throws an error of
// rill, and nothing else, and what they called it on goes on as if it had not been called.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "faults/throughout.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"
#include "rill/state/keyed_barrier.hpp"
#include "rill/train/saver.hpp"

namespace rill {
namespace {

using faults::fail_throughout;
using faults::what;
using namespace std::chrono_literals;

constexpr timeout soon{60s};

// A model that has a bit of everything: a loop, a branch, a function, random numbers, variables and an optimizer.
struct model {
  explicit model(std::uint64_t seed = 7) : g(seed) {}
  graph g;
  expr<of<float, 2, 4>> x;
  expr<of<float>> loss;
  operation train, first;

  void record() {
    x = placeholder<float, 2, 4>(g, "x");
    auto const w = variable(uniform<float, 4, 3>(g), "w");
    auto const b = variable(constant<float, 3>(g, {0, 0, 0}), "b");
    auto const twice = function<"twice", of<float, 2, 3>(of<float, 2, 3>)>(g, [](auto v) { return v + v; });
    auto const h = twice(tanh(matmul(x, w) + b));
    auto const looped =
        std::get<1>(while_loop([](auto k, auto) { return k < 3; },
                               [](auto k, auto v) { return std::tuple{k + 1, v * 0.5f + 1.f}; }, constant(g, 0), h));
    auto const chosen = cond(sum(looped) > 0.f, [&] { return looped * 2.f; }, [&] { return looped - 1.f; });
    loss = mean(square(chosen));
    train = gradient_descent(0.1f).minimize(loss);
    first = initializer(g);
  }
  static tensor_of<of<float, 2, 4>> input() {
    return tensor_of<of<float, 2, 4>>(tensor(matrix<float>({{1, 2, 3, 4}, {5, 6, 7, 8}})));
  }
};

TEST(faults, of_memory_while_a_graph_is_recorded) {
  fail_throughout(
      what::memory, 60, [] { return std::make_unique<model>(); }, [](model& m) { m.record(); },
      [](model& m) {
        auto const more = placeholder<float, 2>(m.g, "more");  // the graph takes more, and what it has is sound
        session s(m.g, {.threads = 1});
        auto const doubled = s.run({{more, vector<float>({1, 2})}}, more + more);
        if (!same_bits(doubled, vector<float>({2, 4}))) throw std::runtime_error("another result");
        for (std::size_t i = 0; i < m.g.size(); ++i)
          if (m.g[i].outputs.size() == 1 && m.g.find(m.g[i].name).node != i) throw std::runtime_error("a name is lost");
      });
}

TEST(faults, of_memory_leave_the_names_of_what_was_not_recorded) {
  fail_throughout(
      what::memory, 100, [] { return std::make_unique<graph>(); },
      [](graph& g) { variable(g, of<float>, "a variable with a name that is long"); },
      [](graph& g) {
        if (g.size() == 0) variable(g, of<float>, "a variable with a name that is long");
        if (g.size() != 1 || g[0].name != "a variable with a name that is long")
          throw std::runtime_error("another name");
      });
}

struct running : model {
  explicit running(session_options options = {.threads = 2}) {
    record();
    s.emplace(g, options);
    s->run(first);
    before = s->run({{x, input()}}, loss);
    s->trim();
  }
  std::optional<session> s;
  tensor before;
  float expected() const { return before.item<float>(); }
};

void expect_sound(running& r) {
  auto const now = float(r.s->run({{r.x, model::input()}}, r.loss));
  if (now != r.expected()) throw std::runtime_error("another loss than before: " + std::to_string(now));
}

TEST(faults, of_memory_while_a_step_is_planned_and_run) {
  for (auto const how : {execution::sequential, execution::parallel, execution::tagged})
    fail_throughout(
        what::memory, 60, [&] { return std::make_unique<running>(session_options{.threads = 2, .execution = how}); },
        [](running& r) { r.s->run({{r.x, model::input()}}, r.loss + 1.f); }, expect_sound);
}

TEST(faults, of_memory_while_a_step_is_prepared) {
  fail_throughout(
      what::memory, 60, [] { return std::make_unique<running>(); },
      [](running& r) {
        auto step = r.s->prepare(inputs(r.x), outputs(r.loss));
        step(model::input());
        step(model::input());
      },
      expect_sound);
}

TEST(faults, of_memory_while_steps_train) {
  fail_throughout(
      what::memory, 60, [] { return std::make_unique<running>(); },
      [](running& r) { r.s->run({{r.x, model::input()}}, r.train); },
      [](running& r) {
        r.s->run({{r.x, model::input()}}, r.train);
        r.s->run(r.first);
        if (!(float(r.s->run({{r.x, model::input()}}, r.loss)) > 0)) throw std::runtime_error("no loss");
      });
}

TEST(faults, of_memory_while_graphs_are_written_and_read) {
  fail_throughout(
      what::memory, 60, [] { return std::make_unique<running>(); },
      [](running& r) { graph_from_bytes(to_bytes(r.g), all_operations()); }, expect_sound);
}

struct saving : running {
  explicit saving(saver_options options = {}) {
    static int number = 0;
    directory = std::filesystem::temp_directory_path() /
                ("rill_faults_" + std::to_string(::getpid()) + "_" + std::to_string(++number));
    keeper.emplace(g, directory, std::move(options));
    s->run({{x, input()}}, train);
    saved = keeper->save(*s);
    before = s->run({{x, input()}}, loss);
  }
  ~saving() { std::filesystem::remove_all(directory); }
  std::filesystem::path directory;
  std::optional<saver> keeper;
  checkpoint saved;
  bool succeeded = false;
};

TEST(faults, of_memory_while_a_checkpoint_is_restored) {
  fail_throughout(
      what::memory, 40, [] { return std::make_unique<saving>(); }, [](saving& r) { r.keeper->restore(*r.s, r.saved); },
      [](saving& r) {
        r.keeper->restore(*r.s, r.saved);
        expect_sound(r);
      });
}

TEST(faults, of_memory_while_the_newest_checkpoint_is_found_and_restored) {
  test::allow(300);
  fail_throughout(
      what::memory, 30, [] { return std::make_unique<saving>(); }, [](saving& r) { r.keeper->restore(*r.s); },
      [](saving& r) {
        r.keeper->restore(*r.s);
        expect_sound(r);
      });
}

// What was saved before is there still, each checkpoint that there is can be restored, and the next one too.
TEST(faults, of_memory_while_a_checkpoint_is_saved) {
  test::allow(300);
  fail_throughout(
      what::memory, 60, [] { return std::make_unique<saving>(); },
      [](saving& r) { r.keeper->save(*r.s, {3, 4}, 0.25); },
      [](saving& r) {
        for (int more = 0; more < 2; ++more) {
          auto const all = r.keeper->checkpoints();
          if (all.empty() || all.front().number != r.saved.number) throw std::runtime_error("a checkpoint is lost");
          for (auto const& c : all) {
            r.s->run(r.first);
            r.keeper->restore(*r.s, c);
            expect_sound(r);
          }
          r.keeper->save(*r.s);
        }
      });
}

// A checkpoint that is complete is no failure, whatever remains of older ones.
TEST(faults, of_memory_while_old_checkpoints_are_removed_are_none_of_the_save) {
  test::allow(300);
  bool left = false;
  fail_throughout(
      what::memory, 200, [] { return std::make_unique<saving>(saver_options{.keep = 1, .better = better::lower}); },
      [](saving& r) {
        r.keeper->save(*r.s, {}, 0.5);
        r.succeeded = true;
      },
      [&](saving& r) {
        auto const all = r.keeper->checkpoints();
        if ((all.back().number > r.saved.number) != r.succeeded)
          throw std::runtime_error(r.succeeded ? "no checkpoint was saved"
                                               : "a checkpoint was saved, and an error thrown");
        left = left || (r.succeeded && all.size() > 1);
        r.keeper->save(*r.s, {}, 0.25);
        if (r.keeper->checkpoints().size() != 1) throw std::runtime_error("old checkpoints were left");
      });
  EXPECT_TRUE(left) << "memory never ran out while old checkpoints were removed";
}

TEST(faults, of_memory_while_checkpoints_are_listed) {
  test::allow(300);
  fail_throughout(
      what::memory, 40, [] { return std::make_unique<saving>(); }, [](saving& r) { checkpoints(r.directory); },
      [](saving& r) {
        if (checkpoints(r.directory).size() != 1) throw std::runtime_error("another list");
      });
}

// A barrier of two components, one of which has come for three keys, and two who wait for elements.
struct half_full {
  half_full() {
    barrier.insert(0, keys, {tensor(0), tensor(1), tensor(2)});
    for (auto& r : takers) {
      r->wanted = &r == &takers[0] ? 1 : 2;
      r->finished = [this](keyed_request&, failure why) { ++(why ? refused : served); };
      barrier.take(r);
    }
  }
  // How many elements have both components, in order, of all that the takers have and of what is left.
  std::size_t whole() {
    auto const rest = std::make_shared<keyed_request>();
    rest->wanted = 9, rest->fewer = true;
    rest->finished = [](keyed_request&, failure) {};
    barrier.close();
    barrier.take(rest);
    std::size_t n = 0;
    for (auto const& r : {takers[0], takers[1], rest})
      for (auto const& e : r->elements)
        n += e.parts.size() == 2 && e.parts[0].item<int>() + 10 == e.parts[1].item<int>() && keys.at(n) == e.key;
    return n;
  }
  std::vector<std::string> keys{"a", "a key that is long, so that it needs memory", "c"};
  std::vector<tensor> const others{tensor(10), tensor(11), tensor(12)};
  std::vector<std::string> const new_keys{"d", "another key that is long enough"};
  std::vector<tensor> const new_values{tensor(3), tensor(4)};
  keyed_barrier_state barrier{"pairs", {of<int>, of<int>}};
  std::shared_ptr<keyed_request> takers[2] = {std::make_shared<keyed_request>(), std::make_shared<keyed_request>()};
  int served = 0, refused = 0;
};

TEST(faults, of_memory_while_a_barrier_gives_elements_lose_none_of_their_components) {
  bool ended = false;
  fail_throughout(
      what::memory, 100, [] { return std::make_unique<half_full>(); },
      [](half_full& b) { only_errors([&] { b.barrier.insert(1, b.keys, b.others); }); },
      [&](half_full& b) {
        if (b.served + b.refused == 0) b.barrier.insert(1, b.keys, b.others);
        if (b.served + b.refused != 2) throw std::runtime_error("somebody was not told");
        ended = ended || b.refused > 0;
        if (b.whole() != 3) throw std::runtime_error("a component is lost");
      });
  EXPECT_TRUE(ended) << "no taker was without memory";
}

TEST(faults, of_memory_while_keys_begin_in_a_barrier_put_in_all_or_none) {
  fail_throughout(
      what::memory, 100, [] { return std::make_unique<half_full>(); },
      [](half_full& b) { only_errors([&] { b.barrier.insert(0, b.new_keys, b.new_values); }); },
      [](half_full& b) {
        if (b.barrier.incomplete() == 3) b.barrier.insert(0, b.new_keys, b.new_values);
        if (b.barrier.incomplete() != 5) throw std::runtime_error("half of it was put in");
        b.barrier.insert(1, b.keys, b.others);
        if (b.whole() != 3) throw std::runtime_error("an element is lost");
      });
}

// A step whose parts meet at a queue.
struct meeting : model {
  explicit meeting(execution how) {
    auto const q = fifo_queue<of<float>>(g, {.capacity = 1}, "q");
    auto const a = dequeue(q), b = dequeue(q);
    auto const total = std::get<1>(while_loop([](auto k, auto) { return k < 3; },
                                              [&](auto k, auto v) { return std::tuple{k + 1, v + dequeue(q)}; },
                                              constant(g, 0), constant(g, 0.f)));
    sum = a + b + total;
    put = q.enqueue_many(constant<float, 5>(g, {1, 1, 1, 1, 1}));
    drop = std::make_unique<session>(g, session_options{.threads = 2, .execution = how});
  }
  expr<of<float>> sum;
  operation put;
  std::unique_ptr<session> drop;
};

TEST(faults, of_memory_while_kernels_wait_for_each_other) {
  for (auto const how : {execution::parallel, execution::tagged})
    fail_throughout(
        what::memory, 100, [&] { return std::make_unique<meeting>(how); },
        [](meeting& m) {
          m.drop->run(m.sum, m.put, soon);
          m.drop->run(m.sum, m.put, soon);
        },
        [](meeting& m) {
          m.drop->state().reset();  // what a step that failed has left in the queue
          if (float(m.drop->run(m.sum, m.put, soon)) != 5.f) throw std::runtime_error("another sum");
        });
}

struct filling : model {
  filling() {
    auto const source = fifo_queue<of<float>>(g, {.capacity = 8}, "source");
    add = source.enqueue(constant(g, 1.f));
    twice = {add, add};
    next = dequeue(source);
    s = std::make_unique<session>(g, session_options{.threads = 2});
  }
  operation add;
  std::vector<operation> twice;
  expr<of<float>> next;
  std::unique_ptr<session> s;
};

void fill_and_take(filling& f) {
  queue_runner runner(*f.s, f.twice);
  for (int i = 0; i < 3; ++i) f.s->run(f.next, soon);
}

// Starts a step, waits for its end and throws what it failed with; needs no memory itself.
template <class... What> void start_and_wait(session& s, What const&... what) {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<expected<tensor_of<of<float>>>> got;
  s.start(what..., [&](expected<tensor_of<of<float>>> result) {
    std::lock_guard lock(mutex);
    got = std::move(result);
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return got.has_value(); });
  got->value();
}

struct fed_running : running {
  feed const fed{x, input()};
};

TEST(faults, of_memory_and_threads_while_steps_are_started) {
  for (auto const kind : {what::memory, what::threads})
    fail_throughout(
        kind, 60, [] { return std::make_unique<fed_running>(); },
        [](fed_running& r) { start_and_wait(*r.s, std::span<feed const>(&r.fed, 1), r.loss); }, expect_sound);
}

TEST(faults, of_memory_while_kernels_of_a_started_step_wait_for_each_other) {
  for (auto const how : {execution::automatic, execution::parallel, execution::tagged})
    fail_throughout(
        what::memory, 60, [&] { return std::make_unique<meeting>(how); },
        [](meeting& m) { start_and_wait(*m.drop, m.sum, m.put, soon); },
        [](meeting& m) {
          m.drop->state().reset();
          if (float(m.drop->run(m.sum, m.put, soon)) != 5.f) throw std::runtime_error("another sum");
        });
}

TEST(faults, of_memory_and_threads_while_a_queue_is_filled) {
  auto const make = [] { return std::make_unique<filling>(); };
  auto const check = [](filling& f) {
    f.s->state().reset();
    fill_and_take(f);
  };
  fail_throughout(what::memory, 60, make, fill_and_take, check);
  fail_throughout(what::threads, 60, make, fill_and_take, check);
}

struct batching : model {
  batching() {
    auto const eight = constant<float, 8>(g, {1, 2, 3, 4, 5, 6, 7, 8});
    batches = batch<2>({.threads = 2}, sum(eight));
    s = std::make_unique<session>(g, session_options{.threads = 2});
  }
  expr<of<float, 2>> batches;
  std::unique_ptr<session> s;
};

TEST(faults, of_memory_and_threads_while_input_is_started) {
  auto const make = [] { return std::make_unique<batching>(); };
  auto const take = [](batching& b) {
    start_input(*b.s);
    if (b.s->run(b.batches, soon).template at<float>(0) != 36.f) throw std::runtime_error("another batch");
  };
  auto const check = [&](batching& b) {
    session fresh(b.g, {.threads = 2});
    start_input(fresh);
    fresh.run(b.batches, soon);
  };
  fail_throughout(what::memory, 60, make, take, check);
  fail_throughout(what::threads, 60, make, take, check);
}

// A deep recursion that fails is left quickly: an error is made and placed once, and no call copies it.
TEST(faults, are_not_asked_for_by_each_call_that_an_error_leaves) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  constexpr int depth = 3000;
  auto const down = function<"down", of<int>(of<int>)>(
      g, [](auto self, auto k) { return cond(k < 1, [&] { return k; }, [&] { return self(k - 1) + 1; }); },
      depth_limit{depth});
  auto const y = down(n);
  session s(g, {.threads = 1});
  auto const text = [&] { return sentence([&] { s.run({{n, tensor(2 * depth)}}, y); }); };
  auto const first = text();  // makes what the calls run in
  arm(what::memory, {});
  auto const again = text();
  EXPECT_LT(disarm(what::memory), depth);
  EXPECT_EQ(again, first);
  EXPECT_NE(first.find("node 'down': in the function 'down', 3000 calls deep, node 'down/body/cond': in the branch for "
                       "false, node 'down/body/otherwise/down': the function 'down' is called within 3000 calls"),
            std::string::npos)
      << first;
}

TEST(faults, of_threads_while_steps_run) {
  for (auto const how : {execution::sequential, execution::parallel, execution::tagged})
    fail_throughout(
        what::threads, 60, [&] { return std::make_unique<running>(session_options{.threads = 4, .execution = how}); },
        [](running& r) { r.s->run({{r.x, model::input()}}, r.loss); }, expect_sound);
}

}  // namespace
}  // namespace rill
