"""What the benchmarks ask: prompts of the kinds that people ask a local assistant."""

STORM = (
    "The storm came over the hills at noon. Nobody in the village had seen such a storm before. "
    "The baker closed his shop, the miller tied his sails, and the children were called in from "
    "the orchard. When the storm reached the river, the old bridge began to sing in the wind. The "
    "ferryman said that the storm would be over by night, but the storm stayed for three days."
)
LEDGER = '''\
class Ledger:
    """Money that went from one account to another."""

    def __init__(self):
        self.entries = []

    def transfer(self, source, destination, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.entries.append((source, destination, amount))

    def balance(self, account):
        received = sum(amount for _, destination, amount in self.entries if destination == account)
        spent = sum(amount for source, _, amount in self.entries if source == account)
        return received - spent

    def accounts(self):
        names = set()
        for source, destination, _ in self.entries:
            names.add(source)
            names.add(destination)
        return sorted(names)
'''
LIGHTHOUSE = (
    "The lighthouse of Skarv was built in 1871, after two ships of the mail line were lost on the "
    "reef within one winter. Its first keeper, Marit Holm, kept a diary for twenty-six years, in "
    "which she noted the weather, the ships, and the price of oil. In 1904 the lamp was replaced "
    "by one that burnt paraffin, and the keeper's house was moved to the lee side of the island. "
    "Electric light came in 1951. Since 1988 the lighthouse has been unmanned, and since 2003 the "
    "house is let to visitors in summer; the money pays for the mending of the sea wall."
)

TASKS: dict[str, tuple[str, ...]] = {
    "code": (
        "Write a Python function that says whether two numbers of a list are closer to each other "
        "than a threshold, with a docstring and three doctests.",
        "Write a Python class for a bank account with deposit, withdraw and transfer, and a unit "
        "test class with one test for each method.",
    ),
    "chat": (
        "Explain to a curious teenager why the sky is blue and sunsets are red.",
        "I have a free Saturday in a small town by the sea. Suggest how to spend it.",
    ),
    "summary": (
        f"Summarise this text in three sentences:\n\n{LIGHTHOUSE}",
        f"Give a title and a summary of two sentences:\n\n{STORM}",
    ),
    "questions": (
        f"{LIGHTHOUSE}\n\nWho kept a diary, for how long, and what did it note? When did electric "
        "light come, and what happens with the house today? Answer in full sentences.",
        f"{STORM}\n\nWhat did the baker, the miller and the ferryman do or say? Quote the text.",
    ),
    "maths": (
        "A train leaves at 9:40 and travels 210 km at 84 km/h, waits 25 minutes, and travels 63 km "
        "at 90 km/h. When does it arrive? Show each step.",
        "A shop sells pens at 1.20 and notebooks at 3.50. Anna buys 7 items for 17.60. How many of "
        "each did she buy? Show each step and check the result.",
    ),
    "translation": (
        f"Translate into French:\n\n{STORM}",
        f"Translate into German:\n\n{LIGHTHOUSE}",
    ),
    "editing": (
        "Rename the method `transfer` to `move` and print the whole file:\n\n"
        f"```python\n{LEDGER}```",
        f'Rewrite this text, changing "storm" to "gale" and nothing else:\n\n{STORM}',
    ),
}
"""Prompts by kind."""
