// The tasks of a cluster as one of their processes, or a client, asks them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "rill/net/peer.hpp"

namespace rill::net {

/// The peers of a process by the names of their tasks.
class peers {
 public:
  peers(std::shared_ptr<network> n, std::map<device_name, address> const& at) : network_(std::move(n)) {
    for (auto const& [task, where] : at) all_.emplace(task, std::make_shared<peer>(network_, where, task));
  }

  ~peers() {
    all_.clear();
    network_->settle();
  }
  peers(peers const&) = delete;
  peers& operator=(peers const&) = delete;

  std::shared_ptr<network> const& net() const { return network_; }
  /// A process says that it is a task: a connection to another, which was that task before, is not used any more.
  void replace(hello_body const& by) const {
    if (auto const at = all_.find(by.task); at != all_.end()) at->second->replace(by.process);
  }
  /// Whether there is such a task.
  bool knows(device_name const& task) const { return all_.contains(task); }
  /// Returns how long nothing was heard from a task (peer::silence).
  std::string silence(device_name const& task) const {
    auto const at = all_.find(task);
    return at == all_.end() ? "" : at->second->silence();
  }
  /// Throws error(not_found).
  std::shared_ptr<peer> const& find(device_name const& task) const {
    if (auto const at = all_.find(task); at != all_.end()) return at->second;
    throw error(code::not_found, "this process knows no task " + task.text() +
                                     ": are the tasks of the cluster the same in all processes?");
  }

 private:
  std::shared_ptr<network> network_;
  std::map<device_name, std::shared_ptr<peer>> all_;
};

}  // namespace rill::net
