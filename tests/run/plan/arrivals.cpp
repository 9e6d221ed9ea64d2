#include "rill/run/plan/arrivals.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace rill {
namespace {

using id = plan_ids::instruction_id;

/// A plan of which some instructions wait, and one run of it: the earliest that is ready begins, what waits is done
/// sometime later.
struct sample {
  dependencies d;
  indexed<id, bool> waits;

  sample(std::mt19937& random, std::uint32_t n) : d(step_order{{}, {}}, {}, n), waits(n) {
    for (auto at : waits.indices()) {
      waits[at] = random() % 4 == 0;
      auto const earlier = as_integer(at);
      for (auto more = random() % 3; earlier > 0 && more > 0; --more) d.add(as_index<id>(random() % earlier), at);
    }
  }
  /// When each begins and is done.
  indexed<id, std::pair<int, int>> run(std::mt19937& random) const {
    indexed<id, std::pair<int, int>> when(d.size(), {-1, -1});
    std::set<id> pending;
    int clock = 0;
    auto const ready = [&](id at) {
      return when[at].first < 0 &&
             std::all_of(d.before(at).begin(), d.before(at).end(), [&](auto b) { return when[b].second >= 0; });
    };
    for (std::size_t done = 0; done < d.size();) {
      id next{};
      while (next != when.end_index() && !ready(next)) next = rill::next(next);
      if (!pending.empty() && (next == when.end_index() || random() % 3 == 0)) {
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
          if (when[id{a}].second > when[id{b}].first) holds[a][b] = false;
    }
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        always += holds[a][b];
        told += before(id{a}, id{b});
        if (before(id{a}, id{b})) {
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
      if (some(id{a}, id{b})) {
        EXPECT_TRUE(all(id{a}, id{b}));
      }
      less += all(id{a}, id{b}) && !some(id{a}, id{b});
    }
  EXPECT_GT(less, 0u);
}

}  // namespace
}  // namespace rill
