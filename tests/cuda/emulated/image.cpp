#include "image.hpp"

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "failure.hpp"

namespace rill::emulated {
namespace {

constexpr std::string_view magic = "emulated cubin\n";

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) {
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}
std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto at = text.rbegin(); at != text.rend(); ++at, value /= 16) *at = "0123456789abcdef"[value % 16];
  return text;
}

}  // namespace

std::string hash_of(std::string const& text) {
  return hex(fnv1a(text, 0xcbf29ce484222325)) + hex(fnv1a(text, 0x9e3779b97f4a7c15));
}

std::string write_image(int architecture_of_text, std::vector<std::string> const& objects) {
  std::string body = std::to_string(architecture_of_text) + "\n";
  for (auto const& each : objects) body += each + "\n";
  return std::string(magic) + body + hash_of(body) + "\n";
}

std::vector<std::string> read_image(char const* image) {
  for (char const c : magic) expect(*image++ == c, status::invalid_image);  // byte by byte: others may be shorter
  std::string const text = image;
  // The last line is the hash of those before.
  auto const end = text.find_last_of('\n', text.size() < 2 ? 0 : text.size() - 2);
  expect(end != text.npos && text.substr(end + 1) == hash_of(text.substr(0, end + 1)) + "\n", status::invalid_image);
  // Code for an architecture runs on those of the same major number that are not older.
  int const made_for = std::atoi(text.c_str());
  expect(made_for / 10 == architecture / 10 && made_for <= architecture, status::no_binary_for_gpu);
  std::istringstream lines(text.substr(0, end));
  std::vector<std::string> objects;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) objects.push_back(line);
  return objects;
}

}  // namespace rill::emulated
