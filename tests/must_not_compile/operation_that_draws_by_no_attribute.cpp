// expect: an operation's draws_random must name an attribute that is an integer: the key of its numbers
#include <rill/rill.hpp>
struct dice_op {
  static constexpr std::string_view name = "dice";
  static constexpr std::int8_t arity = 0;
  static constexpr rill::effect effect = rill::effect::reads;
#ifdef VALID
  static constexpr std::string_view draws_random = "key";
#else
  static constexpr std::string_view draws_random = "kye";
#endif
  struct attributes {
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) { return take(rill::field{"key", &attributes::key}); }
  };
  static constexpr rill::type infer(attributes const&, std::span<rill::type const>) { return rill::of<int>; }
};
rill::op_def const& f() { return rill::definition<dice_op>(); }
