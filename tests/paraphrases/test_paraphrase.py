"""The perturbation `paraphrase`: looks up what was written beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import folder, row

from taboo_cluster.compose import from_dict, load_config, to_dict
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.stack import canonical, check_applies, perturb
from taboo_cluster.trial import Item

ITEM = Item("i1", "How many?", "4", "test", "i1")
OTHER = Item("i2", "How many?", "4", "test", "i2")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with one free paraphrase."""
    return folder(tmp_path / "p", row("How many?", "What number?"))


def test_the_accepted_paraphrase_takes_the_questions_place(made: Path) -> None:
    done = perturb(ITEM, f"paraphrase(path={made})", 0)
    assert (done.subject.item.question, done.changed) == ("What number?", True)
    assert (done.subject.item.gold, done.subject.item.item_id) == ("4", "i1")
    assert perturb(ITEM, f"paraphrase(path={made})", 7) == done, "nothing is drawn"


def test_an_item_without_one_stays_as_it_is(made: Path) -> None:
    assert not perturb(OTHER, f"paraphrase(path={made})", 0).changed
    reworded = Item("i1", "How much?", "4", "test", "i1")
    assert not perturb(reworded, f"paraphrase(path={made})", 0).changed, "it was written for another question"


def test_other_perturbations_follow_it_and_none_comes_before(made: Path) -> None:
    stack = f"paraphrase(path={made})+padding(char=quote)"
    assert perturb(ITEM, stack, 0).subject.item.question == "What number?"
    with pytest.raises(UserError, match="perturbation paraphrase works on the clean question: it must stand first"):
        canonical(f"padding(char=quote)+paraphrase(path={made})")
    with pytest.raises(UserError, match="must stand first"):
        canonical(f"paraphrase(path={made})+paraphrase(path={made})")


def test_texts_do_not_change_while_a_run_goes_on(made: Path) -> None:
    stack = f"paraphrase(path={made})"
    before = perturb(OTHER, stack, 0)
    folder(made, row("How many?", "How great a number?", item_id="i2"), name="part-b-000000")
    assert perturb(OTHER, stack, 0) == before


def test_a_folder_without_any_for_the_benchmark_is_an_error(made: Path) -> None:
    check_applies(f"paraphrase(path={made})", ITEM, "gsm8k")
    with pytest.raises(UserError, match=r"holds no free paraphrases of mmlu \(it has some for gsm8k\)"):
        check_applies(f"paraphrase(path={made})", ITEM, "mmlu")


def test_an_unknown_kind_is_one_line(made: Path) -> None:
    with pytest.raises(UserError, match=r"perturbation paraphrase.kind must be one of lexical, syntactic, free"):
        canonical(f"paraphrase(kind=loose,path={made})")


def composed(stack: str) -> list[str]:
    return load_config(["+sweep=alignment", "benchmarks=[arithmetic]", f'conditions=["{stack}"]']).conditions


def test_a_relative_path_starts_where_the_run_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = f"paraphrase(kind=lexical,path={tmp_path}/mine)→identity"
    assert composed("paraphrase(kind=lexical,path=mine)+identity") == [full]
    assert composed("paraphrase") == [f"paraphrase(kind=free,path={tmp_path}/paraphrases)"]
    config = load_config(["+sweep=alignment", 'conditions=["paraphrase(kind=lexical,path=mine)+identity"]'])
    monkeypatch.chdir("/")
    assert from_dict(to_dict(config)).conditions == [full], "the same in an actor that is started elsewhere"
    assert composed("paraphrase(path=s3://bucket/p)") == ["paraphrase(kind=free,path=s3://bucket/p)"]


def test_a_folder_whose_name_a_condition_cannot_hold_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a,b").mkdir()
    monkeypatch.chdir(tmp_path / "a,b")
    with pytest.raises(UserError, match=r"paraphrase.path: .*a,b/paraphrases has one of , \( \) = in it"):
        composed("paraphrase")
