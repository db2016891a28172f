"""Another instance, which does what it is told line by line and says what came of it."""

import sys
from pathlib import Path

from assistant.store import Store


def main(path: str) -> None:
    store = Store(Path(path))
    conversation = 0
    for line in sys.stdin:
        what, _, rest = line.strip().partition(" ")
        match what:
            case "enter":
                conversation = int(rest)
                said: object = store.enter(conversation)
            case "leave":
                said = store.enter(None)
            case "ask":
                records = store.path(conversation)
                said = store.ask(conversation, records[-1].id if records else None, rest).id
            case "below":
                parent, _, text = rest.partition(" ")
                said = store.ask(conversation, int(parent), text).id
            case "close":
                store.purge()
                store.close()
                said = "closed"
        print(said, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
