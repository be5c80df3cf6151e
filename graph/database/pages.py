"""Reading everything of one kind, page by page."""

from __future__ import annotations

from collections.abc import Iterator

from graph.database.database import Database
from graph.database.rows import Row


def pages(database: Database, query: str, batch_rows: int, **params: object) -> Iterator[Row]:
    """The pages of a query that starts behind `after`, reads `rowsMax` and answers how far it came as `pageLast`.

    Args:
        database: the graph.
        query: its name.
        batch_rows: how many nodes a page looks at.
        params: its other parameters.
    """
    after: str | None = ""
    while after is not None:
        row = database.read(query, literals=None, timeout=None, after=after, rowsMax=batch_rows, **params)[0]
        after = row.text_or_none("pageLast")
        if after is not None:
            yield row
