// Operations by which tasks write the variables that lie on them, as parts of a checkpoint (white paper §3.3). A
// server runs them for the other tasks of its cluster, not for clients.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/waiting.hpp"
#include "rill/state/container.hpp"
#include "rill/state/shard_store.hpp"

namespace rill::ops {

/// Keeps the present values of variables under a key until `write_snapshot`, and returns how many bytes each has. It
/// takes them from the task by name, wherever they lie there.
struct snapshot_op {
  static constexpr std::string_view name = "snapshot",
                                    doc = "keeps the values of variables under a key, for a checkpoint";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::vector<std::string> variables;
    static constexpr auto fields(auto const& take) { return take(field{"variables", &attributes::variables}); }
  };
  static type infer(attributes const& a, type const& key) {
    expects(accepts(type(dtype::string), key), "snapshot: the key is not a string");
    return type(dtype::int64, shape{static_cast<std::int64_t>(a.variables.size())});
  }
  static kernel cpu(kernel_request const& r);
};

/// Writes what `snapshot` has kept under a key, and lets go of it. Inputs: the key, and rows of a tensor's name and the
/// file for it. Those that no row names are not written.
struct write_snapshot_op {
  static constexpr std::string_view name = "write_snapshot",
                                    doc = "writes values that snapshot has kept to files of the task";
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr bool waits = true;
  using attributes = no_attributes;
  static std::array<type, 0> infer(no_attributes, std::span<type const> x) {
    expects(accepts(type(dtype::string), x[0]), "write_snapshot: the key is not a string");
    expects(x[1].element == dtype::string && (!x[1].has_rank() || x[1].rank == 2),
            "write_snapshot: the files are not rows of two strings");
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

/// Lets go of what `snapshot` has kept under a key.
struct drop_snapshot_op {
  static constexpr std::string_view name = "drop_snapshot", doc = "lets go of values that snapshot has kept";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  using attributes = no_attributes;
  static std::array<type, 0> infer(no_attributes, std::span<type const> x) {
    expects(accepts(type(dtype::string), x[0]), "drop_snapshot: the key is not a string");
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

#if RILL_RUNTIME

namespace snapshotting {

inline std::shared_ptr<detail::snapshots> kept(kernel_request const& r) {
  return r.state.other<detail::snapshots>("", [] { return std::make_unique<detail::snapshots>(); });
}

/// Returns the values in the files that `rows` asks for, in the order of the rows.
inline std::vector<shard_store::shard> shards_of(std::vector<named_tensor> values, std::string const* rows,
                                                 std::size_t count) {
  std::map<std::string, tensor> by_name;
  for (auto& v : values) by_name.emplace(std::move(v.name), std::move(v.value));
  std::vector<shard_store::shard> all;
  for (std::size_t i = 0; i < count; ++i) {
    auto const &name = rows[2 * i], &file = rows[2 * i + 1];
    auto const at = by_name.find(name);
    if (at == by_name.end()) throw error(code::not_found, "the snapshot has no variable '" + name + "'");
    if (all.empty() || all.back().file != file) all.push_back({file, {}});
    all.back().tensors.push_back({name, std::move(at->second)});
    by_name.erase(at);
  }
  return all;
}

}  // namespace snapshotting

RILL_INLINE kernel snapshot_op::cpu(kernel_request const& r) {
  return kernel([&state = r.state, to = snapshotting::kept(r),
                 names = decode<attributes>(r.at.attributes).variables](kernel_call const& call) {
    std::vector<named_tensor> values;
    auto* bytes = call.out<std::int64_t>(0);
    for (auto const& name : names) {
      auto const v = state.find_variable(name);
      if (!v) throw error(code::failed_precondition, "the task has no variable of this name any more", name);
      values.push_back({name, v->read(call.step.version)});
      *bytes++ = static_cast<std::int64_t>(values.back().value.bytes());
    }
    to->put(*call.in<std::string>(0), std::move(values));
  });
}

RILL_INLINE kernel write_snapshot_op::cpu(kernel_request const& r) {
  auto const store = r.state.store();
  if (!store)
    throw error(code::failed_precondition,
                "this process writes no checkpoints: give its server_options (or task_options) a checkpoint_folder");
  auto const rows = static_cast<std::size_t>(elements(r.inputs[1].shape())) / 2;
  return detail::waiting(
      [from = snapshotting::kept(r), store, rows](kernel_call const& call) {
        auto shards = snapshotting::shards_of(from->take(*call.in<std::string>(0)), call.in<std::string>(1), rows);
        auto& later = call.from->suspend();
        store->write(std::move(shards), [&later](failure why) { later.resume(std::move(why)); });
      },
      false);
}

RILL_INLINE kernel drop_snapshot_op::cpu(kernel_request const& r) {
  return kernel([from = snapshotting::kept(r)](kernel_call const& call) { from->drop(*call.in<std::string>(0)); });
}

#endif

}  // namespace rill::ops
