// Saves and restores variables, the elements of queues, and the position in the training. It needs nlohmann-json, so
// rill/io.hpp includes it and rill/rill.hpp does not.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/io/safetensors.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/queues/queue_ops.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/run/input_gates.hpp"
#include "rill/run/session.hpp"
#include "rill/train/checkpoint.hpp"
#include "rill/train/checkpoint_folder.hpp"
#include "rill/train/checkpoint_retention.hpp"
#include "rill/train/saved_queue.hpp"
#include "rill/train/task_shards.hpp"

namespace rill {

/// Returns all variables of a graph, including optimizers' slots and variables without a first value.
std::vector<variable_value> all_variables(graph& g);

/// Which process writes the variables of a session on tasks.
enum class shard_writer : std::uint8_t {
  session,  ///< the session's, which fetches them
  tasks,    ///< each task's, which writes those that lie on it (server_options::checkpoints)
};

/// How a saver names its files and which checkpoints it keeps.
struct saver_options {
  std::string name = "checkpoint";        ///< the prefix of the files' names, without '/'
  std::size_t keep = 5;                   ///< how many of the newest checkpoints are kept, at least one
  rill::better better = better::neither;  ///< whether and how the checkpoint with the best metric is kept too
  std::chrono::seconds keep_every = {};   ///< one checkpoint per interval is kept permanently; 0: none
  std::uint64_t shard_bytes = std::uint64_t{2} << 30;  ///< the maximum bytes per file; a larger tensor has its own file
  shard_writer written_by = shard_writer::session;     ///< of a session on tasks
};

/// Returns the name of the tensor from which a variable is restored, or nullopt to keep the variable's value.
using restore_names = std::function<std::optional<std::string>(std::string const& variable)>;

/// Returns the queues, by name, that a graph's nodes enqueue to.
std::map<std::string, queue_description> all_queues(graph const& g);

/// Saves checkpoints to one directory and restores them. A checkpoint appears completely or not at all, even if the
/// program is killed. Meanwhile other threads may run steps and record in the graph, which only the constructor reads.
/// Savers of one directory, in any thread or process, wait for each other and number their checkpoints in turn.
class saver {
 public:
  /// Saves the given variables. An empty list stands for all current variables of the graph and the elements of its
  /// queues, so that a session that restores them takes each remaining example of the epoch. Throws
  /// error(invalid_argument) if there are no variables, a variable is of another graph, or an option is not valid.
  saver(graph& g, std::filesystem::path directory, saver_options options = {},
        std::vector<variable_value> variables = {});

  /// Saves the variables, the session's number of steps, the position and the metric; it does not count as a step,
  /// unless the session is on tasks and this process writes: then one step of the session fetches the variables. It
  /// reads all variables, one after the other, before it writes the first. A checkpoint never mixes values from before
  /// and after a `restore`, but it may contain some updates of a step that another thread runs meanwhile. While it
  /// saves queues, the threads of queue runners pause between two of their steps. Throws error(deadline_exceeded) if a
  /// thread does not pause within a minute, because its step waits for an element that no such thread enqueues. If
  /// memory runs out while it removes old checkpoints, the next call removes them. A metric that is not finite counts
  /// as missing, so a diverged loss is never the best. Damaged checkpoints are left as they are.
  /// `trained`: the steps of a `training_loop`.
  checkpoint save(session& s, batch_position position = {}, std::optional<double> metric = {},
                  std::optional<std::int64_t> trained = {});
  /// Does the same, but returns when it has all values of variables, and writes them on another thread. Until a
  /// variable is written, its first update copies it. The future's destructor waits for the files. The saver and the
  /// tasks must outlive the future. A later save waits for this one.
  std::future<checkpoint> save_in_background(session& s, batch_position position = {},
                                             std::optional<double> metric = {},
                                             std::optional<std::int64_t> trained = {});

  /// Restores the newest checkpoint and returns it; returns nullopt if there is none. If tensors are missing, throws
  /// error(not_found); if they have other types, error(invalid_argument); either error lists all of them. Throws
  /// error(data_loss) if a checksum is wrong. A float32 variable takes 16-bit floats, too. These errors
  /// leave the session unchanged. The session may serve meanwhile: all variables change at once, between steps. A step
  /// that began before continues with the old values; its later updates are lost, and `restore` does not wait for it.
  /// Variables on tasks are given their values by one step, which needs their first values in the graph; if it fails
  /// halfway, because a task was lost for instance, restore again. (If the extents of a variable change, a step that
  /// begins at the same moment may fail with error(aborted).)
  std::optional<checkpoint> restore(session& s, restore_names const& names = {});
  /// Restores the given checkpoint. To resume the input from it, call this before `start_input`. `names` selects and
  /// renames tensors, `[](auto& v) { return v == "head" ? std::nullopt : … }`; with `names`, queues stay as they are.
  void restore(session& s, checkpoint const& from, restore_names const& names = {});

  /// Returns the directory's checkpoints, the oldest first.
  std::vector<checkpoint> checkpoints() const { return rill::checkpoints(directory_, options_.name); }
  /// Returns the checkpoint with the best metric; nullopt if no checkpoint has a metric or `options.better` is
  /// `neither`.
  std::optional<checkpoint> best() const {
    return only_errors([&] { return retention().best_of(checkpoints()); });
  }

 private:
  struct saved_variable {
    std::string name;
    type of;
  };
  /// A variable with its tensor in a file.
  struct found_tensor {
    saved_variable const* variable;
    safetensors_file const* file;
    safetensors::entry const* entry;
  };
  using opened_files = std::map<std::string, safetensors_file>;

  /// A checkpoint that is not written yet.
  struct unwritten {
    std::unique_ptr<directory_lock> alone = {};  // else sweeping would remove files that another saver is writing
    checkpoint c = {};
    std::vector<named_tensor> variables = {}, queues = {};
    std::unique_ptr<detail::task_shards> on_tasks = {};
  };
  unwritten read(session& s, batch_position position, std::optional<double> metric,
                 std::optional<std::int64_t> trained) const;
  checkpoint write(unwritten of) const;
  void expect_shards(checkpoint const& c) const;

  detail::checkpoint_retention retention() const { return {directory_, options_.name, options_.keep, options_.better}; }

  /// The values of a checkpoint for variables.
  using variable_values = std::vector<std::pair<saved_variable const*, tensor>>;

  /// Reads the variables, all from one version of the container, or by one step on the tasks.
  std::vector<named_tensor> read_variables(session& s) const;
  std::vector<std::string> names() const;
  static void replace_on_tasks(session& s, variable_values const& values);
  std::vector<named_tensor> read_queues(session& s) const;
  /// Writes the shards, with the queues in the last file, and sets `c.shards`.
  void write(checkpoint& c, std::span<named_tensor const> variables, std::span<named_tensor const> queues) const;

  /// Reads the checkpoint's queues; leaves out queues that it doesn't contain.
  std::map<std::string, queue_contents> look_up_queues(checkpoint const& from) const;
  /// Finds the tensors of all variables. Throws one error that lists missing tensors and tensors of other types. Opens
  /// each file, and reads its header, once.
  std::vector<found_tensor> look_up(checkpoint const& from, restore_names const& names, opened_files& files) const;

  std::filesystem::path directory_;
  saver_options options_;
  std::map<std::string, queue_description> queues_;
  std::vector<saved_variable> variables_;
};

#if RILL_IO_RUNTIME

namespace detail {

/// Returns 16-bit floats as float32, for variables that were narrower when the checkpoint was written.
inline tensor as_float32(tensor const& t) {
  tensor wide(dtype::float32, t.shape());
  visit(t.element(), [&]<class T>() {
    if constexpr (std::same_as<T, half> || std::same_as<T, bfloat16>)
      std::transform(t.data<T>(), t.data<T>() + t.elements(), wide.mutable_data<float>(),
                     [](T x) { return static_cast<float>(x); });
  });
  return wide;
}

}  // namespace detail

RILL_IO_INLINE std::vector<variable_value> all_variables(graph& g) try {
  std::vector<variable_value> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (is_variable(g[i])) all.push_back({{&g, i, 0}});
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::map<std::string, queue_description> all_queues(graph const& g) try {
  std::map<std::string, queue_description> all;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (ops::is_enqueue(g[i])) {
      auto const a = decode<ops::queue_attributes>(g[i].attributes);
      all.emplace(a.queue, a.options());
    }
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE saver::saver(graph& g, std::filesystem::path directory, saver_options options,
                            std::vector<variable_value> variables) try
    : directory_(std::move(directory)),
      options_(std::move(options)),
      queues_(variables.empty() ? all_queues(g) : std::map<std::string, queue_description>()) {
  for (auto const& v : variables.empty() ? all_variables(g) : std::move(variables)) {
    expects(v.graph == &g, "a saver: expected variables of its graph, got one of another graph or an empty handle");
    auto const& of = declared_type(v.origin());
    safetensors::check_entry(v.origin().name, of.element);
    variables_.push_back({v.origin().name, of});
  }
  expects(!variables_.empty(), "a saver: expected a graph with variables, got one without");
  if (options_.name.find('/') != std::string::npos)
    throw error(code::invalid_argument,
                "a saver: expected a prefix of file names without '/' as options.name, got '" + options_.name + "'");
  expects(options_.keep > 0, "a saver: options.keep must be at least one");
  expects(options_.keep_every.count() >= 0, "a saver: options.keep_every must not be negative");
  if (options_.written_by == shard_writer::tasks) detail::check_shard_name(options_.name + ".safetensors");
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE checkpoint saver::save(session& s, batch_position position, std::optional<double> metric,
                                      std::optional<std::int64_t> trained) try {
  return write(read(s, position, metric, trained));
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::future<checkpoint> saver::save_in_background(session& s, batch_position position,
                                                                 std::optional<double> metric,
                                                                 std::optional<std::int64_t> trained) try {
  auto of = read(s, position, metric, trained);
  try {
    return std::async(std::launch::async, [this, of = std::move(of)]() mutable {
      return only_errors([&] { return write(std::move(of)); });
    });
  } catch (std::system_error const&) {
    throw error(code::resource_exhausted, "the system starts no more threads, so the checkpoint was not written");
  }
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE saver::unwritten saver::read(session& s, batch_position position, std::optional<double> metric,
                                            std::optional<std::int64_t> trained) const {
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed) files::fail("create the directory", directory_, failed.value());
  if (metric && !std::isfinite(*metric)) metric.reset();
  unwritten of{.alone = std::make_unique<directory_lock>(directory_)};
  auto const before = detail::numbered_checkpoints(directory_, options_.name);
  of.c = {.directory = directory_,
          .name = options_.name,
          .number = before.empty() ? 1 : before.back().number + 1,
          .position = position,
          .metric = metric,
          .trained = trained};
  retention().sweep(before);
  bool const is_here = s.state().has_values();
  auto const pause = is_here && !queues_.empty() ? std::make_unique<input_pause>(s.state()) : nullptr;
  if (!is_here && options_.written_by == shard_writer::tasks) {
    of.on_tasks = std::make_unique<detail::task_shards>(
        s.executor().target(), names(), std::filesystem::weakly_canonical(directory_).string() + '/' + options_.name);
    of.on_tasks->take();
  } else {
    of.variables = read_variables(s);
  }
  if (is_here) of.queues = read_queues(s);
  // After the variables; else a saved step would run again with the same random numbers.
  of.c.steps = s.steps();
  of.c.draws = s.draws();
  return of;
}

RILL_IO_INLINE checkpoint saver::write(unwritten of) const {
  auto& c = of.c;
  if (of.on_tasks) of.on_tasks->write(c, options_.shard_bytes);
  else write(c, of.variables, of.queues);
  if (of.on_tasks) expect_shards(c);
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  c.kept_at = retention().kept_at(std::chrono::duration_cast<std::chrono::seconds>(now).count(), options_.keep_every);
  detail::write_index(c);
  try {
    retention().drop_old();
  } catch (std::bad_alloc const&) {  // the checkpoint is complete; the next call removes the old ones
  } catch (error const& e) {
    if (e.code() != code::resource_exhausted) throw;
  }
  return std::move(c);
}

// Tasks write to folders of their own processes.
RILL_IO_INLINE void saver::expect_shards(checkpoint const& c) const {
  std::error_code ignored;
  for (auto const& file : detail::files_of(c))
    if (!std::filesystem::exists(directory_ / file, ignored))
      throw error(code::failed_precondition,
                  "'" + file + "' is not in '" + directory_.string() +
                      "', though its task has written it: give all processes one folder of a file system that they "
                      "share");
}

RILL_IO_INLINE std::vector<std::string> saver::names() const {
  std::vector<std::string> all;
  for (auto const& v : variables_) all.push_back(v.name);
  return all;
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
  auto const found = look_up(from, names, files);
  auto const read = [](found_tensor const& p, allocator& into) {
    auto value = p.file->read(*p.entry, into);
    return value.element() == p.variable->of.element ? value : detail::as_float32(value);
  };
  auto const set_counts = [&] {
    s.set_steps(from.steps);
    if (from.draws) s.set_draws(*from.draws);
  };
  if (!s.state().has_values()) {
    variable_values values;
    for (auto const& p : found) values.emplace_back(p.variable, read(p, host_allocator()));
    replace_on_tasks(s, values);
    return set_counts();
  }
  std::vector<std::pair<std::shared_ptr<variable_state>, tensor>> values;
  for (auto const& p : found) {
    auto v = s.state().variable(p.variable->name, p.variable->of);
    auto& memory = s.executor().memory_of(*v);
    values.emplace_back(std::move(v), read(p, memory.space() ? host_allocator() : memory).to(memory));
  }
  auto contents = names ? std::map<std::string, queue_contents>() : look_up_queues(from);
  std::vector<std::pair<std::shared_ptr<queue_state>, queue_contents>> queues;
  for (auto& [queue, c] : contents) queues.emplace_back(s.state().queue(queue, queues_.at(queue)), std::move(c));
  auto const pause = queues.empty() ? nullptr : std::make_unique<input_pause>(s.state());
  s.state().replace(std::move(values));
  for (auto& [queue, c] : queues) queue->restore(std::move(c));
  set_counts();
} catch (...) {
  rethrow_as_error();
}

// The values are fed in place of the first values, which the assignments of these put where the variables lie. Two
// variables of which one value is the first are assigned by two steps.
RILL_IO_INLINE void saver::replace_on_tasks(session& s, variable_values const& values) {
  auto& g = s.graph();
  std::map<std::string, std::uint32_t> assignments;
  for (auto const& i : g.initials()) assignments.emplace(g[i.variable].name, i.assignment);
  for (auto const& [variable, _] : values)
    if (!assignments.contains(variable->name))
      throw error(code::failed_precondition,
                  "a variable without a first value can't be restored on tasks: record an assignment of a placeholder",
                  variable->name);
  std::vector<feed> feeds;
  std::vector<operation> assigned;
  std::set<endpoint> fed;
  auto const run = [&] {
    if (!feeds.empty()) s.run(std::exchange(feeds, {}), std::exchange(assigned, {}));
    fed.clear();
  };
  for (auto const& [variable, t] : values) {
    auto const assignment = assignments.at(variable->name);
    auto const from = g[assignment].inputs[1];
    value const first{&g, from.node, from.port};
    if (fed.contains(detail::fed_endpoint(first))) run();
    fed.insert(detail::fed_endpoint(first));
    feeds.emplace_back(first, t);
    assigned.emplace_back(&g, assignment);
  }
  run();
}

RILL_IO_INLINE std::vector<named_tensor> saver::read_variables(session& s) const {
  if (!s.state().has_values()) {
    auto values = s.run({}, names());
    std::vector<named_tensor> all;
    for (std::size_t i = 0; i < values.size(); ++i) all.push_back({variables_[i].name, std::move(values[i])});
    return all;
  }
  container::reading const of(s.state());
  std::vector<named_tensor> all;
  for (auto const& v : variables_)
    all.push_back({v.name, s.state().variable(v.name, v.of)->read(of.version()).to(host)});
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
  std::vector<std::uint64_t> bytes;
  for (auto const& v : variables) bytes.push_back(v.value.bytes());
  auto const shard = detail::shard_of_each(bytes, options_.shard_bytes);
  std::vector<std::span<named_tensor const>> shards;
  for (std::size_t i = 0, first = 0; i < variables.size(); ++i) {
    if (i == 0 || shard[i] != shard[i - 1]) first = i, shards.emplace_back();
    shards.back() = variables.subspan(first, i + 1 - first);
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

RILL_IO_INLINE std::vector<saver::found_tensor> saver::look_up(checkpoint const& from, restore_names const& names,
                                                               opened_files& files) const {
  std::vector<found_tensor> found;
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
                  "'" + at->second + "' has no tensor '" + *wanted + "', but the checkpoint's index lists it there");
    type const of(e->element, e->shape);
    bool const wider = v.of.element == dtype::float32 && detail::wide_element(of.element) != of.element;
    if (accepts(v.of, wider ? of.with(dtype::float32) : of)) found.push_back({&v, &file, e});
    else list(other, *wanted + "' (" + of.text() + " there, " + v.of.text() + " in the graph)");
  }
  auto const where = "the checkpoint '" + from.index().string() + "' ";
  if (!missing.empty())
    throw error(code::not_found, where + "has no tensor " + missing + (other.empty() ? "" : "; and " + other));
  if (!other.empty()) throw error(code::invalid_argument, where + "does not fit: " + other);
  if (found.empty())
    throw error(code::invalid_argument, where + "was not restored: `names` returned nullopt for every variable");
  return found;
}

#endif

}  // namespace rill
