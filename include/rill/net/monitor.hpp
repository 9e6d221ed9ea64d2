// Looks after steps that take long: what each task waits for, and for how long, is told to the step's master, and the
// master reports it. While no step takes long, nothing is sent.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/step_progress.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/movements.hpp"
#include "rill/net/options.hpp"
#include "rill/run/tasks/step_id.hpp"

namespace rill::net {

/// "1.3 s".
inline std::string seconds_text(std::chrono::nanoseconds n) {
  auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(n).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

/// The runs of shares that this process does, and those that it has asked others for. Any thread may use it; the
/// network's thread looks at them.
class monitor {
 public:
  using clock = std::chrono::steady_clock;

  /// A share that runs here. It has been running since it was added.
  struct share_here {
    std::string step;  ///< "step 3 of /job:worker/task:0"
    std::function<std::vector<lasting>(clock::time_point, std::chrono::nanoseconds)> sample;  ///< what lasts, at least
    std::function<void(std::vector<lasting>)> tell;                                           ///< the step's master
    clock::time_point begun = clock::now();
  };
  /// A share of a step of this process, on any task.
  struct share_asked {
    step_id id;
    std::uint64_t step;  ///< its number in its session
    std::string task;    ///< "/job:ps/task:0 (127.0.0.1:7000)"
    std::function<std::string()>
        silence;  ///< returns how long nothing was heard from it; empty: it was heard of lately
    clock::time_point begun = clock::now();
    std::vector<lasting> said = {};  ///< by the task, last
    clock::time_point said_at = {};
  };
  using here_place = std::list<share_here>::iterator;
  using asked_place = std::list<share_asked>::iterator;

  /// `post_report` hands a report to the user's code, on a thread that may wait.
  monitor(asio::io_context& io, net_options const& options, std::function<void(std::string)> post_report)
      : io_(io),
        timer_(io),
        after_(std::clamp<clock::duration>(options.report_after, std::chrono::milliseconds(1), std::chrono::hours(24))),
        every_(std::max<clock::duration>(std::min<clock::duration>(options.heartbeat, after_ / 2),
                                         std::chrono::milliseconds(1))),
        post_report_(std::move(post_report)) {}
  monitor(monitor const&) = delete;
  monitor& operator=(monitor const&) = delete;

  here_place add(share_here s) {
    std::lock_guard lock(mutex_);
    here_.push_front(std::move(s));
    look_soon();
    return here_.begin();
  }
  void remove(here_place at) {
    std::list<share_here> gone;  // outlives the lock
    std::lock_guard lock(mutex_);
    gone.splice(gone.begin(), here_, at);
  }
  asked_place add(share_asked s) {
    std::lock_guard lock(mutex_);
    asked_.push_front(std::move(s));
    look_soon();
    return asked_.begin();
  }
  void remove(asked_place at) {
    std::list<share_asked> gone;
    std::lock_guard lock(mutex_);
    gone.splice(gone.begin(), asked_, at);
  }
  /// A task has said what it is doing.
  void take(asked_place at, std::vector<lasting> said) {
    std::lock_guard lock(mutex_);
    take_locked(at, std::move(said));
  }
  /// The same, within a call of `tell`.
  void take_locked(asked_place at, std::vector<lasting> said) {
    at->said = std::move(said);
    at->said_at = clock::now();
  }
  /// Returns what a task said last that it is doing; empty: it has not said that anything lasts.
  std::string last_words(asked_place at) const {
    std::lock_guard lock(mutex_);
    return at->said.empty() ? "" : line(at->said.front(), clock::now() - at->said_at);
  }

  /// A share has failed because of a connection: when the step has ended, it is reported what its tasks have sent and
  /// received last.
  void fail_on_wire(step_id id, std::uint64_t step, failure const& why) {
    std::lock_guard lock(mutex_);
    if (broken_.size() < most_known)
      broken_.try_emplace(id, broken{"step " + std::to_string(step) + " of this process failed: " + why->message() +
                                         "\nIts values, as far as their tasks answer:",
                                     std::make_shared<gathered_movements>(), clock::now(), false});
  }
  /// A step has ended: returns where its tasks say what they have sent and received; null: it has not failed so.
  std::shared_ptr<gathered_movements> gather(step_id id) {
    std::lock_guard lock(mutex_);
    auto const at = broken_.find(id);
    if (at == broken_.end()) return nullptr;
    if (!std::exchange(at->second.gathers, true)) {
      auto const timer = std::make_shared<asio::steady_timer>(io_, std::chrono::milliseconds(500));
      timer->async_wait([this, id, timer](std::error_code) { report_broken(id); });
    }
    return at->second.all;
  }
  /// Returns the steps that are under way, with what each task does.
  std::string text() {
    auto const now = clock::now();
    std::string all;
    std::lock_guard lock(mutex_);
    for (auto const& s : here_) {
      all += s.step + ", for " + seconds_text(now - s.begun) + "\n";
      for (auto const& each : s.sample(now, {})) all += "  " + line(each, {}) + "\n";
    }
    for (auto const& [id, shares] : steps()) {
      all += title(*shares.front(), now) + "\n";
      for (auto const* s : shares) all += words(*s, now, {});
    }
    return all;
  }

 private:
  struct reported {
    clock::duration next;    // how long the step lasts at its next report
    clock::time_point at;    // of the last
    std::uint64_t step = 0;  // of the last
  };

  struct broken {
    std::string title;
    std::shared_ptr<gathered_movements> all;
    clock::time_point at;
    bool gathers;
  };

  void report_broken(step_id id) {
    std::lock_guard lock(mutex_);
    auto const of = broken_.extract(id).mapped();
    if (auto const lines = of.all->text(of.at); !lines.empty()) post_report_(of.title + lines);
  }
  // The caller holds the lock.
  void look_soon() {
    if (std::exchange(looks_, true)) return;
    asio::post(io_, [this] { wait(); });
  }
  void wait() {
    timer_.expires_after(every_);
    timer_.async_wait([this](std::error_code e) {
      if (e) return;
      {
        std::lock_guard lock(mutex_);
        looks_ = !here_.empty() || !asked_.empty();
        if (!looks_) return;
        look(clock::now());
      }
      wait();
    });
  }
  void look(clock::time_point now) {
    // Tasks tell early, so that the master knows in time.
    for (auto& s : here_) try {
        if (auto all = s.sample(now, after_ / 2); !all.empty()) s.tell(std::move(all));
      } catch (...) {  // no memory for it: the next time, perhaps
      }
    for (auto const& [id, shares] : steps()) report(shares, now);
    if (known_.size() > most_known) known_.clear();
  }

  std::map<step_id, std::vector<share_asked const*>> steps() const {
    std::map<step_id, std::vector<share_asked const*>> all;
    for (auto const& s : asked_) all[s.id].push_back(&s);
    return all;
  }
  static std::string title(share_asked const& s, clock::time_point now) {
    return "step " + std::to_string(s.step) + " of this process, for " + seconds_text(now - s.begun);
  }
  static std::string line(lasting const& l, clock::duration since) {
    return l.what + ", for " + seconds_text(l.lasted + since);
  }
  // What is known of a share: what its task has said lately, or that nothing is heard from it.
  std::string words(share_asked const& s, clock::time_point now, std::string* key) const {
    std::string all;
    auto const add = [&](std::string const& what) { all += "  " + s.task + " " + what + "\n"; };
    auto const silence = s.silence ? s.silence() : "";
    if (!silence.empty()) {
      add("is silent: " + silence);
      if (key) *key += s.task;
    }
    if (now - s.said_at > 3 * std::max(every_, after_)) return all;
    for (auto const& each : s.said) {
      add(line(each, now - s.said_at));
      if (key) *key += s.task + each.what;
    }
    return all;
  }
  void report(std::vector<share_asked const*> const& shares, clock::time_point now) {
    auto const lasted = now - shares.back()->begun;
    if (lasted < after_) return;
    std::string all, key;
    for (auto const* s : shares) all += words(*s, now, &key);
    if (all.empty() || !is_due(key, shares.front()->id.number, lasted, now)) return;
    all.pop_back();
    post_report_(title(*shares.front(), now) + ":\n" + all);
  }
  // A step is reported on again when it has lasted twice as long; what lasts in step after step, once a minute.
  bool is_due(std::string const& key, std::uint64_t step, clock::duration lasted, clock::time_point now) {
    auto const [at, fresh] = known_.try_emplace(key, reported{{}, now, step});
    auto& last = at->second;
    if (!fresh && (step == last.step ? lasted < last.next : now - last.at < std::chrono::minutes(1))) return false;
    last = {2 * lasted, now, step};
    return true;
  }

  static constexpr std::size_t most_known = 1000;

  asio::io_context& io_;
  asio::steady_timer timer_;
  clock::duration const after_, every_;  // when something is reported, and how often it is looked for
  std::function<void(std::string)> post_report_;
  mutable std::mutex mutex_;
  std::list<share_here> here_;
  std::list<share_asked> asked_;
  std::map<step_id, broken> broken_;       // steps that have failed because of a connection
  bool looks_ = false;                     // whether the timer runs
  std::map<std::string, reported> known_;  // by what lasts
};

}  // namespace rill::net
