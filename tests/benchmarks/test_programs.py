"""From a completion to the program that is run."""

from __future__ import annotations

import pytest

from taboo_cluster.benchmarks.programs import compiles, read_program

PROMPT = 'from typing import List\n\n\ndef double(x: List[int]) -> List[int]:\n    """Twice each number."""\n'
BEFORE = "from typing import List\n\n\n"
HELPED = 'def half(x):\n    return x / 2\n\n\ndef quarter(x):\n    """A fourth of x."""\n'
WHOLE = "def double(x):\n    return [2 * n for n in x]\n"
LOOP = "    y = []\n    for n in x:\n        y.append(2 * n)\n    return y\n"
BODY = "    return [2 * n for n in x]\n"
DONE = PROMPT + BODY


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        # The rest of the function, as base models give it.
        (BODY, DONE),
        ("\n" + BODY, DONE),
        ("\n" + BODY + "\n\n\n", DONE),
        ("\n    if not x:\n        return []\n" + BODY, PROMPT + "    if not x:\n        return []\n" + BODY),
        ("\n    y = 2\n\n    return [y * n for n in x]\n", PROMPT + "    y = 2\n\n    return [y * n for n in x]\n"),
        ("\n\treturn [2 * n for n in x]", DONE),
        ("\n  return [2 * n for n in x]", DONE),
        ("\n    pass", PROMPT + "    pass\n"),
        ("\n    print(x)", PROMPT + "    print(x)\n"),
        # ... up to what comes after it.
        ("\n" + BODY + "\n\ndef test():\n    assert double([1]) == [2]\n", DONE),
        ("\n" + BODY + "\nprint(double([1]))\n", DONE),
        ("\n" + BODY + "```\n\nThis doubles each number.", DONE),
        ("\n" + BODY + "    ```\n", DONE),
        ("\n" + BODY + "\n# Tests\n    x", DONE),
        (
            "\n    text = '''\nflush left\n'''\n    return text\n\nThat is all.",
            PROMPT + "    text = '''\nflush left\n'''\n    return text\n",
        ),
        # A whole function, in a block, with prose around it or not.
        (f"```python\n{WHOLE}```", BEFORE + WHOLE),
        (f"Sure! Here it is:\n\n```python\n{WHOLE}```\n\nIt returns a list.", BEFORE + WHOLE),
        (f"```\n{WHOLE}\n```", BEFORE + WHOLE),
        (f"```py\n{WHOLE}", BEFORE + WHOLE),
        (f"~~~python\n{WHOLE}~~~", BEFORE + WHOLE),
        (f"````python\n{WHOLE}```` \nDone.", BEFORE + WHOLE),
        (f"1. Do it:\n\n   ```python\n   {WHOLE.replace(chr(10), chr(10) + '   ').rstrip()}\n   ```", BEFORE + WHOLE),
        (f"```python\n{PROMPT}{BODY}```", BEFORE + DONE),
        (f"```python\nimport math\n\n{WHOLE}```", BEFORE + "import math\n\n" + WHOLE),
        (f"```python\n{WHOLE}\nprint(double([1]))\n```", BEFORE + WHOLE + "\nprint(double([1]))\n"),
        ("```python\ndouble = lambda x: [2 * n for n in x]\n```", BEFORE + "double = lambda x: [2 * n for n in x]\n"),
        (WHOLE, BEFORE + WHOLE),
        (f"Here is the function:\n\n{WHOLE}\nIt doubles.", BEFORE + WHOLE),
        (f"I use a list.\n\nimport math\n\n{WHOLE}\nNote: it doubles.", BEFORE + "import math\n\n" + WHOLE),
        (PROMPT + BODY, BEFORE + DONE),
        # Of several blocks the last that defines it; blocks with other things do not count.
        (f"```python\ndef double(x):\n    return x\n```\nBetter:\n```python\n{WHOLE}```", BEFORE + WHOLE),
        (f"```python\n{WHOLE}```\nUse it:\n```python\nassert double([1]) == [2]\n```\n```\n[2]\n```", BEFORE + WHOLE),
        (f"<think>\n```python\ndef double(x): return 0\n```\n</think>\n```python\n{WHOLE}```", BEFORE + WHOLE),
        # A body alone, in a block or bare, with its indentation or without.
        (f"```python\n{BODY}```", DONE),
        ("```python\nreturn [2 * n for n in x]\n```", DONE),
        ("```python\nreturn [2 * n for n in x]\n```\nExample:\n```python\ny = 1\n```", DONE),
        ("return [2 * n for n in x]", DONE),
        ("y = []\nfor n in x:\n    y.append(2 * n)\nreturn y", PROMPT + LOOP),
        (LOOP.strip(), PROMPT + LOOP),
        # Code that is no Python is an answer all the same.
        ("\n    return [2 * n for n in\n", PROMPT + "    return [2 * n for n in\n"),
        ("```python\ndef double(x)\n    return x\n```", BEFORE + "def double(x)\n    return x\n"),
    ],
)  # fmt: skip
def test_j5_whole_function_bare_body_and_fenced_block_are_read(completion: str, program: str) -> None:
    assert read_program(completion, PROMPT, "double") == program


def test_b15_leading_indentation_is_kept() -> None:
    assert read_program("    if x:\n        return x\n    return []", PROMPT, "double") == (
        PROMPT + "    if x:\n        return x\n    return []\n"
    )


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "  \n\n",
        "Sure",
        "42",
        "I would double each number and return the list.",
        "To solve this, first loop over x, then return a new list.",
        "\n    This function doubles each number.\n",
        "\n    # to be done\n",
        "    Sure",
        "```\n[2, 4]\n```",
        "```\nI do not know.\n```",
        "I'm sorry, but I can't help with that.",
        "<think>\n    return x\n",
        f"<think>\n```python\n{WHOLE}```",
    ],
)
def test_j5_prose_without_code_is_no_answer(completion: str) -> None:
    assert read_program(completion, PROMPT, "double") is None


def test_helpers_of_the_prompt_stay_with_a_whole_function() -> None:
    whole = "def quarter(x):\n    return half(half(x))\n"
    assert read_program(f"```python\n{whole}```", HELPED, "quarter") == ("def half(x):\n    return x / 2\n\n\n" + whole)
    assert read_program("\n    return half(half(x))", HELPED, "quarter") == HELPED + "    return half(half(x))\n"


def test_a_name_that_only_starts_alike_is_another_function() -> None:
    text = "```python\ndef doubled(x):\n    return x\n```\n"
    assert read_program(text, PROMPT, "double") == PROMPT + "    def doubled(x):\n        return x\n"


@pytest.mark.parametrize(
    "text", ["x = (", "\0", "(" * 5000, "-" * 100_000 + "1", "[" * 150 + "]" * 150 + " +", "\ud800 = 1"]
)
def test_text_that_no_parser_takes_is_no_python(text: str) -> None:
    assert not compiles(text)
    assert compiles("x = 1")
