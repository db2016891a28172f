"""Chat templates by strangers: rendered when they work, replaced and announced when they do not."""

import resource
import sys
import time

import psutil
import pytest

from assistant.chat.template import CHATML, PLAIN, ChatTemplate
from assistant.chat.template_sandbox import TooMuch, bounded
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
        "constant",
        "",
        "{% if false %}{{ messages }}{% endif %}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ lipsum.__globals__['os'].popen('id').read() }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ ''|attr('__class__') }}",
        "{{ messages[0]|attr('__init__') }}",
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


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}.{% endfor %}{% endfor %}",
        "{{ '%999999999s'|format('x') }}",
        "{{ '%999999999s' % messages }}",
        "{{ 'x' * 999999999 }}",
        "{{ 'x'.ljust(999999999) }}",
        "{{ 'x'|center(999999999) }}",
        "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(60) %}"
        "{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x=9) %}{% for i in range(30) %}{% set n.x = n.x * n.x %}{% endfor %}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ (10 ** 3000000) * (10 ** 3000000) }}",
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x + n.x * n.x %}"
        "{% endfor %}",
        "{{ (0).from_bytes(('x' * 9000000).encode(), 'big') // 7 ** 999 }}",
        "{{ 9 | round(999999999, 'ceil') }}",
        LOOP + "{{ 'x' * 100000 }}",
        LOOP + " " * 300_000,
    ],
)
@pytest.mark.some(5)
def test_a_template_that_takes_too_much_is_stopped_replaced_and_said(source, monkeypatch):
    monkeypatch.setattr("assistant.chat.template.LONGEST_S", 0.5)
    began = psutil.Process().memory_info().rss
    template = ChatTemplate(source, CHATML)
    assert template.render([SYSTEM, USER]).startswith("<|im_start|>system\nBe brief.<|im_end|>")
    assert "template fails" in str(template.notice)
    assert psutil.Process().memory_info().rss - began < 400_000_000


def test_numbers_of_a_usual_length_are_computed():
    source = "{{ 2 ** 100 % 7 * 3 // 2 - 1 }}{{ 1.5 | round(1) }}{{ 'a' * 3 }}" + LOOP
    template = ChatTemplate(source, CHATML)
    assert template.render([USER]) == "21.5aaa[user]Why?"
    assert template.notice is None


def test_what_a_template_says_when_it_fails_is_cut():
    template = ChatTemplate("{{ raise_exception('no ' * 100000) }}", CHATML)
    template.render([USER])
    assert "(no no " in str(template.notice)
    assert len(str(template.notice)) < 300


def test_bounds_end_with_what_they_bound():
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(TooMuch, match="longer than"), bounded(0.01, 10**8):
        spin()
    with pytest.raises(TooMuch, match="more than 100 MB"), bounded(5, 10**8):
        bytearray(10**9)
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == soft
    assert sys.gettrace() is None
    assert len(bytearray(2 * 10**8)) == 2 * 10**8


def test_time_that_others_compute_is_not_counted():
    with bounded(0.05, 10**8):
        time.sleep(0.2)


def spin():
    while True:
        pass


def test_a_template_that_knows_no_system_role_gets_it_in_the_first_question():
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    template = ChatTemplate(source + LOOP, CHATML)
    assert template.render([SYSTEM, USER]) == "[user]Be brief.\n\nWhy?"
    assert template.render([SYSTEM, USER, ANSWER, USER]).endswith("[assistant]Because.[user]Why?")


def test_a_template_that_drops_the_system_prompt_in_silence_loses_nothing():
    source = (
        "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    template = ChatTemplate(source, CHATML)
    rendered = template.render([SYSTEM, USER])
    assert "Be brief." in rendered
    assert "Why?" in rendered


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
