"""Chat templates by strangers: rendered when they work, replaced and announced when they do not."""

import jinja2
import pytest

from assistant.chat.template import CHATML, PLAIN, ChatTemplate
from assistant.request import Message

SYSTEM = Message("system", "Be brief.")
USER = Message("user", "Why?")
ANSWER = Message("assistant", "Because.")
LOOP = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"


def test_a_template_that_works_is_used_without_a_word():
    template = ChatTemplate(LOOP + "{{ eos_token }}", CHATML, eos="<e>")
    assert template.render([SYSTEM, USER]) == "[system]Be brief.[user]Why?<e>"
    assert template.notice is None


def test_without_a_template_the_fallback_is_used_and_said():
    template = ChatTemplate(None, PLAIN)
    assert template.render([SYSTEM, USER]) == "System: Be brief.\n\nUser: Why?\n\nAssistant:"
    assert template.notice is not None


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ raise_exception('no') }}",
        "{{ undefined.attribute }}",
        "{{ 1 // 0 }}",
        "{{ messages | nofilter }}",
        "{% include 'x' %}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__globals__['json'] }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_a_template_that_fails_is_replaced_and_said(source):
    template = ChatTemplate(source, CHATML)
    rendered = template.render([SYSTEM, USER])
    assert rendered.startswith("<|im_start|>system\nBe brief.<|im_end|>")
    assert rendered.endswith("<|im_start|>assistant\n")
    assert "template" in str(template.notice)
    assert template.render([USER]) == "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"


def test_a_template_that_knows_no_system_role_gets_it_in_the_first_question():
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    template = ChatTemplate(source + LOOP, CHATML)
    assert template.render([SYSTEM, USER]) == "[user]Be brief.\n\nWhy?"
    assert template.render([SYSTEM, USER, ANSWER, USER]).endswith("[assistant]Because.[user]Why?")


def test_a_template_that_drops_the_question_is_replaced_and_said():
    for source in ("constant", "", "{% if false %}{{ messages }}{% endif %}"):
        template = ChatTemplate(source, CHATML)
        assert "Why?" in template.render([SYSTEM, USER])
        assert template.notice is not None


def test_a_template_that_drops_the_system_prompt_in_silence_loses_nothing():
    source = (
        "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    template = ChatTemplate(source, CHATML)
    rendered = template.render([SYSTEM, USER])
    assert "Be brief." in rendered
    assert "Why?" in rendered


def test_a_template_cannot_reach_files_or_code():
    for source in (
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ lipsum.__globals__['os'].popen('id').read() }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ ''|attr('__class__') }}",
        "{{ messages[0]|attr('__init__') }}",
    ):
        rendered = ChatTemplate(source, CHATML).render([USER])
        assert "uid=" not in rendered
        assert "class" not in rendered


def test_templates_have_what_those_in_the_wild_ask_for():
    source = (
        "{%- for m in messages -%}{% if loop.index0 > 5 %}{% break %}{% endif %}"
        "{{ m | tojson }}{{ m['content'] | trim }}{{ strftime_now('%Y')[:2] }}{%- endfor -%}"
        "{{ bos_token }}{% if add_generation_prompt %}!{% endif %}"
    )
    template = ChatTemplate(source, CHATML, bos="<s>")
    rendered = template.render([Message("user", "a < 'b' é")])
    assert template.notice is None, template.notice
    assert '"content": "a < \'b\' é"' in rendered
    assert rendered.endswith("20<s>!")


def test_fallbacks_are_sound():
    for fallback in (CHATML, PLAIN):
        jinja2.Template(fallback)
