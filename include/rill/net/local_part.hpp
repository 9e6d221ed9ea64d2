// The task of a server, as the sessions of its own process see it.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/net/served_link.hpp"

namespace rill::net {

/// A share that this process runs of a step of its own. Its values go to other processes, too.
class local_share final : public registered_share {
 public:
  local_share(std::shared_ptr<served_task const> at, std::shared_ptr<registered_share> of,
              std::vector<device_name> tasks)
      : at_(std::move(at)), of_(std::move(of)), tasks_(std::move(tasks)) {}

  void start(share_run with, completion done) override {
    auto& steps = *at_->steps;
    steps.ended_before({with.id.master, rill::detail::running_steps::here().oldest()});
    auto const step = steps.find(with.id);
    if (!step) throw error(*step_table::over());
    auto const both = std::make_shared<stopping>(with.stop);
    step->begin(tasks_, both->stop);
    with.exchange = step;
    with.stop = both->stop.get_token();
    with.progress = progress_of(with.step, at_->here->name().text());
    auto& reports = at_->net->steps();
    auto const asked = reports.add({.id = with.id, .step = with.step, .task = at_->here->name().text(), .silence = {}});
    auto const here = reports.add(reported_share(
        with.progress, step, [&reports, asked](auto all) { reports.take_locked(asked, std::move(all)); }));
    auto const forget = [at = at_, here, asked] {
      at->net->steps().remove(here);
      at->net->steps().remove(asked);
    };
    try {
      auto const failing = with.failing;
      of_->start(std::move(with),
                 [step, both, forget, failing, done = std::move(done)](std::vector<tensor> results, failure why) {
                   both->from_session.reset();
                   auto const end = [forget, done](std::vector<tensor> all, failure cause, bool) {
                     forget();
                     done(std::move(all), std::move(cause));
                   };
                   if (why) return end({}, cause_of(std::move(why), *step), false);
                   end_run(*step, std::move(results), end, [failing](failure lost) {
                     if (lost && failing) failing(std::move(lost));
                   });
                 });
    } catch (...) {
      forget();
      throw;
    }
  }
  bool is_ready() const override { return of_->is_ready(); }
  task_answer<std::string> ask_to_explain(stages which) const override { return of_->ask_to_explain(which); }
  void trim() override { of_->trim(); }
  void forget(step_id id) override {
    if (auto const all = at_->net->steps().gather(id)) all->add(at_->here->name().text(), at_->steps->moved().of(id));
    at_->steps->forget(id);
  }

 private:
  // The session stops it, or a value that was lost.
  struct stopping {
    struct pass_on {
      std::stop_source* to;
      void operator()() const { to->request_stop(); }
    };
    explicit stopping(std::stop_token session) { from_session.emplace(std::move(session), pass_on{&stop}); }
    std::stop_source stop;
    std::optional<std::stop_callback<pass_on>> from_session;
  };

  std::shared_ptr<served_task const> at_;
  std::shared_ptr<registered_share> of_;
  std::vector<device_name> tasks_;
};

/// The task of this process.
class local_part final : public task {
 public:
  explicit local_part(std::shared_ptr<served_task const> at) : at_(std::move(at)) {}

  device_name const& name() const override { return at_->here->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return at_->here->ask_devices(); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override {
    return at_->here->ask_values(variables);
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    return at_->here->ask_to_add(std::move(share), fed, how)
        .then([at = at_, tasks = how.tasks](auto made) -> std::shared_ptr<registered_share> {
          return std::make_shared<local_share>(at, std::move(made), tasks);
        });
  }

 private:
  std::shared_ptr<served_task const> at_;
};

}  // namespace rill::net
