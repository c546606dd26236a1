"""The solver's memory: one flat array, so that a kernel hands it on as one argument.

It holds the question asked, the stack of the search, what is known of every owner string (see
`strings`) and the table of results. Its length is all the memory that the solver ever uses.

Inside the solver a card is `16 * suit + rank`: each suit has a lane of 16 bits in a word. Player 0
is the caller. A *lane of ranks* is read relatively: its bits are the cards of the suit that are
still there, lowest first, whatever their rank, so that equal positions have equal words.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.cards import Words
from tricktable_env.tableau.solver.strings import STRING_WORDS, fill_strings

# -- the header ------------------------------------------------------------------------------
NODES = 0  # positions expanded since the memory was made
LIMIT = 1  # the count of nodes at which a search is suspended
SUSPENDED = 2  # 1 while a search waits to be continued
DEPTH = 3  # the depth at which it waits
STRAIN = 4  # the trump suit, or NO_TRUMP
STRAIN_KEY = 5  # what it adds to a key
AGE = 6  # counts the positions asked about, 1 to 255: results of earlier ones give way first
LAST_BUCKET = 7  # number of buckets - 1
ROOT = 8  # [6] the position asked about, OWN to LEADER of a frame
UNDER = 16  # [64] the card under each covering card
ONLY = 80  # of the search that waits: the only lead it was asked about

# -- the stack: a frame a trick, its leads, the replies to them ------------------------------
FRAMES, FRAME = 88, 16
LEADS, LEAD = FRAMES + 27 * FRAME, 2  # at most 26 + 25 + ... + 1 records
REPLIES, REPLY = LEADS + 352 * LEAD, 8  # at most 26^2 + 25^2 + ... + 1
STRINGS = REPLIES + 6208 * REPLY
TABLE = STRINGS + STRING_WORDS
ENTRY, WAYS = 2, 4  # words of an entry, entries of a bucket

# -- a frame; the first seven words are also a reply's ----------------------------------------
OWN = 0  # [2] all cards of each player
HIDDEN = 2  # those that lie face down
COVERS = 3  # those that lie on one
RANKS = 4  # lanes: who owns each card that is still there; above the highest a 1 as an end
LEADER = 5  # who leads (bit 0), and CHECK: bits of a second key, but in ROOT
KEY = 6  # the position's key in the table
GOAL = 7  # the question: does player 0 take that many of the tricks left?
BASE = 8  # its first lead record
COUNT = 9  # number of its leads
CURRENT = 10  # record of the lead whose replies are searched, or NONE
FREE = 11  # the first reply record that no frame uses yet
OPEN = 12  # replies to the current lead that are not searched yet
BEST = 13  # the lead that proved the last question about this position, or NONE
SCORE = 7  # of a reply: how promising it is, in 64ths of a trick

NONE = np.uint64(255)
CHECK = np.uint64(0xFFFFFFFF00000000)
LANE = np.uint64(0x7FFF)

MAX_ENTRIES = 1 << 30


class TableSizeError(ValueError):
    """A number of table entries that can't be."""


def new_memory(entries: int = 1 << 16) -> Words:
    """Makes the solver's memory with an empty table.

    The size changes how long the solver takes, never what it answers. Results stay in the table
    until others push them out, and hold for every position: keep the memory to reuse them.

    Args:
        entries: results that the table holds, 16 bytes each; a power of two from 4 to 2^30. The
            rest takes 0.5 MiB. What suits: 2^12 at 12 tricks left, 2^16 at 16, 2^20 at 20, 2^24
            for a whole deal.

    Returns:
        `[TABLE + 2 x entries] uint64`.

    Raises:
        TableSizeError: no such number of entries.
    """
    if not 4 <= entries <= MAX_ENTRIES or entries & (entries - 1):
        raise TableSizeError(f"entries={entries!r} is not a power of two from 4 to 2^30")
    words = TABLE + entries * ENTRY
    block = np.zeros(words + 8, np.uint64)
    first = -(block.ctypes.data // 8) % 8  # a bucket is one line of the processor's cache
    memory = block[first : first + words]
    fill_strings(memory[STRINGS:TABLE])
    memory[LAST_BUCKET] = entries // WAYS - 1
    memory[AGE] = 1
    return memory
