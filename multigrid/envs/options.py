"""Show the fields of `GridConfig` as the keywords of functions that create environments."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast, get_origin, get_type_hints

from multigrid._checks import unexpected_keywords
from multigrid.config import GridConfig, GridOptions

__all__ = ["show_fields"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def show_fields(function: _Function) -> _Function:
    """Show the fields of `GridConfig` in the signature of a function in the place of its last parameter, ``**options``.

    The function raises a TypeError that names the right keyword, for a wrong one.

    >>> @show_fields
    ... def create(*, copies: int = 1, **options: Any) -> None: ...
    >>> list(inspect.signature(create).parameters)[:3]
    ['copies', 'size', 'num_agents']
    """
    signature = inspect.signature(function)
    parameters = [*list(signature.parameters.values())[:-1], *_field_parameters()]
    names = [parameter.name for parameter in parameters]

    @functools.wraps(function)
    def create(*args: Any, **given: Any) -> Any:
        if not given.keys() <= set(names):
            raise unexpected_keywords(function.__name__, given, names)
        return function(*args, **given)

    create.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return cast("_Function", create)


def _field_parameters() -> list[inspect.Parameter]:
    texts = {name: getattr(hint, "__forward_arg__", hint) for name, hint in GridOptions.__annotations__.items()}
    # The names of rules are written out.
    hints = {name: hint for name, hint in get_type_hints(GridOptions).items() if get_origin(hint) is Literal}
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation={**texts, **hints}[field.name])
        for field in dataclasses.fields(GridConfig)
    ]
