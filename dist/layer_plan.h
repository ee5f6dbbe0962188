// In which order a micro-batch moves the layers of a model, as one list that every rank goes through from its beginning to its end.
// What a rank computes only decides when it goes on. So all ranks make the same calls in the same order, whatever layers the graph of
// one of them leaves out, and also when it has no micro-batch at all.
//
// Layers 0 … m−1 run in this order; a root, where there is one, is needed from the first to the last. Forward:
//   gather root, gather 0, gather 1, …                             with prefetch the list is one layer ahead of what computes
// Backward begins where forward ends, so the root and the last layer stay whole between them, and with prefetch the one before it: as many
// as are whole at a time anyhow. Then, with prefetch:
//   leave m−1, gather m−3, leave m−2, gather m−4, leave m−3, …, leave 0, leave root
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ringlet {

class LayerPlan {
 public:
  struct Shape {
    size_t layers = 0;
    bool root = false;          // it is number `layers`
    bool gathers = true;        // parameters are sharded
    bool gathers_again = true;  // and given back between forward and backward
    bool prefetch = true;
  };
  using Act = std::function<void(size_t unit)>;

  LayerPlan() = default;
  /// `leave` is called when a layer's gradient is complete and its parameters are no longer needed.
  LayerPlan(const Shape& shape, Act gather, Act leave);

  /// Whether `unit` is whole from its forward to its backward.
  bool keeps(size_t unit) const { return unit + kept_ >= shape_.layers; }

  /// Starts a micro-batch; without `backward`, an evaluation.
  void begin(bool backward);
  // Each goes on through the list as far as the event needs it; a place that lies behind is no event.
  void reach_forward(size_t unit) { go_on(forward_, unit, 1); }
  void reach_backward(size_t unit) { go_on(backward_, unit, -1); }
  void reach_leave(size_t unit) { run_to(leave_[unit]); }
  void reach_end() { run_to(length()); }

 private:
  struct Move {
    bool gathers;
    size_t unit;
  };
  // Positions count from 1; 0 is no place.
  void add(bool gathers, size_t unit, std::vector<size_t>& places);
  void go_on(const std::vector<size_t>& places, size_t unit, int next);
  void run_to(size_t place);
  size_t length() const { return with_backward_ ? moves_.size() : forward_length_; }

  Shape shape_;
  size_t kept_ = 0;  // layers
  Act gather_, leave_unit_;
  std::vector<Move> moves_;
  std::vector<size_t> forward_, backward_, leave_;  // the place of each unit's moves
  size_t forward_length_ = 0;
  size_t done_ = 0;
  bool with_backward_ = true;
};

}  // namespace ringlet
