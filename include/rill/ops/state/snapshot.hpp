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
#include "rill/ops/state/shard_store.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

/// What the operations share: the saver whose checkpoint it is. Input 0 is a text that no other attempt of it has.
struct checkpoint_operation {
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::string saver;
    static constexpr auto fields(auto const& take) { return take(field{"saver", &attributes::saver}); }
  };
  static std::array<type, 0> infer(attributes const&, std::span<type const> x) {
    expect_attempt(x[0]);
    return {};
  }
  static void expect_attempt(type const& t) {
    expects(accepts(type(dtype::string), t), "an attempt to save a checkpoint is not a string");
  }
};

/// Keeps the present values of variables until `write_snapshot`, and returns how many bytes each has. It takes them
/// from the task by name, wherever they lie there.
struct snapshot_op : checkpoint_operation {
  static constexpr std::string_view name = "snapshot", doc = "keeps the values of variables for a checkpoint";
  static constexpr std::size_t outputs = 1;
  struct attributes {
    std::string saver;
    std::vector<std::string> variables;
    static constexpr auto fields(auto const& take) {
      return take(field{"saver", &attributes::saver}, field{"variables", &attributes::variables});
    }
  };
  static type infer(attributes const& a, type const& attempt) {
    expect_attempt(attempt);
    return type(dtype::int64, shape{static_cast<std::int64_t>(a.variables.size())});
  }
  static kernel cpu(kernel_request const& r);
};

/// Writes what `snapshot` has kept, and frees it. Input 1 has rows of a tensor's name and the file for it. Variables
/// without a row are freed unwritten.
struct write_snapshot_op : checkpoint_operation {
  static constexpr std::string_view name = "write_snapshot",
                                    doc = "writes values that snapshot has kept to files of the task";
  static constexpr std::int8_t arity = 2;
  static constexpr bool waits = true;
  static std::array<type, 0> infer(attributes const&, std::span<type const> x) {
    expect_attempt(x[0]);
    expects(x[1].element == dtype::string && (!x[1].has_rank() || x[1].rank == 2),
            "write_snapshot: the files are not rows of two strings");
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

/// Frees what `snapshot` has kept.
struct drop_snapshot_op : checkpoint_operation {
  static constexpr std::string_view name = "drop_snapshot", doc = "frees values that snapshot has kept";
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
  return kernel(
      [&state = r.state, to = snapshotting::kept(r), a = decode<attributes>(r.at.attributes)](kernel_call const& call) {
        std::vector<named_tensor> values;
        auto* bytes = call.out<std::int64_t>(0);
        for (auto const& name : a.variables) {
          auto const v = state.find_variable(name);
          if (!v || !v->initialized())
            throw error({code::unavailable, cause::lost},
                        "the variable '" + name + "' has no value any more: its task was started anew");
          values.push_back({name, v->read(call.step.version)});
          *bytes++ = static_cast<std::int64_t>(values.back().value.bytes());
        }
        to->put(a.saver, *call.in<std::string>(0), std::move(values));
      });
}

RILL_INLINE kernel write_snapshot_op::cpu(kernel_request const& r) {
  auto const store = r.state.store();
  if (!store)
    throw error(code::failed_precondition,
                "this process writes no checkpoints: give its server_options (or task_options) a checkpoint_folder");
  expects(r.inputs[1].rank == 2 && r.inputs[1][1] == dim(2), "write_snapshot: the files are not rows of two strings");
  auto const rows = static_cast<std::size_t>(elements(r.inputs[1].shape())) / 2;
  return detail::waiting(
      [from = snapshotting::kept(r), store, rows,
       saver = decode<attributes>(r.at.attributes).saver](kernel_call const& call) {
        auto shards =
            snapshotting::shards_of(from->take(saver, *call.in<std::string>(0)), call.in<std::string>(1), rows);
        auto& later = call.from->suspend();
        try {
          store->write(std::move(shards), [&later](failure why) { later.resume(std::move(why)); });
        } catch (...) {
          later.resume(caught_failure());
        }
      },
      false);
}

RILL_INLINE kernel drop_snapshot_op::cpu(kernel_request const& r) {
  return kernel([from = snapshotting::kept(r), saver = decode<attributes>(r.at.attributes).saver](
                    kernel_call const& call) { from->drop(saver, *call.in<std::string>(0)); });
}

#endif

}  // namespace rill::ops
