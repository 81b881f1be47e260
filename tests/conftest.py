"""What all tests share: a home of their own, and no skip without a word.

With RECOLLECT_STRICT=1 a skipped test is a failed run: a machine that is meant to check everything must not pass
because something was missing.
"""

import os
from collections.abc import Iterator

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

# A busy machine is no bug: how long one example takes says nothing here.
# On a machine that decides what lands, the result depends on the change alone: the same examples every time.
settings.register_profile("recollect", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("recollect")


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the memory of the person who runs it."""
    before = {name: value for name, value in os.environ.items() if name.startswith("RECOLLECT_")}
    for name in before:
        if name != "RECOLLECT_STRICT":
            del os.environ[name]
    os.environ["RECOLLECT_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    del os.environ["RECOLLECT_HOME"]
    os.environ.update(before)


def _skipped(config: pytest.Config) -> list[tuple[str, str]]:
    """Each skipped test or module with its reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return [
        (report.nodeid, str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr))
        for report in reports
    ]


def _is_strict() -> bool:
    return os.environ.get("RECOLLECT_STRICT", "") not in ("", "0")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    passed = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if _is_strict() and passed and _skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    skipped = _skipped(terminalreporter.config)
    if not skipped:
        return
    terminalreporter.section("skipped, which counts as failed" if _is_strict() else "skipped", red=_is_strict())
    for name, reason in skipped:
        terminalreporter.write_line(f"{name}: {reason.removeprefix('Skipped: ')}")
