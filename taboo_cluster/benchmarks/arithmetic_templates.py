"""The words of the arithmetic benchmark: names, things, formulas and story templates of both splits.

A template's slots: {a} {b} {c} operands; {A} {B} {C} people; {he} {him} {his} (and capitalised) for A; {things}
countable; {box} {boxes} a container; {t1} {t2} {t3} times in order (and capitalised); [x|y] one of the alternatives.
Every question reads "How many UNIT ..." or "How many more UNIT ...". Where the alternatives of a training template
could spell a test template, that wording is never used: `arithmetic.problem` draws another.
"""

from __future__ import annotations

from dataclasses import dataclass

PEOPLE = (
    ("Anna", "she"), ("Ben", "he"), ("Clara", "she"), ("Daniel", "he"), ("Emma", "she"), ("Frank", "he"),
    ("Grace", "she"), ("Henry", "he"), ("Ivy", "she"), ("Jack", "he"), ("Kate", "she"), ("Leo", "he"),
    ("Maria", "she"), ("Noah", "he"), ("Olivia", "she"), ("Paul", "he"), ("Rosa", "she"), ("Sam", "he"),
    ("Tina", "she"), ("Victor", "he"),
)  # fmt: skip

PRONOUNS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}
"""Subject, object and possessive form."""

THINGS = (
    "apples", "balls", "beads", "books", "buttons", "candles", "cards", "coins", "cookies", "eggs", "flowers",
    "marbles", "oranges", "pencils", "plates", "shells", "stamps", "stickers", "stones", "toys",
)  # fmt: skip

BOXES = (
    ("box", "boxes"),
    ("bag", "bags"),
    ("basket", "baskets"),
    ("jar", "jars"),
    ("pack", "packs"),
    ("tray", "trays"),
)


TIMES = (
    ("in the morning", "in the afternoon", "in the evening"),
    ("on Monday", "on Tuesday", "on Wednesday"),
    ("on Friday", "on Saturday", "on Sunday"),
)


@dataclass(frozen=True)
class Formula:
    """How a gold answer follows from the operands.

    Attributes:
        steps: (left, operator, right) in order; `p` is the result of the step before, letters are operands.
        ranges: inclusive range of each operand, by letter.
    """

    steps: tuple[tuple[str, str, str], ...]
    ranges: dict[str, tuple[int, int]]


_SUM = {"a": (3, 40), "b": (2, 20)}
_TABLE = {"a": (2, 9), "b": (2, 9)}

FORMULAS = {
    "add": Formula((("a", "+", "b"),), _SUM),
    "sub": Formula((("a", "-", "b"),), {"a": (5, 60), "b": (2, 30)}),
    "mul": Formula((("a", "*", "b"),), _TABLE),
    "div": Formula((("a", "/", "b"),), {"a": (4, 81), "b": (2, 9)}),
    "add_add": Formula((("a", "+", "b"), ("p", "+", "c")), {**_SUM, "c": (2, 15)}),
    "add_sub": Formula((("a", "+", "b"), ("p", "-", "c")), {**_SUM, "c": (2, 20)}),
    "sub_add": Formula((("a", "-", "b"), ("p", "+", "c")), {"a": (10, 60), "b": (2, 30), "c": (2, 15)}),
    "sub_sub": Formula((("a", "-", "b"), ("p", "-", "c")), {"a": (15, 60), "b": (2, 30), "c": (2, 15)}),
    "mul_add": Formula((("a", "*", "b"), ("p", "+", "c")), {**_TABLE, "c": (2, 12)}),
    "mul_sub": Formula((("a", "*", "b"), ("p", "-", "c")), {**_TABLE, "c": (2, 12)}),
    "more_total": Formula((("a", "+", "b"), ("a", "+", "p")), {"a": (3, 25), "b": (2, 12)}),
    "fewer_total": Formula((("a", "-", "b"), ("a", "+", "p")), {"a": (5, 30), "b": (2, 12)}),
    "times_total": Formula((("a", "*", "b"), ("a", "+", "p")), {"a": (2, 9), "b": (2, 8)}),
    "sub_div": Formula((("a", "-", "b"), ("p", "/", "c")), {"a": (6, 50), "b": (2, 15), "c": (2, 9)}),
}

TRAIN: dict[str, tuple[str, ...]] = {
    "add": (
        "{A} [has|gets|buys|finds|makes] {a} {things}[ {t1}|]. [A friend gives {him}|{B} gives {him}|Then {he} buys|"
        "Later {he} finds|{T2} {he} gets|{T2} {he} buys|{T2} {B} gives {him}] {b} more[ {things}|]. "
        "How many {things} does [{A}|{he}] have [now|in total|altogether]?",
        "{T1} {A} [has|gets|buys|finds|makes] {a} {things}. [{T2} {he} buys|{T2} {he} finds|{T2} {he} gets|Then {he} "
        "makes|"
        "Then {B} gives {him}] {b} more[ {things}|]. How many {things} does [{A}|{he}] have [now|in total|altogether]?",
        "[{A}|A shop|A store|A farm] [finds|collects|buys|makes|sells] {a} {things} {t1} and {b}[ {things}|] {t2}. "
        "How many {things} is that in [all|total]?",
        "[There are {a} {things} in a {box}|A {box} has {a} {things}|A {box} holds {a} {things}|"
        "{A} puts {a} {things} into a {box}|{A} puts {a} {things} in a {box}][.|, and|. Then] {B} [adds {b} more|"
        "puts in {b}|"
        "puts {b} {things} into the same {box}|adds {b} {things}]. How many {things} are in the {box}[ now|]?",
        "There are {a} {things} on the [table|shelf|floor]. {A} [puts|adds] {b} more[ there| next to them|]. "
        "How many {things} are there [now|in total]?",
        "{A} has {a} {things} and {B} has {b}[ {things}|]. How many {things} do they have [together|in total]?",
        "{A} has {a} {things}. {B} has {b} more[ {things}|] than {A}. How many {things} does {B} have?",
        "{A} [reads|writes] {a} pages {t1} and {b}[ pages|] {t2}. How many pages is that in [all|total]?",
        "{A} pays {a} dollars for a [hat|book|lamp] and {b} dollars for a [bag|shirt|game]. "
        "How many dollars does {A} [pay|spend][ in total| altogether|]?",
    ),
    "sub": (
        "{A} [has|buys|makes|finds] {a} {things}[. {He} gives|. {He} sells|. Then {he} sends| and gives| and sells] "
        "{b}[ of them| {things}|] to [{B}|a friend|a shop|a school]. "
        "How many {things} does [{A}|{he}] [have left|still have|have now]?",
        "{A} [has|buys|makes|finds] {a} {things}[ {t1}|][, but loses|. {T2} {he} loses| and loses|. Then {he} loses] "
        "{b}[ of them| {things}|]. How many {things} does [{A}|{he}] [have left|still have|have now]?",
        "[There are {a} {things} in a {box}|A {box} has {a} {things}|A {box} contains {a} {things}|"
        "A {box} holds {a} {things}]. {A} [takes out {b}|takes {b} away|takes {b} of them|removes {b}|takes out {b} "
        "{things}]. "
        "How many {things} [are left|remain|are left in the {box}|are in the {box} now|remain in it]?",
        "{A} has {a} {things} and {B} has {b}[ {things}|]. How many more {things} does {A} have than {B}?",
        "{A} has {a} {things}. {B} has {b} fewer[ {things}|] than {A}. How many {things} does {B} have?",
        "{A} needs {a} {things} and[ already|] has {b}. How many more {things} does {A} [need|have to find]?",
        "[A shop|A store|A school|A farm] has {a} {things}[ and sells|. It sells|. {T1} it sells|, but loses|. It "
        "loses] "
        "{b}[ of them|]. How many {things} [remain|are left|does it have left]?",
        "{A} has {a} dollars[ and spends|. {He} spends] {b} dollars on a [hat|book|game]. "
        "How many dollars [are left|remain]?",
    ),
    "mul": (
        "[{A}|A shop|A store|A school|A farm] [has|buys|gets|sells] {a} {boxes} [with|of] {b} {things}[ each| in "
        "each {box}|]. "
        "How many {things} is that[ in all| in total|]?",
        "[{A}|A shop|A store|A school|A farm] has {a} {boxes}. Each {box} [has|holds|contains] {b} {things}. "
        "How many {things} [are there|is that] in [all|total]?",
        "There are {b} {things} in each {box}. How many {things} are[ there|] in {a} {boxes}?",
        "{A} [makes|finds|sells|gets|buys] {b} {things} [every day|each day]. "
        "How many {things} [is that|does {A} have] in {a} days?",
        "{A} [earns|saves|spends] {a} dollars [every day|each day]. How many dollars is that in {b} days?",
        "{A} has {a} {things}. {B} has {b} times as many. How many {things} does {B} have?",
        "There are {a} rows [of|with] {b} {things}[ each| in each row|]. How many {things} are there[ in total|]?",
        "{A} buys {a} {things}. Each one costs {b} dollars. How many dollars does {he} [pay|spend]?",
        "{A} [fills|packs] {a} {boxes} with {b} {things} each. How many {things} does {he} [need|use]?",
    ),
    "div": (
        "{A} [shares|splits|divides] {a} {things} equally [among|between] {b} friends. "
        "How many {things} does [each friend|one friend|each of them] get?",
        "There are {a} {things} [for|and] {b} friends. [They|The friends|All friends] share [them|the {things}|all "
        "of them] "
        "equally. How many {things} does [one|each] friend get?",
        "{A} has {a} {things} for {b} [friends. Each friend|friends. Every friend] gets the same number. "
        "How many {things} does [one|each] friend get?",
        "{A} [puts|packs|divides|splits] {a} {things} [equally into {b} {boxes}|into {b} {boxes} with the same "
        "number in each|"
        "into {b} {boxes}, the same number in each]. "
        "How many {things} [are in each {box}|are in one {box}|does each {box} hold|does one {box} hold]?",
        "{A} [fills|packs|has] {b} {boxes} [with|for] {a} {things}[, the same number in each {box}|, the same number "
        "in each|"
        ". Each {box} gets the same number]. "
        "How many {things} [are in each {box}|are in one {box}|does each {box} hold|does one {box} hold]?",
        "{A} has {a} {things}. {He} puts {b} {things} in each {box}. How many {boxes} does {he} [need|fill]?",
        "{A} [divides|splits] {a} {things} equally into {b} [groups|rows|piles]. How many {things} are in each [one|"
        "of them]?",
        "{A} pays {a} dollars for {b} {things}. How many dollars does one of them cost?",
    ),
    "add_add": (
        "{A} has {a} {things}, {B} has {b} and {C} has {c}. How many {things} do they have [together|in total]?",
        "[{A}|A shop|A store|A farm] [finds|collects|buys|makes|sells] {a} {things} {t1}, {b}[ {things}|] {t2} and "
        "{c}[ {things}|] {t3}. How many {things} is that in [all|total]?",
        "{A} has {a} {things}[ {t1}|]. [{B} gives {him}|{He} finds|{He} buys] {b} more and "
        "[{C} gives {him}|then {he} finds|later {he} gets] {c}[ more|]. How many {things} does [{A}|{he}] have [now|"
        "in total]?",
        "{A} puts {a} {things} [in a {box}|on the table|on the shelf|into a {box}]. Then {B} [puts|adds] "
        "{b}[ more| {things}|] there and {C} [puts|adds] {c}[ more|] there. How many {things} are there[ now| in "
        "total|]?",
        "{A} has {a} red, {b} blue and {c} green {things}. How many {things} does {A} have in [all|total]?",
        "{A} [reads|writes] {a} pages {t1}, {b}[ pages|] {t2} and {c}[ pages|] {t3}. How many pages is that in [all|"
        "total]?",
    ),
    "add_sub": (
        "{A} [has|buys|makes|finds] {a} {things}[ {t1}|]. {He} [buys|finds|gets] {b} more[ {t2}|] and then "
        "[gives {c} to {B}|sells {c}|loses {c}]. How many {things} does [{A}|{he}] have [left|now]?",
        "[{A}|A shop|A store|A farm] [finds|buys|makes|gets] {a} {things} {t1} and {b}[ {things}|] {t2}"
        "[, but loses|, but sells| and loses] {c}[ of them|][ {t3}|]. How many {things} [are left|remain]?",
        "[A shop|A store|A school|A farm] has {a} {things}. It [gets|buys|makes] {b} more[ {t1}|] and [sells|loses] "
        "{c}[ {t2}|]. How many {things} [does it have now|does it have left|are left]?",
        "[There are {a} {things} in a {box}|A {box} has {a} {things}|A {box} holds {a} {things}]. "
        "{A} [puts in|adds] {b}[ more|] and {B} takes out {c}. How many {things} are in [the {box}|it] now?",
        "There are {a} people on a [bus|train]. [At the next stop {b} people get on and {c} get off|"
        "{b} people get on at one stop and {c} get off at the next]. How many people are [there now|on it now|left]?",
        "{A} has {a} red {things} and {b} blue {things}. {He} loses {c} of them. How many {things} does {he}[ still|"
        "] have?",
        "{A} [earns|gets] {a} dollars {t1} and {b}[ dollars|] {t2}. {He} spends {c} dollars. How many dollars are "
        "left?",
    ),
    "sub_add": (
        "{A} [has|buys|makes|finds] {a} {things}[ {t1}|]. {He} [gives {b} to {B}|sells {b}|loses {b}][ {t2}|] and then "
        "[buys|finds|gets] {c}[ more|]. How many {things} does [{A}|{he}] have [now|in total]?",
        "[There are {a} {things} in a {box}|A {box} has {a} {things}|A {box} holds {a} {things}|"
        "A {box} contains {a} {things}]. {A} takes out {b}[ and {B}|, then {he}|. Then {B}] [adds|puts in] {c}[ more|"
        "]. "
        "How many {things} are in [the {box}|it] now?",
        "[A shop|A store|A school|A farm] has {a} {things}. It [sells|loses] {b}[ {t1}|] and [gets|buys|makes] {c} more"
        "[ {t2}|]. How many {things} does it have now?",
        "There are {a} people on a [bus|train]. [At the next stop {b} people get off and {c} get on|"
        "{b} people get off at one stop and {c} get on at the next]. How many people are [there|on it] now?",
        "There are {a} {things} on the [table|shelf]. {A} takes {b} away and {B} puts {c}[ more|] there. "
        "How many {things} are there now?",
        "{A} has {a} dollars. {He} [spends {b} dollars on|pays {b} dollars for] a [hat|book|lamp|bag] and then "
        "[gets|earns|finds] {c} dollars. How many dollars does [{A}|{he}] have now?",
    ),
    "sub_sub": (
        "{A} [has|buys|makes|finds] {a} {things}. {He} [gives {b} to {B} and {c} to {C}|sells {b} and gives {c} to {B}|"
        "loses {b} and sells {c}]. How many {things} does [{A}|{he}] [have left|still have|have now]?",
        "{A} [has|buys|makes|finds] {a} {things}. {He} [loses|sells] {b} {t1} and {c}[ {things}|] {t2}. "
        "How many {things} does [{A}|{he}] [have left|still have|have now]?",
        "[A shop|A store|A school|A farm] has {a} {things}. It [sells|loses] {b} {t1} and {c}[ more|] {t2}. "
        "How many {things} [remain|are left|does it have left]?",
        "{A} has {a} dollars. {He} spends {b} dollars on a [hat|book] and {c} dollars on a [bag|game]. "
        "How many dollars [are left|remain]?",
        "There are {a} {things} in a {box}. {A} takes {b}[ of them|] and {B} takes {c}. "
        "How many {things} are [left|in the {box} now]?",
        "There are {a} people on a [bus|train]. [At the first stop {b} people get off and {c} get off at the second|"
        "{b} people get off at the first stop and {c} at the second|{b} get off at one stop and {c} people get off "
        "at the next]. "
        "How many people are [left|there now|still on it]?",
    ),
    "mul_add": (
        "[{A}|A shop|A store|A school|A farm] has {a} {boxes} [with|of] {b} {things}[ each| in each {box}|] and {c} "
        "[more {things}|other {things}|{things} on the table|{things} on the floor|{things} on the shelf]. "
        "How many {things} is that in [all|total]?",
        "{A} [buys|gets|has] {a} {boxes} of {b} {things}. {B} gives {him} {c} more. How many {things} does {A} have "
        "now?",
        "{A} buys {a} {things} for {b} dollars each and a [hat|lamp|bag] for {c} dollars. "
        "How many dollars does {A} [pay|spend][ in total| altogether|]?",
        "There are {a} [rows|{boxes}] of {b} {things} and {c} more on the [floor|table|shelf]. "
        "How many {things} are there [in total|altogether]?",
    ),
    "mul_sub": (
        "{A} has {a} {boxes}[ with {b} {things} each| of {b} {things}|. Each {box} has {b} {things}|"
        ". Each {box} contains {b} {things}|. There are {b} {things} in each {box}]. {He} [loses|sells] {c}[ "
        "{things}| of them|]. "
        "How many {things} [are left|remain|does {he} have left]?",
        "{A} [has|buys] {a} {boxes} with {b} {things}[ each| in each {box}]. {He} [gives|sells] {c}[ {things}|] to "
        "{B}. "
        "How many {things} does {A} have [left|now]?",
        "[A shop|A store|A school|A farm] has {a} {boxes}[ with {b} {things} each| of {b} {things}|. Each {box} "
        "holds {b} {things}]. "
        "It [loses|sells] {c}[ {things}| of them|]. How many {things} [are left|remain|does it have left]?",
        "There are {a} [rows|{boxes}] of {b} {things}. {A} takes {c}[ of them| {things}|] away. "
        "How many {things} [are left|remain]?",
        "{A} [makes|finds] {b} {things} every day for {a} days and then [sells|loses] {c}. How many {things} [are "
        "left|remain]?",
    ),
    "more_total": (
        "{A} has {a} {things}[.| and] {B} has {b} more[ {things}|] than {A}. "
        "How many {things} do they have [together|in total|altogether]?",
        "{A} finds {a} {things}[.| and] {B} finds {b} more than [{A}|that]. "
        "How many {things} do they find [together|in total|altogether]?",
        "{A} buys {a} {things}[.| and] {B} buys {b} more than [{A}|that]. "
        "How many {things} do they buy [together|in total|altogether]?",
        "[{A}|A shop|A store|A farm] [finds|makes|sells|buys] {a} {things} {t1} and {b} more than that {t2}. "
        "How many {things} is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} more than that on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
    ),
    "fewer_total": (
        "{A} has {a} {things}[.| and] {B} has {b} fewer[ {things}|] than {A}. "
        "How many {things} do they have [together|in total|altogether]?",
        "{A} buys {a} {things}[.| and] {B} buys {b} fewer than [{A}|that]. "
        "How many {things} do they buy [together|in total|altogether]?",
        "[{A}|A shop|A store|A farm] [finds|makes|sells|buys] {a} {things} {t1} and {b} fewer[ than that|] {t2}. "
        "How many {things} is that in [all|total]?",
        "{A} [reads|writes] {a} pages {t1} and {b} fewer[ than that|] {t2}. How many pages is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} fewer than that on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
    ),
    "times_total": (
        "{A} has {a} {things}[.| and] {B} has {b} times as many[ as {A}|]. "
        "How many {things} do they have [together|in total|altogether]?",
        "{A} buys {a} {things}[.| and] {B} buys {b} times as many[ as {A}|]. "
        "How many {things} do they buy [together|in total|altogether]?",
        "[{A}|A shop|A store|A farm] [finds|makes|sells|buys] {a} {things} {t1} and {b} times as many {t2}. "
        "How many {things} is that in [all|total]?",
        "{A} [reads|writes] {a} pages {t1} and {b} times as many {t2}. How many pages is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} times as many on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
    ),
    "sub_div": (
        "{A} [has|buys|finds] {a} {things}[. {He} gives {b} to {B}|, but loses {b}|. {He} sells {b}][. {He} shares| "
        "and shares] "
        "the rest equally among {c} friends. How many {things} does [one|each] friend get?",
        "There are {a} {things}[ in a {box}| on the table|]. {A} takes {b}[ of them|][. Then| and|, and] {c} friends "
        "share the "
        "[rest|others] equally. How many {things} does [one|each] friend get?",
        "{A} has {a} {things}[, but loses {b}|. {B} takes {b}]. {A} puts the [rest|others] equally into {c} {boxes}. "
        "How many {things} are in [each|one] {box}?",
        "A [shop|store] has {a} {things} and sells {b}. The rest are split equally into {c} [groups|rows|piles]. "
        "How many {things} are in each [one|of them]?",
    ),
}  # fmt: skip

TEST: dict[str, tuple[str, ...]] = {
    "add": (
        "On Monday {A} has {a} {things}. On Tuesday {he} buys {b} more. How many {things} does {he} have in total?",
        "{A} puts {a} {things} in a {box}, and {B} puts {b} {things} in the same {box}. "
        "How many {things} are in the {box}?",
    ),
    "sub": (
        "{A} makes {a} {things} and sells {b} of them to a store. How many {things} does {A} still have?",
        "A {box} holds {a} {things}. {B} takes out {b}. How many {things} remain in the {box}?",
    ),
    "mul": (
        "A shop has {a} {boxes} with {b} {things} each. How many {things} does the shop have?",
        "{A} gets {a} dollars every day. How many dollars does {A} have in {b} days?",
    ),
    "div": (
        "There are {a} {things} for {b} friends. They share them equally. How many {things} does each friend get?",
        "{A} fills {b} {boxes} with {a} {things}, the same number in each {box}. "
        "How many {things} does one {box} hold?",
    ),
    "add_add": (
        "{A} puts {a} {things} on the table. Then {B} puts {b} there and {C} puts {c} there. "
        "How many {things} are on the table?",
        "A store sells {a} {things} in the morning, {b} in the afternoon and {c} in the evening. "
        "How many {things} is that in total?",
    ),
    "add_sub": (
        "{A} finds {a} {things} in the morning and {b} in the evening, but loses {c}. How many {things} are left?",
        "A shop has {a} {things}. It gets {b} more on Monday and sells {c} on Tuesday. "
        "How many {things} does it have now?",
    ),
    "sub_add": (
        "A {box} contains {a} {things}. {A} takes out {b} and {B} adds {c}. How many {things} are in the {box} now?",
        "{A} has {a} dollars. {He} spends {b} dollars on a game and then earns {c} dollars. "
        "How many dollars does {he} have now?",
    ),
    "sub_sub": (
        "{A} buys {a} {things}. {He} loses {b} on Monday and {c} on Tuesday. How many {things} does {he} still have?",
        "There are {a} people on a train. {b} people get off at one stop and {c} at the next. "
        "How many people are left?",
    ),
    "mul_add": (
        "A shop has {a} {boxes} of {b} {things} and {c} {things} on the shelf. "
        "How many {things} does it have in total?",
    ),
    "mul_sub": (
        "{A} has {a} {boxes}. Each {box} holds {b} {things}. {A} loses {c} {things}. How many {things} are left?",
    ),
    "more_total": (
        "{A} buys {a} {things} and {B} buys {b} more than {A}. How many {things} do they buy together?",
    ),
    "fewer_total": (
        "A shop sells {a} {things} in the morning and {b} fewer in the evening. How many {things} is that in all?",
    ),
    "times_total": (
        "{A} reads {a} pages on Saturday and {b} times as many on Sunday. How many pages is that in total?",
    ),
    "sub_div": (
        "There are {a} {things}. {A} takes {b}, and {c} friends share the rest equally. "
        "How many {things} does each friend get?",
    ),
}  # fmt: skip
