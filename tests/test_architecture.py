"""The house holds its shape: imports go down, nothing goes round, rooms stay small, SQL is bound, import is quick.

Every rule reads the source as it is; nothing of the product is imported except in a process of its own.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "recollect"

# Each module belongs to the floor of the longest name that fits it; a module that fits none fails the test, so that
# whoever adds a room says where it is. `project`, `config` and what they read from the disk stand with the engines:
# pipelines take a Settings and a Project, and both are read from the outside world.
FLOORS = {
    "interfaces": "interfaces __main__",
    "memory": "memory plugins testing",
    "pipelines": (
        "scratchpad tiers "
        "write search showing evaluation dailylog watching background rechunking index following beside context upkeep "
        "summary tools spaces capture conversation embedding filters transfer undo past backup timeline happened "
        "beliefs consolidation "
    ),
    "engines": "store vectors embed readers config config_edit files project repository",
    "vocabulary": "values types errors ids audit text fence rank policies retention maturity timewords claims likeness",
}
ORDER = list(FLOORS)
ROOMS = {room: floor for floor, rooms in FLOORS.items() for room in rooms.split()}

MOST_LINES_IN_A_MODULE = 450
MOST_LINES_IN_A_FUNCTION = 60
# name → why it may be larger
LARGER_MODULES: dict[str, str] = {}
LARGER_FUNCTIONS: dict[str, str] = {}

NOT_AT_START = {"numpy", "onnxruntime", "rich", "re2", "Stemmer", "psycopg", "importlib.metadata", "tomllib", "asyncio"}

RUNS_SQL = {"execute", "executemany", "_rows", "_many"}
SQL_STARTS = ("select ", "insert ", "update ", "delete ", "with ", "create ", "drop ", "alter ", "pragma ")
SQL_MARK = "# sql:"
# Inside a statement these names hold SQL of our own, by convention: a column, a table, a clause with its `?` marks.
# A value never bears one of them; anything else between braces must be a CONSTANT, a call of `marks`, or explained.
HOLDS_SQL = {"bound", "clause", "column", "inside", "order", "owner", "sql", "table", "where"}
MAKES_SQL = {"marks"}


@dataclass(frozen=True)
class Import:
    module: str
    target: str
    line: int
    at_top: bool

    def __str__(self) -> str:
        return f"recollect.{self.module}:{self.line} imports recollect.{self.target}"


@cache
def sources() -> dict[str, tuple[str, ast.Module]]:
    """Every module by its name inside the package ('' is the package itself), as text and as a tree."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = (text, ast.parse(text, filename=str(path)))
    return found


def imports_of(module: str, tree: ast.Module, modules: set[str], *, is_package: bool) -> Iterator[Import]:
    """What a module imports from our own package, in functions too."""
    nested = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_type_checking(outer)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        for name in imported_names(node, module, is_package):
            target = longest_module(name, modules)
            if target is not None and target != module:
                yield Import(module, target, getattr(node, "lineno", 0), id(node) not in nested)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imported_names(node: ast.AST, module: str, is_package: bool) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    origin = node.module or ""
    if node.level:
        here = ["recollect", *[part for part in module.split(".") if part]]
        up = node.level - 1 if is_package else node.level
        origin = ".".join([*here[: len(here) - up], *([node.module] if node.module else [])])
    return [f"{origin}.{alias.name}" for alias in node.names]


def longest_module(name: str, modules: set[str]) -> str | None:
    """The module of ours that an imported dotted name comes from."""
    head, *rest = name.split(".")
    if head != "recollect":
        return None
    while rest and ".".join(rest) not in modules:
        rest = rest[:-1]
    return ".".join(rest)


def all_imports() -> list[Import]:
    modules = set(sources())
    return [
        found
        for name, (_, tree) in sources().items()
        for found in imports_of(name, tree, modules, is_package=is_package(name))
    ]


def is_package(name: str) -> bool:
    return (PACKAGE.joinpath(*name.split(".")) / "__init__.py").is_file() if name else True


def floor_of(module: str) -> str:
    return ROOMS.get(module.split(".")[0], "")


def climbs(found: Import) -> bool:
    """Whether an import goes up. The package's own front door may name anything, and anything may read its version."""
    if "" in (found.module, found.target):
        return found.module != "" and floor_of(found.module) != "interfaces" and found.at_top
    floors = [floor_of(found.target), floor_of(found.module)]
    return all(floors) and ORDER.index(floors[0]) < ORDER.index(floors[1])


def test_every_module_has_a_floor() -> None:
    homeless = [name for name in sources() if name and not floor_of(name)]
    assert not homeless, f"say in FLOORS where these belong: {homeless}"


def test_no_module_imports_from_a_floor_above_its_own() -> None:
    climbing = [str(found) for found in all_imports() if climbs(found)]
    assert not climbing, "\n".join(climbing)


def test_a_climbing_import_is_seen_even_inside_a_function() -> None:
    modules = {"memory", "search", "types"}
    tree = ast.parse("def f():\n    from recollect.memory import Memory\n    from ..types import Note\n")
    found = list(imports_of("search", tree, modules, is_package=False))
    assert [climbs(each) for each in found] == [True]
    relative = ast.parse("from .memory import Memory\nfrom . import types")
    assert [climbs(each) for each in imports_of("search", relative, modules, is_package=False)] == [True, False]


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Ways round in the graph, each told once."""
    found: set[frozenset[str]] = set()
    told = []
    done: set[str] = set()

    def visit(node: str, way: tuple[str, ...]) -> None:
        if node in way:
            circle = way[way.index(node) :]
            if frozenset(circle) not in found:
                found.add(frozenset(circle))
                told.append(" → ".join([*circle, node]))
            return
        if node not in done:
            for target in sorted(edges.get(node, ())):
                visit(target, (*way, node))
            done.add(node)

    for start in sorted(edges):
        visit(start, ())
    return told


def test_no_imports_go_round_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for found in all_imports():
        # `from recollect import audit` runs the package first, which is half-loaded then and fine.
        if found.at_top and found.target:
            edges.setdefault(found.module, set()).add(found.target)
    assert not circles(edges), "\n".join(circles(edges))


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}}) == ["a → b → c → a"]


def test_modules_stay_small_enough_to_hold() -> None:
    sizes = {name: len(text.splitlines()) for name, (text, _) in sources().items()}
    large = {name: size for name, size in sizes.items() if size > MOST_LINES_IN_A_MODULE and name not in LARGER_MODULES}
    assert not large, f"split these by meaning: {large}"
    assert all(sizes.get(name, 0) > MOST_LINES_IN_A_MODULE for name in LARGER_MODULES), "an exception is out of date"


def test_functions_stay_small_enough_to_hold() -> None:
    sizes = {
        f"{name}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name, (_, tree) in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    large = {
        name: size for name, size in sizes.items() if size > MOST_LINES_IN_A_FUNCTION and name not in LARGER_FUNCTIONS
    }
    assert not large, f"split these by meaning: {large}"
    assert all(sizes.get(name, 0) > MOST_LINES_IN_A_FUNCTION for name in LARGER_FUNCTIONS), (
        "an exception is out of date"
    )


# --- SQL


def loose_sql(text: str, tree: ast.AST) -> list[int]:
    """Lines where a statement is put together from something that is neither a constant nor marked with its reason."""
    lines = text.splitlines()
    suspects = [node.args[0] for node in ast.walk(tree) if isinstance(node, ast.Call) and runs_sql(node)]
    suspects += [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.BinOp) and reads_as_sql(node)]
    return sorted(
        {
            node.lineno
            for node in suspects
            if not is_constant_sql(node)
            and not any(SQL_MARK in line for line in lines[node.lineno - 2 : node.end_lineno or node.lineno])
        }
    )


def runs_sql(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in RUNS_SQL and bool(call.args)


def reads_as_sql(node: ast.AST) -> bool:
    while isinstance(node, ast.BinOp):
        node = node.left
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return isinstance(first, ast.Constant) and str(first.value).lstrip().lower().startswith(SQL_STARTS)


def is_constant_sql(node: ast.AST) -> bool:
    """Whether the text is all our own. A bare name or call is let through: its text was looked at where it was made."""
    if isinstance(node, ast.JoinedStr):
        return all(is_constant_sql(value) for value in node.values)
    if isinstance(node, ast.FormattedValue):
        return is_fixed(node.value)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and is_constant_sql(node.left) and is_constant_sql(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "join"}:
        return is_fixed(node)
    return True


def is_fixed(node: ast.AST) -> bool:
    """CONSTANTS, names that hold SQL, `marks(…)`, and `", ".join(…)` of those or of `?` marks."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr == "join" and all(is_fixed(part) for part in node.args)
        return isinstance(node.func, ast.Name) and node.func.id in MAKES_SQL
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return all(is_fixed(loop.iter) for loop in node.generators)
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.Constant) and isinstance(node.op, ast.Mult)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return bool(name) and (name == name.upper() or name in HOLDS_SQL)


def test_no_statement_is_put_together_from_values() -> None:
    loose = [f"recollect.{name}:{line}" for name, (text, tree) in sources().items() for line in loose_sql(text, tree)]
    assert not loose, f"bind the values, or say in a comment `{SQL_MARK} why` that nothing foreign gets in: {loose}"


@pytest.mark.parametrize(
    "code",
    [
        'c.execute(f"select {x}")',
        'c.execute("select %s" % x)',
        'c.execute("select {}".format(x))',
        'sql = f"delete from notes where id = {x}"\nc.execute(sql)',
        'c.execute("select " + f"{x}")',
        """c.execute(f"select {', '.join(values)}")""",
    ],
)
def test_loose_sql_is_seen(code: str) -> None:
    assert loose_sql(code, ast.parse(code)) == [1]


@pytest.mark.parametrize(
    "code",
    [
        'c.execute("select ?", (x,))',
        'c.execute(f"select {NAMES} where id in ({marks(3)})", x)',
        """c.execute(f"select {column}, {', '.join(NAMES)} where {clauses.sql}", x)""",
        'c.execute(f"select {x}")  # sql: x is a column of ours',
        "c.execute(sql)",
    ],
)
def test_bound_sql_is_let_through(code: str) -> None:
    assert loose_sql(code, ast.parse(code)) == []


# --- start-up


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import recollect", "import recollect.config", "import recollect.__main__"])
def test_start_up_leaves_the_heavy_things_alone(statement: str) -> None:
    heavy = NOT_AT_START & modules_after(statement)
    assert not heavy, f"`{statement}` should not need {sorted(heavy)}"


def test_opening_the_front_door_does_not_load_the_house() -> None:
    loaded = {name for name in modules_after("import recollect") if name.startswith("recollect.")}
    assert loaded == {"recollect.errors"}
