// Saves variables, what is in the queues, and the place in the training, and restores them. Needs nlohmann-json, so
// rill/io.hpp takes it.
#pragma once
#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/files/tensor_file.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/run/input_gates.hpp"
#include "rill/run/session.hpp"
#include "rill/train/checkpoint.hpp"
#include "rill/train/checkpoint_shelf.hpp"
#include "rill/train/saved_queue.hpp"

namespace rill {

/// All variables of a graph: also those of optimizers, and those without a first value.
std::vector<variable_value> all_variables(graph& g);

/// Which checkpoints a saver keeps, and in what files.
struct saver_options {
  std::string name = "checkpoint";        ///< how the files' names begin
  std::size_t keep = 5;                   ///< the last so many are kept, at least one; older ones go
  rill::better better = better::neither;  ///< and the checkpoint with the best metric, if one is better than another
  std::uint64_t shard_bytes = std::uint64_t{2} << 30;  ///< a file holds so many bytes of tensors, or one tensor
};

/// From a variable's name to that of the tensor it is restored from; nothing: the variable stays as it is.
using restore_names = std::function<std::optional<std::string>(std::string const& variable)>;

/// The queues that a graph puts elements into, by name.
std::map<std::string, queue_options> all_queues(graph const& g);

/// Saves to one directory and restores from there. A checkpoint appears whole or not at all, whenever the program is
/// killed. No other thread may record in the graph meanwhile, nor update the variables if they take more than one file,
/// for files are written one after the other. Savers that save to one directory, in any thread or process, wait for
/// each other and number their checkpoints in turn.
class saver {
 public:
  /// For the given variables; or for all that the graph has now, and what is in its queues, so that a session that
  /// restores it takes each example of an epoch that was not taken yet. Records the nodes that save.
  saver(graph& g, std::filesystem::path directory, saver_options options = {},
        std::vector<variable_value> variables = {});

  /// Saves the variables as they are, the session's count of steps (this one is not counted), and what is given. The
  /// threads of queue runners halt meanwhile between two of their steps if queues are saved; error(deadline_exceeded)
  /// if one of these does not end within a minute, because it waits for what no such thread makes. A metric that is not
  /// finite is none: a loss that has diverged is nobody's best. A damaged checkpoint beside it is left as it is.
  checkpoint save(session& s, batch_position position = {}, std::optional<double> metric = {});

  /// The newest checkpoint back into the session; nothing if there is none. error(not_found) or error(invalid_argument)
  /// lists every variable that has no tensor there, or one of another type; then, and if a checksum is wrong
  /// (error(data_loss)), nothing was changed.
  std::optional<checkpoint> restore(session& s, restore_names const& names = {});
  /// A certain checkpoint back, before `start_input` if input is to go on from there; `names` picks and renames:
  /// `[](auto& v) { return v == "head" ? std::nullopt : … }`.
  void restore(session& s, checkpoint const& from, restore_names const& names = {});

  /// The directory's checkpoints, the oldest first.
  std::vector<checkpoint> checkpoints() const { return rill::checkpoints(directory_, options_.name); }
  /// The best one by its metric; nothing if none was saved with a metric, or the options don't say which is best.
  std::optional<checkpoint> best() const { return shelf().best_of(checkpoints()); }

 private:
  struct shard_nodes {
    value path;
    operation write;
    std::vector<std::string> names;
  };
  /// Where a variable's tensor was found: the number of its file, its name and its type.
  struct place {
    std::uint32_t variable;
    std::size_t file;
    std::string tensor;
    type of;
    friend bool operator==(place const&, place const&) = default;
  };
  struct restoring {
    std::vector<place> places;
    std::map<std::size_t, value> paths;
    operation assign;
  };

  detail::checkpoint_shelf shelf() const { return {directory_, options_.name, options_.keep, options_.better}; }

  void record_shards();

  void save_queues(session& s, checkpoint& c, std::string const& file) const;
  /// What a checkpoint holds of the queues; nothing of those that it doesn't know.
  std::map<std::string, queue_contents> look_up_queues(checkpoint const& from) const;

  /// Finds all that is asked for, or throws what is missing or of another type.
  std::vector<place> look_up(checkpoint const& from, restore_names const& names) const;

  /// The nodes that restore such a choice: all tensors are read before the first variable changes.
  restoring& recorded(std::vector<place> const& places);

  graph* graph_;
  std::filesystem::path directory_;
  saver_options options_;
  std::map<std::string, queue_options> queues_;
  std::vector<variable_value> variables_;
  std::vector<shard_nodes> shards_;
  std::deque<restoring> restorings_;
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::vector<variable_value> all_variables(graph& g) {
  std::vector<variable_value> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (g[i].op == &definition<ops::variable_op>()) all.push_back({{&g, i, 0}});
  return all;
}

RILL_IO_INLINE std::map<std::string, queue_options> all_queues(graph const& g) {
  std::map<std::string, queue_options> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (g[i].op->name == ops::enqueue_op::name || g[i].op->name == ops::enqueue_many_op::name) {
      auto const a = decode<ops::queue_attributes>(g[i].attributes);
      all.emplace(a.queue, a.options());
    }
  return all;
}

RILL_IO_INLINE saver::saver(graph& g, std::filesystem::path directory, saver_options options,
                            std::vector<variable_value> variables)
    : graph_(&g),
      directory_(std::move(directory)),
      options_(std::move(options)),
      queues_(variables.empty() ? all_queues(g) : std::map<std::string, queue_options>()),
      variables_(variables.empty() ? all_variables(g) : std::move(variables)) {
  expects(!variables_.empty(), "a saver was made for a graph without variables");
  expects(options_.name.find('/') == std::string::npos, "a saver's name is the beginning of file names, without '/'");
  expects(options_.keep > 0, "a saver keeps one checkpoint at least");
  g.scope("save", [&] { record_shards(); });
}

RILL_IO_INLINE checkpoint saver::save(session& s, batch_position position, std::optional<double> metric) {
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed) files::fail("make the directory", directory_, failed.value());
  if (metric && !std::isfinite(*metric)) metric.reset();
  directory_lock const alone(directory_);  // or sweeping would take another's files for those of a dead program
  auto const before = detail::numbered_checkpoints(directory_, options_.name);
  checkpoint c{directory_, options_.name, before.empty() ? 1 : before.back().number + 1, 0, position, metric, {}};
  shelf().sweep(before);
  struct uncounted {
    session& s;
    std::uint64_t steps;
    ~uncounted() { s.set_steps(steps); }
  };
  {
    auto const halt = queues_.empty() ? nullptr : std::make_unique<input_pause>(s.state());
    c.steps = s.steps();
    uncounted const guard{s, c.steps};
    auto const count = shards_.size() + !queues_.empty();
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      auto const file = c.shard(i, count);
      s.run({{shards_[i].path, tensor((directory_ / file).string())}}, shards_[i].write);
      for (auto const& name : shards_[i].names) c.shards[name] = file;
    }
    if (!queues_.empty()) save_queues(s, c, c.shard(count - 1, count));
  }
  detail::write_index(c);
  shelf().drop_old();
  return c;
}

RILL_IO_INLINE std::optional<checkpoint> saver::restore(session& s, restore_names const& names) {
  auto const all = checkpoints();
  if (all.empty()) return {};
  restore(s, all.back(), names);
  return all.back();
}

RILL_IO_INLINE void saver::restore(session& s, checkpoint const& from, restore_names const& names) {
  auto const found = look_up(from, names);
  auto const contents = names ? std::map<std::string, queue_contents>() : look_up_queues(from);
  auto& known = recorded(found);
  auto const halt = contents.empty() ? nullptr : std::make_unique<input_pause>(s.state());
  std::vector<feed> feeds;
  for (auto const& [file, path] : known.paths)
    feeds.emplace_back(path, tensor((from.directory / detail::files_of(from)[file]).string()));
  s.run(feeds, known.assign);
  for (auto const& [queue, c] : contents) s.state().queue(queue, queues_.at(queue))->restore(c);
  s.set_steps(from.steps);
}

RILL_IO_INLINE void saver::record_shards() {
  std::vector<value> values;
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  auto const flush = [&] {
    auto const path = placeholder(*graph_, type(dtype::string), "path");
    shards_.push_back({path, rill::save(path, names, values), names});
    values.clear(), names.clear(), bytes = 0;
  };
  for (auto const& v : variables_) {
    auto const& t = v.type();
    auto const size = t.is_known() ? std::uint64_t{t.bytes()} : 0;
    if (!values.empty() && bytes + size > options_.shard_bytes) flush();
    values.push_back(v), names.push_back(v.origin().name), bytes += size;
  }
  flush();
}

RILL_IO_INLINE void saver::save_queues(session& s, checkpoint& c, std::string const& file) const {
  std::vector<named_tensor> all;
  for (auto const& [queue, options] : queues_)
    for (auto& t : saved_queue(queue, options, s.state().queue(queue, options)->contents())) {
      c.shards[t.name] = file;
      all.push_back(std::move(t));
    }
  write_safetensors(directory_ / file, all);
}

RILL_IO_INLINE std::map<std::string, queue_contents> saver::look_up_queues(checkpoint const& from) const {
  std::map<std::string, queue_contents> found;
  for (auto const& [queue, options] : queues_) {
    auto const at = from.shards.find(saved_queue_name(queue, "counts"));
    if (at == from.shards.end()) continue;
    safetensors_file const file(from.directory / at->second);
    found.emplace(queue, restored_queue(queue, options, [&](std::string const& name) { return file.read(name); }));
  }
  return found;
}

RILL_IO_INLINE std::vector<saver::place> saver::look_up(checkpoint const& from, restore_names const& names) const {
  auto const files = detail::files_of(from);
  std::vector<std::optional<safetensors_file>> opened(files.size());
  std::vector<place> found;
  std::string missing, other;
  for (auto const& v : variables_) {
    auto const& variable = v.origin().name;
    auto const wanted = names ? names(variable) : std::optional(variable);
    if (!wanted) continue;
    auto const from_index = from.shards.find(*wanted);
    if (from_index == from.shards.end()) {
      missing +=
          (missing.empty() ? "'" : ", '") + *wanted + "'" + (*wanted == variable ? "" : " (for '" + variable + "')");
      continue;
    }
    auto const file =
        static_cast<std::size_t>(std::lower_bound(files.begin(), files.end(), from_index->second) - files.begin());
    if (!opened[file]) opened[file].emplace(from.directory / files[file]);
    auto const& entries = opened[file]->entries();
    auto const e = std::find_if(entries.begin(), entries.end(), [&](auto const& each) { return each.name == *wanted; });
    if (e == entries.end())
      throw error(code::data_loss,
                  "'" + files[file] + "' lacks the tensor '" + *wanted + "' that the checkpoint's index says it has");
    type const of(e->element, e->shape);
    if (accepts(v.type(), of)) found.push_back({v.node, file, *wanted, of});
    else
      other +=
          (other.empty() ? "'" : ", '") + *wanted + "' is a " + of.text() + " there and a " + v.type().text() + " here";
  }
  auto const where = "the checkpoint '" + from.index().string() + "' ";
  if (!missing.empty())
    throw error(code::not_found, where + "has no tensor " + missing + (other.empty() ? "" : "; and " + other));
  if (!other.empty()) throw error(code::invalid_argument, where + "does not fit: " + other);
  if (found.empty()) throw error(code::invalid_argument, "nothing was picked from " + where);
  return found;
}

RILL_IO_INLINE saver::restoring& saver::recorded(std::vector<place> const& places) {
  for (auto& known : restorings_)
    if (known.places == places) return known;
  restoring made{places, {}, {}};
  graph_->scope("restore", [&] {
    std::vector<value> values;
    std::vector<operation> read, assigned;
    for (auto const& p : places) {
      if (!made.paths.contains(p.file)) made.paths[p.file] = placeholder(*graph_, type(dtype::string), "path");
      values.push_back(rill::restore(made.paths[p.file], p.tensor, p.of));
      read.emplace_back(values.back());
    }
    graph_->after(read, [&] {
      for (std::size_t i = 0; i < places.size(); ++i)
        assigned.emplace_back(assign(variable_value{{graph_, places[i].variable, 0}}, values[i]));
    });
    made.assign = group(*graph_, assigned, "all");
  });
  return restorings_.emplace_back(std::move(made));
}

#endif

}  // namespace rill
