// Servers of one cluster within this process, which listen at Unix sockets of a folder of their own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <rill/net.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rill::test {

/// A folder that is removed again.
class socket_folder {
 public:
  socket_folder() {
    auto const pattern = (std::filesystem::temp_directory_path() / "rill-XXXXXX").string();
    std::vector<char> name(pattern.begin(), pattern.end());
    name.push_back('\0');
    path_ = ::mkdtemp(name.data());
  }
  ~socket_folder() { std::filesystem::remove_all(path_); }
  socket_folder(socket_folder const&) = delete;
  socket_folder& operator=(socket_folder const&) = delete;
  std::string socket(std::string_view name) const { return "unix:" + (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Times that suit tests: no process counts as lost because it gets no processor for a while.
inline net_options quick() {
  return {.start_timeout = std::chrono::seconds(60),
          .connect_timeout = std::chrono::seconds(30),
          .heartbeat = std::chrono::milliseconds(100),
          .silence = std::chrono::seconds(60)};
}

/// A server for each task of some jobs.
class served_cluster {
 public:
  explicit served_cluster(std::vector<job> const& jobs, server_options options = with(quick())) : options_(options) {
    for (auto const& j : jobs) {
      auto& mine = cluster_.jobs.emplace_back(cluster::job{.name = j.name, .addresses = {}});
      for (std::uint32_t t = 0; t < j.tasks; ++t) mine.addresses.push_back(folder_.socket(j.name + std::to_string(t)));
    }
    servers_.resize(cluster_.tasks().size());
    for (std::size_t i = 0; i < servers_.size(); ++i) start(i);
  }
  static server_options with(net_options const& o) {
    server_options made;
    made.threads = 1;
    made.net = o;
    return made;
  }
  void start(std::size_t i) {
    auto mine = cluster_;
    mine.task = cluster_.tasks()[i];
    servers_[i] = std::make_unique<server>(mine, options_);
  }
  void end(std::size_t i) { servers_[i].reset(); }
  server& operator[](std::size_t i) { return *servers_[i]; }
  server& at(std::string_view task) {
    for (auto const& s : servers_)
      if (s->task() == device_name::parse(task)) return *s;
    throw error(code::not_found, std::string(task));
  }
  rill::cluster const& cluster() const { return cluster_; }
  std::string address(std::size_t i) const { return cluster_.at(cluster_.tasks()[i]).text(); }

 private:
  socket_folder folder_;
  rill::cluster cluster_;
  server_options options_;
  std::vector<std::unique_ptr<server>> servers_;
};

}  // namespace rill::test
