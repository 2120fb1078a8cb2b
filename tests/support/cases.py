"""Many cases in one test: separate tests would cost more than the cases."""

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from functools import wraps

import pytest


def listed(failures: Mapping[str, object], advice: str = "") -> str:
    """Return one line for each case that failed, whole, as pytest would cut a long dictionary."""
    return "\n".join([advice, *(f"{case}: {found}" for case, found in failures.items())])


def every(names: str | tuple[str, ...], rows: Iterable[object], *, ids: Iterable[str] | Callable | None = None):
    """Run a test for each row, as `pytest.mark.parametrize` does, but as one test: it tells each row that failed.

    The rows share the test's fixtures: only for tests that change nothing there.
    """
    if isinstance(names, str):
        names = tuple(name.strip() for name in names.split(","))
    cases = [_case(names, row) for row in rows]
    told = ids if ids is None or callable(ids) else list(ids)
    labels = [_label(case, place, named, told) for place, (case, named) in enumerate(cases)]
    if not cases:
        raise ValueError("there is no row")

    def decorate(test):
        if inspect.iscoroutinefunction(test):

            async def run(**fixtures):
                with _rows() as row:
                    for (case, _), label in zip(cases, labels, strict=True):
                        with row(label):
                            await test(**fixtures, **case)
        else:

            def run(**fixtures):
                with _rows() as row:
                    for (case, _), label in zip(cases, labels, strict=True):
                        with row(label):
                            test(**fixtures, **case)

        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in names]
        missing = set(names) - set(signature.parameters)
        assert not missing, f"{test.__name__} does not take {missing}"
        run = wraps(test)(run)
        run.__signature__ = signature.replace(parameters=fixtures)
        return run

    return decorate


def _case(names, row):
    named = None
    if isinstance(row, type(pytest.param())):
        if row.marks:
            raise ValueError(f"a row of one test has no marks of its own: {row}")
        row, named = row.values if len(names) > 1 else row.values[0], row.id
    values = tuple(row) if len(names) > 1 else (row,)
    return dict(zip(names, values, strict=True)), named


def _label(case, place, named, told):
    if named is None and told is not None:
        named = "-".join(str(told(value)) for value in case.values()) if callable(told) else told[place]
    return f"row {place}, {named or ', '.join(f'{name}={value!r}' for name, value in case.items())}"


@contextmanager
def _rows():
    failed = []

    @contextmanager
    def row(label):
        __tracebackhide__ = True
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - whatever a test may raise
            at = [f"{one.filename}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)[1:]]
            failed.append(f"{label}\n    {' < '.join(reversed(at))}\n    {type(error).__name__}: {error}")

    yield row
    if failed:
        raise AssertionError("\n".join([f"{len(failed)} rows fail:", *failed]))
