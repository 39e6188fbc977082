-- Each pair of models under each perturbation, on the items scored for all models there and in the clean prompt.
-- first is ahead in the clean prompt, or else first by name. p_clean, p_perturbed: exact McNemar, where the order
-- reverses.
WITH rivals AS MATERIALIZED (FROM _rivals WHERE NOT clean AND n > 0),
pairs AS (
    SELECT
        a.rivals, a.variant_id, a.n,
        a.cell_id AS first_cell, b.cell_id AS second_cell,
        a.k_clean - b.k_clean AS clean_gap,
        a.k - b.k AS gap,
        bit_count(a.clean_correct & ~b.clean_correct & a.common) AS clean_first,
        bit_count(b.clean_correct & ~a.clean_correct & a.common) AS clean_second,
        bit_count(a.correct & ~b.correct & a.common) AS only_first,
        bit_count(b.correct & ~a.correct & a.common) AS only_second
    FROM rivals AS a
    JOIN rivals AS b USING (rivals, variant_id)
    WHERE a.k_clean > b.k_clean OR (a.k_clean = b.k_clean AND a.name < b.name)
)
SELECT
    *,
    clean_gap > 0 AND gap < 0 AS flipped,
    CASE WHEN clean_gap > 0 AND gap < 0 THEN mcnemar(clean_first, clean_second) END AS p_clean,
    CASE WHEN clean_gap > 0 AND gap < 0 THEN mcnemar(only_first, only_second) END AS p_perturbed
FROM pairs
