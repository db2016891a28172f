"""The questions whose answers are recorded: prompts that come with specchat, and the newcomer's."""

from assistant.lab.bench import plan as bench
from assistant.lab.bench.plan import bundled
from tests.tools.replay.recording import Question
from tui.chat.conversation.welcome import SUGGESTIONS

WARM = 0.7
NEWCOMER, NEWCOMERS = "newcomer", 5


def questions() -> list[Question]:
    """Return them: at temperature 0 two of each kind, and some drawn as a chat draws."""
    tasks, functions = bundled("tasks"), bundled("code")
    greedy = [Question(_name(each), each.kind, each.text) for each in [*tasks, *functions[:2]]]
    warm = [
        Question(f"{_name(each)}-warm", f"{each.kind}, warm", each.text, WARM, 1)
        for each in tasks
        if each.kind in ("code", "chat", "maths", "translation") and each.name.endswith("/0")
    ]
    first = SUGGESTIONS[0].text
    return [
        *greedy,
        *warm,
        *(Question(f"newcomer-{i}", NEWCOMER, first, WARM, i, 150) for i in range(NEWCOMERS)),
    ]


def _name(question: bench.Question) -> str:
    return question.name.replace("/", "-")
