"""Show the fields of `GridConfig` as the keywords of functions that create environments."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from multigrid._checks import unexpected_keywords
from multigrid.config import GridConfig, GridOptions, resolve_config

__all__ = ["one_agent_error", "resolve_options", "show_fields"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def show_fields(function: _Function) -> _Function:
    """Show the fields of `GridConfig` in the signature of a function in the place of its last parameter, ``**options``.

    >>> @show_fields
    ... def create(*, copies: int = 1, **options: Any) -> None: ...
    >>> list(inspect.signature(create).parameters)[:3]
    ['copies', 'size', 'num_agents']
    """
    signature = inspect.signature(function)
    parameters = [*list(signature.parameters.values())[:-1], *_field_parameters()]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def resolve_options(function: Callable[..., Any], config: GridConfig | None, options: GridOptions) -> GridConfig:
    """Return the config that a function was given, or one of its options.

    Args:
        function: a function that `show_fields` decorates.
        config: a `GridConfig`, or None.
        options: the other keywords that the function was given.

    Raises:
        TypeError: as `resolve_config`; of a wrong keyword the message names the right one, also if it is no field.
        ValueError: as `GridConfig`.
    """
    names = inspect.signature(function).parameters
    if not options.keys() <= names.keys():
        raise unexpected_keywords(function.__name__, options, names)
    return resolve_config(config, **options)


def one_agent_error(function: str, instead: str, given: Mapping[str, object], names: Collection[str]) -> TypeError:
    """Return the error for keywords that a function which creates environments of one agent does not have.

    Args:
        function: the function's name.
        instead: the name of the one in `multigrid` that has all fields of `GridConfig`.
        given: all keywords that were given, with their values.
        names: the keywords that the function has, of which not all are among the given ones.

    >>> print(one_agent_error("GridWorldEnv", "parallel_env", {"num_agents": 4}, ["size"]))
    GridWorldEnv() has one agent and no option num_agents; call multigrid.parallel_env(num_agents=...)
    """
    fields = [name for name in given if name in GridOptions.__annotations__ and name not in names]
    if not fields:
        return unexpected_keywords(function, given, names)
    arguments = ", ".join(f"{name}=..." for name in fields)
    return TypeError(
        f"{function}() has one agent and no option {', '.join(fields)}; call multigrid.{instead}({arguments})"
    )


def _field_parameters() -> list[inspect.Parameter]:
    texts = {name: getattr(hint, "__forward_arg__", hint) for name, hint in GridOptions.__annotations__.items()}
    # The names of rules are written out.
    hints = {name: hint for name, hint in get_type_hints(GridOptions).items() if get_origin(hint) is Literal}
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation={**texts, **hints}[field.name])
        for field in dataclasses.fields(GridConfig)
    ]
