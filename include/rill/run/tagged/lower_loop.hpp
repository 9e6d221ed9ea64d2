// How a loop becomes primitives (EuroSys'18 §4.2): each variable that changes goes round through a merge, a switch and
// a next_iteration, and leaves by an exit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/tagged/lowering.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// One loop, while it is lowered: what its steps hand on.
class lowering::loop_parts {
 public:
  loop_parts(lowering& l, node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded,
             nodes controls, scope outside)
      : lower_(l),
        node_(n),
        in_(in),
        guarded_(guarded),
        outside_(outside),
        about_(decode<ops::loop_rules::attributes>(n.attributes)),
        types_(types()),
        count_(ops::loop_rules::arguments(about_, types_).second),
        given_(ops::loop_rules::given(about_, types_, n.outputs)),
        body_(l.bound(*about_.body, given_)),
        here_(l.place(outside, n, lowered::body::iteration)),
        into_{l.frame_of(n), here_, about_.parallel, std::move(controls), outside.pivot},
        changes_(static_cast<std::size_t>(about_.variables)) {
    for (std::size_t i = 0; i < changes_.size(); ++i) changes_[i] = body_.outputs[i] != endpoint{body_.inputs[i], 0};
    ordered_ = n.op->effect == effect::writes || std::find(changes_.begin(), changes_.end(), true) == changes_.end();
  }

  results run() {
    enter_variables();
    enter_number();
    for (auto k = about_.first_capture(); k < in_.size(); ++k) captures_.push_back(invariant(k));
    auto const verdict = ask();
    return leave(repeat(verdict));
  }

 private:
  std::vector<type> types() const {
    std::vector<type> all(in_.size());
    for (auto k = static_cast<std::size_t>(about_.references); k < in_.size(); ++k)
      all[k] = lower_.out_.subgraph.type_of(in_[k]);
    return all;
  }
  // What all iterations see alike.
  endpoint invariant(std::size_t k) { return lower_.enter(into_, in_[k], guarded_[k], true); }
  std::size_t input_of(std::size_t variable) const { return about_.first_variable() + variable; }
  std::vector<endpoint> with_captures(std::vector<endpoint> arguments) const {
    arguments.insert(arguments.end(), captures_.begin(), captures_.end());
    return arguments;
  }
  // How many iterations there are, or nobody knows: -1.
  std::int64_t extent() const { return count_.known() ? count_.extent : -1; }

  void enter_variables() {
    if (ordered_) top_ = turn_ = lower_.add<ops::merge_op>({{lower_.enter_token(into_), 0}}, {}, here_);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!changes_[i]) {
        values_.push_back(invariant(input_of(i)));
        continue;
      }
      auto const first = lower_.enter(into_, in_[input_of(i)], guarded_[input_of(i)], false);
      values_.push_back({lower_.add<ops::merge_op>({first}, {}, here_), 0});
      if (top_ == none) top_ = values_.back().node;
    }
  }
  void enter_number() {
    if (about_.given_count) number_ = invariant(static_cast<std::size_t>(about_.references));
    else if (about_.counted()) number_ = {lower_.constant(tensor(count_.extent)), 0};
    if (node_.op->effect == effect::none) return;
    auto const rows = about_.backwards ? std::vector<endpoint>{number_} : std::vector<endpoint>{};
    stream_ = lower_.add<ops::drawn_by_row_op>(rows, {top_}, here_, {about_.key, about_.backwards});
  }

  // Whether there is another iteration.
  endpoint ask() {
    auto const ends = [&](endpoint verdict) {
      return endpoint{lower_.add<ops::loop_cond_op>({verdict}, {}, here_), 0};
    };
    if (about_.counted()) return ends({lower_.add<ops::goes_on_op>({number_}, {top_}, here_, {extent()}), 0});
    auto const arguments = with_captures(values_);
    auto safe = changes_;
    safe.resize(arguments.size());
    auto const condition = lower_.bound(*about_.condition, ops::loop_rules::without_rows(about_, given_));
    auto const asked = lower_.place(outside_, node_, lowered::body::condition);
    auto made = lower_.splice(condition, arguments, safe, {top_, turn_, stream_, asked});
    if (made.guarded[0] && made.effects.empty()) return ends(made.values[0]);
    // The body comes after the condition's effects.
    return ends({lower_.add<ops::identity_op>({made.values[0]}, joined(made.effects, top_), here_), 0});
  }

  // The body is dead in the iteration in which the loop ends.
  spliced repeat(endpoint verdict) {
    for (std::size_t i = 0; i < changes_.size(); ++i)
      switches_.push_back(changes_[i] ? lower_.add<ops::switch_op>({values_[i], verdict}, {}, here_) : none);
    goes_ = lower_.add<ops::switch_op>({ordered_ ? endpoint{turn_, 0} : verdict, verdict}, {}, here_);
    pivot_ = lower_.add<ops::identity_op>({{goes_, 1}}, {}, here_);
    auto const used = inputs_used(body_);
    std::vector<endpoint> arguments;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      arguments.push_back(changes_[i] ? endpoint{switches_[i], 1} : values_[i]);
    auto safe = changes_;
    for (std::size_t k = 0; k < static_cast<std::size_t>(about_.rows); ++k) {
      safe.push_back(used[changes_.size() + k]);
      arguments.push_back(safe.back() ? row(k) : number_);
    }
    arguments = with_captures(std::move(arguments));
    safe.resize(arguments.size());
    return lower_.splice(body_, arguments, safe, {pivot_, ordered_ ? pivot_ : none, stream_, here_});
  }
  endpoint row(std::size_t k) {
    auto const all = invariant(about_.first_row() + k);
    return {lower_.add<ops::row_op>({all, number_}, {pivot_}, here_, {about_.backwards}), 0};
  }

  results leave(spliced const& made) {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!changes_[i]) {
        result_.values.push_back(unchanged(input_of(i)));
        continue;
      }
      lower_.add<ops::next_iteration_op>({made.values[i], values_[i]}, {pivot_}, here_);
      give(lower_.add<ops::exit_op>({{switches_[i], 0}}, {}, here_));
    }
    if (ordered_) {
      auto const done = lower_.add<ops::identity_op>({{goes_, 1}}, made.effects, here_);
      lower_.add<ops::next_iteration_op>({{done, 0}, {turn_, 0}}, {}, here_);
    }
    give(lower_.add<ops::iterations_op>({{pivot_, 0}}, {}, here_));
    for (auto i = changes_.size(); i < body_.outputs.size(); ++i) {
      std::vector<endpoint> from{made.values[i]};
      if (about_.backwards) from.push_back(number_);
      bool const saved = about_.is_saved(i - changes_.size());
      give(lower_.add<ops::collect_op>(from, {pivot_}, here_, {extent(), about_.backwards, saved}));
    }
    return std::move(result_);
  }
  endpoint unchanged(std::size_t k) {
    if (guarded_[k] || outside_.pivot == none) return in_[k];
    return {lower_.add<ops::identity_op>({in_[k]}, {outside_.pivot}, outside_.place), 0};
  }
  void give(std::uint32_t n) {
    result_.values.push_back({n, 0});
    result_.done.push_back(n);
  }

  lowering& lower_;
  node const& node_;
  std::vector<endpoint> const& in_;
  std::vector<bool> const& guarded_;
  scope outside_;
  ops::loop_rules::attributes about_;
  std::vector<type> types_;
  dim count_;
  std::vector<type> given_;
  subgraph body_;
  std::uint32_t here_;
  entrance into_;
  std::vector<bool> changes_;  // of each variable: whether the body returns another value
  bool ordered_ = false;       // a token goes round as well: effects come in order, or no variable changes
  std::vector<endpoint> values_, captures_;
  endpoint number_{none, 0};
  std::uint32_t top_ = none, turn_ = none, stream_ = none;
  std::vector<std::uint32_t> switches_;
  std::uint32_t goes_ = none, pivot_ = none;
  results result_;
};

inline lowering::results lowering::loop(node const& n, std::vector<endpoint> const& in,
                                        std::vector<bool> const& guarded, nodes controls, scope s) {
  return loop_parts(*this, n, in, guarded, std::move(controls), s).run();
}

}  // namespace rill::detail
#endif
