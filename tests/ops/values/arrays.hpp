// How the cases of record_arrays.py are recorded in a graph.
#pragma once
#include "recorded.hpp"

namespace rill::test {

inline recorder_map moving_recorders() {
  recorder_map r;
  r["broadcast_to"] = [](call const& c) { return broadcast_to(c.x[0], {2, 3, 4}); };
  r["merge_axes"] = [](call const& c) { return merge_axes(c.x[0], -2, 2); };
  r["roll"] = [](call const& c) { return roll(c.x[0], {-1, 5}, {0, 2}); };
  r["pad"] = [](call const& c) { return pad(c.x[0], {1, 0, 2}, {0, 1, 1}, c.x[1]); };
  r["unpad"] = [](call const& c) { return unpad(c.x[0], {1, 0, 0}, {0, 1, 2}); };
  for (auto const& [name, beyond] : {std::pair{"edge", border::edge},
                                     {"reflect", border::reflect},
                                     {"symmetric", border::symmetric},
                                     {"wrap", border::wrap}}) {
    auto const how = beyond;
    r["pad with " + std::string(name)] = [=](call const& c) { return pad(c.x[0], {1, 0, 5}, {0, 2, 7}, how); };
    r["source_positions with " + std::string(name)] = [=](call const& c) {
      return source_positions(c.x[0], {.axis = 1, .beyond = how, .before = 5, .after = 7});
    };
  }
  r["source_positions of copies"] = [](call const& c) {
    return source_positions(c.x[0], {.axis = 0, .times = 2, .each = 3});
  };
  r["split_lengths"] = [](call const& c) { return split_lengths(c.x[0], {1, -1, 2}, 2)[0]; };
  r["tile"] = [](call const& c) { return tile(c.x[0], {2, 1, 3}); };
  r["repeat"] = [](call const& c) { return repeat(c.x[0], 3, 1); };
  r["diag"] = [](call const& c) { return diag(c.x[0]); };
  r["diag_part"] = [](call const& c) { return diag_part(c.x[0]); };
  r["trace"] = [](call const& c) { return trace(c.x[0]); };
  r["lower_triangle"] = [](call const& c) { return lower_triangle(c.x[0], 1); };
  r["upper_triangle"] = [](call const& c) { return upper_triangle(c.x[0], -1); };
  return r;
}

inline recorder_map indexing_recorders() {
  recorder_map r;
  for (int axis : {0, 1, 2}) {
    auto const along = " along " + std::to_string(axis);
    r["gather_axis" + along] = [=](call const& c) { return gather(c.x[0], c.x[1], axis); };
    r["scatter_axis" + along] = [=](call const& c) { return scatter_axis(c.x[0], c.x[1], c.x[2], axis); };
    r["take_along_axis" + along] = [=](call const& c) { return take_along_axis(c.x[0], c.x[1], axis); };
    r["scatter_along_axis" + along] = [=](call const& c) { return scatter_along_axis(c.x[0], c.x[1], c.x[2], axis); };
    for (bool down : {false, true}) {
      auto const words = along + (down ? " descending" : "");
      r["sort" + words] = [=](call const& c) { return sort(c.x[0], axis, down); };
      r["sort by index" + words] = [=](call const& c) { return argsort(c.x[0], axis, down, dtype::int64); };
    }
    r["sort top" + along] = [=](call const& c) { return top_k(c.x[0], 2, axis)[0]; };
  }
  r["row_numbers"] = [](call const& c) { return record<ops::row_numbers_op>(c.x[1], c.x[0]); };
  r["gather_nd"] = [](call const& c) { return gather_nd(c.x[0], c.x[1]); };
  r["scatter_nd"] = [](call const& c) { return scatter_nd(c.x[1], c.x[0], {3, 4, 2}); };
  r["boolean_mask"] = [](call const& c) { return boolean_mask(c.x[0], c.x[1]); };
  r["scatter_update"] = [](call const& c) {
    auto const v = c.own();
    return c.after(scatter_update(v, c.x[1], c.x[2]), v);
  };
  r["unique"] = [](call const& c) { return record_erased<ops::unique_op>(c.g, {}, {c.x[0]}); };
  r["search_sorted"] = [](call const& c) { return search_sorted<std::int64_t>(c.x[0], c.x[1]); };
  r["search_sorted right"] = [](call const& c) { return search_sorted_right<std::int32_t>(c.x[0], c.x[1]); };
  return r;
}

inline recorder_map array_recorders() {
  auto r = moving_recorders();
  r.merge(indexing_recorders());
  r["range"] = [](call const& c) { return range(c.x[0], c.x[1], c.x[2]); };
  r["linspace"] = [](call const& c) { return linspace(c.x[0], c.x[1], 7); };
  return r;
}

}  // namespace rill::test
