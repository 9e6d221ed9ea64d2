// Bytes as JSON lines: a file's objects are those of its lines, and a member alone is what it is among all.
#include "rill/io/json_lines.hpp"

#include "seeded.hpp"

namespace rill::fuzz {
namespace {

using members = std::vector<named_tensor>;

bool same(members const& a, members const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](auto const& x, auto const& y) { return x.name == y.name && same_bits(x.value, y.value); });
}

std::optional<members> read_line(std::string_view line) {
  auto const all = unless_refused([&] { return parse_json_line(line); });
  for (auto const& [name, value] : all.value_or(members{})) {
    auto const alone = parse_json_line(line, std::span(&name, 1));
    require(alone[0] && same_bits(*alone[0], value), "a member alone is what it is among all");
    require(same_bits(json_member_as(value, value.type(), name), value), "a member is of its own type");
  }
  return all;
}

}  // namespace

std::vector<std::string> seeds() {
  return {R"({"id": 1, "x": [[1.5, -2e3], [0, 4]], "name": "a\u00e9\"\\", "ok": true})"
          "\r\n\n"
          R"({"id":9223372036854775807,"x":[],"deep":[[[[[[[[1]]]]]]]],"no":[false,true]})"
          "\n  \t\r\n{}",
          R"({"a": null, "b": {"c": [1, {"d": "e"}]}, "t": ["", "\ud83d\ude00"], "n": -0.0})"};
}

void read(std::string_view bytes) {
  json_line_reader file(byte_stream::of(std::string(bytes)));
  if (is_gzip(bytes)) return;  // its lines are not those of the bytes
  for (auto rest = bytes; !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto const expected = read_line(line);
    auto const before = file.position();
    auto const given = unless_refused([&] { return file.next(); });
    require(given.has_value() == expected.has_value(), "a line is refused alone and in its file");
    if (!expected) return;
    require(*given && same(**given, *expected), "a line is the same alone and in its file");
    file.seek(before);
    require(same(file.next().value(), *expected), "a line is the same again");
  }
  require(!file.next(), "a file ends behind its last line");
}

}  // namespace rill::fuzz
