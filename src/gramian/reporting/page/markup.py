"""HTML that cannot be broken by what it shows: texts are escaped unless they are known to be HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


_EMPTY = {"input", "meta", "link", "br"}


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """Return an element; children that are not `Html` are escaped, None is left out, lists are joined.

    An attribute's trailing underscore is dropped and other underscores become hyphens; True stands alone, None and False are
    left out.

    Examples
    --------
    >>> tag("td", "<b>", class_="n", data_k=3)
    '<td class="n" data-k="3">&lt;b&gt;</td>'
    >>> tag("p", tag("b", "bold"), " & plain")
    '<p><b>bold</b> &amp; plain</p>'
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written.append(f" {key}" if value is True else f' {key}="{html.escape(str(value), quote=True)}"')
    opening = f"<{name}{''.join(written)}>"
    return Html(opening if name in _EMPTY else f"{opening}{join(children)}</{name}>")


def join(children: Any) -> Html:
    """Return children one after another, escaped where they are not `Html`."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, Iterable) and not isinstance(children, str):
        return Html("".join(join(child) for child in children))
    return Html(html.escape(str(children), quote=True))


def script_json(value: Any) -> Html:
    r"""Return a value as JSON that may stand inside a script element: no text in it can end the element.

    Examples
    --------
    >>> print(script_json({"a": "</script><!--"}))
    {"a":"\u003c/script\u003e\u003c!--"}
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)
