-- Does the bound of the undisturbed trial tell which right answers flip, better than simpler numbers do?
-- One row per model, benchmark, prompt style, kind of disturbance and predictor. kind: `perturbation` (every perturbed
-- cell without taboo, pooled) or `taboo` (the cells of one taboo_rank without perturbation, pooled); greedy. Of the n
-- trials whose item is right in the baseline and has all numbers there, n_flips are wrong. auroc: the probability that
-- one that flips scores higher than one that stays, ties counting 1/2; null with one class. A flip is expected where tcb
-- (ln of tcb_answer), margin, top1 and flip_radius are low and entropy is high. delta: that minus the best of the other
-- predictors. ci: bootstrap over items (the best of the others chosen anew in each resample). n_unknown: trials of
-- items right in the baseline whose probe lacks a number.
WITH bounds AS (
    SELECT
        baseline_id, item_id, ln(tcb_answer) AS tcb, entropy_answer AS entropy, margin_answer AS margin,
        top1_answer AS top1, flip_radius_answer AS flip_radius
    FROM _probed
    WHERE is_baseline AND correct
),
disturbed AS (
    SELECT
        r.baseline_id,
        r.item_id,
        r.cluster_id,
        CASE WHEN len(r.perturbations) > 0 THEN 'perturbation' ELSE 'taboo' END AS kind,
        nullif(coalesce(r.taboo_rank, 0), 0) AS taboo_rank,
        NOT r.correct AS flipped
    FROM recorded AS r
    WHERE r.replicate = 0 AND NOT r.is_baseline AND r.correct IS NOT NULL AND coalesce(r.temperature, 0) = 0
        AND (coalesce(len(r.perturbations), 0) = 0) <> (coalesce(r.taboo_rank, 0) = 0)
),
joined AS MATERIALIZED (
    SELECT *, tcb IS NOT NULL AND entropy IS NOT NULL AND margin IS NOT NULL AND top1 IS NOT NULL
        AND flip_radius IS NOT NULL AS known
    FROM disturbed
    JOIN bounds USING (baseline_id, item_id)
),
grouped AS MATERIALIZED (
    SELECT
        baseline_id,
        kind,
        CASE WHEN kind = 'taboo' THEN taboo_rank END AS taboo_rank,
        count(*) FILTER (known) AS n,
        count(*) FILTER (known AND flipped) AS n_flips,
        count(*) FILTER (NOT known) AS n_unknown,
        list(cluster_id ORDER BY item_id, flipped) FILTER (known) AS clusters,
        list(flipped ORDER BY item_id, flipped) FILTER (known) AS flips,
        list(tcb ORDER BY item_id, flipped) FILTER (known) AS tcb,
        list(entropy ORDER BY item_id, flipped) FILTER (known) AS entropy,
        list(margin ORDER BY item_id, flipped) FILTER (known) AS margin,
        list(top1 ORDER BY item_id, flipped) FILTER (known) AS top1,
        list(flip_radius ORDER BY item_id, flipped) FILTER (known) AS flip_radius
    FROM joined
    GROUP BY baseline_id, kind, CASE WHEN kind = 'taboo' THEN taboo_rank END
),
predicted AS MATERIALIZED (
    SELECT
        baseline_id, kind, taboo_rank, n, n_flips, n_unknown,
        unnest(flip_prediction(
            'flip_prediction', concat(cell, ' ', kind, ' ', taboo_rank), clusters, flips, tcb, entropy, margin, top1,
            flip_radius
        )) AS p
    FROM grouped
    JOIN (SELECT baseline_id, cell FROM cells WHERE is_baseline) USING (baseline_id)
    WHERE n > 0
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, condition, perturbations, perturbation_seed,
                     fragment_p, taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
                     sample_seed),
    kind,
    predicted.taboo_rank,
    p.predictor,
    p.auroc,
    p.low AS ci_low,
    p.high AS ci_high,
    p.delta AS delta,
    p.delta_low AS delta_ci_low,
    p.delta_high AS delta_ci_high,
    n,
    n_flips,
    n_unknown,
    CASE WHEN n_flips = 0 THEN 'none flips' WHEN n_flips = n THEN 'all flip' END AS reason
FROM predicted
JOIN cells ON cells.baseline_id = predicted.baseline_id AND cells.is_baseline
ORDER BY model, model_revision, quantization, dtype, benchmark, prompt_style, n_shots, kind, predicted.taboo_rank,
    list_position(['tcb', 'flip_radius', 'margin', 'top1', 'entropy'], p.predictor)
