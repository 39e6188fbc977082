"""English words that a single typing error makes out of another word: `cost` -> `coat`, `three` -> `there`. Lower case.

Found by making every typing error in the common words of the data sets this project asks; a typo must not make one of
these, because it would say something else.
"""

from __future__ import annotations

_LIST = """
acid action addition ads aid aids altitude angel angels angle angles apples aptitude are area arise arose assets
attemped avid back bad bade bags baked bakes baking bales ban band bands bank bans bar bard bare bars base based bases
bat bats bay beach bead beads beak beaks beams beans bearing bears beast beat beating beats bed beds bees begin begun
behavior being beings bend best bet bid bids bill bills bind binds bits bitter blast blot blow boast boat bolt bond
bonds bone bones book boom boon boot booth bore both bought bow boy brass breath bred breed bride bring brings brows
buds bugs bull bulls buns bus buses bush bushes bust but butter buy buys cab cabal cage cages cake came canal cannel cap
caps carbs card cards cares carp carries cars cart case cases cash cast casual cat cats causal cause cave caves chat
cheat chef chest chin choose chose closet cloths cloudy coal coast coat coats cod code coil cold collage color colors
coma come comes comic coming comma commands compete con concert cone cones cons consumes contact contacts contest
context convert cooked cooking cool cooled cooling cop cops core cost costs costumer cot counties county cover cow crabs
crate crates created cries cues cure cured curse cut cute dad dairy dare dared daring date dated dating dawn dead dear
deceased defect defective deletion den der derive derived des desert dessert detect detective dew diary did die dies
diet dime dine diner dirt disease disk divided doe does dome done door doors dot dove down dress drink drive drives
drooping dropping drove drunk dues dug dusk ears eat eats employees employers endure ensure eternal ether except excise
excuse exert exit exited exits explode explore face faced faces facing fade faded fades fading fail fairy fame fan far
fare fast fasts fat fate father fathers fats faulty favor favorite favors fed fee feed fees feet few fiber fiction field
fight fights filed files filing fill filled filling find finding finds finer fire fires firm firms fist fit flakes
flames flat fled flies fling floods floors flung foes fog foil fold fond food foods fool for form forms forth foul four
fries from fulfil full fund funded funding funds fur gain gains garage gave gay gene glad globe gloss glove glows god
gods goes gold good goods got gown grace grad grade grave grin groan gross grown grows guess had hail handed hard hare
has hash hast hat hate hated hath haul head heading heads hearing hears heat heated heating heed her herd hers hide
hides hiding higher hint hire hired hires hiring hit hither holds hole holes honesty honor hope hopes hot hue hunger
hunt hunted hunter hunting ideas identify identity idle immoral indicted infer inferior info ingesting insect inter
interior into investing isle jet joe kid kids kills kilos kiss lab labor lad lads lap lass last lat later latter laws
lay layer layers lean leaning led legs let lets lid lie lies life lighting liked line lined linger list lit liters
litres live lived liver lives living loading loafing lobe lobes log logs lone longer loose loosing lose loser loses loss
losses lost lot lots love loved lover loves loving lower lure lust lyre mad made main make maker makers makes male males
man march marching mare marital markers markets marry martial mary mass mast match matching mate math may meal meals
meat men mens mere met metal meter meters metres mid mile min miss mist mode mole money moor moral morality more
mortgage moss most moth move moves muse must naked named nay neat neighbor nest net neural neurons next nice nine node
non none nose offices once one overhead owed pace paced pain pains pan pants parent party patent path pause pay paying
pays pears pet pets petty phase photos pick pie piece pies pile piles pill pills pipe pipes pith place plan planing
plans plant plants plats plays pleading pleasing plot poet poets pole poles pom pond ponds popes port posed post posts
pot pots power pre precious previous price pride processor produces professor proper pull pulls pure purse quiet quit
quite quote rage raging rally ram ran rap rare rate rating rats rays red reference refuge refute relied rely rest
reverence rice ride rides riding rill rills ring ripe rise rises rising river rod rode rods role roll rolls root roots
rope rose roses rover ruby rude run rung runs sable sacred sad safe sage sake sale sales salt same sand sands sang sank
sap sat save saves say saying says scare scared seal seas seat sed seed seeds seeing seeking seeks seeming seems seen
sees self sell selling sells send sending sends sent serve served set sets shade shades shake shakes shame share shares
she shed shift shifts shine ship shipping ships shirt shirts shoe shoes shone shoot shoots shop shopping shops short
shorts shot shots show showing shows shut sick side siding sighs sight signing signs sin sing singing sings sins sir
sire sit site sits size sized skill skin skip skull sled slice slide slip sly snake snakes snow snowing snows soar socks
sod soft soil sold sole solider son song songs sons soon sooth sore sort soul sour sped speed spit splendor spot spots
spring sprung spur stage staged stages stain stand stands star stare stars started state stated states stating statue
statues status stay stayed staying steam steep stem step stick sticks sting stir stock stocks stores story strange
stride strife strike string strive stroke strong stuck subset suck sue sued suit sums sun sung suns sunset super supper
sure swing swung tables tack tail tails take takes taking tale tales tank tanks tap tat teaches tech ten tend tends tens
ter test tests text texts the there therein thereon this though three through thus thy tick ticks tide tides tie tied
tier ties tile tiles tin tip tips tire tired tires toe toil toils tons tool tools tops torn tough trace traced trade
traded trail trails traveled travelled tread treat treats tree trial trials trick tricks tried tries truck trucks try
tube tubs tune twin uses vale van vice vie violet viral vital votes wad wage wages waking walks walls wan war warming
warning wars warts was watts wave waves waving wed weighs were wet what while whole wide widow wife wins wire wise wit
with woe won word words wore works worms write wrote
"""

SLIP_WORDS = frozenset(_LIST.split())
