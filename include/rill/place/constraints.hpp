// On which devices each group of nodes can lie: wishes, homes and kernels, and the errors if these leave none.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/place/device_set.hpp"
#include "rill/place/groups.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// A wish of a node, or a home; it holds for its whole group.
struct place_demand {
  std::uint32_t node;       // the member of the group on which it is laid
  std::string_view by;      // the name of the node that it comes from
  std::string_view device;  // as asked for; empty: it is a home
  std::uint32_t home = placed_node::none;
  bool by_use = false;  // node `by` takes `node`, a variable

  bool is_home() const { return home != placed_node::none; }
};

/// A group of nodes and the devices on which it can lie, of which there is at least one.
struct constrained_group {
  std::uint32_t root;
  device_set devices;
  std::vector<place_demand> demands;  ///< by ascending node
  bool gave_way = false;              ///< soft placement passed over a wish
};

inline std::string in_quotes(std::string_view s) {
  return std::string(1, '\'').append(s).append(1, '\'');  // g++ 12 warns of "'" + std::string(s): its bug 105651
}
/// Returns what `f` says of each, but for empty strings; of many the first.
template <class List, class F> std::string list_of_texts(List const& all, F const& f) {
  constexpr std::size_t most_named = 8;
  std::string text;
  std::size_t said = 0;
  for (auto const& each : all) {
    auto const one = f(each);
    if (!one.empty() && ++said <= most_named) text += (said == 1 ? "" : ", ") + one;
  }
  return said > most_named ? text + " and " + std::to_string(said - most_named) + " more" : text;
}

/// The devices that nodes may ask for.
class wished_devices {
 public:
  explicit wished_devices(std::span<place_target const> all) : all_(all) {}

  /// Returns the devices that a wish is for.
  device_set const& called(std::string_view wish) {
    auto const at = called_.find(wish);
    if (at != called_.end()) return at->second;
    return called_.emplace(std::string(wish), called(device_name::parse(wish))).first->second;
  }
  std::string names() const {
    return list_of_texts(all_, [](auto const& d) { return d.name.text(); });
  }
  /// Throws the error for a wish of node `by` that is for no device.
  [[noreturn]] void refuse(std::string_view wish, std::string_view by) const {
    auto const whole = device_name::parse(wish);
    device_name so_far;
    auto const missing = [&] { return called(so_far).empty(); };
    std::string what = "no device of its type has that number";
    if (so_far.job = whole.job; missing()) what = "no device is of the job " + in_quotes(whole.job);
    else if (so_far.task = whole.task; missing()) what = "no device is of the task " + std::to_string(*whole.task);
    else if (so_far.type = whole.type; missing()) what = "no device is of the type " + in_quotes(whole.type);
    throw error(code::invalid_argument,
                "it asks for " + in_quotes(wish) + ", but " + what + ": there are " + names() +
                    "; name one of them, or permit soft placement",
                std::string(by));
  }

 private:
  device_set called(device_name const& name) const {
    device_set found(all_.size());
    for (std::uint32_t d = 0; d < all_.size(); ++d) {
      auto const& others = all_[d].others;
      if (matches(name, all_[d].name) ||
          std::any_of(others.begin(), others.end(), [&](auto const& other) { return matches(name, other); }))
        found.insert(d);
    }
    return found;
  }

  std::span<place_target const> all_;
  std::map<std::string, device_set, std::less<>> called_;  // by wish
};

/// Throws error(invalid_argument) if a node asks for a device that is not there: in bodies and functions, too, and
/// whether or not the node has a place.
inline void check_wishes(subgraph const& sub, std::span<place_target const> devices) {
  wished_devices wished(devices);
  auto const check = [&](node const& n) {
    if (!n.device.empty() && wished.called(n.device).empty()) wished.refuse(n.device, n.name);
  };
  std::unordered_set<function_definition const*> functions;
  for (auto const& n : sub.nodes) {
    check(n);
    if (has_bodies(n)) for_each_node_in_bodies(n, check, functions);
  }
}

/// The constraints on groups of nodes.
class place_constraints {
 public:
  place_constraints(subgraph const& sub, std::span<place_target const> devices, place_surroundings const& around,
                    bool soft)
      : sub_(sub),
        devices_(devices),
        around_(around),
        soft_(soft),
        groups_(sub, around),
        hosts_(devices.size()),
        wished_(devices) {
    for (auto const& d : devices) names_.push_back(d.name.text());
    check_devices();
  }

  place_groups const& groups() const { return groups_; }
  device_set const& hosts() const { return hosts_; }
  std::vector<placement::note> const& notes() const { return notes_; }

  /// Returns the group with that first node. Throws error(invalid_argument) if no device suits it.
  constrained_group group_at(std::uint32_t root) {
    constrained_group g{root, device_set(devices_.size(), true), demands_on(root)};
    auto const able = able_to_run(root);
    if (able.empty()) refuse_kernels(g, able);
    pin(g);
    for (auto const& d : g.demands)
      if (!d.is_home()) grant(g, d);
    if (auto const both = g.devices & able; !both.empty()) g.devices = both;
    else give_way(g, able);
    return g;
  }

 private:
  void check_devices() {
    auto const fail = [](std::string const& why) { throw error(code::invalid_argument, "place: " + why); };
    std::map<std::string_view, std::uint32_t> seen;
    for (std::uint32_t d = 0; d < devices_.size(); ++d) {
      auto const& name = devices_[d].name;
      if (name.type.empty() || !name.index)
        fail("expected devices with a type and an index, got " + in_quotes(names_[d]));
      if (!seen.emplace(names_[d], d).second) fail("two devices are called " + in_quotes(names_[d]));
      if (devices_[d].is_host) hosts_.insert(d);
    }
    if (hosts_.empty())
      fail("expected a host among the devices, for strings, files and control flow; got " + wished_.names());
  }

  std::vector<place_demand> demands_on(std::uint32_t root) const {
    std::vector<place_demand> all;
    for (auto i : groups_.members(root)) {
      auto const& n = sub_[i];
      if (is_variable(n) && around_.home)
        if (auto const home = around_.home(n.name)) all.push_back({i, n.name, {}, *home});
      if (!n.device.empty() && !has_bodies(n)) all.push_back({i, n.name, n.device});
      for (auto const& c : groups_.foreign(i))
        if (c.home) all.push_back({i, c.by, {}, *c.home});
        else if (!c.device.empty())
          all.push_back({.node = i, .by = c.by, .device = c.device, .by_use = c.inside != nullptr});
    }
    for (auto const& d : all)
      if (d.is_home() && d.home >= devices_.size())
        throw error(
            code::internal,
            "place: it lies on device number " + std::to_string(d.home) + " of " + std::to_string(devices_.size()),
            std::string(d.by));
    return all;
  }

  // Calls `f` with each node that a group needs a kernel for, the types of its inputs, why it is the host's, and the
  // member of the group that it is or belongs to. Ends when `f` returns false.
  template <class F> void for_each_kernel(std::uint32_t root, F const& f) {
    for (auto i : groups_.members(root)) {
      input_types(sub_, sub_[i], types_);
      if (!f(sub_[i], types_, groups_.why_host(i), i)) return;
      for (auto const& c : groups_.foreign(i))
        if (c.inside && !f(*c.inside, c.inputs, host_reason(*c.inside, c.inputs, false), i)) return;
    }
  }
  device_set able_to_run(std::uint32_t root) {
    device_set able(devices_.size(), true);
    for_each_kernel(root, [&](node const& n, auto const& inputs, auto const& why_host, std::uint32_t) {
      able &= able_to_run(n, inputs, why_host);
      return true;
    });
    return able;
  }
  device_set able_to_run(node const& n, std::span<type const> inputs, std::optional<place_reason> why_host) const {
    if (why_host) return hosts_;
    if (is_variable(n) || n.op->aliases_input) return device_set(devices_.size(), true);
    device_set able(devices_.size());
    for (std::uint32_t d = 0; d < devices_.size(); ++d)
      if (!devices_[d].has_kernel || devices_[d].has_kernel(n, inputs)) able.insert(d);
    return able;
  }

  // Lays a group where its variables lie already.
  void pin(constrained_group& g) const {
    auto const* const first = home_of(g);
    if (first == nullptr) return;
    for (auto const& d : g.demands)
      if (d.is_home() && d.home != first->home)
        refuse("these nodes must lie together, and live on different devices: " +
                   list_of_texts(g.demands,
                                 [&](auto const& each) { return each.is_home() ? says(each) : std::string(); }) +
                   what_ties({first, &d}) + ": move one of them",
               first->by);
    g.devices = device_set(devices_.size());
    g.devices.insert(first->home);
  }
  static place_demand const* home_of(constrained_group const& g) {
    auto const at = std::find_if(g.demands.begin(), g.demands.end(), [](auto const& d) { return d.is_home(); });
    return at == g.demands.end() ? nullptr : &*at;
  }

  void grant(constrained_group& g, place_demand const& d) {
    auto const& wanted = wished_.called(d.device);
    if (auto const both = g.devices & wanted; !both.empty()) {
      g.devices = both;
      return;
    }
    auto const* const home = home_of(g);
    if (wanted.empty()) {
      if (!soft_) wished_.refuse(d.device, d.by);
      pass_over(g, d, "asked for " + in_quotes(d.device) + ", which no device is called");
    } else if (home == nullptr) {
      refuse("these nodes must lie together, and ask for different devices: " +
                 list_of_texts(g.demands, [&](auto const& each) { return says(each); }) +
                 what_ties({&opposed(g, d, wanted), &d}) + ": change a constraint",
             d.by);
    } else {
      auto const text = "asked for " + in_quotes(d.device) + ", but " +
                        (home->by == d.by ? "" : in_quotes(home->by) + ", with which it must lie together, ") +
                        "lives on " + in_quotes(names_[home->home]);
      if (!soft_)
        refuse("it " + text + what_ties({home, &d}) +
                   ": move the variable, change the constraint, or permit soft placement",
               d.by);
      pass_over(g, d, text);
    }
  }

  // No device that homes and wishes leave can run the group.
  void give_way(constrained_group& g, device_set const& able) {
    if (!soft_ || home_of(g)) refuse_kernels(g, able);
    std::string blocker;
    for_each_kernel(g.root, [&](node const& n, auto const& inputs, auto const& why_host, std::uint32_t) {
      if (!(able_to_run(n, inputs, why_host) & g.devices).empty()) return true;
      blocker = n.name;
      return false;
    });
    for (auto const& d : g.demands)
      if (!d.is_home())
        pass_over(g, d,
                  "asked for " + in_quotes(d.device) + ", which has no kernel for " +
                      (blocker.empty()   ? "all that must lie together"
                       : blocker == d.by ? "it"
                                         : in_quotes(blocker)));
    g.devices = able;
  }

  void pass_over(constrained_group& g, place_demand const& d, std::string text) {
    g.gave_way = true;
    notes_.push_back({d.node, std::move(text)});
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Errors

  [[noreturn]] static void refuse(std::string sentence, std::string_view node) {
    throw error(code::invalid_argument, std::move(sentence), std::string(node));
  }
  std::string says(place_demand const& d) const {
    auto const what = d.is_home() ? " lives on " + in_quotes(names_[d.home]) : " asks for " + in_quotes(d.device);
    return in_quotes(d.by) + what;
  }
  // Says why the nodes that some demands come from, and others of the group, must lie together.
  std::string what_ties(std::vector<place_demand const*> const& demands, std::vector<std::uint32_t> nodes = {}) const {
    std::vector<std::string> said;
    for (auto const* d : demands) {
      nodes.push_back(d->node);
      if (d->by != sub_[d->node].name) said.push_back(tie_to(*d));
    }
    auto const within = groups_.ties(nodes);
    said.insert(said.end(), within.begin(), within.end());
    return said.empty() ? "" : "; what ties them: " + list_of_texts(said, [](auto const& s) { return s; });
  }
  // Says how a member of the group is tied to a demand of a node outside the group.
  std::string tie_to(place_demand const& d) const {
    auto const& n = sub_[d.node];
    auto const name = in_quotes(n.name), by = in_quotes(d.by);
    if (d.by_use) return by + " takes " + name;
    if (has_bodies(n)) return by + " is in a body of " + name;
    return n.colocated.empty() ? "one node takes both " + name + " and " + by : name + " is near " + by;
  }
  // Returns a wish of a group that contradicts another one: the first if no single one does.
  place_demand const& opposed(constrained_group const& g, place_demand const& d, device_set const& wanted) {
    for (auto const& each : g.demands)
      if (&each != &d && !each.is_home() && (wished_.called(each.device) & wanted).empty()) return each;
    return g.demands.front();
  }
  [[noreturn]] void refuse_kernels(constrained_group const& g, device_set const& able) {
    std::vector<std::string> said;
    std::vector<std::uint32_t> tied;
    std::vector<place_demand const*> demands;
    for (auto const& d : g.demands) said.push_back(says(d)), demands.push_back(&d);
    for_each_kernel(g.root, [&](node const& n, auto const& inputs, auto const& why_host, std::uint32_t member) {
      auto const set = able_to_run(n, inputs, why_host);
      if (why_host)
        said.push_back(in_quotes(n.name) + " runs on the host alone: " + std::string(why_host_alone(*why_host)));
      else if (set.size() < devices_.size()) said.push_back(in_quotes(n.name) + " has kernels " + where(set));
      else return true;
      tied.push_back(member);
      return true;
    });
    bool const one = groups_.members(g.root).size() == 1;
    refuse(std::string(one ? "no device suits it: " : "no device suits all of these nodes, which must lie together: ") +
               list_of_texts(said, [](auto const& s) { return s; }) + what_ties(demands, tied) + ": " +
               (able.empty() ? "no constraint is the reason, so write it with other operations"
                : home_of(g) ? "move the variable"
                             : "change a constraint, or permit soft placement"),
           g.demands.empty() ? std::string_view(sub_[g.root].name) : g.demands.front().by);
  }
  std::string where(device_set const& set) const {
    std::vector<std::string> on;
    set.for_each([&](std::uint32_t d) { on.push_back(in_quotes(names_[d])); });
    return on.empty() ? "on no device" : "on " + list_of_texts(on, [](auto const& n) { return n; }) + " alone";
  }

  subgraph const& sub_;
  std::span<place_target const> devices_;
  place_surroundings const& around_;
  bool soft_;
  place_groups groups_;
  device_set hosts_;
  std::vector<std::string> names_;
  wished_devices wished_;
  std::vector<placement::note> notes_;
  std::vector<type> types_;
};

}  // namespace rill::detail
#endif
