"""How much is worked on together, and when two optima are one: numbers that several modules of a fit share.

How large a table is changes how fast something is computed and never what.
"""

__all__ = ["CACHE_ELEMENTS", "CHUNK_ELEMENTS", "OPTIMUM_RTOL", "TABLE_ELEMENTS"]

#: Numbers in one of several tables that a step goes over again and again: together they stay in a core's cache.
CACHE_ELEMENTS = 30_720
#: Numbers in the one table of some fits that a step goes over: it stays in a core's cache.
CHUNK_ELEMENTS = 100_000
#: Numbers in a table that is made once and read once: tens of megabytes, beyond which nothing gets faster.
TABLE_ELEMENTS = 2_000_000
#: Two solutions whose objectives differ by less than this share are the same optimum.
OPTIMUM_RTOL = 1e-6
