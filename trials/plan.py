"""What a trial is asked to do: everything a worker on another machine needs to know."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evals import Gate
from search_spaces import Deadlines, Recipe, Serve, serves
from trials.data import locate
from trials.load.closed_loop import Point
from trials.serving import Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    One trial to run.

    Attributes:
        folder: The trial's own; its log, raw data and outcome go there.
        space_folder: Where files that stand beside the space file are.
        data_root: Where fetched weights and engines are.
        gate: None only for a launch whose recipe has been judged already.
        seed: Of the load's prompts; both sides of a comparison use the same.
    """

    recipe: Recipe
    folder: Path
    space_folder: Path
    data_root: Path
    deadlines: Deadlines
    gate: Gate | None
    seed: int

    def launches(self) -> Iterator[tuple[Launch, Serve, tuple[int, ...]]]:
        """
        Yield what to start for each distinct way of serving the recipe, and the concurrencies that it serves.

        One way is launched in the trial's folder itself, several in folders of their own below it.

        Raises:
            trials.data.DataMissing: If a file that the recipe names is not here.
        """
        ways = serves(self.recipe)
        for number, (serve, ladder) in enumerate(ways):
            folder = self.folder if len(ways) == 1 else self.folder / f"launch-{number}"
            yield self._launch(serve, folder), serve, ladder

    def _launch(self, serve: Serve, folder: Path) -> Launch:
        target = self.recipe.target
        return Launch(
            engine=target.engine,
            model=target.model,
            args=serve.args,
            env=serve.env,
            files=locate(target.files, space_folder=self.space_folder, data_root=self.data_root),
            data_root=self.data_root,
            folder=folder,
            ready_s=self.deadlines.ready_s,
            stop_s=self.deadlines.stop_s,
            request_s=self.deadlines.request_s,
        )

    def judge_s(self, gate: Gate) -> float:
        """Return the seconds that the gate's questions may take."""
        return self.deadlines.judge(questions=gate.questions, concurrency=gate.concurrency)

    def points(self, ladder: tuple[int, ...]) -> Iterator[Point]:
        """Yield the load of each concurrency."""
        workload = self.recipe.workload
        for concurrency in ladder:
            yield Point(
                concurrency=concurrency,
                input_tokens=workload.input_tokens,
                output_tokens=workload.output_tokens,
                warmup_s=workload.warmup_s,
                window_s=workload.window_s,
                windows=workload.windows,
                request_s=self.deadlines.request_s,
                stall_s=self.deadlines.stall(),
                load_s=self.deadlines.load(workload),
                seed=str(self.seed),
            )
