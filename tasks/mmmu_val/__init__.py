"""`mmmu_val`: college-level questions on figures, multiple choice and open."""
