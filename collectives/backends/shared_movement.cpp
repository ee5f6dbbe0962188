#include "collectives/backends/shared_movement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/error.h"

namespace ringlet {
namespace {

struct Part {
  size_t offset = 0, bytes = 0;

  // What of it belongs to the segment [begin, begin + longest).
  Part within(size_t begin, size_t longest) const {
    return begin < bytes ? Part{offset + begin, std::min(longest, bytes - begin)} : Part{};
  }
};

// What this rank gives and gets. Parts that do not exist are empty.
struct Parts {
  std::vector<Part> to{};    // by destination: of the input
  std::vector<Part> from{};  // by source: of the output
  size_t longest = 0;        // of all parts of all ranks
  bool one_for_all = false;  // every destination gets to[0]
  size_t at_source = 0;      // where in the input of another rank that begins which this rank gets of it
};

std::vector<Part> even_parts(int ranks, size_t bytes) {
  std::vector<Part> parts;
  for (int r = 0; r < ranks; ++r) {
    parts.push_back({static_cast<size_t>(r) * bytes, bytes});
  }
  return parts;
}

std::vector<Part> listed_parts(std::span<const int64_t> counts, size_t element) {
  std::vector<Part> parts;
  size_t offset = 0;
  for (const int64_t count : counts) {
    parts.push_back({offset, static_cast<size_t>(count) * element});
    offset += parts.back().bytes;
  }
  return parts;
}

size_t longest_of(const std::vector<Part>& parts) {
  return std::max_element(parts.begin(), parts.end(), [](Part a, Part b) { return a.bytes < b.bytes; })->bytes;
}

// The shard of every rank, as the whole has them.
std::vector<Part> shards(const Call& call, int ranks, size_t shard_bytes) {
  return call.counts.empty() ? even_parts(ranks, shard_bytes) : listed_parts(call.counts, size_of(call.in.dtype));
}

// Every rank knows its own row and column of the table; here they show each other both. So all find the same mistake, whosever
// it is, and nobody waits for one who has given up.
Parts parts_of_all_to_all_v(SharedStaging& shared, const Call& call) {
  const int P = shared.size();
  const auto row = static_cast<size_t>(P);
  const auto turn = shared.next(2 * row * sizeof(int64_t));
  shared.show(turn, call.counts);
  shared.show(turn, call.source_counts, row);
  shared.phases().meet();
  std::vector<int64_t> table;
  int64_t largest = 0;
  for (int rank = 0; rank < P; ++rank) {
    const int64_t* const row_of = shared.shown_by<int64_t>(rank, turn);
    table.insert(table.end(), row_of, row_of + 2 * P);
    largest = std::max(largest, *std::max_element(row_of, row_of + P));
  }
  require_matching_parts(table, shared.rank(), P);
  const size_t element = size_of(call.in.dtype);
  return {.to = listed_parts(call.counts, element),
          .from = listed_parts(call.source_counts, element),
          .longest = static_cast<size_t>(largest) * element};
}

Parts parts_of(SharedStaging& shared, const Call& call) {
  const int P = shared.size(), r = shared.rank();
  const bool root = call.peer == r;
  switch (call.operation) {
    case Operation::Broadcast: {
      const Part whole{0, call.out.bytes()};
      Parts parts{
          .to = {whole}, .from = std::vector<Part>(static_cast<size_t>(P)), .longest = whole.bytes, .one_for_all = true};
      parts.from[static_cast<size_t>(call.peer)] = whole;
      return parts;
    }
    case Operation::AllGather:
    case Operation::AllGatherV:
    case Operation::Gather:
    case Operation::GatherV: {
      const std::vector<Part> all = shards(call, P, call.in.bytes());
      const bool receives = !is_rooted(call.operation) || root;
      return {.to = {Part{0, call.in.bytes()}},
              .from = receives ? all : std::vector<Part>(all.size()),
              .longest = longest_of(all),
              .one_for_all = true};
    }
    case Operation::Scatter:
    case Operation::ScatterV: {
      const std::vector<Part> all = shards(call, P, call.out.bytes());
      Parts parts{.to = root ? all : std::vector<Part>(all.size()),
                  .from = std::vector<Part>(all.size()),
                  .longest = longest_of(all),
                  .at_source = all[static_cast<size_t>(r)].offset};
      parts.from[static_cast<size_t>(call.peer)] = {0, call.out.bytes()};
      return parts;
    }
    case Operation::AllToAllV: return parts_of_all_to_all_v(shared, call);
    default: {  // all_to_all
      const size_t part = call.in.bytes() / static_cast<size_t>(P);
      return {
          .to = even_parts(P, part), .from = even_parts(P, part), .longest = part, .at_source = static_cast<size_t>(r) * part};
    }
  }
}

void move(SharedStaging& shared, const Call& call, const Parts& parts) {
  const int P = shared.size(), r = shared.rank();
  const auto input = [&](Part part) { return std::span<const std::byte>(call.in.begin() + part.offset, part.bytes); };
  const auto output = [&](Part part) { return std::span<std::byte>(call.out.begin() + part.offset, part.bytes); };
  const auto slots = parts.one_for_all ? size_t{1} : static_cast<size_t>(P);  // by destination
  const size_t longest = shared.segment() / slots / SharedStaging::kLine * SharedStaging::kLine;
  for (size_t begin = 0; begin < parts.longest; begin += longest) {
    const size_t room = SharedStaging::whole_lines(std::min(longest, parts.longest - begin));
    const size_t slot = parts.one_for_all ? 0 : room;
    const auto turn = shared.next(slots * room);
    for (int k = 1; k < (parts.one_for_all ? 2 : P); ++k) {
      const auto dest = static_cast<size_t>((r + k) % P);
      shared.show(turn, input(parts.to[parts.one_for_all ? 0 : dest].within(begin, longest)), dest * slot);
    }
    const uint32_t shown = shared.phases().arrive();
    const auto self = static_cast<size_t>(r);
    const Part kept = parts.from[self].within(begin, longest);
    const Part own = parts.to[parts.one_for_all ? 0 : self].within(begin, longest);
    if (kept.bytes > 0 && output(kept).data() != input(own).data()) {
      shared.take(input(own).data(), output(kept));
    }
    shared.phases().wait(shown);
    for (int k = 1; k < P; ++k) {
      const int source = (r + k) % P;
      shared.take(shared.shown_by<std::byte>(source, turn) + self * slot,
                  output(parts.from[static_cast<size_t>(source)].within(begin, longest)));
    }
  }
}

// The root shows a segment while the others take the one before it. Not further ahead: a turn is free when all have come for the one
// before it.
void broadcast(SharedStaging& shared, const Call& call) {
  const size_t total = call.out.bytes(), longest = shared.segment();
  const bool root = shared.rank() == call.peer;
  for (size_t begin = 0; begin < total; begin += longest) {
    const size_t n = std::min(longest, total - begin);
    const auto turn = shared.next(n);
    if (root) {
      shared.show(turn, std::span<const std::byte>(call.in.begin() + begin, n));
    }
    shared.phases().meet();
    if (!root) {
      shared.take(shared.shown_by<std::byte>(call.peer, turn), std::span(call.out.begin() + begin, n));
    }
  }
}

}  // namespace

void move_from(const SharedPlaces& places, SharedStaging& shared, const Call& call) {
  const int P = shared.size(), r = shared.rank();
  const Parts parts = parts_of(shared, call);
  for (int k = 0; k < P; ++k) {
    const int source = (r + k) % P;
    const Part part = parts.from[static_cast<size_t>(source)];
    const std::span<std::byte> to(call.out.begin() + part.offset, part.bytes);
    const std::byte* own = call.in.begin() + parts.at_source;
    if (part.bytes == 0 || (source == r && own == to.data())) {
      continue;
    }
    if (source == r) {
      shared.take(own, to);
    } else {
      places.take_input(source, parts.at_source, to);
    }
  }
}

void move_through(SharedStaging& shared, const Call& call) {
  if (call.operation == Operation::Broadcast) {
    return broadcast(shared, call);
  }
  move(shared, call, parts_of(shared, call));
}

}  // namespace ringlet
