#include "rill/state/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <stop_token>
#include <thread>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

// A request and whether it has ended; a thread may wait for that.
struct asked {
  std::shared_ptr<queue_request> request = std::make_shared<queue_request>();
  std::shared_ptr<std::atomic<int>> state = std::make_shared<std::atomic<int>>(0);  // 1: well, 2: with a failure

  asked() {
    request->finished = [end = state](queue_request&, failure const& why) {
      EXPECT_EQ(end->exchange(why ? 2 : 1), 0) << "a request was told twice";
      end->notify_all();
    };
  }
  bool wait() const {
    state->wait(0);
    return *state == 1;
  }
};

// What a thread does at a queue until it is closed: it asks, and at times gives up.
struct crowd {
  queue_state q;
  std::mutex mutex;
  std::vector<std::int64_t> in, out;  // elements that got in, and that were handed out
  std::vector<std::thread> threads;

  explicit crowd(queue_description o) : q("crowd", std::move(o)) {}

  // An impatient one takes its request back, unless it has been served meanwhile.
  void end(asked const& a, std::mt19937& random) {
    if (random() % 3 == 0) {
      if (random() % 2 == 0) std::this_thread::yield();
      q.give_up(*a.request, failed(code::deadline_exceeded, "late"));
    }
    a.wait();
  }
  void produce(std::int64_t first, unsigned seed) {
    std::mt19937 random(seed);
    for (std::int64_t next = first; next < first + 2000;) {
      asked a;
      for (auto n = 1 + random() % 5; n > 0; --n) a.request->elements.push_back({{tensor(next++)}});
      std::vector<std::int64_t> offered;
      for (auto const& e : a.request->elements) offered.push_back(e.parts[0].item<std::int64_t>());
      auto entered = offered.size();
      if (random() % 2 == 0 || !q.try_enqueue(a.request->elements)) {
        q.enqueue(a.request);
        end(a, random);
        entered = a.request->entered;
      }
      std::lock_guard lock(mutex);
      in.insert(in.end(), offered.begin(), offered.begin() + static_cast<std::ptrdiff_t>(entered));
    }
  }
  void consume(unsigned seed) {
    std::mt19937 random(seed);
    for (;;) {
      asked a;
      a.request->wanted = 1 + random() % 7;
      a.request->fewer = random() % 2 == 0;
      std::vector<queue_element> now(a.request->wanted);
      if (random() % 2 == 0 && q.try_dequeue(now)) {
        a.request->elements = std::move(now);
        *a.state = 1;
      } else {
        q.dequeue(a.request);
        end(a, random);
      }
      if (*a.state == 1) {
        std::lock_guard lock(mutex);
        for (auto const& e : a.request->elements) out.push_back(e.parts[0].item<std::int64_t>());
      } else {
        EXPECT_TRUE(a.request->elements.empty());
        if (q.closed() && q.size() < 7) return;
      }
    }
  }
  // Those who are left over take one by one.
  void drain() {
    for (;;) {
      asked a;
      a.request->wanted = 1;
      q.dequeue(a.request);
      if (!a.wait()) return;
      out.push_back(a.request->elements[0].parts[0].item<std::int64_t>());
    }
  }
};

TEST(queue_state, of_a_crowd_that_closes_and_gives_up_at_random_loses_and_doubles_nothing) {
  test::allow(300);
  for (auto order : {queue_order::fifo, queue_order::shuffled, queue_order::priority, queue_order::windowed})
    for (unsigned seed = 0; seed < 3; ++seed) {
      bool const draws = order == queue_order::shuffled || order == queue_order::windowed;
      crowd c({order, 6, draws ? 3 : 0, seed, false, {of<std::int64_t>}});
      for (unsigned i = 0; i < 4; ++i) {
        c.threads.emplace_back([&, i] { c.produce(10000 * i, 100 * seed + i); });
        c.threads.emplace_back([&, i] { c.consume(100 * seed + 50 + i); });
      }
      std::thread closes([&] {
        std::mt19937 random(seed);
        for (int i = 0; i < 200; ++i) {
          c.q.contents();
          c.q.widen(random() % 8 == 0);
          std::this_thread::yield();
        }
        c.q.widen(false);
        if (seed != 0) std::this_thread::sleep_for(std::chrono::microseconds(500 * seed));
        else
          for (std::size_t i = 0; i < 4; ++i) c.threads[2 * i].join();  // all that they have gets in
        c.q.close(seed == 2);
      });
      closes.join();
      for (auto& t : c.threads)
        if (t.joinable()) t.join();
      c.drain();
      EXPECT_EQ(c.q.waiting(), 0u);
      std::sort(c.in.begin(), c.in.end());
      std::sort(c.out.begin(), c.out.end());
      EXPECT_EQ(c.in, c.out) << "order " << int(order) << ", seed " << seed;
    }
}

TEST(queue_state, lets_nobody_pass_those_who_wait) {
  queue_state q("q", {queue_order::fifo, 2, 0, 0, false, {of<std::int64_t>}});
  std::vector<queue_element> three;
  for (std::int64_t i = 0; i < 3; ++i) three.push_back({{tensor(i)}});
  EXPECT_FALSE(q.try_enqueue(three)) << "it has room for two";
  EXPECT_EQ(q.size(), 0);
  asked puts, takes;
  puts.request->elements = three;
  q.enqueue(puts.request);
  EXPECT_FALSE(q.try_enqueue({three.data(), 1}));
  std::vector<queue_element> got(2);
  EXPECT_TRUE(q.try_dequeue(got));
  EXPECT_TRUE(puts.wait());
  EXPECT_EQ(got[1].parts[0].item<std::int64_t>(), 1);

  takes.request->wanted = 3;
  q.dequeue(takes.request);
  EXPECT_TRUE(q.try_enqueue({three.data(), 1}));
  EXPECT_FALSE(q.try_dequeue({got.data(), 1}));
  EXPECT_TRUE(q.try_enqueue({three.data() + 1, 1}));
  EXPECT_TRUE(takes.wait());
  q.close();
  EXPECT_FALSE(q.try_enqueue({three.data() + 2, 1}));
  EXPECT_FALSE(q.try_dequeue({got.data(), 1}));
  EXPECT_EQ(q.waiting(), 0u);
}

TEST(queue_state, of_steps_that_are_late_or_cancelled_at_random_loses_and_doubles_nothing) {
  for (int threads : {1, 2}) {
    graph g;
    auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 5}, "steps");
    auto const x = placeholder<std::int64_t>(g, "x");
    auto const put = q.enqueue(x);
    auto const three = dequeue_up_to<3>(q);
    session s(g, {.threads = threads});
    std::mutex mutex;
    std::set<std::int64_t> certain, possible;
    std::multiset<std::int64_t> out;
    // Whether the step was run, and was neither late nor cancelled.
    auto const attempt = [](std::mt19937& random, auto const& run) {
      std::stop_source stop;
      std::thread cancels;
      auto const choice = random() % 8;
      if (choice == 0) cancels = std::thread([&] { stop.request_stop(); });
      code why = code::internal;
      bool done = true;
      try {
        run(stop.get_token(),
            timeout{choice == 1 ? std::chrono::microseconds(random() % 200) : std::chrono::microseconds(5s)});
      } catch (error const& e) {
        why = e.code();
        done = false;
      }
      if (cancels.joinable()) cancels.join();
      EXPECT_TRUE(done || why == code::cancelled || why == code::deadline_exceeded || why == code::out_of_range);
      return std::pair(done, why);
    };
    auto const produce = [&](std::int64_t first) {
      std::mt19937 random(static_cast<unsigned>(first));
      for (auto n = first; n < first + 300; ++n) {
        bool const done = attempt(random, [&](auto const& stop, auto const& late) {
                            s.run({{x, tensor(n)}}, put, stop, late);
                          }).first;
        std::lock_guard lock(mutex);
        (done ? certain : possible).insert(n);
      }
    };
    auto const consume = [&](unsigned seed) {
      std::mt19937 random(seed);
      for (;;) {
        std::vector<std::int64_t> got;
        auto const [done, why] = attempt(random, [&](auto const& stop, auto const& late) {
          tensor const t = s.run(three, stop, late);
          got.assign(t.span<std::int64_t>().begin(), t.span<std::int64_t>().end());
        });
        std::lock_guard lock(mutex);
        out.insert(got.begin(), got.end());
        if (!done && why == code::out_of_range) return;
      }
    };
    std::vector<std::thread> makers, takers;
    for (int i = 0; i < 4; ++i) {
      makers.emplace_back(produce, std::int64_t{1000} * i);
      takers.emplace_back(consume, static_cast<unsigned>(i));
    }
    for (auto& t : makers) t.join();
    s.run(q.close());
    for (auto& t : takers) t.join();
    for (auto n : out) {
      EXPECT_EQ(out.count(n), 1u) << n;
      EXPECT_TRUE(certain.contains(n) || possible.contains(n));
    }
    for (auto n : certain) EXPECT_EQ(out.count(n), 1u) << n << " was lost";
  }
}

// Those who wait hold elements of before, which must not come back.
TEST(queue_state, restored_while_somebody_waits_has_what_was_restored_alone) {
  for (auto order : {queue_order::fifo, queue_order::shuffled, queue_order::windowed, queue_order::priority}) {
    SCOPED_TRACE(static_cast<int>(order));
    bool const draws = order == queue_order::shuffled || order == queue_order::windowed;
    queue_state q(
        "q",
        {.order = order, .capacity = 100, .min_after_dequeue = draws ? 20 : 0, .components = {type(dtype::int64)}});
    for (std::int64_t i = 0; i < 50; ++i) {
      queue_element e{{tensor(i)}};
      ASSERT_TRUE(q.try_enqueue({&e, 1}));
    }
    asked a;
    a.request->wanted = 60;
    q.dequeue(a.request);
    q.restore({{{tensor(std::int64_t{7})}}, 0});
    q.give_up(*a.request, failed(code::cancelled, "that is enough"));
    EXPECT_FALSE(a.wait());
    auto const left = q.contents();
    ASSERT_EQ(left.elements.size(), 1u);
    EXPECT_EQ(left.elements[0][0].item<std::int64_t>(), 7);
    EXPECT_EQ(left.draws, 0u);
  }
}

TEST(queue_state, restored_serves_those_who_wait) {
  queue_state q("q", {.capacity = 4, .components = {type(dtype::int64)}});
  asked a;
  a.request->wanted = 2;
  q.dequeue(a.request);
  q.restore({{{tensor(std::int64_t{7})}, {tensor(std::int64_t{8})}}, 0});
  EXPECT_TRUE(a.wait());
  EXPECT_EQ(a.request->elements[1].parts[0].item<std::int64_t>(), 8);
  EXPECT_EQ(refusal([&] { q.restore({{{tensor(1.f)}}, 0}); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
