#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace rill::emulated {
namespace {

/// The program's environment, with messages in English.
std::vector<char*> english(std::string& language) {
  std::vector<char*> variables{language.data()};
  for (char** each = environ; *each != nullptr; ++each)
    if (std::strncmp(*each, "LC_ALL=", 7) != 0) variables.push_back(*each);
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

bool run_program(std::vector<std::string> const& arguments, std::string const& output) {
  std::vector<char*> words;
  for (auto const& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  std::string language = "LC_ALL=C";
  auto variables = english(language);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  ::pid_t child = 0;
  int const failed = ::posix_spawnp(&child, words[0], &files, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    std::ofstream(output) << words[0] << " could not be run: " << std::strerror(failed) << '\n';
    return false;
  }
  int result = 0;
  while (::waitpid(child, &result, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

}  // namespace rill::emulated
