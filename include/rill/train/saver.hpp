// Saves variables, what is in the queues, and the place in the training, and restores them. Needs nlohmann-json, so
// rill/io.hpp takes it.
#pragma once
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/io/safetensors.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/ops/state/variable.hpp"
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
std::map<std::string, queue_description> all_queues(graph const& g);

/// Saves to one directory and restores from there. A checkpoint appears whole or not at all, whenever the program is
/// killed. Threads may run steps meanwhile, and record in the graph, which is looked at when the saver is made alone.
/// Savers that save to one directory, in any thread or process, wait for each other and number their checkpoints in
/// turn.
class saver {
 public:
  /// For the given variables; or for all that the graph has now, and what is in its queues, so that a session that
  /// restores it takes each example of an epoch that was not taken yet.
  saver(graph& g, std::filesystem::path directory, saver_options options = {},
        std::vector<variable_value> variables = {});

  /// Saves the variables as they are, the session's count of steps, and what is given. It is no step. All variables are
  /// read, one behind the other, before the first is written: no checkpoint has values from before and after a
  /// `restore`, but a step that another thread runs meanwhile may have updated some of them and others not yet. The
  /// threads of queue runners halt between two of their steps while variables and queues are read, if queues are saved;
  /// error(deadline_exceeded) if one of these does not end within a minute, because it waits for what no such thread
  /// makes. A metric that is not finite counts as missing: a loss that diverged is never the best. A damaged checkpoint
  /// beside it is left as it is.
  checkpoint save(session& s, batch_position position = {}, std::optional<double> metric = {});

  /// The newest checkpoint back into the session; nothing if there is none. error(not_found) or error(invalid_argument)
  /// lists every variable that has no tensor there, or one of another type; then, and if a checksum is wrong
  /// (error(data_loss)), nothing was changed. A session may serve meanwhile: all variables change at once, between
  /// steps. A step that began before goes on with the values that it found, and what it still updates is lost with
  /// them; `restore` does not wait for it. (Where the extents of a variable change, a step that begins at that very
  /// moment may end with error(aborted).)
  std::optional<checkpoint> restore(session& s, restore_names const& names = {});
  /// A certain checkpoint back, before `start_input` if input is to go on from there; `names` picks and renames:
  /// `[](auto& v) { return v == "head" ? std::nullopt : … }`.
  void restore(session& s, checkpoint const& from, restore_names const& names = {});

  /// The directory's checkpoints, the oldest first.
  std::vector<checkpoint> checkpoints() const { return rill::checkpoints(directory_, options_.name); }
  /// The best one by its metric; nothing if none was saved with a metric, or the options don't say which is best.
  std::optional<checkpoint> best() const { return shelf().best_of(checkpoints()); }

 private:
  struct saved_variable {
    std::string name;
    type of;
  };
  /// Where a variable's tensor was found.
  struct place {
    saved_variable const* variable;
    safetensors_file const* file;
    safetensors::entry const* entry;
  };
  using opened_files = std::map<std::string, safetensors_file>;

  detail::checkpoint_shelf shelf() const { return {directory_, options_.name, options_.keep, options_.better}; }

  /// The variables' values, all of one version.
  std::vector<named_tensor> read_variables(session& s) const;
  std::vector<named_tensor> read_queues(session& s) const;
  /// In as many files as the options ask for, the last for the queues. The checkpoint then knows what is where.
  void write(checkpoint& c, std::span<named_tensor const> variables, std::span<named_tensor const> queues) const;

  /// What a checkpoint holds of the queues; nothing of those that it doesn't know.
  std::map<std::string, queue_contents> look_up_queues(checkpoint const& from) const;
  /// Finds all that is asked for, or throws what is missing or of another type. Each file is opened, and its header
  /// read, once.
  std::vector<place> look_up(checkpoint const& from, restore_names const& names, opened_files& files) const;

  std::filesystem::path directory_;
  saver_options options_;
  std::map<std::string, queue_description> queues_;
  std::vector<saved_variable> variables_;
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE std::vector<variable_value> all_variables(graph& g) {
  std::vector<variable_value> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (g[i].op == &definition<ops::variable_op>()) all.push_back({{&g, i, 0}});
  return all;
}

RILL_IO_INLINE std::map<std::string, queue_description> all_queues(graph const& g) {
  std::map<std::string, queue_description> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (g[i].op->name == ops::enqueue_op::name || g[i].op->name == ops::enqueue_many_op::name) {
      auto const a = decode<ops::queue_attributes>(g[i].attributes);
      all.emplace(a.queue, a.options());
    }
  return all;
}

RILL_IO_INLINE saver::saver(graph& g, std::filesystem::path directory, saver_options options,
                            std::vector<variable_value> variables) try
    : directory_(std::move(directory)),
      options_(std::move(options)),
      queues_(variables.empty() ? all_queues(g) : std::map<std::string, queue_description>()) {
  for (auto const& v : variables.empty() ? all_variables(g) : std::move(variables)) {
    expects(v.graph == &g, "a variable of another graph, or an empty handle, was given to a saver");
    auto const& of = std::get<type>(v.origin().attributes[0].second);
    safetensors::check_entry(v.origin().name, of.element);
    variables_.push_back({v.origin().name, of});
  }
  expects(!variables_.empty(), "a saver was made for a graph without variables");
  expects(options_.name.find('/') == std::string::npos, "a saver's name is the beginning of file names, without '/'");
  expects(options_.keep > 0, "a saver keeps one checkpoint at least");
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE checkpoint saver::save(session& s, batch_position position, std::optional<double> metric) try {
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed) files::fail("make the directory", directory_, failed.value());
  if (metric && !std::isfinite(*metric)) metric.reset();
  directory_lock const alone(directory_);  // or sweeping would take another's files for those of a dead program
  auto const before = detail::numbered_checkpoints(directory_, options_.name);
  checkpoint c{directory_, options_.name, before.empty() ? 1 : before.back().number + 1, 0, position, metric, {}};
  shelf().sweep(before);
  std::vector<named_tensor> variables, queues;
  {
    auto const halt = queues_.empty() ? nullptr : std::make_unique<input_pause>(s.state());
    variables = read_variables(s);
    queues = read_queues(s);
    c.steps = s.steps();  // behind the variables, or a step whose update they have would be counted, and drawn, again
  }
  write(c, variables, queues);
  detail::write_index(c);
  shelf().drop_old();
  return c;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<checkpoint> saver::restore(session& s, restore_names const& names) try {
  auto const all = checkpoints();
  if (all.empty()) return {};
  restore(s, all.back(), names);
  return all.back();
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void saver::restore(session& s, checkpoint const& from, restore_names const& names) try {
  opened_files files;
  std::vector<std::pair<std::shared_ptr<variable_state>, tensor>> values;
  for (auto const& p : look_up(from, names, files))
    values.emplace_back(s.state().variable(p.variable->name, p.variable->of),
                        p.file->read(*p.entry, s.executor().memory()));
  auto contents = names ? std::map<std::string, queue_contents>() : look_up_queues(from);
  std::vector<std::pair<std::shared_ptr<queue_state>, queue_contents>> queues;
  for (auto& [queue, c] : contents) queues.emplace_back(s.state().queue(queue, queues_.at(queue)), std::move(c));
  auto const halt = queues.empty() ? nullptr : std::make_unique<input_pause>(s.state());
  s.state().replace(std::move(values));
  for (auto& [queue, c] : queues) queue->restore(std::move(c));
  s.set_steps(from.steps);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::vector<named_tensor> saver::read_variables(session& s) const {
  container::reading const of(s.state());
  std::vector<named_tensor> all;
  for (auto const& v : variables_) all.push_back({v.name, s.state().variable(v.name, v.of)->read(of.version())});
  return all;
}

RILL_IO_INLINE std::vector<named_tensor> saver::read_queues(session& s) const {
  std::vector<named_tensor> all;
  for (auto const& [queue, options] : queues_)
    for (auto& t : saved_queue(queue, options, s.state().queue(queue, options)->contents()))
      all.push_back(std::move(t));
  return all;
}

RILL_IO_INLINE void saver::write(checkpoint& c, std::span<named_tensor const> variables,
                                 std::span<named_tensor const> queues) const {
  std::vector<std::span<named_tensor const>> shards;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0, first = 0; i < variables.size(); ++i) {
    if (i > first && bytes + variables[i].value.bytes() > options_.shard_bytes) first = i, bytes = 0;
    if (i == first) shards.emplace_back();
    shards.back() = variables.subspan(first, i + 1 - first);
    bytes += variables[i].value.bytes();
  }
  if (!queues.empty()) shards.push_back(queues);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto const file = c.shard(i, shards.size());
    write_safetensors(directory_ / file, shards[i]);
    for (auto const& t : shards[i]) c.shards[t.name] = file;
  }
}

RILL_IO_INLINE std::map<std::string, queue_contents> saver::look_up_queues(checkpoint const& from) const {
  opened_files files;
  std::map<std::string, queue_contents> found;
  for (auto const& [queue, options] : queues_) {
    auto const at = from.shards.find(saved_queue_name(queue, "counts"));
    if (at == from.shards.end()) continue;
    auto const& file = files.try_emplace(at->second, from.directory / at->second).first->second;
    found.emplace(queue, restored_queue(queue, options, [&](std::string const& name) { return file.read(name); }));
  }
  return found;
}

RILL_IO_INLINE std::vector<saver::place> saver::look_up(checkpoint const& from, restore_names const& names,
                                                        opened_files& files) const {
  std::vector<place> found;
  std::string missing, other;
  auto const list = [](std::string& all, std::string const& one) { all += (all.empty() ? "'" : ", '") + one; };
  for (auto const& v : variables_) {
    auto const wanted = names ? names(v.name) : std::optional(v.name);
    if (!wanted) continue;
    auto const at = from.shards.find(*wanted);
    if (at == from.shards.end()) {
      list(missing, *wanted + "'" + (*wanted == v.name ? "" : " (for '" + v.name + "')"));
      continue;
    }
    auto const& file = files.try_emplace(at->second, from.directory / at->second).first->second;
    auto const* const e = file.find(*wanted);
    if (!e)
      throw error(code::data_loss,
                  "'" + at->second + "' lacks the tensor '" + *wanted + "' that the checkpoint's index says it has");
    type const of(e->element, e->shape);
    if (accepts(v.of, of)) found.push_back({&v, &file, e});
    else list(other, *wanted + "' is a " + of.text() + " there and a " + v.of.text() + " here");
  }
  auto const where = "the checkpoint '" + from.index().string() + "' ";
  if (!missing.empty())
    throw error(code::not_found, where + "has no tensor " + missing + (other.empty() ? "" : "; and " + other));
  if (!other.empty()) throw error(code::invalid_argument, where + "does not fit: " + other);
  if (found.empty()) throw error(code::invalid_argument, "nothing was picked from " + where);
  return found;
}

#endif

}  // namespace rill
