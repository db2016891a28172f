"""`specchat bench paper`: from files and settings to measurements, scores and a report."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assistant.lab.bench import code_runner
from assistant.lab.bench.code_runner import passes
from assistant.lab.bench.paper.plan import PlannedAnswer, asked, systems
from assistant.lab.bench.paper.report import report, rouge
from assistant.lab.bench.questions import Question, first_of_each, shipped
from assistant.lab.bench.report import Report
from assistant.lab.bench.run_answers import RunAnswer, kept
from assistant.lab.bench.run_file import RunFile
from assistant.lab.bench.systems import ARS, System
from assistant.lab.protocol import Gauge, Trial
from models.errors import ModelMissing, UsageError
from models.files.variants import variant
from tui.lab.bench.lineup import Lineup, line_up, lockstep_task
from tui.lab.bench.output import brief
from tui.lab.bench.running import Running, Task
from tui.models.locate_pair import find_models
from tui.settings.settings import Settings

FILES = ("f16", "bf16", "mxfp4")
"""Quantisations that are compared where they are on this machine."""
BANDWIDTH = "bandwidth"
SCORE = "score"
NOT_RUN = (
    "Code was not run, so only its texts are compared: name a command that runs a Python program "
    f"in a container to have it scored, as in --runner {shlex.quote(code_runner.EXAMPLE)}."
)


class Paper:
    """One reproduction of the papers.

    Args:
        settings: the user's; samplings are the papers'.
        code: functions to complete, with their tests; none: those that come with specchat.
        summaries: texts to summarise, with references; none: those that come with specchat.
        labels: quantisations or files of the target to compare with; None: those that are here.
        count: how many questions of each kind; None: all.
        runner: the command that runs the answers' code; empty: it is not run.

    Raises:
        ModelError: the models are not here.
        UsageError: the questions cannot be scored, or the runner does not run code.
    """

    def __init__(
        self,
        settings: Settings,
        code: Sequence[Question],
        summaries: Sequence[Question],
        labels: Sequence[str] | None,
        count: int | None,
        runner: Sequence[str],
    ) -> None:
        if unfit := [each.name for each in code if not each.test]:
            raise UsageError(f"{unfit[0]} has no test; --code needs HumanEval's format.")
        if unfit := [each.name for each in summaries if not each.reference]:
            raise UsageError(f"{unfit[0]} has no reference summary to compare with.")
        if runner:  # better now than after an hour of measuring
            code_runner.run("", runner)
        tasks = [*(summaries or shipped("summaries")), *(code or shipped("code"))]
        self._tasks = first_of_each(tasks, count)
        self._mixed = first_of_each(shipped("tasks"), 1)
        found = _here(settings) if labels is None else labels
        self.ways: tuple[System, ...] = systems(found)
        settings = replace(settings, seed=None)  # the coupled draws of a seed are not their SpS
        self._lineup: Lineup = line_up(self.ways, settings)
        self._questions = {each.name: each for each in self._tasks}
        self._runner = runner

    def facts(self) -> dict[str, Any]:
        """Return what the results depend on."""
        return self._lineup.facts("paper", [*self._tasks, *self._mixed])

    def run(self, run: RunFile) -> tuple[Report, dict[str, object]]:
        """Measure what the run lacks, score it, and return the report."""
        running = Running(run)
        job = Gauge(self._lineup.settings.threads)
        what = "the memory's bandwidth"
        gauge = Task((BANDWIDTH,), what, job, lambda gauged: [gauged.bytes_per_s])
        running.run([*self._answers(), gauge])
        answers = [*kept(run.results)]
        remark = self._score(answers, running)
        scores = {**rouge(answers, self._questions), **_passed(run.results, answers)}
        files = self.facts()["files"]
        bandwidth = run.results[BANDWIDTH]
        shown, figures = report(answers, self.ways, scores, remark, files, bandwidth)
        return shown, {**figures, "answers": brief(answers)}

    def _answers(self) -> Iterator[Task]:
        for each in asked(self._tasks, self._mixed, self.ways):
            trials = {system.name: self._trial(each, system) for system in each.systems}
            yield lockstep_task(each.question, 0, trials)

    def _trial(self, each: PlannedAnswer, system: System) -> Trial:
        profiled = each.profiled if system == ARS else ()
        trial = self._lineup.trial(system, each.question, each.sampling, None, profiled)
        if each.max_tokens is None or self._lineup.settings.max_tokens:
            return trial
        return replace(trial, request=replace(trial.request, max_tokens=each.max_tokens))

    def _score(self, answers: Sequence[RunAnswer], running: Running) -> str:
        """Run the answers' code if there is a runner, and say why some was not run."""
        tasks = [*self._scores(answers)]
        if not self._runner:
            return "" if all(map(running.is_done, tasks)) else NOT_RUN
        try:
            running.run(tasks)
        except UsageError as error:
            return f"Not all code has a score: {error}"
        return ""

    def _scores(self, answers: Sequence[RunAnswer]) -> Iterator[Task]:
        for answer in answers:
            question = self._questions.get(answer.question)
            if answer.measured is None or question is None or question.test is None:
                continue
            job = partial(passes, answer.measured.text, question, self._runner)
            what = f"running the code of {answer.question}"
            yield Task((_score_key(answer),), what, job, lambda passed: [bool(passed)])


def _here(settings: Settings) -> list[str]:
    """Return the quantisations of the target that are on this machine."""
    setup, _ = find_models(settings)
    found: list[str] = []
    for label in FILES:
        try:
            path = variant(setup.target, label)
        except ModelMissing:
            continue
        if path != setup.target:
            found.append(label)
    return found


def _score_key(answer: RunAnswer) -> str:
    return f"{SCORE} | {answer.key}"


def _passed(
    results: Mapping[str, Any], answers: Sequence[RunAnswer]
) -> dict[tuple[str, str, str], float]:
    return {
        (answer.kind, answer.question, answer.system): float(results[_score_key(answer)])
        for answer in answers
        if _score_key(answer) in results
    }
