// Runs the sessions of tests that know nothing of devices over two to four emulated ones, or over two to four tasks,
// with their nodes spread at random, some by constraints: results have the same bits, no host code touches a device's
// memory, nothing stays there, nodes run on tasks that they ask for, and state by name lies on one.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <rill/rill.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
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
    return {candidates[hash_of(context.sub[group[0]].name) % candidates.size()], place_reason::fastest};
  }
  static std::uint64_t hash_of(std::string_view name) {
    auto h = 14695981039346656037u ^ (seed * 0x9e3779b97f4a7c15u);
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h >> 32;
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

/// Constraints of nodes that have none, drawn by their names: on branches and loops, too, and in their bodies.
class drawn_wishes {
 public:
  /// For some of the places; and for all or none, which soft placement passes over.
  static inline std::vector<std::string> narrow, wide;

  static void add(subgraph& sub) {
    if (std::ranges::any_of(sub.nodes, is_primitive)) return;  // all of it lies together
    for (auto& n : sub.nodes)
      if (!is_constant(n) && n.op != &fed_op) add(n);
  }

 private:
  static void add(node& n) {
    if (has_bodies(n)) add_to_bodies(n);
    if (asks_for_place(n)) return;
    bool const spans = has_bodies(n) && !called_by(n);  // then it has no place
    if (takes_variables(n) && !spans) n.device = drawn(wide, n.name);
    else n.device = drawn(narrow, n.op->rendezvous.empty() ? n.name : "state by name");
  }
  // Variables that one node takes lie together, so constraints of their users must not contradict each other.
  static bool takes_variables(node const& n) {
    if (is_variable(n)) return true;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (takes_reference(n, k)) return true;
    return false;
  }
  static void add_to_bodies(node& n) {
    bool const together = lies_together(n);
    if (together && bodies_ask(n)) return;
    for (auto& [_, a] : n.attributes)
      if (auto* const body = std::get_if<std::shared_ptr<subgraph const>>(&a)) {
        auto copy = **body;
        if (together) add_one(copy, drawn(takes_variables(n) ? wide : narrow, n.name));
        else add(copy);
        *body = std::make_shared<subgraph const>(std::move(copy));
      }
  }
  // Whether the bodies of a branch or loop may have to run on one task.
  static bool lies_together(node const& n) {
    if (called_by(n)) return true;
    if (ops::is_loop(n)) {
      auto const a = decode<ops::loop_rules::attributes>(n.attributes);
      if (a.uneven != 0 || (a.rows > 0 && a.counted() && !a.given_count)) return true;
    }
    bool together = false;
    for_each_body(n, [&](subgraph const& body) {
      for (auto const& inner : body.nodes)
        together = together || (has_bodies(inner) && !called_by(inner) && lies_together(inner));
    });
    return together;
  }
  static bool bodies_ask(node const& n) {
    bool ask = false;
    detail::for_each_wish_in_bodies(n, [&](node const& inner, auto const&) { ask = ask || !is_variable(inner); });
    return ask;
  }
  static void add_one(subgraph& body, std::string const& wish) {
    for (auto& n : body.nodes) {
      for (auto& [_, a] : n.attributes)
        if (auto* const inner = std::get_if<std::shared_ptr<subgraph const>>(&a)) {
          auto copy = **inner;
          add_one(copy, wish);
          *inner = std::make_shared<subgraph const>(std::move(copy));
        }
      if (!is_constant(n) && n.op != &fed_op && !has_bodies(n) && !takes_variables(n)) n.device = wish;
    }
  }
  static std::string drawn(std::vector<std::string> const& from, std::string_view name) {
    return from[spread::hash_of(name) % from.size()];
  }
};

/// Where the shares of a session's steps lie: nodes on tasks that they ask for, state by name on one task.
class spread_places {
 public:
  explicit spread_places(std::vector<std::shared_ptr<task>> const& all) {
    for (auto const& t : all) devices_.push_back({t->name(), t->devices()});
  }

  /// Throws error(internal) if a share of a task does not keep to it.
  void check(subgraph const& share, device_name const& task) {
    for (auto const& n : share.nodes) {
      check_wish(n, task);
      check_state(n, task);
      if (!has_bodies(n)) continue;
      for_each_body(n, [&](subgraph const& body) { check(body, task); });
      if (called_by(n)) detail::for_each_node_in_bodies(n, [&](node const& inner) { check_state(inner, task); });
    }
  }

 private:
  void check_wish(node const& n, device_name const& task) const {
    if (n.device.empty() || has_bodies(n) || is_constant(n) || n.op == &fed_op || is_variable(n)) return;
    auto const wish = device_name::parse(n.device);
    bool is_there = false;
    for (auto const& [name, all] : devices_)
      if (std::ranges::any_of(all, [&](auto const& d) { return matches(wish, d); })) {
        if (name == task) return;
        is_there = true;
      }
    if (is_there)
      throw error(code::internal, "spread: it asks for " + n.device + " and runs on " + task.text(), n.name);
  }
  void check_state(node const& n, device_name const& task) {
    if (n.op->rendezvous.empty()) return;
    auto const& name = detail::attribute_as<std::string>(n.attributes, n.op->rendezvous);
    std::lock_guard lock(mutex_);
    auto const at = lies_.try_emplace(std::string(n.op->rendezvous) + " " + name, task).first;
    if (at->second != task)
      throw error(code::internal, "spread: the " + at->first + " is on " + at->second.text() + " and " + task.text(),
                  n.name);
  }

  std::vector<std::pair<device_name, std::vector<device_name>>> devices_;  // by task
  std::mutex mutex_;
  std::map<std::string, device_name> lies_;
};

/// A task with the variables of the session, so that tests find them where they look. Each step may place them anew.
class spread_task final : public task {
 public:
  /// `keeps`: what lives as long as the task.
  spread_task(std::shared_ptr<task> of, std::shared_ptr<spread_places> places, std::shared_ptr<void> keeps)
      : keeps_(std::move(keeps)), of_(std::move(of)), places_(std::move(places)) {}
  device_name const& name() const override { return of_->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return of_->ask_devices(); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override {
    return task_answer<std::vector<bool>>::ready(std::vector<bool>(variables.size()));
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    places_->check(share, name());
    return of_->ask_to_add(std::move(share), fed, how);
  }

 private:
  std::shared_ptr<void> keeps_;
  std::shared_ptr<task> of_;
  std::shared_ptr<spread_places> places_;
};

/// Gives a session these tasks, which have its variables, and places its nodes on them.
inline void spread_session(session_options& o, std::vector<std::shared_ptr<task>> const& over,
                           std::shared_ptr<void> const& keeps = {}) {
  auto const places = std::make_shared<spread_places>(over);
  for (auto const& t : over) o.target.tasks.push_back(std::make_shared<spread_task>(t, places, keeps));
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
  drawn_wishes::narrow = {"", "", "", "/job:test", "/job:more", "/job:test/task:0", "/job:more/device:cpu", "cpu:1"};
  drawn_wishes::wide = {"", "cpu", "gpu:0", "/job:away"};
  detail::add_wishes = drawn_wishes::add;
  detail::change_session_options = change;
}
/// The tasks of all sessions: of two jobs.
inline std::vector<device_name> spread_names() {
  std::vector<device_name> all;
  auto const first = (spread_width() + 1) / 2;
  for (std::uint32_t i = 0; i < spread_width(); ++i)
    all.push_back({.job = i < first ? "test" : "more", .task = i < first ? i : i - first});
  return all;
}

/// Splits the steps of all sessions over tasks within this process.
inline void spread_over_tasks(std::uint64_t seed) {
  spread_by(
      [](session_options& o) {
        if (!is_to_spread(o)) return;
        static auto const second = cpu(1, 1);
        std::vector<std::shared_ptr<task>> all;
        for (auto const& name : spread_names()) {
          task_options own{.threads = 1 + static_cast<int>(all.size()) % 2, .state = o.state};
          if (name.job == "more") own.devices = {second};
          all.push_back(std::make_shared<worker>(name, own));
        }
        spread_session(o, all);
      },
      seed);
}

/// `gpu`: one that is among the devices, or null. With an even seed the emulated devices are peers.
inline void spread_over_devices(std::uint64_t seed, std::shared_ptr<device> gpu = {}) {
  spread::seed = seed;
  for (std::uint32_t i = 0; i < (gpu ? 1 : spread_width()); ++i)
    spread::devices().push_back(
        emulated("accelerator:" + std::to_string(i), {.memory = std::size_t{1} << 32, .peers = seed % 2 == 0}));
  drawn_wishes::narrow = {"", "", "", "cpu:0", "accelerator", "accelerator:1", "/device:accelerator:0"};
  drawn_wishes::wide = {"", "/device:*", "gpu:0", "/job:away"};
  if (gpu) {
    spread::devices().push_back(std::move(gpu));
    drawn_wishes::narrow = {"", "", "cpu:0", "accelerator", "gpu:0", "/device:gpu"};
  }
  detail::add_wishes = drawn_wishes::add;
  detail::change_session_options = spread::change;
  testing::UnitTest::GetInstance()->listeners().Append(new spread);
}

}  // namespace rill::test
