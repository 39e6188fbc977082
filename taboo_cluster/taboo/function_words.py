"""English function words, a fixed list: the closed classes of any grammar of English, in lower case."""

from __future__ import annotations

_LIST = """
a an the this that these those such another each every either neither both all any some no none few many much more most
several enough half
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we us our
ours ourselves they them their theirs themselves one ones oneself who whom whose which what whoever whatever whichever
someone somebody something anyone anybody anything everyone everybody everything nobody nothing
am is are was were be been being do does did doing done have has had having will would shall should can could may might
must ought need dare used
of in on at by for with from to into onto upon over under above below between among through during before after about
against across along around behind beside besides beyond near off out up down within without toward towards until till
since per via despite except like unlike than as
and or but nor yet so if then else because although though while whereas unless whether once when whenever where
wherever why how however therefore thus hence
not never here there now just only also too very quite rather even still again ever
don doesn didn isn aren wasn weren haven hasn hadn won wouldn shouldn couldn mustn ain
"""

FUNCTION_WORDS = frozenset(_LIST.split())
