-- Do models prefer a letter, whatever stands behind it?
-- Benchmarks whose choices were perturbed: the clean prompt and each perturbation of the choices, one row per letter.
-- share: of the n_answered answers with a letter; ci: Wilson. gold_share: of the n items scored, how many have that
-- letter as gold answer; excess = share - gold_share. recall: of the n_gold items with that gold letter, the share
-- answered right.
WITH shown AS (
    SELECT cell_id, perturbation, family
    FROM _variants
    WHERE replicate = 0
        AND (clean OR contains(family, 'choices'))
        AND clean_id IN (SELECT clean_id FROM _variants WHERE contains(family, 'choices'))
),
given AS (
    SELECT cell_id, answer, gold, count(*) AS n
    FROM recorded
    JOIN shown USING (cell_id)
    WHERE replicate = 0 AND correct IS NOT NULL AND regexp_full_match(gold, '[A-J]')
    GROUP BY cell_id, answer, gold
),
letters AS (
    SELECT
        cell_id,
        letter,
        CAST(sum(n) FILTER (said) AS BIGINT) AS n_said,
        CAST(sum(n) FILTER (NOT said) AS BIGINT) AS n_gold
    FROM (
        SELECT cell_id, answer AS letter, n, true AS said FROM given WHERE regexp_full_match(answer, '[A-J]')
        UNION ALL
        SELECT cell_id, gold, n, false FROM given
    )
    GROUP BY cell_id, letter
),
totals AS (
    SELECT
        cell_id,
        CAST(sum(n) AS BIGINT) AS n,
        coalesce(CAST(sum(n) FILTER (regexp_full_match(answer, '[A-J]')) AS BIGINT), 0) AS n_answered,
        coalesce(CAST(sum(n) FILTER (answer = gold) AS BIGINT), 0) AS n_right
    FROM given
    GROUP BY cell_id
),
hits AS (
    SELECT cell_id, gold AS letter, CAST(sum(n) AS BIGINT) AS n_hit
    FROM given
    WHERE answer = gold
    GROUP BY cell_id, gold
),
counted AS MATERIALIZED (
    SELECT *, wilson(coalesce(n_said, 0), n_answered) AS ci
    FROM letters
    JOIN totals USING (cell_id)
    LEFT JOIN hits USING (cell_id, letter)
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    perturbation,
    family,
    letter,
    coalesce(n_said, 0) / nullif(n_answered, 0) AS share,
    ci.low AS ci_low,
    ci.high AS ci_high,
    n_answered,
    coalesce(n_gold, 0) / n AS gold_share,
    coalesce(n_said, 0) / nullif(n_answered, 0) - coalesce(n_gold, 0) / n AS excess,
    CASE WHEN n_gold > 0 THEN coalesce(n_hit, 0) / n_gold END AS recall,
    coalesce(n_gold, 0) AS n_gold,
    n_right / n AS accuracy,
    n
FROM counted
JOIN cells USING (cell_id)
JOIN shown USING (cell_id)
ORDER BY model, quantization, dtype, benchmark, prompt_style, taboo_rank, perturbation NULLS FIRST, perturbation_seed,
    sample_seed, letter
