// The processes of a cluster (white paper §3.1; OSDI'16 §3.3): each has a server, and any of them, or a client, has
// sessions that run over all.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "rill/graph/op_def.hpp"
#include "rill/net/cluster.hpp"
#include "rill/net/options.hpp"
#include "rill/net/security.hpp"
#include "rill/run/tasks/task.hpp"
#include "rill/run/worker.hpp"

namespace rill {

/// What a server has, besides what its cluster says.
struct server_options {
  int threads = 0;                        ///< for kernels; 0: one for each processor that the process may use
  std::shared_ptr<container> state = {};  ///< where its variables live; empty: a new one
  std::vector<std::shared_ptr<device>> devices = {};  ///< besides its host
  /// The certificates by which the processes of the cluster know each other, and
  rill::tls tls = {};
  /// or the key that they share.
  shared_key key = {};
  /// The keys of outside clients, if there is a `key`.
  std::vector<shared_key> client_keys = {};
  /// What outside clients may do.
  client_limits clients = {};
  /// Whether everybody who can reach this process may run steps in it. Without this, certificates or a key, a server
  /// listens only where processes of this machine can reach it.
  bool trusted_network = false;
  /// Where the process writes its part of checkpoints for the other processes of the cluster, and for no client:
  /// `checkpoint_folder(path)` (rill/io.hpp); null: it writes none.
  std::shared_ptr<shard_store> checkpoints = {};
  /// Which operations others may run here; empty: `all_operations()`, which touch no files.
  std::span<op_def const* const> operations = {};
  /// How long `join` waits for steps that run when the process is told to end.
  std::chrono::nanoseconds drain = std::chrono::seconds(10);
  net_options net = {};
};

/// What an outside client says of itself.
struct client_options {
  rill::tls tls = {};   ///< its certificate, or
  shared_key key = {};  ///< its key
  net_options net = {};
};

/// A process of a cluster: runs its shares of steps for the sessions of all processes.
class server {
 public:
  /// Listens at the address of `of.task`. Throws error(invalid_argument) if the cluster has no such task or the address
  /// is open to strangers, and error(unavailable) if it is taken.
  explicit server(rill::cluster of, server_options options = {});
  /// Closes all connections: steps that need this process fail.
  ~server();
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  /// Returns which task of the cluster this process is.
  device_name const& task() const;
  /// Returns the cluster. If the address of this process has port 0, it stands there with the port that it got.
  rill::cluster const& cluster() const;
  bool is_chief() const { return cluster().is_chief(); }
  /// Returns where sessions of this process run their steps: on all tasks, and here what may run anywhere.
  rill::target target() const;
  /// Returns the container of the variables of this task.
  container& state() const;
  net_traffic traffic() const;
  /// Returns the steps that are under way as text: of this process, and its shares of the steps of others, with what
  /// each task waits for, or runs, and for how long.
  std::string status() const;

  /// Waits until the process is told to end by SIGTERM or SIGINT, or by `stop`; then lets steps end that run, for
  /// `server_options::drain`, and refuses new ones. Returns 0, for main. With the name of a job it ends also when all
  /// tasks of that job, but for this process itself, have been connected and none is any more: launchers such as mpirun
  /// and srun wait for all processes of a run. Throws error(not_found) if there is no such job, and error(unavailable),
  /// with the name of a task of that job, if the others have left and that one has not come for
  /// `net_options::start_timeout` since.
  int join(std::string_view until_left = {});
  /// Ends `join`; on any thread.
  void stop();

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Returns where the sessions of an outside client run their steps: on all tasks of the cluster that the server at
/// `address` belongs to, and on that one what may run anywhere. Throws error(unavailable) if nobody is there for
/// `net_options::start_timeout`.
target connect(std::string_view address, client_options const& options = {});
inline target connect(std::string_view address, net_options const& net) {
  return connect(address, client_options{.net = net});
}

}  // namespace rill

#if RILL_NET_RUNTIME
#include <condition_variable>
#include <filesystem>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "rill/net/listener.hpp"
#include "rill/net/local_part.hpp"
#include "rill/net/remote_task.hpp"
#include "rill/net/served_link.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/ops/state/generation.hpp"
#include "rill/ops/state/snapshot.hpp"

namespace rill {

namespace net::detail {

/// Returns the tasks of a cluster as peers, but for one.
inline std::shared_ptr<peers> peers_of(rill::cluster const& c, std::shared_ptr<network> net, device_name const& but) {
  std::map<device_name, address> all;
  for (auto const& t : c.tasks())
    if (t != but) all.emplace(t, c.at(t));
  return std::make_shared<peers>(std::move(net), all);
}

}  // namespace net::detail

struct server::parts {
  rill::cluster cluster;
  server_options options;
  std::shared_ptr<net::served_task> here;
  std::shared_ptr<net::listener> listening;
  std::shared_ptr<rill::task> own;
  std::future<void> gone;  // whether `here` is
  std::mutex mutex;
  std::condition_variable told;
  bool is_to_end = false;

  // Why it is no use to wait until all tasks of a job have left; null: it is.
  failure absent(std::string_view job) const;
};

RILL_NET_INLINE server::server(rill::cluster of, server_options options) try : parts_(std::make_unique<parts>()) {
  of.check();
  auto const me = of.task;
  if (me.empty()) throw error(code::invalid_argument, "a server is one of the tasks of its cluster: set cluster::task");
  auto at = of.at(me);
  auto const secured = net::tls_context::make(options.tls, options.key, options.client_keys);
  bool const is_open = !at.is_local() || (of.socket && of.socket->is_open());
  if (is_open && !options.trusted_network && !secured)
    throw error(code::invalid_argument, "whoever can reach " + at.text() +
                                            " could run steps in this process: set server_options::key or tls, listen "
                                            "at 127.0.0.1 or at a Unix socket, or set server_options::trusted_network");
  if (options.net.ucx && !options.trusted_network)
    throw error(
        code::invalid_argument,
        "UCX listens where other machines can reach this process: set server_options::trusted_network, or leave "
        "out net_options::ucx");
  std::promise<void> gone;
  parts_->gone = gone.get_future();
  auto const here = net::served_task::make(std::move(gone));
  here->net = net::network::make(options.net, me, secured);
  here->here = std::make_shared<worker>(me, task_options{.threads = options.threads,
                                                         .state = options.state,
                                                         .devices = options.devices,
                                                         .checkpoints = options.checkpoints});
  here->others = net::detail::peers_of(of, here->net, me);
  here->steps = std::make_shared<net::step_table>(here->others);
  here->operations = options.operations.empty() ? all_operations() : options.operations;
  here->task_operations.assign(here->operations.begin(), here->operations.end());
  if (options.checkpoints)
    for (auto const* op :
         {&definition<ops::snapshot_op>(), &definition<ops::write_snapshot_op>(), &definition<ops::drop_snapshot_op>()})
      here->task_operations.push_back(op);
  here->task_operations.push_back(&definition<ops::begin_generation_op>());
  here->clients = options.clients;
  here->steps->add_master(detail::running_steps::here().process());
  parts_->listening = std::make_shared<net::listener>(here);
  bool const listens = of.socket && of.socket->port() == at.port;
  if (!listens || !parts_->listening->listen_by(*of.socket)) at = parts_->listening->listen(at);
  of.socket = nullptr;
  parts_->listening->take_memory(at);
  for (auto& j : of.jobs)
    if (j.name == me.job) j.addresses[*me.task] = at.text();
  here->hello = here->net->hello();
  here->hello.devices = here->here->devices();
  for (auto const& t : of.tasks()) {
    here->hello.tasks.push_back(t);
    here->hello.addresses.push_back(of.at(t).text());
  }
  parts_->own = std::make_shared<net::local_part>(here);
  parts_->listening->start();
  parts_->here = here;
  parts_->cluster = std::move(of);
  parts_->options = std::move(options);
} catch (...) {
  rethrow_as_error();
}

RILL_NET_INLINE server::~server() {
  parts_->listening->end();
  auto const gone = std::move(parts_->gone);
  bool const has_sessions = parts_->own.use_count() > 1;
  parts_.reset();
  // Runs that are stopped let go of it soon. Only a user's kernel that does not hear of that takes longer.
  if (!has_sessions) gone.wait_for(std::chrono::seconds(2));
}

RILL_NET_INLINE device_name const& server::task() const { return parts_->cluster.task; }
RILL_NET_INLINE rill::cluster const& server::cluster() const { return parts_->cluster; }
RILL_NET_INLINE container& server::state() const { return parts_->here->here->state(); }
RILL_NET_INLINE net_traffic server::traffic() const { return parts_->here->net->traffic()->get(); }
RILL_NET_INLINE std::string server::status() const {
  std::string all;
  auto& net = *parts_->here->net;
  net::finish_on(net.io(), [&] { all = net.steps().text(); });
  return all;
}
RILL_NET_INLINE target server::target() const {
  rill::target all{.tasks = {parts_->own}};
  for (auto const& t : cluster().tasks())
    if (t != task()) all.tasks.push_back(std::make_shared<net::remote_task>(t, parts_->here->others));
  return all;
}

RILL_NET_INLINE int server::join(std::string_view until_left) {
  auto& p = *parts_;
  auto const tasks = p.cluster.size(until_left);
  if (!until_left.empty() && tasks == 0)
    throw error(code::not_found, "the cluster has no job '" + std::string(until_left) + "' that could leave");
  asio::signal_set endings(p.here->net->io(), SIGTERM, SIGINT);
  endings.async_wait([&p](std::error_code e, int) {
    if (e) return;
    std::lock_guard lock(p.mutex);
    p.is_to_end = true;
    p.told.notify_all();
  });
  std::unique_lock lock(p.mutex);
  failure why;
  if (tasks == 0) p.told.wait(lock, [&] { return p.is_to_end; });
  while (!p.is_to_end && !p.here->guests.is_over(until_left, tasks, task()) && !(why = p.absent(until_left)))
    p.told.wait_for(lock, std::chrono::milliseconds(100));
  lock.unlock();
  p.here->is_to_end = true;
  auto const latest = deadline_after(p.options.drain);
  // The results of a run that has ended may still be on their way.
  while ((p.here->runs != 0 || p.listening->is_writing()) && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  net::finish_on(p.here->net->io(), [&] { endings.cancel(); });
  if (why) throw error(*why);
  return 0;
}
RILL_NET_INLINE failure server::parts::absent(std::string_view job) const {
  auto const since = here->guests.gone_since(job);
  if (!since || std::chrono::steady_clock::now() < *since + options.net.start_timeout) return nullptr;
  for (auto const& t : cluster.tasks())
    if (t.job == job && t != cluster.task && !here->guests.has_been(t))
      return failed({code::unavailable, cause::lost},
                    {t.text(),
                     " has never connected to this process, and the others of its job have "
                     "left: was it started?"});
  return nullptr;
}
RILL_NET_INLINE void server::stop() {
  std::lock_guard lock(parts_->mutex);
  parts_->is_to_end = true;
  parts_->told.notify_all();
}

RILL_NET_INLINE target connect(std::string_view address, client_options const& options) try {
  auto const net = net::network::make(options.net, {}, net::tls_context::make(options.tls, options.key, {}));
  auto const said =
      net::peer(net, rill::address::parse(address), {}).wait_for_hello(deadline_after(options.net.start_timeout));
  if (said.tasks.empty() || said.tasks.size() != said.addresses.size())
    throw error(code::data_loss, "the process at " + std::string(address) + " has no cluster");
  std::map<device_name, rill::address> at;
  for (std::size_t i = 0; i < said.tasks.size(); ++i)
    at.emplace(said.tasks[i], rill::address::parse(said.addresses[i]));
  auto const all = std::make_shared<net::peers>(net, at);
  target made;
  for (auto const& t : said.tasks) {
    auto const place = t == said.task ? made.tasks.begin() : made.tasks.end();
    made.tasks.insert(place, std::make_shared<net::remote_task>(t, all));
  }
  return made;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
