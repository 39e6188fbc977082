"""Names with options: read, written, read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.errors import UserError
from taboo_cluster.spec import Spec, parse


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("typos", Spec("typos")),
        (" typos ( ) ", Spec("typos")),
        ("a(p=0.3, n=7,yes=true,s=word)", Spec("a", {"p": 0.3, "n": 7, "yes": True, "s": "word"})),
        ("a(p=1e-5,q=2E3)", Spec("a", {"p": 1e-5, "q": 2000.0})),
        ("a(p='[id] dog.',q='it''s',r='no')", Spec("a", {"p": "[id] dog.", "q": "it's", "r": "no"})),
    ],
)
def test_read(text: str, spec: Spec) -> None:
    assert parse(text) == spec
    assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot read ''"),
        ("a(b", "cannot read 'a(b'"),
        ("a(b)", "cannot read 'b' in 'a(b)': an option is written key=value"),
        ("a(b=1,b=2)", "b is given twice"),
        ("a(b=[id)", "cannot read '[id' in 'a(b=[id)': put it in quotes, b='...'"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse(text)
    assert said in str(error.value)


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.booleans()))
def test_numbers_are_read_as_they_were_written(value: float) -> None:
    (again,) = parse(str(Spec("a", {"x": value}))).options.values()
    assert again == pytest.approx(value, rel=1e-11)
    assert isinstance(again, bool) == isinstance(value, bool)


@given(st.text(alphabet="ab01.- [']{}#:&*!|>%@~ynoe", min_size=1))
def test_words_are_read_as_they_were_written(value: str) -> None:
    assert parse(str(Spec("a", {"x": value}))).options == {"x": value}
