"""`tlive run`: one evaluation process a variant, its run folder and journal."""
