"""The table of mechanisms and wrappers: what each is called, takes and supports.

A mechanism module registers its class with one decorator, and everything that speaks of
mechanisms (the parser's checks, the JSON schema, help, manual pages) reads this table. The
modules of `privcalc.mechanisms` and `privcalc.wrappers` are found and imported at
the first look-up, the one import of the specification layer that points upward; they import no
numerics. The canonical text of a tree is formed here, too; reading it again gives an equal tree.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from os import scandir
from typing import TYPE_CHECKING, Any, TypeVar, cast

from privcalc.errors import UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.entry import (
    ALL,
    FILE_NAME,
    PATH,
    RESERVED,
    Entry,
    Fault,
    Kind,
    Parameter,
    number_text,
    shorten,
    snake_case,
    word_text,
)
from privcalc.spec.tree import (
    Composed,
    Hole,
    Leaf,
    Node,
    Parallel,
    Repeated,
    Several,
    Value,
    Wrapped,
    calls,
    holes,
    nested,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "ALL",
    "Entry",
    "Parameter",
    "build",
    "check_relation",
    "entry",
    "holes",
    "mechanism",
    "mechanisms",
    "register",
    "spelled",
    "unregister",
    "wrapper",
    "wrappers",
]

UPWARD = ("privcalc.mechanisms", "privcalc.wrappers")
# Files of several mechanisms; what is not found by its name alone is found by loading all.
_FILES = {
    **dict.fromkeys(("pure", "approx", "gdp", "zcdp", "rdp", "profile"), "stated"),
    **dict.fromkeys(("pmf", "bernoulli_pair", "gaussian_pair"), "pairs"),
    **dict.fromkeys(("discrete_gaussian", "discrete_laplace"), "discrete"),
    **dict.fromkeys(("gnmax", "gnss", "noisy_screening"), "pate"),
    **dict.fromkeys(("truncated_laplace", "staircase"), "laplace"),
    "gaussian_mixture": "gaussian",
    "stability": "ptr",
    "exponential": "noisy_max",
}
_entries: dict[str, Entry] = {}
# The same by every spelling.
_spelt: dict[str, Entry] = {}
_loaded: list[str] = []
_T = TypeVar("_T", bound=type)


def mechanism(kind: Kind = "mechanism", **fields: Any) -> Callable[[_T], _T]:  # noqa: ANN401
    """Register the decorated class as a mechanism; the arguments are the fields of `Entry`."""

    def decorate(factory: _T) -> _T:
        register(Entry(kind=kind, factory=factory, **fields))
        return factory

    return decorate


def wrapper(**fields: Any) -> Callable[[_T], _T]:  # noqa: ANN401  (the fields of Entry)
    """Register the decorated class as a wrapper; the arguments are the fields of `Entry`."""
    return mechanism("wrapper", **fields)


def register(new: Entry) -> None:
    """Add an entry to the table; two entries never share a spelling."""
    taken = _spelt.keys() | RESERVED
    clash = taken & set(new.spellings)
    keys = [spelling for parameter in new.parameters for spelling in parameter.spellings]
    if clash or len(set(keys)) < len(keys) or RESERVED & set(keys):
        raise AssertionError(f"names of {new.name} are taken or reserved: {sorted(clash) or keys}")
    _entries[new.name] = new
    _spelt.update(dict.fromkeys(new.spellings, new))


def unregister(name: str) -> None:
    """Take an entry out of the table (for tests that bring their own mechanisms)."""
    for spelling in _entries.pop(name).spellings:
        del _spelt[spelling]


def mechanisms() -> tuple[Entry, ...]:
    """Return all mechanisms, in the order of their places in the documentation."""
    return _of_kind("mechanism")


def wrappers() -> tuple[Entry, ...]:
    """Return all wrappers, in the order of their places in the documentation."""
    return _of_kind("wrapper")


def entry(name: str) -> Entry:
    """Return the entry of a long name, as trees and JSON hold it; KeyError if there is none."""
    if name not in _entries:
        _load()
    return _entries[name]


def spelled(word: str, kind: Kind) -> Entry:
    """Return the entry that a word in a text names, in any spelling."""
    name, word = snake_case(word), shorten(word)
    found = _known_as(name, kind)
    if found is not None and found.kind == kind:
        return found
    if found is not None and kind == "wrapper":
        hint = f"write +{found.spelling} to compose with it"
        raise Fault(f"{word} is a mechanism, and what follows @ is done to one", hint=hint)
    if found is not None:
        hint = f"for example {found.example}"
        raise Fault(f"{word} is done to a mechanism, and stands after @", hint=hint)
    # A count is what people release, too.
    if name in RESERVED and not (name == "count" and kind == "mechanism"):
        hint = "in text, compose with + and repeat with @COUNT"
        raise Fault(f"{word} is a word of the JSON form", hint=hint)
    raise Fault(f"unknown {kind}: {word}")


def _known_as(name: str, kind: Kind) -> Entry | None:
    """Return the entry with a spelling; files are called as what they register, but for _FILES."""
    if name in _spelt:
        return _spelt[name]
    for package in UPWARD if kind == "mechanism" else reversed(UPWARD):
        if package not in _loaded and name not in _spelt:
            with suppress(ModuleNotFoundError):
                import_module(f"{package}.{_FILES.get(name, name)}")
    if name not in _spelt:
        _load()
    return _spelt.get(name)


def wrappers_in(tree: Node) -> tuple[Entry, ...]:
    """Return all wrappers in a tree, each once, in the order of the documentation."""
    names = {each.name for each in calls(tree) if isinstance(each, Wrapped)}
    found = {entry(name).place: entry(name) for name in names}
    return tuple(found[place] for place in sorted(found))


def build(node: Leaf | Wrapped) -> object:
    """Make the mechanism (or wrapper) that a node without free parameters describes.

    Defaults are the constructor's, and equal those of the registry.
    """
    return entry(node.name).factory(**dict(node.parameters))


def under(
    tree: Node, relation: Relation, fixed: str = ""
) -> Iterator[tuple[Leaf | Wrapped, Relation, str]]:
    """Yield every mechanism and wrapper with the relation that it is read under.

    The third is the wrapper that fixed it, or "".
    """
    if isinstance(tree, Several):
        for event in tree.events:
            yield from under(event, relation, fixed)
    elif isinstance(tree, Repeated):
        yield from under(tree.event, relation, fixed)
    else:
        yield tree, relation, fixed
        for part in nested(tree):
            yield from under(part, relation, fixed)
        if isinstance(tree, Wrapped):
            found = entry(tree.name)
            inner = found.inner_relation
            yield from under(tree.event, inner or relation, found.spelling if inner else fixed)


def check_relation(tree: Node, relation: Relation) -> None:
    """Refuse a relation that some part of the tree does not support.

    Raises:
        UnsupportedError: it names the part, and the relation to pass instead; where a wrapper fixes
            the one of its event, passing another cannot help.
    """
    for call, here, fixed in under(tree, relation):
        found = entry(call.name)
        given = (each for each in found.parameters if each.name in dict(call.parameters))
        parts = [(f"{p.spelling} of {found.spelling}", p.relations) for p in given]
        for what, known in ((found.spelling, found.relations), *parts):
            if here not in known:
                refused = f"{what} is not defined under {here.text}"
                if what == found.spelling and found.condition:
                    refused += f", {found.condition}"
                if fixed:
                    raise UnsupportedError(f"{refused}, which @{fixed} asks for")
                texts = [each.text for each in Relation if each in known]
                raise UnsupportedError(f"{refused}; pass --relation {' or '.join(texts)}")


def _of_kind(kind: Kind) -> tuple[Entry, ...]:
    _load()
    found = (each for each in _entries.values() if each.kind == kind)
    return tuple(sorted(found, key=lambda each: each.place))


def _load() -> None:
    """Import every module of the packages, once: a file that registers itself is enough."""
    for package in UPWARD:
        if package in _loaded:
            continue
        (folder,) = import_module(package).__path__
        for name in sorted(_files(folder)):
            import_module(f"{package}.{name}")
        _loaded.append(package)


def _files(folder: str) -> list[str]:
    """Return the names of the modules of a package."""
    try:
        words = (each.name.partition(".") for each in scandir(folder))
        return [name for name, _, suffix in words if suffix == "py" and name != "__init__"]
    except NotADirectoryError:
        # It is in an archive. This takes longer to load than it is worth where it is not.
        from pkgutil import iter_modules

        return [each.name for each in iter_modules([folder]) if not each.ispkg]


# The most characters of a text that people are shown whole; `brief` describes longer ones.
SHOWN = 200
# The most words of a list that are shown.
_LISTED = 8


def to_text(tree: Node) -> str:
    """Return the canonical text of a tree."""
    if isinstance(tree, Composed):
        return "+".join(_term(event) for event in tree.events)
    return _term(tree)


def value_text(value: Value) -> str:
    """Return the canonical text of one parameter value.

    A string that holds a dot or a slash is a file name and printed as it is, in quotes where it has
    a space or another sign; other strings are names, printed with dashes.
    """
    if isinstance(value, Hole):
        return "_"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return number_text(value)
    if isinstance(value, tuple):
        return ",".join(map(number_text, value))
    if isinstance(value, Node):
        return f"({to_text(value)})"
    if FILE_NAME.fullmatch(value):
        return value
    return f'"{value}"' if PATH.fullmatch(value) else word_text(value)


def few(words: Sequence[str], more: str = "...") -> list[str]:
    """Return the words that people are shown of a list; `more` is said of the {} others."""
    rest = len(words) - _LISTED
    return [*words[:_LISTED], more.format(rest)] if rest > 0 else [*words]


def _term(node: Node) -> str:
    if isinstance(node, Composed):
        return f"({to_text(node)})"
    if isinstance(node, Leaf):
        return call_text(node)
    if isinstance(node, Parallel):
        return f"max({','.join(map(to_text, node.events))})"
    if isinstance(node, Repeated):
        return f"{_term(node.event)}@{value_text(node.count)}"
    return f"{_term(node.event)}@{call_text(node)}"


def call_text(node: Leaf | Wrapped) -> str:
    """Return the canonical text of a mechanism, or of a wrapper without what precedes it."""
    found = entry(node.name)
    keys = {parameter.name: parameter.spelling for parameter in found.parameters}
    pairs = ",".join(f"{keys[name]}={value_text(value)}" for name, value in node.parameters)
    return f"{found.spelling}:{pairs}" if pairs else found.spelling


def sampling_words(tree: Node) -> str:
    """Name every sampling that a tree assumes, as the documentation has them, or say none."""
    found: dict[str, int] = {}
    for each in calls(tree):
        known = entry(each.name)
        if name := cast("Any", known.factory).sampled_how(each):
            found[name] = known.place
    return " and ".join(sorted(found, key=lambda name: (found[name], name))) or "none"
