// Runs the sessions of tests that know nothing of tasks over two to four servers, which listen at Unix sockets and have
// a device beside their hosts.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/served.hpp"
#include "rill/io.hpp"
#include "rill/ops/list/registry.hpp"
#include "spread.hpp"

namespace rill::test {

/// A task of which every second node that may run on its device is put there, with what is fetched of it, as if the
/// user had asked for that.
class task_with_device final : public task {
 public:
  explicit task_with_device(std::shared_ptr<task> of) : of_(std::move(of)) {}
  device_name const& name() const override { return of_->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return of_->ask_devices(); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override {
    return of_->ask_values(variables);
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    for (auto& n : share.nodes)
      if (hash(n.name) % 2 == 0 && may_lie_there(share, n)) n.device = spread::devices().front()->name();
    return of_->ask_to_add(std::move(share), fed, how);
  }

 private:
  static std::uint64_t hash(std::string_view name) {
    auto h = 14695981039346656037u ^ spread::seed;
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h >> 32;
  }
  // Whether neither its kind nor a variable nor a wish says where it runs.
  static bool may_lie_there(subgraph const& of, node const& n) {
    if (!n.device.empty() || !n.colocated.empty() || n.op->cpu == nullptr) return false;
    if (is_variable(n)) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (takes_reference(n, k)) return false;
    std::vector<type> inputs;
    detail::input_types(of, n, inputs);
    return !detail::host_reason(n, inputs);
  }

  std::shared_ptr<task> of_;
};

/// Splits the steps of all sessions over servers, of which each session has its own. All have one emulated device, for
/// their variables are those of the session.
inline void spread_over_servers(std::uint64_t seed) {
  spread::devices().push_back(emulated("accelerator:0", {.memory = std::size_t{1} << 32}));
  testing::UnitTest::GetInstance()->listeners().Append(new spread);
  spread_by(
      [](session_options& o) {
        if (!is_to_spread(o)) return;
        auto options = served_cluster::with(quick());
        options.state = o.state;
        options.operations = all_operations<io_operations>();
        options.devices = spread::devices();
        auto const all = std::make_shared<served_cluster>(std::vector<job>{{"test", spread_width()}}, options);
        auto seen = spread::seed % 2 == 0 ? (*all)[0].target() : connect(all->address(0), quick());
        for (auto& t : seen.tasks) t = std::make_shared<task_with_device>(t);
        spread_session(o, seen.tasks, all);
      },
      seed);
}

}  // namespace rill::test
