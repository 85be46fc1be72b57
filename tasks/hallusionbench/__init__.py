"""`hallusionbench`: yes/no questions on figures that mislead, scored by answer, figure and question."""
