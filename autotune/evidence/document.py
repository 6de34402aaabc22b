"""All of a study's evidence, written: the recipe, Markdown and a page for people, JSON for machines."""

from autotune.evidence.evidence import gather
from autotune.evidence.publish import publish
from autotune.evidence.report import to_json
from autotune.evidence.sections import document
from autotune.evidence.words import ENGLISH
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
    publish(document(found), folder.evidence_md, folder.evidence_html)
    write_whole(folder.evidence_json, to_json(found))


def _text(recipe: Recipe) -> str:
    return recipe_text(Recipe.model_validate(scrubbed(recipe.model_dump(mode="json"))))
