"""A database's plans for the queries of some work."""

from contextlib import contextmanager

from sqlalchemy import event


@contextmanager
def recorded(database):
    """Collect the queries, each with its parameters, that go to a database meanwhile."""
    found = []

    def note(_connection, _cursor, statement, parameters, _context, _many):
        if statement.lstrip().upper().startswith(("SELECT", "WITH", "DELETE", "UPDATE")):
            found.append((statement, parameters))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)


async def plan(database, statement, parameters):
    """Return the lines of a query's plan; Postgres's as it is where a table is too large to be read or sorted."""
    explain = "EXPLAIN QUERY PLAN " if database.dialect == "sqlite" else "EXPLAIN "
    async with database.transaction() as connection:
        if database.dialect != "sqlite":
            for way in ("seqscan", "sort", "bitmapscan", "hashjoin"):
                await connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        rows = (await connection.exec_driver_sql(explain + statement, parameters)).all()
    return [str(row[-1]) for row in rows]


async def plans(database, work):
    """Await `work`, and return each of its queries with the lines of its plan."""
    with recorded(database) as queries:
        await work
    return [(statement, await plan(database, statement, parameters)) for statement, parameters in queries]
