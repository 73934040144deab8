"""A mapping that never changes: the one container that the machine's values need."""

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Frozen(dict[K, V]):
    """An immutable, hashable mapping. `put` and `drop` answer a new one.

    >>> one = Frozen({"a": 1})
    >>> one.put("b", 2), one.drop("a"), one
    (Frozen({'a': 1, 'b': 2}), Frozen({}), Frozen({'a': 1}))
    """

    __slots__ = ()

    def put(self, key: K, value: V) -> "Frozen[K, V]":
        """The same mapping with `key` at `value`."""
        return Frozen({**self, key: value})

    def drop(self, key: K) -> "Frozen[K, V]":
        """The same mapping without `key`, whether it was there or not."""
        if key not in self:
            return self
        return Frozen({k: v for k, v in self.items() if k != key})

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)  # or pickle and copy would fill it item by item

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"Frozen({super().__repr__()})"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a Frozen mapping does not change: use put() or drop()")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
