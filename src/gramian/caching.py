"""Values computed when they are first asked for, and kept.

Up to Python 3.11 `functools.cached_property` holds a lock while it computes, one for all instances of a class. A process that
is forked meanwhile inherits the lock held, by a thread that it does not have, and waits for it for ever. Here there is none:
two threads that ask at the same time compute the same twice, and both get what was kept first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A method that becomes the attribute of its name.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_property
    ...     def area(self):
    ...         print("once")
    ...         return 3.0 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, circle.area
    once
    (12.0, 12.0)
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """Return the value, computed if it was not; an attribute of the instance then stands in its place."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))
