// Who belongs to whom after a split.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace ringlet {

/// What a rank brings to a split. `context` of rank 0 is the first of a row of fresh numbers, one for each new group.
struct Ballot {
  int color = 0;
  int key = 0;
  int context = 0;
};

/// The new group of `rank`: those of its color by (key, rank).
struct GroupMembers {
  GroupMembers(std::span<const Ballot> ballots, int own_rank) {
    const int color = ballots[static_cast<size_t>(own_rank)].color;
    std::vector<int> colors;  // in the order in which they first occur: alike on all ranks
    for (int r = 0; r < static_cast<int>(ballots.size()); ++r) {
      const Ballot& ballot = ballots[static_cast<size_t>(r)];
      if (std::find(colors.begin(), colors.end(), ballot.color) == colors.end()) {
        colors.push_back(ballot.color);
      }
      if (ballot.color == color) {
        members.push_back(r);
      }
    }
    std::stable_sort(members.begin(), members.end(),
                     [&](int a, int b) { return ballots[static_cast<size_t>(a)].key < ballots[static_cast<size_t>(b)].key; });
    index = static_cast<int>(std::find(colors.begin(), colors.end(), color) - colors.begin());
    rank = static_cast<int>(std::find(members.begin(), members.end(), own_rank) - members.begin());
  }

  std::vector<int> members;  // ranks of the group that was split
  int index = 0;             // which of the new groups
  int rank = 0;              // in the new group
};

}  // namespace ringlet
