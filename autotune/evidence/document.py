"""The evidence as Markdown for people, as a page, and as JSON for machines; and all of it, written."""

from autotune.evidence import tables
from autotune.evidence.evidence import Evidence, gather
from autotune.evidence.html import to_html
from autotune.evidence.plots import plots, png, svg
from autotune.evidence.report import to_json
from autotune.evidence.sections import document
from autotune.evidence.templates import render
from autotune.evidence.words import CHINESE, ENGLISH, said
from autotune.folder import StudyFolder
from autotune.redaction import scrubbed
from search_spaces import Recipe, recipe_text
from trials.files import write_whole


def write(folder: StudyFolder) -> None:
    """
    Write the winner's recipe, the documents and the plots, from the raw data alone.

    Of a study that is not finished there is no winner, and no recipe is left of an earlier end. Values of secrets are
    in none of them.

    Raises:
        NoBaseline: If the baseline was not measured, or not yet.
    """
    found = gather(folder)
    if found.finished:
        recipe = _text(found.proof.recipe)
        write_whole(folder.recipe, f"# {ENGLISH(found.emulated)}\n{recipe}" if found.emulated else recipe)
    else:
        folder.recipe.unlink(missing_ok=True)
    folder.plots.mkdir(exist_ok=True)
    for plot in plots(found):
        write_whole(folder.plots / f"{plot.name}.svg", svg(plot))
        write_whole(folder.plots / f"{plot.name}.png", png(plot))
    write_whole(folder.evidence_md, to_markdown(found))
    write_whole(folder.evidence_html, to_html(found))
    write_whole(folder.evidence_json, to_json(found))


def _text(recipe: Recipe) -> str:
    return recipe_text(Recipe.model_validate(scrubbed(recipe.model_dump(mode="json"))))


def to_markdown(found: Evidence) -> str:
    """Return the evidence for people, in English and in Chinese."""
    text = render(
        "evidence.md.j2",
        escape=False,
        found=found,
        document=document(found),
        tables=tables,
        english=ENGLISH,
        chinese=CHINESE,
        see=said,
    )
    return f"{text.strip()}\n"
