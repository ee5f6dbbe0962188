// Those who look on while a model trains: tables, files, checkpoints, proofs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
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
  /// What the learning rate of step `step` is multiplied by; the same on every rank.
  virtual double lr_factor(int64_t /*step*/) { return 1.0; }
  /// The step is over.
  virtual void on_step(const StepRecord& record) = 0;
  /// After `on_step`: empty, or why the state that the step led to must not be kept. The same on every rank.
  virtual std::string objection() { return ""; }
  /// After `on_step`: whether training ends here. The same on every rank.
  virtual bool wants_to_stop() { return false; }
  /// The run went back: the steps after `step` have not been.
  virtual void on_rollback(int64_t /*step*/) {}
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
  double lr_factor(int64_t step) override {
    double factor = 1.0;
    for (Observer* observer : observers_) {
      factor *= observer->lr_factor(step);
    }
    return factor;
  }
  void on_step(const StepRecord& record) override {
    for (Observer* observer : observers_) {
      observer->on_step(record);
    }
  }
  std::string objection() override {
    std::string first;
    for (Observer* observer : observers_) {
      const std::string objection = observer->objection();
      first = first.empty() ? objection : first;
    }
    return first;
  }
  bool wants_to_stop() override {
    return std::any_of(observers_.begin(), observers_.end(), [](Observer* observer) { return observer->wants_to_stop(); });
  }
  void on_rollback(int64_t step) override {
    for (Observer* observer : observers_) {
      observer->on_rollback(step);
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
  void on_step(const StepRecord& record) override {
    records_.push_back(record);
    ++taken_;
  }
  void on_rollback(int64_t step) override {
    while (!records_.empty() && records_.back().step > step) {
      records_.pop_back();
    }
  }
  const std::vector<StepRecord>& records() const { return records_; }
  /// All steps, with those that were undone.
  int64_t taken() const { return taken_; }

 private:
  int64_t taken_ = 0;
  std::vector<StepRecord> records_;
};

}  // namespace ringlet
