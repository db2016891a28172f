"""Chat templates of strangers: used where they work, else replaced with a warning."""

import pytest

from assistant.prompt.template import CHATML, PLAIN, ChatTemplate
from assistant.request import Message

SYSTEM = Message("system", "Be brief.")
USER = Message("user", "Why?")
ANSWER = Message("assistant", "Because.")
TOLD = Message("tool", "17 degrees.")
LOOP = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
IN_TURN = (  # as Gemma's and Mistral's
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}" + LOOP
)


def test_without_a_template_the_fallback_is_used_and_said():
    template = ChatTemplate(None, PLAIN)
    assert template.render([SYSTEM, USER]) == "System: Be brief.\n\nUser: Why?\n\nAssistant:"
    assert template.warning is not None


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ raise_exception('no') }}",
        "{{ undefined.attribute }}",
        "{{ messages | nofilter }}",
        "{{ messages.append(1) }}",
        "constant",
        "{% if false %}{{ messages }}{% endif %}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ ''|attr('__class__') }}",
        "{{ raise_exception.__globals__ }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_a_template_that_fails_is_replaced_and_said(source):
    template = ChatTemplate(source, CHATML)
    rendered = template.render([SYSTEM, USER])
    assert rendered.startswith("<|im_start|>system\nBe brief.<|im_end|>")
    assert rendered.endswith("<|im_start|>assistant\n")
    assert "template" in str(template.warning)
    assert template.render([USER]) == "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"


R = "range(99999)"


@pytest.mark.parametrize(
    "source",
    [
        f"{{% for a in {R} %}}{{% for b in {R} %}}{{% for c in {R} %}}{{% endfor %}}{{% endfor %}}"
        "{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
        "{{ m(99) }}",
        f"{{% macro m() %}}{{% for a in {R} %}}{{{{ caller() }}}}{{% endfor %}}{{% endmacro %}}"
        f"{{% call m() %}}{{% for a in {R} %}}{{% endfor %}}{{% endcall %}}",
    ],
    ids=["loops", "macro", "call"],
)
def test_a_template_that_never_ends_is_given_up_and_said(source, monkeypatch):
    monkeypatch.setattr("assistant.prompt.sandbox.LONGEST_S", 0.05)
    template = ChatTemplate(source + LOOP, CHATML)
    for _ in range(2):  # and never tried again
        assert template.render([USER]).startswith("<|im_start|>user\nWhy?")
    assert "did not end within 20 seconds" in str(template.warning)
    assert "Another file of this model" in str(template.warning)


@pytest.mark.parametrize("large", ["10 ** 999999999", "(10 ** 60) ** 60", "lipsum(n=10 ** 9)"])
def test_a_template_computes_little_in_one_step(large):
    template = ChatTemplate("{{ " + large + " }}" + LOOP, CHATML)
    assert template.render([USER]).startswith("<|im_start|>user\nWhy?")
    assert "template fails" in str(template.warning)
    assert ChatTemplate("{{ 2 ** 8 }}" + LOOP, CHATML).render([USER]) == "256[user]Why?"


def test_the_message_of_a_failing_template_is_cut():
    template = ChatTemplate("{{ raise_exception('no ' * 100000) }}", CHATML)
    template.render([USER])
    assert "(no no " in str(template.warning)
    assert len(str(template.warning)) < 300


@pytest.mark.parametrize(
    "source",
    [
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + LOOP,
        LOOP.replace("in messages", "in messages if m.role != 'system'"),  # dropped in silence
    ],
)
def test_a_template_that_knows_no_system_role_gets_it_in_the_first_question(source):
    template = ChatTemplate(source, CHATML)
    assert template.render([SYSTEM, USER]) == "[user]Be brief.\n\nWhy?"
    assert template.render([SYSTEM, USER, ANSWER, USER]).endswith("[assistant]Because.[user]Why?")


@pytest.mark.parametrize(
    ("messages", "rendered"),
    [
        ([USER, USER], "[user]Why?\n\nWhy?"),
        ([SYSTEM, SYSTEM, USER], "[user]Be brief.\n\nBe brief.\n\nWhy?"),
        ([USER, ANSWER, ANSWER, USER], "[user]Why?[assistant]Because.\n\nBecause.[user]Why?"),
        ([USER, ANSWER, SYSTEM, USER], "[user]Why?[assistant]Because.[user]Be brief.\n\nWhy?"),
    ],
)
def test_messages_of_a_role_in_a_row_are_joined_where_a_template_wants_turns(messages, rendered):
    template = ChatTemplate(IN_TURN, CHATML)
    assert template.render(messages) == rendered
    assert "joined" in str(template.warning)
    assert ChatTemplate(LOOP, CHATML).render(messages).count("[") == len(messages)


@pytest.mark.parametrize("odd", [[ANSWER, USER], [TOLD, USER], [USER, ANSWER]])
def test_a_conversation_that_a_template_refuses_costs_no_other_its_template(odd):
    two = "{% if messages|length == 2 %}{{ 1 // 0 }}{% endif %}"
    template = ChatTemplate(IN_TURN + two, CHATML)
    assert template.render(odd).startswith("<|im_start|>")
    assert "for this conversation" in str(template.warning)
    assert template.render([USER]) == "[user]Why?"
    assert template.warning is None


def test_templates_have_what_those_in_the_wild_ask_for():
    source = (
        "{%- for m in messages -%}{% if loop.index0 > 5 %}{% break %}{% endif %}"
        "{{ m | tojson }}{{ m['content'] | trim }}{{ strftime_now('%Y')[:2] }}{%- endfor -%}"
        "{{ bos_token }}{{ eos_token }}{% if add_generation_prompt %}!{% endif %}"
    )
    template = ChatTemplate(source, CHATML, "<s>", "<e>")
    rendered = template.render([Message("user", "a < 'b' é")])
    assert template.warning is None, template.warning
    assert '"content": "a < \'b\' é"' in rendered
    assert "tool_calls" not in rendered  # Llama 3 asks whether a message has any
    assert rendered.endswith("20<s><e>!")
