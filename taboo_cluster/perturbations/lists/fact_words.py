"""English words that an answer hangs on: numbers, units, amounts, negations, comparisons. In lower case."""

from __future__ import annotations

_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions
billion billions trillion dozen dozens score scores pair pairs couple half halves third thirds quarter quarters fourth
fifth sixth seventh eighth ninth tenth first second once twice thrice double doubled triple tripled quadruple single
"""

_UNITS = """
second seconds minute minutes hour hours day days week weeks month months year years decade decades century centuries
daily weekly monthly yearly annually hourly
meter meters metre metres kilometer kilometers kilometre kilometres centimeter centimeters centimetre centimetres
millimeter millimeters millimetre millimetres mile miles yard yards foot feet inch inches acre acres hectare hectares
gram grams gramme grammes kilogram kilograms milligram milligrams ton tons tonne tonnes pound pounds ounce ounces
liter liters litre litres milliliter milliliters millilitre millilitres gallon gallons quart quarts pint pints cup cups
tablespoon tablespoons teaspoon teaspoons barrel barrels
dollar dollars cent cents penny pennies nickel nickels dime dimes euro euros percent percentage percentages
degree degrees radian radians kelvin celsius fahrenheit volt volts ampere amperes amp amps ohm ohms watt watts kilowatt
kilowatts joule joules newton newtons pascal pascals hertz mole moles molar coulomb coulombs tesla teslas farad farads
mph kph kmh rpm ppm
bit bits byte bytes kilobyte kilobytes megabyte megabytes gigabyte gigabytes
"""

_AMOUNTS = """
all any both each either every few half many more most much neither none several some enough only
less fewer least than greater larger smaller equal equally same different another other others
times per total altogether remaining rest
"""

_DENIALS = """
no not nor never none nothing nobody nowhere neither without cannot except excluding unless hardly barely scarcely
false true incorrect incorrectly untrue unlike
"""

FACT_WORDS = frozenset(f"{_NUMBERS} {_UNITS} {_AMOUNTS} {_DENIALS}".split())

_UNIT_SIGNS = """
s ms us ns min h hr hrs d wk yr yrs am pm m km cm mm um nm mi yd ft in g kg mg ug lb lbs oz t l ml dl cl gal qt pt tbsp
tsp mol cal kcal cc rad deg bp
"""

UNIT_SIGNS = frozenset(_UNIT_SIGNS.split())
"""Short forms of units, which are units only behind a number."""
