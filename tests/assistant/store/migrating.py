"""A later specchat, whose databases have one thing more. It is there to be killed."""

import sqlite3
import sys
from pathlib import Path

from assistant.store import Store, schema


def _later(sql: sqlite3.Connection) -> None:
    sql.execute("ALTER TABLE message ADD COLUMN rating INTEGER")
    print("half", flush=True)
    sql.execute("UPDATE message SET rating = id, content = content || '!'")
    print("nearly", flush=True)


def upgrade() -> None:
    schema.MIGRATIONS = (*schema.MIGRATIONS, _later)


if __name__ == "__main__":
    upgrade()
    print("begun", flush=True)
    Store(Path(sys.argv[1])).close()
    print("done", flush=True)
