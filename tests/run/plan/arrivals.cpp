#include "rill/run/plan/arrivals.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rill {
namespace {

/// A plan of which some instructions wait, and one run of it: the earliest that is ready begins, what waits is done
/// sometime later.
struct sample {
  dependencies d;
  std::vector<bool> waits;

  sample(std::mt19937& random, std::uint32_t n) : d(step_order{{}, {}}, {}, n), waits(n) {
    for (std::uint32_t at = 0; at < n; ++at) {
      waits[at] = random() % 4 == 0;
      for (auto more = random() % 3; at > 0 && more > 0; --more) d.add(static_cast<std::uint32_t>(random() % at), at);
    }
  }
  /// When each begins and is done.
  std::vector<std::pair<int, int>> run(std::mt19937& random) const {
    std::vector<std::pair<int, int>> when(d.size(), {-1, -1});
    std::set<std::uint32_t> pending;
    int clock = 0;
    auto const ready = [&](std::uint32_t at) {
      return when[at].first < 0 &&
             std::all_of(d.before(at).begin(), d.before(at).end(), [&](auto b) { return when[b].second >= 0; });
    };
    for (std::size_t done = 0; done < d.size();) {
      std::uint32_t next = 0;
      while (next < d.size() && !ready(next)) ++next;
      if (!pending.empty() && (next == d.size() || random() % 3 == 0)) {
        auto const p = std::next(pending.begin(), static_cast<std::ptrdiff_t>(random() % pending.size()));
        when[*p].second = ++clock, ++done;
        pending.erase(p);
        continue;
      }
      when[next].first = ++clock;
      if (waits[next] && random() % 4 != 0) pending.insert(next);
      else when[next].second = ++clock, ++done;
    }
    return when;
  }
};

TEST(arrivals, says_of_no_two_that_one_is_done_before_the_other_if_a_schedule_has_it_otherwise) {
  std::mt19937 random(4);
  std::size_t told = 0, always = 0;
  for (int round = 0; round < 60; ++round) {
    sample const s(random, 2 + static_cast<std::uint32_t>(random() % 24));
    arrivals const before(s.d, s.waits);
    auto const n = static_cast<std::uint32_t>(s.d.size());
    std::vector<std::vector<bool>> holds(n, std::vector<bool>(n, true));
    for (int run = 0; run < 100; ++run) {
      auto const when = s.run(random);
      for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = 0; b < n; ++b)
          if (when[a].second > when[b].first) holds[a][b] = false;
    }
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        always += holds[a][b];
        told += before(a, b);
        if (before(a, b)) {
          EXPECT_TRUE(holds[a][b]) << a << ' ' << b;
        }
      }
  }
  EXPECT_GE(told * 10, always * 9) << "and hardly misses one";
}

TEST(arrivals, says_nothing_of_sets_that_there_is_no_room_for) {
  std::mt19937 random(4);
  sample const s(random, 200);
  arrivals const all(s.d, s.waits), some(s.d, s.waits, 8);
  std::size_t less = 0;
  for (std::uint32_t a = 0; a < 200; ++a)
    for (std::uint32_t b = 0; b < 200; ++b) {
      if (some(a, b)) {
        EXPECT_TRUE(all(a, b));
      }
      less += all(a, b) && !some(a, b);
    }
  EXPECT_GT(less, 0u);
}

}  // namespace
}  // namespace rill
