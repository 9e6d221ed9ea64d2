// Runs the sessions of tests that know nothing of devices over two to four emulated ones, or over two to four tasks,
// with their nodes spread at random: results have the same bits, no host code touches a device's memory, and nothing
// stays there.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <rill/rill.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rill::test {

/// The devices that all sessions of a program share, so that variables can pass from one to the next.
class spread final : public testing::EmptyTestEventListener {
 public:
  static inline std::uint64_t seed = 0;
  static std::vector<std::shared_ptr<device>>& devices() {
    static std::vector<std::shared_ptr<device>> all;
    return all;
  }
  static void change(session_options& o) {
    if (!o.devices.empty() || !o.target.tasks.empty()) return;
    o.devices = devices();
    o.soft_placement = true;
    o.placement = choose;
  }

  // By the names of nodes, so that a program is placed the same way in each of its runs.
  static place_choice choose(std::span<std::uint32_t const> candidates, std::span<std::uint32_t const> group,
                             place_context const& context) {
    auto h = 14695981039346656037u ^ (seed * 0x9e3779b97f4a7c15u);
    for (char c : context.sub[group[0]].name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return {candidates[(h >> 32) % candidates.size()], place_reason::fastest};
  }

 private:
  void OnTestEnd(testing::TestInfo const& test) override {
    // The thread of a device gives back what it holds of a step a moment after the step's end.
    auto const empty = [](auto const& d) { return d->memory().usage().count == 0; };
    for (int i = 0; i < 1000 && !std::ranges::all_of(devices(), empty); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (auto const& d : devices())
      if (auto const left = d->memory().usage(); left.count != 0 && !test.result()->Failed())
        ADD_FAILURE() << left.count << " buffers of " << left.current << " bytes stay in the memory of " << d->name();
  }
};

/// A task with the variables of the session, so that tests find them where they look. Each step may place them anew.
class spread_task final : public task {
 public:
  /// `keeps`: what lives as long as the task.
  explicit spread_task(std::shared_ptr<task> of, std::shared_ptr<void> keeps = {})
      : keeps_(std::move(keeps)), of_(std::move(of)) {}
  device_name const& name() const override { return of_->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return of_->ask_devices(); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override {
    return task_answer<std::vector<bool>>::ready(std::vector<bool>(variables.size()));
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    return of_->ask_to_add(std::move(share), fed, how);
  }

 private:
  std::shared_ptr<void> keeps_;
  std::shared_ptr<task> of_;
};

/// Gives a session these tasks, which have its variables, and places its nodes on them.
inline void spread_session(session_options& o, std::vector<std::shared_ptr<task>> const& over,
                           std::shared_ptr<void> const& keeps = {}) {
  for (auto const& t : over) o.target.tasks.push_back(std::make_shared<spread_task>(t, keeps));
  o.soft_placement = true;
  o.placement = spread::choose;
}
/// Whether a session is to be spread over tasks; it has its variables then.
inline bool is_to_spread(session_options& o) {
  if (!o.devices.empty() || !o.target.tasks.empty()) return false;
  if (!o.state) o.state = std::make_shared<container>();
  return true;
}
/// The number of tasks of all sessions: two to four.
inline std::uint32_t spread_width() { return static_cast<std::uint32_t>(2 + spread::seed % 3); }

/// Has all sessions changed by `change`, which gives them tasks.
inline void spread_by(void (*change)(session_options&), std::uint64_t seed) {
  detail::span_all_bodies = true;
  spread::seed = seed;
  detail::change_session_options = change;
}

/// Splits the steps of all sessions over tasks within this process.
inline void spread_over_tasks(std::uint64_t seed) {
  spread_by(
      [](session_options& o) {
        if (!is_to_spread(o)) return;
        std::vector<std::shared_ptr<task>> all;
        for (std::uint32_t i = 0; i < spread_width(); ++i)
          all.push_back(
              std::make_shared<worker>(device_name{.job = "test", .task = i},
                                       task_options{.threads = 1 + static_cast<int>(i) % 2, .state = o.state}));
        spread_session(o, all);
      },
      seed);
}

inline void spread_over_devices(std::uint64_t seed) {
  spread::seed = seed;
  for (std::uint32_t i = 0; i < spread_width(); ++i)
    spread::devices().push_back(emulated("accelerator:" + std::to_string(i), {.memory = std::size_t{1} << 32}));
  detail::change_session_options = spread::change;
  testing::UnitTest::GetInstance()->listeners().Append(new spread);
}

}  // namespace rill::test
