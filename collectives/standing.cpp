#include "collectives/standing.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ringlet {
namespace {

using State = Standing::State;

bool known(const Standing& one) { return one.state == State::InCall || one.state == State::Left || one.state == State::Failed; }
bool gone(const Standing& one) { return one.state == State::Left || one.state == State::Failed; }

std::string_view name_of(State state) {
  switch (state) {
    case State::Silent: return "no answer: computing or dead";
    case State::InCall: return "waiting";
    case State::Outside: return "computing";
    case State::InMessage: return "waiting for a message";
    case State::Left: return "has left";
    case State::Failed: return "has left, by an exception";
    case State::Dead: return "dead";
  }
  return "?";
}

// The ranks that make the same call as `model`, and are not known to make another.
std::vector<int> ranks_that(std::span<const Standing> all, auto condition) {
  std::vector<int> ranks;
  for (size_t r = 0; r < all.size(); ++r) {
    if (known(all[r]) && condition(all[r])) {
      ranks.push_back(static_cast<int>(r));
    }
  }
  return ranks;
}

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(ranks[i]);
  }
  return text;
}

struct Verdict {
  std::vector<int> usual{}, odd{};
};

// The largest set of ranks with one call is right; of two equally large ones the one that nobody of has left, else neither.
Verdict judge(std::span<const Standing> all) {
  std::vector<std::vector<int>> camps;
  for (const Standing& one : all) {
    if (!known(one)) {
      continue;
    }
    std::vector<int> camp = ranks_that(all, [&](const Standing& other) { return other.call == one.call; });
    if (std::find(camps.begin(), camps.end(), camp) == camps.end()) {
      camps.push_back(std::move(camp));
    }
  }
  const auto weight = [&](const std::vector<int>& camp) {
    return 2 * camp.size() + (gone(all[static_cast<size_t>(camp.front())]) ? 0 : 1);
  };
  std::sort(camps.begin(), camps.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  if (camps.size() < 2) {
    return {};
  }
  Verdict verdict{.usual = camps.front()};
  if (weight(camps[0]) > weight(camps[1])) {
    const auto usual = all[static_cast<size_t>(camps[0].front())].call;
    verdict.odd = ranks_that(all, [&](const Standing& one) { return one.call != usual; });
  }
  return verdict;
}

// Where nobody disagrees: whom all wait for, whatever chain of others they wait for it through.
int first_late(std::span<const Standing> all) {
  const auto late = std::find_if(all.begin(), all.end(), [](const Standing& one) { return !known(one); });
  return late == all.end() ? -1 : static_cast<int>(late - all.begin());
}

// "all_reduce #12 of 1000 f32, sum (train.cpp:88): "
std::string described(const Standing& one) {
  const std::string_view site = one.site.view();
  return describe(one.call) + (site.empty() ? "" : message(" ({})", site)) + ": ";
}

std::string table(std::span<const Standing> all, const std::vector<int>& odd) {
  std::string text = "\n  rank  call (call site): state";
  for (size_t r = 0; r < all.size(); ++r) {
    const bool marked = std::find(odd.begin(), odd.end(), static_cast<int>(r)) != odd.end();
    const bool said = all[r].state != State::Silent && all[r].call.sequence > 0;
    const std::string number = to_text(r);
    text += message("\n{} {}{}  {}{}", marked ? "*" : " ", std::string(4 - std::min<size_t>(number.size(), 4), ' '), number,
                    said ? described(all[r]) : "", name_of(all[r].state));
  }
  return text;
}

}  // namespace

CommError disagreement(int rank, int peer, const std::string& complaint, std::span<const Standing> standings) {
  for (const State state : {State::Failed, State::Dead}) {  // nobody disagrees
    const char* story = state == State::Failed ? "rank {} has left because of an exception" : "rank {} is dead";
    const auto found =
        std::find_if(standings.begin(), standings.end(), [&](const Standing& one) { return one.state == state; });
    if (found != standings.end()) {
      const int its_rank = static_cast<int>(found - standings.begin());
      return {{.rank = rank, .size = static_cast<int>(standings.size()), .peer = its_rank},
              (peer == its_rank ? complaint : message(story, its_rank)) + table(standings, {its_rank})};
    }
  }
  // Whoever waits for a message waits for its peer alone, however many others are elsewhere.
  const bool in_message = standings[static_cast<size_t>(rank)].state != State::InCall;
  const Verdict verdict = in_message ? Verdict{} : judge(standings);
  const auto call_of = [&](int r) { return standings[static_cast<size_t>(r)].call; };
  std::string reason = complaint;
  if (!verdict.odd.empty()) {
    peer = verdict.odd.size() == 1 ? verdict.odd.front() : -1;
    const Fingerprint theirs = call_of(verdict.odd.front()), usual = call_of(verdict.usual.front());
    reason = message("all ranks must make the same call, but {} differs in {}: got {} there, {} on {}", list(verdict.odd),
                     differences(theirs, usual), describe(theirs), describe(usual), list(verdict.usual));
  } else if (!verdict.usual.empty()) {
    const Fingerprint usual = call_of(verdict.usual.front());
    const std::vector<int> others = ranks_that(standings, [&](const Standing& one) { return one.call != usual; });
    const Fingerprint theirs = call_of(others.front());
    reason = message("all ranks must make the same call, but they differ in {}: got {} on {}, {} on {}",
                     differences(usual, theirs), describe(usual), list(verdict.usual), describe(theirs), list(others));
  } else if (const int late = in_message ? -1 : first_late(standings);
             late >= 0 && (peer < 0 || known(standings[static_cast<size_t>(peer)]))) {
    reason = peer < 0 ? message("rank {} has not come, and another rank's deadline has passed", late)
                      : message("rank {} has not come; {}", late, complaint);
    peer = late;
  }
  const bool one_to_blame = verdict.usual.empty() && peer >= 0;
  return {{.rank = rank, .size = static_cast<int>(standings.size()), .peer = peer},
          reason + table(standings, one_to_blame ? std::vector{peer} : verdict.odd)};
}

}  // namespace ringlet
