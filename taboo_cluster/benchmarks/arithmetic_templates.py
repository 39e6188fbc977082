"""The words of the arithmetic benchmark: names, things, formulas and story templates of both splits.

A template's slots: {a} {b} {c} operands; {A} {B} {C} people; {he} {him} {his} (and capitalised) for A; {things}
countable; {box} {boxes} a container; [x|y] one of the alternatives. Every question reads "How many UNIT ..." or
"How many more UNIT ...". No test template, alternatives chosen in any way, is a training template.
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
        "{A} has {a} {things}. [{B}|A friend|{His} sister|{His} brother] gives {him} {b} more. "
        "How many {things} does {A} have [now|in total|altogether]?",
        "{A} [finds|collects|buys|makes] {a} {things} on [Monday|Saturday] and {b} {things} on [Tuesday|Sunday]. "
        "How many {things} is that in [all|total]?",
        "There are {a} {things} on the [table|shelf|floor]. {A} puts {b} more {things} [there|next to them]. "
        "How many {things} are there [now|in total]?",
        "{A} has {a} {things} and {B} has {b} [{things}|]. How many {things} do they have [together|in total]?",
        "A {box} [holds|contains] {a} {things}. {A} adds {b} [more|other] {things}. "
        "How many {things} are in the {box} [now|]?",
        "{A} has {a} {things}. {B} has {b} more [{things}|] than {A}. How many {things} does {B} have?",
        "{A} [read|wrote] {a} pages [yesterday|in the morning] and {b} pages [today|in the evening]. "
        "How many pages is that in [all|total]?",
        "{A} pays {a} dollars for a [hat|book|lamp] and {b} dollars for a [bag|shirt|game]. "
        "How many dollars does {A} [pay|spend] [in total|altogether|]?",
        "[On Saturday|In the morning] {A} [finds|makes] {a} {things}. [On Sunday|In the evening] "
        "{he} [finds|buys|gets] "
        "{b} more. How many {things} does {A} have [in total|now|altogether]?",
        "{A} and {B} put {things} into the same {box}. {A} puts in {a} and {B} puts in {b}. "
        "How many {things} are in the {box} [now|]?",
        "{A} puts {a} {things} into a {box}. {B} puts in {b} more. How many {things} are in the {box} [now|]?",
        "A [shop|store] sells {a} {things} in the morning and {b} [{things}|] in the evening. "
        "How many {things} does it sell in [all|total]?",
        "{A} [finds|buys] {a} {things} on Monday. On Tuesday {he} [finds|gets] {b} more. "
        "How many {things} does {he} have [now|in total]?",
        "[At first|In the morning] {A} has {a} {things}. Then {he} [buys|gets|finds] {b} more. "
        "How many {things} does {he} have [now|in total]?",
        "{A} has {a} {things} on [Friday|Saturday]. On Sunday {B} gives {him} {b} more. "
        "How many {things} does {A} have [now|in total]?",
    ),
    "sub": (
        "{A} has {a} {things}. {He} [gives|sells|sends] {b} {things} to {B}. "
        "How many {things} does {A} have [left|now]?",
        "There are {a} {things} in a {box}. {A} takes {b} [of them|{things}] [out|away]. "
        "How many {things} are [left|left in the {box}|in the {box} now]?",
        "{A} had {a} {things} but lost {b} [of them|{things}|]. How many {things} does {he} [still|] have?",
        "{A} has {a} {things} and {B} has {b} [{things}|]. How many more {things} does {A} have than {B}?",
        "{A} has {a} {things}. {B} has {b} fewer [{things}|] than {A}. How many {things} does {B} have?",
        "{A} needs {a} {things} and [already|] has {b}. How many more {things} does {A} [need|have to find]?",
        "A [shop|store] has {a} {things} and sells {b} [of them|] [on Monday|today]. How many {things} remain?",
        "{A} has {a} dollars and spends {b} dollars on a [hat|book|game]. How many dollars [are left|remain]?",
        "{A} [makes|buys|finds] {a} {things} and [gives|sends] {b} of them to {B}. "
        "How many {things} does {A} [still have|have left]?",
        "A {box} [contains|has] {a} {things}. {A} takes [out|away] {b} [of them|]. "
        "How many {things} are [left|in it now]?",
    ),
    "mul": (
        "{A} has {a} {boxes}. Each {box} [has|holds|contains] {b} {things}. "
        "How many {things} [are there|does {A} have] in [all|total]?",
        "There are {b} {things} in each {box}. How many {things} are [there|] in {a} {boxes}?",
        "{A} buys {a} {things}. Each one costs {b} dollars. How many dollars does {he} [pay|spend]?",
        "{A} [makes|finds|sells] {a} {things} every day. How many {things} is that in {b} days?",
        "{A} has {a} {things}. {B} has {b} times as many. How many {things} does {B} have?",
        "There are {a} rows [of|with] {b} {things} [each|in each row]. How many {things} are there [in total|]?",
        "A [farm|school] has {a} {boxes} [of|with] {b} {things} [each|in each {box}]. "
        "How many {things} [is that|are there] [in total|]?",
        "{A} [earns|saves] {a} dollars [every day|each day]. How many dollars is that in {b} days?",
        "{A} gets {b} {things} [every day|each day]. How many {things} does {A} have [after|in] {a} days?",
        "{A} fills {a} {boxes} with {b} {things} each. How many {things} does {he} [need|use]?",
    ),
    "div": (
        "{A} shares {a} {things} equally among {b} friends. How many {things} does each friend get?",
        "{A} puts {a} {things} into {b} {boxes} with the same number in each. "
        "How many {things} are in [each|one] {box}?",
        "{A} has {a} {things}. {He} puts {b} {things} in each {box}. How many {boxes} does {he} [need|fill]?",
        "{A} [divides|splits] {a} {things} equally into {b} [groups|rows|piles]. "
        "How many {things} are in each [one|of them]?",
        "{A} pays {a} dollars for {b} {things}. How many dollars does one of them cost?",
        "There are {a} {things} and {b} friends. [The friends|They] share [the {things}|all of them] equally. "
        "How many {things} does [one|each] friend get?",
        "{b} friends share {a} {things} equally. How many {things} does [one|each] friend get?",
        "{A} has {b} {boxes} for {a} {things}. Each {box} gets the same number. "
        "How many {things} [are|does {he} put] in [each|one] {box}?",
        "{b} {boxes} hold {a} {things}, the same number in each. How many {things} are in [each|one] {box}?",
        "{A} has {a} {things} for {b} friends. [Each friend gets|All friends get] the same number. "
        "How many {things} does [one|each] friend get?",
        "There are {a} {things} for {b} {boxes}. Each {box} gets the same number. "
        "How many {things} are in [each|one] {box}?",
        "{A} packs {b} {boxes} with {a} {things} in [all|total], the same number in [each|every] {box}. "
        "How many {things} are in [each|one] {box}?",
        "{A} fills {b} {boxes} equally and uses {a} {things}. How many {things} does [each|one] {box} hold?",
    ),
    "add_add": (
        "{A} has {a} {things}, {B} has {b} and {C} has {c}. How many {things} do they have [together|in total]?",
        "{A} [finds|collects|buys] {a} {things} on Monday, {b} on Tuesday and {c} on Wednesday. "
        "How many {things} is that in [all|total]?",
        "{A} has {a} {things}. {B} gives {him} {b} more and {C} gives {him} {c} [more|]. "
        "How many {things} does {A} have [now|in total]?",
        "A {box} [holds|contains] {a} {things}. {A} adds {b} {things} and then {c} more. "
        "How many {things} are in the {box} [now|]?",
        "{A} has {a} red, {b} blue and {c} green {things}. How many {things} does {A} have in [all|total]?",
        "{A} sells {a} {things} on Monday, {b} on Tuesday and {c} on Wednesday. "
        "How many {things} does {he} sell in [all|total]?",
        "{A} [reads|writes] {a} pages in the morning, {b} in the afternoon and {c} in the evening. "
        "How many pages is that in [all|total]?",
        "{A} puts {a} {things} into a {box}. Then {B} [adds|puts in] {b} and {C} [adds|puts in] {c}. "
        "How many {things} are in the {box} [now|]?",
    ),
    "add_sub": (
        "{A} has {a} {things}. {He} [buys|finds|gets] {b} more and then [gives|sells] {c} to {B}. "
        "How many {things} does {A} have [left|now]?",
        "There are {a} {things} in a {box}. {A} puts in {b} more and {B} takes out {c}. "
        "How many {things} are in the {box} now?",
        "There are {a} people on a [bus|train]. At the next stop {b} people get on and {c} [people|] get off. "
        "How many people are [there|on it] now?",
        "{A} has {a} red {things} and {b} blue {things}. {He} loses {c} of them. "
        "How many {things} does {he} [still|] have?",
        "{A} [earns|gets] {a} dollars on Monday and {b} dollars on Tuesday. {He} spends {c} dollars. "
        "How many dollars are left?",
        "{A} [makes|finds|buys] {a} {things} on Monday and {b} on Tuesday, but [sells|loses] {c} on Wednesday. "
        "How many {things} does {he} [have left|still have]?",
        "A [farm|school] has {a} {things}, gets {b} more and [loses|sells] {c}. "
        "How many {things} does it have [now|left]?",
        "A [shop|store] has {a} {things}. In the morning it buys {b} more and in the evening it sells {c}. "
        "How many {things} are [left|there now]?",
        "{A} has {a} {things}. {He} [finds|buys] {b} more on Saturday and loses {c} on Sunday. "
        "How many {things} does {he} have [left|now]?",
        "A [farm|school] has {a} {things}. It [buys|makes] {b} more in the morning and [sells|loses] {c} "
        "in the evening. "
        "How many {things} [are left|does it have left]?",
    ),
    "sub_add": (
        "{A} has {a} {things}. {He} [gives|sells] {b} to {B} and then [buys|finds|gets] {c} more. "
        "How many {things} does {A} have now?",
        "There are {a} people on a [bus|train]. At the next stop {b} [people|] get off and {c} people get on. "
        "How many people are [there|on it] now?",
        "There are {a} {things} on the [table|shelf]. {A} takes {b} away and {B} puts {c} more there. "
        "How many {things} are there now?",
        "{A} had {a} {things} but lost {b} [of them|]. Then {B} gave {him} {c}. "
        "How many {things} does {A} have [now|in total]?",
        "There are {a} {things} in a {box}. {A} takes [out|away] {b} and then {B} [puts in|adds] {c}. "
        "How many {things} are in the {box} now?",
        "{A} has {a} dollars. {He} pays {b} dollars for a [hat|book] and then [gets|earns] {c} dollars. "
        "How many dollars does {A} have now?",
        "A {box} [holds|has] {a} {things}. {A} takes out {b}, then {he} [adds|puts in] {c}. "
        "How many {things} are [there|in it] now?",
    ),
    "sub_sub": (
        "{A} has {a} {things}. {He} gives {b} to {B} and {c} to {C}. How many {things} does {A} have [left|now]?",
        "A [shop|store] has {a} {things}. It sells {b} in the morning and {c} in the [afternoon|evening]. "
        "How many {things} [remain|are left]?",
        "{A} has {a} dollars. {He} spends {b} dollars on a [hat|book] and {c} dollars on a [bag|game]. "
        "How many dollars [are left|remain]?",
        "There are {a} {things} in a {box}. {A} takes {b} [of them|] and {B} takes {c}. "
        "How many {things} are [left|in the {box} now]?",
        "{A} [finds|makes] {a} {things}. {He} [loses|sells] {b} in the morning and {c} in the evening. "
        "How many {things} does {A} [have left|still have]?",
        "There are {a} people on a [bus|train]. At the first stop {b} [people|] get off and {c} [people|] get off "
        "at the next stop. How many people are [there|on it] now?",
        "{A} buys {a} {things}, but loses {b} and [gives|sells] {c} to {B}. How many {things} are left?",
    ),
    "mul_add": (
        "{A} has {a} {boxes} with {b} {things} [each|in each {box}] and {c} [more|other] {things}. "
        "How many {things} does {A} have in [all|total]?",
        "{A} buys {a} {boxes} of {b} {things}. {B} gives {him} {c} more. How many {things} does {A} have now?",
        "{A} buys {a} {things} for {b} dollars each and a [hat|lamp|bag] for {c} dollars. "
        "How many dollars does {A} [pay|spend] [in total|altogether|]?",
        "There are {a} rows of {b} {things} and {c} more on the [floor|table]. "
        "How many {things} are there [in total|altogether]?",
        "A [farm|school] has {a} {boxes} with {b} {things} [each|in each] and {c} {things} on the [table|floor]. "
        "How many {things} [is that|are there] in [all|total]?",
        "There are {a} {boxes} of {b} {things} and {c} [more|other] {things} on the shelf. "
        "How many {things} are there [in total|altogether]?",
    ),
    "mul_sub": (
        "{A} has {a} {boxes} with {b} {things} [each|in each {box}]. {He} [gives|sells] {c} {things} to {B}. "
        "How many {things} does {A} have [left|now]?",
        "{A} buys {a} {boxes} of {b} {things} but loses {c} [of them|{things}]. "
        "How many {things} does {he} [still|] have?",
        "There are {a} rows of {b} {things}. {A} takes {c} [of them|] away. How many {things} are left?",
        "{A} [makes|finds] {b} {things} every day for {a} days and then sells {c}. "
        "How many {things} [are left|remain]?",
        "There are {a} {boxes} [of|with] {b} {things} [each|]. {A} takes [away|out] {c} {things}. "
        "How many {things} [are left|remain]?",
        "{A} has {a} {boxes}. There are {b} {things} in each {box}. {He} [sells|loses] {c} [of them|{things}]. "
        "How many {things} does {he} have [left|now]?",
        "{A} fills {a} {boxes} with {b} {things} each. {He} [sells|loses] {c} {things}. "
        "How many {things} does {he} have [left|now]?",
    ),
    "more_total": (
        "{A} has {a} {things}. {B} has {b} more [{things}|] than {A}. "
        "How many {things} do they have [together|in total]?",
        "{A} [finds|makes] {a} {things} on Monday and {b} more than that on Tuesday. "
        "How many {things} is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} more than that on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
        "{A} finds {a} {things} and {B} finds {b} more than {A}. How many {things} do they find [together|in total]?",
        "{A} makes {a} {things} and {B} makes {b} more [than that|]. "
        "How many {things} do they make [together|in total]?",
        "A [shop|store] sells {a} {things} on Saturday and {b} more than that on Sunday. "
        "How many {things} does it sell in [all|total]?",
    ),
    "fewer_total": (
        "{A} has {a} {things}. {B} has {b} fewer [{things}|] than {A}. "
        "How many {things} do they have [together|in total]?",
        "{A} [finds|makes] {a} {things} on Monday and {b} fewer than that on Tuesday. "
        "How many {things} is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} fewer than that on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
        "A [shop|store] sells {a} {things} on Saturday and {b} fewer on Sunday. "
        "How many {things} does it sell in [all|total]?",
        "{A} reads {a} pages in the morning and {b} fewer in the evening. How many pages is that in [all|total]?",
        "{A} buys {a} {things} and {B} buys {b} fewer than {A}. How many {things} do they buy [together|in total]?",
    ),
    "times_total": (
        "{A} has {a} {things}. {B} has {b} times as many [as {A}|]. "
        "How many {things} do they have [together|in total]?",
        "{A} [finds|makes] {a} {things} on Monday and {b} times as many on Tuesday. "
        "How many {things} is that in [all|total]?",
        "There are {a} {things} in a {box} and {b} times as many on the [table|shelf]. "
        "How many {things} are there [in total|altogether]?",
        "{A} reads {a} pages in the morning and {b} times as many in the evening. "
        "How many pages [is that in total|does {he} read]?",
        "A [shop|store] sells {a} {things} on Saturday and {b} times as many on Sunday. "
        "How many {things} does it sell in [all|total]?",
        "{A} buys {a} {things} and {B} buys {b} times as many. How many {things} do they buy [together|in total]?",
    ),
    "sub_div": (
        "{A} has {a} {things}. {He} gives {b} to {B} and shares the rest equally among {c} friends. "
        "How many {things} does each friend get?",
        "{A} has {a} {things} but loses {b} [of them|]. {He} puts the [rest|others] equally into {c} {boxes}. "
        "How many {things} are in [each|one] {box}?",
        "A [shop|store] has {a} {things} and sells {b}. The rest are split equally into {c} [groups|rows|piles]. "
        "How many {things} are in each [one|of them]?",
        "There are {a} {things} in a {box}. {A} takes {b}. Then {c} friends share the rest equally. "
        "How many {things} does each [friend|of them] get?",
        "There are {a} {things} on the table. {A} takes {b}. The rest are shared equally among {c} friends. "
        "How many {things} does [one|each] friend get?",
        "{A} has {a} {things}. {B} takes {b}, and {A} puts the rest equally into {c} {boxes}. "
        "How many {things} are in [each|one] {box}?",
    ),
}

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
