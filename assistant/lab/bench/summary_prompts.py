"""Texts with a summary of one sentence, written for this, as in XSum (Narayan et al. 2018)."""

from assistant.lab.bench.questions import SUMMARISE, Question

_TEXTS: tuple[tuple[str, str, str], ...] = (
    (
        "bridge",
        "The town council of Harlow Ferry met on Tuesday to decide what becomes of the stone "
        "bridge. In spring, engineers had found cracks in two of its five pillars, and lorries "
        "have had to take a detour of forty minutes since. Mending the pillars would take a year "
        "and close the road to the market. The council voted, seven to two, to build a crossing of "
        "steel beside the old bridge first, and to begin the repairs when it is open. The work is "
        "to cost three million, half of which the county has promised to pay.",
        "The council of Harlow Ferry will build a steel crossing before the cracked stone bridge "
        "is repaired.",
    ),
    (
        "library",
        "For eleven years the library bus has stopped in Netherby on Thursdays. Now its engine is "
        "beyond repair, and the county says that a new bus would cost more than the books that it "
        "carries. Readers have not given up: within two weeks they have collected nine thousand "
        "signatures and the offer of a farmer, who wants to lend his barn as a reading room. The "
        "county will decide in May. Until then, a volunteer brings books in the back of her van.",
        "Readers in Netherby are fighting to keep their library service after its bus broke down "
        "for good.",
    ),
    (
        "bees",
        "Biologists who followed four hundred bumblebees with tiny transmitters report that the "
        "insects sleep less when they have brood to look after. Nurses that cared for larvae slept "
        "a third less than others, and did so without any loss in how well they found food next "
        "day. When the brood was taken away, they slept as long as the rest. What tells them to "
        "stay awake seems to be a scent, since empty cocoons kept them up as well.",
        "Bumblebees sleep less while they care for brood, a study has found.",
    ),
    (
        "ferry",
        "The night ferry to Storholm will not sail this winter. The company says that it lost two "
        "crew members in ten to better-paid work on the wind farms, and that it cannot keep the "
        "boat safe with those who are left. Islanders who work on the mainland will have to take "
        "the last boat at half past six. Their mayor calls that the end of every evening shift. "
        "The company hopes to sail again in April, when a new class leaves the seamen's school.",
        "The night ferry to Storholm is cancelled for the winter because the company lacks crew.",
    ),
    (
        "orchard",
        "When Ines Ferreira took over her grandfather's orchard, she counted thirty-one kinds of "
        "apples that no list named. She sent leaves of them all to a laboratory. Nineteen turned "
        "out to be known kinds under local names, but twelve had never been described. Four of "
        "them resist the scab that forces other growers to spray every ten days. Two nurseries "
        "have asked for cuttings; she gives them away, on the condition that nobody patents them.",
        "A grower has found twelve unknown kinds of apples in her grandfather's orchard, some of "
        "which resist disease.",
    ),
    (
        "clock",
        "The clock of Saint Alban's has struck thirteen at one in the morning for as long as "
        "anybody can remember. A student of engineering has now found out why: a tooth of the "
        "striking wheel was replaced in 1802 by one that is a hair too long. He offered to file it "
        "down. In a vote, four fifths of the parish asked him to leave it alone, and the priest "
        "has since had the story printed on a postcard, which pays for the oiling of the clock.",
        "A parish has voted to keep its clock striking thirteen after a student found the fault.",
    ),
)

SUMMARIES = tuple(
    Question(f"summary/{name}", "summary", SUMMARISE.format(text=text), summary)
    for name, text, summary in _TEXTS
)
