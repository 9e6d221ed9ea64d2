// What goes wrong on purpose: operations that misbehave, reports that are waited for, and a task in a process of its
// own.
#pragma once
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/processes.hpp"
#include "net/served.hpp"
#include "rill/net.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill::test {

/// The operation `square` with another name and kernel.
inline op_def misbehaving(std::string_view name, kernel (*cpu)(kernel_request const&)) {
  auto copy = definition<ops::square_op>();
  copy.name = name;
  copy.elementwise = nullptr;
  copy.effect = effect::writes;
  copy.cpu = cpu;
  return copy;
}
inline std::atomic<bool> is_stuck = true;
/// Returns its input when `is_stuck` is false, whatever becomes of its step.
inline op_def const stuck_op = misbehaving("stuck", [](kernel_request const&) {
  return kernel([](kernel_call const& call) {
    while (is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    *call.out<float>(0) = *call.in<float>(0);
  });
});
/// Ends the process.
inline op_def const exits_op =
    misbehaving("exits", [](kernel_request const&) { return kernel([](kernel_call const&) { ::_exit(3); }); });
inline expr<of<float>> misbehave(op_def const& by, expr<of<float>> x) {
  auto& g = *x.graph;
  return expr<of<float>>(value(g.innermost().add(by, {}, {x})));
}

/// Writes what a server's `status` says into the file that RILL_STATUS_FILE names, again and again, for the test that
/// has started its process. Without that variable it does nothing.
class status_writer {
 public:
  explicit status_writer(server const& s) {
    if (auto const* const file = std::getenv("RILL_STATUS_FILE"))
      thread_ = std::jthread([&s, name = std::string(file)](std::stop_token const& end) {
        for (int n = 1; !end.stop_requested(); ++n) {
          std::ofstream(name + ".new") << n << '\n' << s.status();
          std::filesystem::rename(name + ".new", name);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      });
  }

 private:
  std::jthread thread_;
};
/// Returns what a `status_writer` has written into this file since this was called; empty: no step is under way.
inline std::string status_in(std::string const& file) {
  auto const read = [&] {
    std::ifstream in(file);
    int n = 0;
    in >> n;
    in.ignore();
    return std::pair(n, std::string(std::istreambuf_iterator<char>(in), {}));
  };
  auto const before = read().first;
  for (int i = 0; i < 6000; ++i) {
    auto [n, text] = read();
    if (n > before + 1) return text;  // the one after may have been asked for before
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "nothing was written into " + file;
}
/// The same, once `is_wanted` is true for it; what it is after a minute if it never is.
template <class F> std::string status_in(std::string const& file, F const& is_wanted) {
  auto text = status_in(file);
  for (int i = 0; i < 1000 && !is_wanted(text); ++i) text = status_in(file);
  return text;
}

/// Keeps what is reported.
class report_box {
 public:
  std::function<void(std::string_view)> keep() {
    return [in = in_](std::string_view text) {
      std::lock_guard lock(in->mutex);
      in->all += std::string(text) + "\n";
      in->changed.notify_all();
    };
  }
  /// Waits until all these words have been reported. Returns what was reported instead if they are not.
  std::string missing(std::vector<std::string> const& words) const {
    std::unique_lock lock(in_->mutex);
    auto const all_there = [&] {
      for (auto const& w : words)
        if (in_->all.find(w) == std::string::npos) return false;
      return true;
    };
    return in_->changed.wait_for(lock, std::chrono::seconds(60), all_there) ? "" : "reported was: " + in_->all;
  }

 private:
  struct box {
    std::mutex mutex;
    std::condition_variable changed;
    std::string all;
  };
  std::shared_ptr<box> in_ = std::make_shared<box>();
};

/// Times that suit tests, and operations that misbehave. No process counts as lost because it gets no processor for a
/// while.
inline server_options recipe_options(report_box* reports = nullptr) {
  static std::vector<op_def const*> const all = [] {
    auto const known = all_operations();
    std::vector<op_def const*> made(known.begin(), known.end());
    made.insert(made.end(), {&stuck_op, &exits_op});
    return made;
  }();
  server_options o;
  o.threads = 2;
  o.operations = all;
  o.net = {.start_timeout = std::chrono::seconds(60),
           .connect_timeout = std::chrono::seconds(30),
           .heartbeat = std::chrono::milliseconds(100),
           .silence = std::chrono::seconds(30),
           .report_after = std::chrono::milliseconds(200)};
  if (reports) o.net.report = reports->keep();
  return o;
}

/// A cluster of "/job:worker/task:0" in this process and "/job:ps/task:0" in another.
class two_processes {
 public:
  explicit two_processes(server_options const& options, bool through_proxy = false) {
    auto const worker = folder_.socket("worker"), ps = folder_.socket("ps");
    jobs_ = "worker=" + worker + " ps=" + ps;
    seen_ = through_proxy ? "worker=" + worker + " ps=" + folder_.socket("proxy") : jobs_;
    here_ = std::make_unique<server>(cluster::parse(seen_, "worker:0"), options);
    start();
  }
  void start() { ps_ = start(jobs_); }
  /// Starts another process as the same task, at a socket of this name.
  std::unique_ptr<process> start_at(std::string const& socket) {
    return start("worker=" + folder_.socket("worker") + " ps=" + folder_.socket(socket));
  }
  std::string socket(std::string_view name) const { return folder_.socket(name); }
  process& ps() { return *ps_; }
  server& here() { return *here_; }
  target on() { return here_->target(); }

 private:
  static std::unique_ptr<process> start(std::string const& jobs) {
    return std::make_unique<process>("served_process.DISABLED_runs",
                                     std::map<std::string, std::string>{{"RILL_CLUSTER", jobs}, {"RILL_TASK", "ps:0"}});
  }

  socket_folder folder_;
  std::string jobs_, seen_;
  std::unique_ptr<server> here_;
  std::unique_ptr<process> ps_;
};

}  // namespace rill::test
