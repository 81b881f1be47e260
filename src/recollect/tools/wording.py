"""How tools and requests are put into words before they are compared. Pure.

A request says what is to be done and on what. The paths and addresses in it belong to the second: two requests that
share a folder may need quite different tools. So a request's vector is the mean of the whole and of what is left
without them, and their terms weigh little until usage shows that they do tell tools apart (see `learned`).
"""

import re
from collections.abc import Mapping

from recollect.text.tokens import terms
from recollect.types import Tool

MOST_TEXT = 4000  # characters of one field; descriptions are foreign text and may be of any length
LEAST_WORDS = 3

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[_\-./:\\\s]+")
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://\S+|\bwww\.\S+", re.IGNORECASE)
_MAIL = re.compile(r"\S+@\S+\.\w+")
_PATH = re.compile(r"(?<!\w)(?:\.{0,2}/|~/|[A-Za-z]:\\)[\w./\\~-]+|\b[\w-]+(?:/[\w.-]+)+|\b[\w-]+\.[A-Za-z]{1,5}\d?\b")
_WORD = re.compile(r"\w+")


def split_name(name: str) -> str:
    """`getUser_info` as `get User info`."""
    return " ".join(_JOINTS.sub(" ", _CAMEL.sub(" ", name)).split())


def without_arguments(request: str) -> str:
    """What is to be done, without what it is to be done on; of a file its ending stays. Whole if little is left."""
    rest = _PATH.sub(_ending, _MAIL.sub(" ", _ADDRESS.sub(" url ", request)))
    rest = " ".join(rest.split())
    return rest if len(_WORD.findall(rest)) >= LEAST_WORDS else request


def _ending(path: re.Match[str]) -> str:
    file = re.split(r"[/\\]", path[0])[-1].strip(".")
    return f" {file.rpartition('.')[2]} " if "." in file else " "


def views(tool: Tool) -> tuple[str, ...]:
    """The texts whose mean vector stands for a tool: its name, what it does, what it takes, and whose it is.

    Measured on ten collections of tools, a mean of several views beats any one of them.
    """
    name = split_name(tool.name)[:MOST_TEXT]
    told = tool.description[:MOST_TEXT].strip()
    does = f"{name}: {told}" if told else name
    takes = f"{does} {_parameters(tool.parameters, ', ', ': ')}" if tool.parameters else does
    whose = f"{split_name(tool.server)} {does}" if tool.server else does
    return name, does, takes, whose


def tool_terms(tool: Tool) -> list[str]:
    parts = (split_name(tool.server), split_name(tool.name), tool.description, _parameters(tool.parameters, " ", " "))
    return [term for part in parts if part.strip() for term in terms(part[:MOST_TEXT])]


def _parameters(parameters: Mapping[str, str], between: str, is_: str) -> str:
    return between.join(f"{split_name(name)}{is_}{told}" for name, told in parameters.items())[:MOST_TEXT]
