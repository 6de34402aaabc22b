"""The documents' templates, which lie beside this file."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined


def render(template: str, *, escape: bool, **values: object) -> str:
    """Return a template filled in; with `escape` every value is made safe for HTML."""
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=escape,  # noqa: S701 Markdown is not HTML
    )
    return environment.from_string(files(__package__).joinpath(template).read_text(encoding="utf-8")).render(values)
