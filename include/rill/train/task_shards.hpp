// The part of a checkpoint that tasks write.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rill/graph/graph.hpp"
#include "rill/run/session.hpp"
#include "rill/train/checkpoint.hpp"

namespace rill::detail {

/// Has the tasks of a session keep their variables' values, and write them as shards of a checkpoint: by steps of a
/// graph of its own.
class task_shards {
 public:
  /// Finds the tasks on which the variables lie. Throws error(failed_precondition) if one has no value.
  /// `saver`: a text that says whose checkpoints they are; the tasks keep values of one attempt of each saver.
  task_shards(target const& on, std::vector<std::string> const& variables, std::string const& saver);
  /// Frees values that were not written, on the tasks that can be reached.
  ~task_shards();
  task_shards(task_shards const&) = delete;
  task_shards& operator=(task_shards const&) = delete;

  /// Keeps the values of all variables, and returns when all tasks have them.
  void take();
  /// Writes them; sets `c.shards`. Returns when all files are on the disk.
  void write(checkpoint& c, std::uint64_t shard_bytes);

 private:
  struct part {
    std::vector<std::string> variables;
    value files;  ///< is fed rows of a variable and its file
    value bytes;  ///< of each variable
    std::vector<std::uint64_t> bytes_of;
  };

  graph graph_;
  value attempt_value_;
  std::string const attempt_;
  std::vector<part> parts_;  // of the tasks that have variables
  std::vector<operation> written_, dropped_;
  session session_;
  bool keeps_ = false;
};

}  // namespace rill::detail

#if RILL_IO_RUNTIME
#include <algorithm>
#include <random>
#include <utility>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/state/snapshot.hpp"

namespace rill::detail {

inline std::string random_digits() {
  std::random_device random;
  return std::to_string(random());
}

/// Returns the names of the variables that lie on each task, in their order.
inline std::vector<std::vector<std::string>> variables_by_task(target const& on,
                                                               std::vector<std::string> const& variables) {
  std::vector<std::vector<std::string>> all(on.tasks.size());
  auto const have = values_of_all(ask_all(on.tasks, [&](auto const& t) { return t->ask_values(variables); }));
  for (std::size_t i = 0; i < variables.size(); ++i) {
    auto const at = std::find_if(have.begin(), have.end(), [&](auto const& on_task) { return on_task.at(i); });
    if (at == have.end())
      throw error(code::failed_precondition, "the variable has no value on any task: run initializer(graph) first",
                  variables[i]);
    all[static_cast<std::size_t>(at - have.begin())].push_back(variables[i]);
  }
  return all;
}

RILL_IO_INLINE task_shards::task_shards(target const& on, std::vector<std::string> const& variables,
                                        std::string const& saver)
    : attempt_value_(placeholder(graph_, type(dtype::string), "key")), attempt_(random_digits()), session_(graph_, on) {
  auto const all = variables_by_task(on, variables);
  for (std::size_t t = 0; t < all.size(); ++t) {
    if (all[t].empty()) continue;
    part p{
        all[t], placeholder(graph_, type(dtype::string, {dim(unknown), dim(2)}), "files" + std::to_string(t)), {}, {}};
    graph_.on(on.tasks[t]->name().text(), [&] {
      p.bytes = record_erased<ops::snapshot_op>(graph_, {saver, all[t]}, {attempt_value_}, "snapshot");
      written_.push_back(operation(
          record_erased<ops::write_snapshot_op>(graph_, {saver}, {attempt_value_, p.files}, "write_snapshot")));
      dropped_.push_back(
          operation(record_erased<ops::drop_snapshot_op>(graph_, {saver}, {attempt_value_}, "drop_snapshot")));
    });
    parts_.push_back(std::move(p));
  }
}
RILL_IO_INLINE task_shards::~task_shards() {
  if (!keeps_) return;
  for (auto const& each : dropped_) try {
      session_.run({{attempt_value_, tensor(attempt_)}}, each);
    } catch (...) {  // a task that can't be reached keeps the values until the saver's next checkpoint
    }
}

RILL_IO_INLINE void task_shards::take() {
  std::vector<value> all;
  for (auto const& p : parts_) all.push_back(p.bytes);
  keeps_ = true;
  auto const sizes = session_.run({{attempt_value_, tensor(attempt_)}}, all);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    for (std::int64_t k = 0; k < sizes[i].elements(); ++k)
      parts_[i].bytes_of.push_back(static_cast<std::uint64_t>(sizes[i].data<std::int64_t>()[k]));
}

RILL_IO_INLINE void task_shards::write(checkpoint& c, std::uint64_t shard_bytes) {
  std::vector<std::pair<std::string, std::size_t>> shard_of;  // each variable's
  std::size_t count = 0;
  for (auto const& p : parts_) {  // a shard has variables of one task
    auto const shards = shard_of_each(p.bytes_of, shard_bytes);
    for (std::size_t i = 0; i < p.variables.size(); ++i) shard_of.emplace_back(p.variables[i], count + shards[i]);
    count += shards.back() + 1;
  }
  for (auto const& [variable, shard] : shard_of) c.shards[variable] = c.shard(shard, count, attempt_);
  std::vector<feed> feeds{{attempt_value_, tensor(attempt_)}};
  for (auto const& p : parts_) {
    tensor rows(dtype::string, shape{static_cast<std::int64_t>(p.variables.size()), 2});
    auto* to = rows.mutable_data<std::string>();
    for (auto const& variable : p.variables) *to++ = variable, *to++ = c.shards.at(variable);
    feeds.emplace_back(p.files, std::move(rows));
  }
  session_.run(feeds, written_);
  keeps_ = false;
}

}  // namespace rill::detail
#endif
