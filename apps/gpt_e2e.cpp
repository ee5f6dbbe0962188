// gpt_e2e: trains a mini-GPT on many ranks, and proves that the pieces compose: broadcast at construction, gradients reduced and
// updates sharded (ZeRO-1) or replicated (DDP), sharded checkpoints, resume. This file is the table of contents of a run.
#include "apps/training/checkpoint_saver.h"
#include "apps/training/exercise.h"
#include "apps/training/faults.h"
#include "apps/training/heldout_observer.h"
#include "apps/training/info.h"
#include "apps/training/outcome.h"
#include "apps/training/phase_spans.h"
#include "apps/training/preparation.h"
#include "apps/training/resume_proof.h"
#include "apps/training/rollback.h"
#include "apps/training/run_main.h"
#include "apps/training/step_json.h"
#include "apps/training/trace_file.h"
#include "apps/training/training_run.h"

namespace ringlet {
namespace {

ExitCode gpt_e2e(TrainConfig config, Communicator& world, const Recorder& recorder) {
  const ThreadChoice threads = choose_threads(world, config.threads);
  const Printer printer(config, world.rank());
  if (config.info) {
    printer.verdict(info_text(world, threads));
    return ExitCode::Done;
  }

  for (const std::string& note : config.notes) {
    printer.note(note);
  }

  // What the flags describe.
  const std::optional<Fault> fault = Fault::from_environment();
  const TrainingData data = read_training_data(config, world);
  require_same_settings(world, settings_of(config, world.size(), data.dataset->fingerprint()), calls_of(config));
  require_sound_flags(config, world);
  const SaveSchedule planned = save_schedule(config, 0);
  const StopSignal stop(planned.wanted());
  TrainingRun run(config, data, world);
  const ResumePoint resumed = resume_if_asked(run, config, fault, world);
  const std::string checkpoint_dir = choose_checkpoint_dir(config, resumed.path, world);
  const SaveSchedule saves = save_schedule(config, run.step());
  require_writable_outputs(config, saves, checkpoint_dir, resumed, run, world);
  const RunDescription description = describe(config, run.parallel(), world, threads, data.dataset->description());
  print_description(printer, description, resumed);

  // The steps, and those who look on.
  const ProofDecision proof = decide_on_proof(config, saves);
  Faults faults(fault, world.rank(), run.model(), run.step() + 1);
  Exercise exercise(config, world);
  History history(config.steps - run.step());
  StepTable table(printer, config.steps, config.log_every);
  MetricsFile metrics(world.rank() == 0 ? config.metrics : "", run.step());
  HeldOutObserver heldout(run, config, data.heldout(), world, printer);
  CheckpointSaver saver(run, saver_options(config, checkpoint_dir, saves, proof.wanted), stop, printer, world);
  PhaseSpans spans(recorder.timeline, run.model());
  Observers observers({&spans, &history, &table, &metrics, &faults, &exercise, &heldout, &saver});
  Rollback recovery(run, saver, resumed.path, observers, printer, world);
  recorder.begin_phase(kPhaseSteps);
  run.train_until(config.steps, observers, &recovery);
  recorder.begin_phase(kPhaseEnd);
  saver.finish();

  // What came of it.
  Outcome outcome(description, history.records());
  outcome.guard = run.guard_state();
  outcome.stopped = saver.stopped_by() != 0;
  outcome.memory = measure_memory(run.parallel(), config.model, run.loader(), world);
  outcome.final_param_hash = run.parallel().parameter_hash();
  if (outcome.stopped) {
    report_stop(printer, *saver.last_saved(), config.steps);
    outcome.communication = gather_communication(recorder, history.taken(), world);
    write_summary(outcome, config, world);
    write_trace(config.communication.trace, recorder, world);
    return outcome.exit_code();
  }
  outcome.heldout_loss = heldout.evaluate_now();
  outcome.invariants = {loss_falls(outcome.steps, config, world.size()), replicas_equal(outcome.steps, config, world.size()),
                        memory_matches(outcome.memory, config),
                        resume_invariant(proof, saver.snapshot(), outcome.steps, outcome.guard.rollbacks, config, data, world)};
  outcome.communication = gather_communication(recorder, history.taken(), world);
  report_outcome(printer, outcome, saver.last_saved(), run, data);
  write_summary(outcome, config, world);
  write_trace(config.communication.trace, recorder, world);
  return outcome.exit_code();
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  TrainConfig config;
  const auto parse = [&](int count, char** words) {
    CommandLine line = parse_train_config(count, words);
    config = line.config;
    return Request{.ranks = config.ranks,
                   .backend = config.backend,
                   .transport = config.transport,
                   .device = config.device,
                   .tf32 = config.tf32,
                   .communication = config.communication,
                   .text = line.text};
  };
  const auto run = [&](Communicator& world, const Recorder& recorder) { return to_int(gpt_e2e(config, world, recorder)); };
  return run_main({.name = "gpt_e2e", .parse = parse, .run = run}, argc, argv);
}
