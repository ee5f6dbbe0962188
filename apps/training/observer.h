// Those who look on while a model trains: tables, files, checkpoints, proofs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "apps/training/step_record.h"
#include "dist/strategy.h"

namespace ringlet {

/// Called on every rank alike, so an observer may communicate.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The micro-batches of step `step` (from 1) are done, nothing has been reduced yet.
  virtual void on_backward(int64_t /*step*/, LossSum& /*local*/) {}
  /// The step is over.
  virtual void on_step(const StepRecord& record) = 0;
};

/// Several observers, called in order. They must outlive this.
class Observers final : public Observer {
 public:
  Observers(std::initializer_list<Observer*> observers) : observers_(observers) {}
  void on_backward(int64_t step, LossSum& local) override {
    for (Observer* observer : observers_) {
      observer->on_backward(step, local);
    }
  }
  void on_step(const StepRecord& record) override {
    for (Observer* observer : observers_) {
      observer->on_step(record);
    }
  }

 private:
  std::vector<Observer*> observers_;
};

/// Keeps every record.
class History final : public Observer {
 public:
  /// Memory for the first 65,536 is taken here, not in the loop.
  explicit History(int64_t expected_steps) {
    records_.reserve(static_cast<size_t>(std::min<int64_t>(expected_steps, 1 << 16)));
  }
  void on_step(const StepRecord& record) override { records_.push_back(record); }
  const std::vector<StepRecord>& records() const { return records_; }

 private:
  std::vector<StepRecord> records_;
};

}  // namespace ringlet
