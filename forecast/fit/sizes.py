"""How much is worked on together, when a search ends and when two optima are one: numbers that a fit's modules share.

How large a table is changes how fast something is computed and never what.
"""

#: Numbers in one of several tables that a step goes over again and again: together they stay in a core's cache.
CACHE_ELEMENTS = 30_720
#: Numbers in the one table of some fits that a step goes over: it stays in a core's cache.
CHUNK_ELEMENTS = 100_000
#: Numbers in a table that is made once and read once: tens of megabytes, beyond which nothing gets faster.
TABLE_ELEMENTS = 2_000_000
#: Two solutions whose objectives differ by less than this share are the same optimum.
OPTIMUM_RTOL = 1e-6
#: Where there are many solutions, one has arrived when a step lowers its objective by less than this share.
STEP_TOLERANCE = 1e-12
#: A last step that promises less than this share is taken without looking: what is then missing is its square, far
#: below what an interval can show.
UNCHECKED_STEP_TOLERANCE = 3e-10
