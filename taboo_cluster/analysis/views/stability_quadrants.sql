-- Which items are right and stable, right and fragile, wrong and stubborn, or wrong and uncertain?
-- One row per model, benchmark, prompt style and quadrant. An item is right where at least half of its variants are (the
-- clean prompt and every perturbed one, greedy, no taboo), its bound high where tcb_answer of the clean prompt is at
-- least the median of these items. robust: right and high, fragile: right and low, stubborn: wrong and high, uncertain:
-- wrong and low, unknown: no bound (the wrong answer may have had no single place), or no variant scored. share: of all
-- n_items; ci: Wilson. accuracy: mean over variants; n_variants: variants scored of an item, on average; flip_rate: of
-- the perturbed trials of the quadrant's items, how many are not as the clean one; taboo_retention: of its items right
-- in the clean prompt, the share still right at the lowest rank above 0 (n_taboo of them).
WITH items AS MATERIALIZED (FROM _quadrants),
trials AS (
    SELECT
        i.baseline_id,
        i.quadrant,
        i.clean,
        r.correct,
        len(r.perturbations) > 0 AS perturbed,
        coalesce(r.taboo_rank, 0) AS rank
    FROM items AS i
    JOIN recorded AS r USING (baseline_id, item_id)
    WHERE r.replicate = 0 AND r.correct IS NOT NULL AND coalesce(r.temperature, 0) = 0
),
lowest AS (
    SELECT baseline_id, min(rank) AS least FROM trials WHERE rank > 0 GROUP BY baseline_id
),
flips AS (
    SELECT
        baseline_id,
        quadrant,
        count(*) FILTER (perturbed AND rank = 0 AND clean IS NOT NULL) AS n_perturbed,
        count(*) FILTER (perturbed AND rank = 0 AND correct <> clean) AS n_flipped,
        count(*) FILTER (NOT perturbed AND rank = least AND clean) AS n_taboo,
        count(*) FILTER (NOT perturbed AND rank = least AND clean AND correct) AS n_retained
    FROM trials
    LEFT JOIN lowest USING (baseline_id)
    GROUP BY baseline_id, quadrant
),
counted AS MATERIALIZED (
    SELECT
        baseline_id,
        quadrant,
        count(*) AS n,
        avg(accuracy) AS accuracy,
        avg(n_variants) AS n_variants,
        exp(avg(ln(tcb_answer))) AS tcb_answer,
        any_value(middle) AS tcb_median,
        sum(count(*)) OVER (PARTITION BY baseline_id) AS n_items
    FROM items
    GROUP BY baseline_id, quadrant
),
with_ci AS MATERIALIZED (SELECT *, wilson(n, CAST(n_items AS BIGINT)) AS ci FROM counted)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, condition, perturbations, perturbation_seed,
                     fragment_p, taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
                     sample_seed),
    quadrant,
    n / n_items AS share,
    ci.low AS ci_low,
    ci.high AS ci_high,
    n,
    CAST(n_items AS BIGINT) AS n_items,
    accuracy,
    n_variants,
    tcb_answer,
    tcb_median,
    n_flipped / nullif(n_perturbed, 0) AS flip_rate,
    coalesce(n_perturbed, 0) AS n_perturbed,
    n_retained / nullif(n_taboo, 0) AS taboo_retention,
    coalesce(n_taboo, 0) AS n_taboo
FROM with_ci
LEFT JOIN flips USING (baseline_id, quadrant)
JOIN cells ON cells.baseline_id = with_ci.baseline_id AND cells.is_baseline
ORDER BY model, model_revision, quantization, dtype, benchmark, prompt_style, n_shots,
    list_position(['robust', 'fragile', 'stubborn', 'uncertain', 'unknown'], quadrant)
