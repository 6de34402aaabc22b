"""What a trial is asked to do: everything a worker on another machine needs to know."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evals import Gate
from search_spaces import Deadlines, Recipe, Serve, serves
from trials.data import locate, workload_file
from trials.emulation import Emulation
from trials.engines import engine
from trials.load.point import Point
from trials.serving import Launch


@dataclass(frozen=True, slots=True)
class Way:
    """
    One launch of a trial.

    Attributes:
        ladder: Concurrencies at which it is measured; none for a launch that is there for the gate alone.
        judged: Whether the gate is asked of it.
    """

    launch: Launch
    serve: Serve
    ladder: tuple[int, ...]
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    One trial to run.

    Attributes:
        folder: The trial's own; its log, raw data and outcome go there.
        space_folder: Where files that stand beside the space file are.
        data_root: Where fetched weights and engines are.
        gates: Empty only for a launch whose recipe has been judged already.
        seed: Of the load's prompts; both sides of a comparison use the same.
        emulation: What stands in for the engine in a rehearsal; None: the engine itself.
    """

    recipe: Recipe
    folder: Path
    space_folder: Path
    data_root: Path
    deadlines: Deadlines
    gates: tuple[Gate, ...]
    seed: int
    emulation: Emulation | None = None

    def launches(self) -> Iterator[Way]:
        """
        Yield what to start for each distinct way of serving the recipe, those for the gate alone last.

        One way is launched in the trial's folder itself, several in folders of their own below it.

        Raises:
            trials.data.DataMissing: If a file that the recipe names is not here.
        """
        apart = bool(self.recipe.judged)
        ways = [(serve, ladder, not apart) for serve, ladder in serves(self.recipe)]
        if apart and self.gates:
            ways += [(serve, (), True) for serve, _ in serves(self.recipe.as_judged())]
        for number, (serve, ladder, judged) in enumerate(ways):
            folder = self.folder if len(ways) == 1 else self.folder / f"launch-{number}"
            yield Way(self._launch(serve, folder), serve, ladder, judged)

    def _launch(self, serve: Serve, folder: Path) -> Launch:
        target = self.recipe.target
        launch = Launch(
            engine=target.engine,
            model=target.model,
            args=(*serve.args, *engine(target.engine).layout(serve.layout)),
            env=serve.env,
            files=self._files(),
            data_root=self.data_root,
            folder=folder,
            ready_s=self.deadlines.ready_s,
            silent_s=self.deadlines.silence(),
            stop_s=self.deadlines.stop_s,
            request_s=self.deadlines.request_s,
            launcher=target.launcher,
            image=target.image,
        )
        return self.emulation.instead_of(launch) if self.emulation else launch

    def _files(self) -> dict[str, Path]:
        """Return where the target's files are; a rehearsal reads none, and need not have them."""
        files = self.recipe.target.files
        if self.emulation:
            return {
                name: file.locate(data_root=self.data_root, space_folder=self.space_folder)
                for name, file in files.items()
            }
        return locate(files, space_folder=self.space_folder, data_root=self.data_root)

    def judge_s(self, gate: Gate) -> float:
        """Return the seconds that the gate's questions may take."""
        return self.deadlines.judge(questions=gate.questions, concurrency=gate.concurrency)

    def points(self, ladder: tuple[int, ...]) -> Iterator[Point]:
        """
        Yield the load of each concurrency.

        Raises:
            trials.data.DataMissing: If the workload's file is not here.
        """
        workload = self.recipe.workload
        for concurrency in ladder:
            yield Point(
                workload=workload,
                concurrency=concurrency,
                seed=str(self.seed),
                request_s=self.deadlines.request_s,
                stall_s=self.deadlines.stall(),
                load_s=self.deadlines.load(workload),
                file=self.workload_file(),
            )

    def workload_file(self) -> Path | None:
        """
        Return the file that lists what the workload sends, where it is listed.

        Raises:
            trials.data.DataMissing: If it is not here.
        """
        return workload_file(self.recipe.workload, space_folder=self.space_folder, data_root=self.data_root)
