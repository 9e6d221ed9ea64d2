// Lowers a loop to primitives (EuroSys'18 §4.2):
//
//   variable ─▶ enter ─▶ merge ─▶ switch ─▶ body ─▶ next_iteration ─▶ (merge)
//                                    └────▶ exit
//
// If the iterations' effects must happen in order, a token goes round in the same way: `turn` is its merge, and it
// passes to the next iteration when all effects of this one are done.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/tagged/lowering.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Lowers one loop. Its member functions run in the order of `run`.
class lowering::loop_lowering {
 public:
  loop_lowering(lowering& l, node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded,
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
  // Lets input k enter as a constant of all iterations.
  endpoint invariant(std::size_t k) { return lower_.enter(into_, in_[k], guarded_[k], true); }
  std::size_t input_of(std::size_t variable) const { return about_.first_variable() + variable; }
  std::vector<endpoint> with_captures(std::vector<endpoint> arguments) const {
    arguments.insert(arguments.end(), captures_.begin(), captures_.end());
    return arguments;
  }
  // Returns the number of iterations if it is known, otherwise -1.
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

  // Adds the condition, and returns whether there is another iteration.
  endpoint ask() {
    auto const ends = [&](endpoint verdict) {
      return endpoint{lower_.add<ops::loop_cond_op>({verdict}, {}, here_), 0};
    };
    if (about_.counted()) return ends({lower_.add<ops::goes_on_op>({number_}, {top_}, here_, {extent()}), 0});
    auto const arguments = with_captures(values_);
    auto guarded = changes_;
    guarded.resize(arguments.size());
    auto const condition = lower_.bound(*about_.condition, ops::loop_rules::without_rows(about_, given_));
    auto const asked = lower_.place(outside_, node_, lowered::body::condition);
    auto made = lower_.splice(condition, arguments, guarded, {top_, turn_, stream_, asked});
    if (made.guarded[0] && made.effects.empty()) return ends(made.values[0]);
    // The verdict waits for the condition's effects, so the body comes after them.
    return ends({lower_.add<ops::identity_op>({made.values[0]}, joined(made.effects, top_), here_), 0});
  }

  // Adds switches by the verdict, then the body, which is dead in the iteration in which the loop ends.
  spliced repeat(endpoint verdict) {
    for (std::size_t i = 0; i < changes_.size(); ++i)
      switches_.push_back(changes_[i] ? lower_.add<ops::switch_op>({values_[i], verdict}, {}, here_) : none);
    goes_ = lower_.add<ops::switch_op>({ordered_ ? endpoint{turn_, 0} : verdict, verdict}, {}, here_);
    pivot_ = lower_.add<ops::identity_op>({{goes_, 1}}, {}, here_);
    auto const used = inputs_used(body_);
    std::vector<endpoint> arguments;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      arguments.push_back(changes_[i] ? endpoint{switches_[i], 1} : values_[i]);
    auto guarded = changes_;
    for (std::size_t k = 0; k < static_cast<std::size_t>(about_.rows); ++k) {
      guarded.push_back(used[changes_.size() + k]);
      arguments.push_back(guarded.back() ? row(k) : number_);
    }
    arguments = with_captures(std::move(arguments));
    guarded.resize(arguments.size());
    // If the loop is ordered, the pivot comes from the turn: it is live when the effects of the iteration before are
    // done.
    return lower_.splice(body_, arguments, guarded, {pivot_, ordered_ ? pivot_ : none, stream_, here_});
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
  bool ordered_ = false;       // whether a token goes round too: effects are ordered, or no variable changes
  std::vector<endpoint> values_, captures_;
  endpoint number_{none, 0};
  std::uint32_t top_ = none;     // a node that is live in each iteration, before the condition
  std::uint32_t turn_ = none;    // the merge of the token that goes round, if the loop is ordered
  std::uint32_t stream_ = none;  // sets the random stream, if the loop has effects
  std::vector<std::uint32_t> switches_;
  std::uint32_t goes_ = none, pivot_ = none;  // the switch of the turn or the verdict, and its live side
  results result_;
};

inline lowering::results lowering::loop(node const& n, std::vector<endpoint> const& in,
                                        std::vector<bool> const& guarded, nodes controls, scope s) {
  return loop_lowering(*this, n, in, guarded, std::move(controls), s).run();
}

}  // namespace rill::detail
#endif
