-- Does the aligned model of a pair retain more than its base model?
-- gap = R(aligned) - R(base), both over the n items scored for both models in baseline and condition; kind `alignment`
-- is the last aligned stage against the first unaligned one, `stage` two consecutive stages (base, sft, dpo, instruct).
-- ci, p, mde: bootstrap over clusters of items, all four counts recomputed (n_dropped resamples had a zero denominator).
-- newcombe: hybrid score interval, conservative. gap_matched: on the n_matched items right in both baselines, with its
-- paired bootstrap and exact McNemar. q: Benjamini-Hochberg over all comparisons of the kind. selection: gap and
-- gap_matched differ in sign. within_noise: the interval of gap - (the same gap of the baselines' replicate 1) includes 0.
WITH staged AS (
    SELECT *, coalesce(list_position(['base', 'sft', 'dpo', 'instruct'], stage), 5) AS place
    FROM cells
    WHERE pair IS NOT NULL AND NOT is_baseline
),
ranked AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY pair, quantization, dtype, engine, setting ORDER BY place) AS step,
        min(place) FILTER (NOT aligned) OVER (PARTITION BY pair, quantization, dtype, engine, setting) AS first_base,
        max(place) FILTER (aligned) OVER (PARTITION BY pair, quantization, dtype, engine, setting) AS last_aligned
    FROM staged
),
compared AS MATERIALIZED (
    SELECT
        a.* EXCLUDE (cell_id, cell, baseline_id, model, model_revision, stage, aligned, size_b, place, step, first_base,
                     last_aligned),
        CASE WHEN a.aligned AND NOT b.aligned AND a.place = a.last_aligned AND b.place = b.first_base
             THEN 'alignment' ELSE 'stage' END AS kind,
        a.cell_id AS aligned_cell, b.cell_id AS base_cell,
        a.baseline_id AS aligned_baseline, b.baseline_id AS base_baseline,
        concat(b.cell, ' -> ', a.cell) AS cell,
        a.size_b,
        b.model AS model_base, a.model AS model_aligned,
        b.model_revision AS revision_base, a.model_revision AS revision_aligned,
        b.stage AS stage_base, a.stage AS stage_aligned
    FROM ranked AS a
    JOIN ranked AS b USING (pair, quantization, dtype, engine, setting)
    WHERE a.step = b.step + 1
        OR (a.aligned AND NOT b.aligned AND a.place = a.last_aligned AND b.place = b.first_base)
),
pairs AS MATERIALIZED (
    SELECT cell_id, benchmark, item_id, cluster_id, gold, question_hash, has_baseline, scored,
           baseline_correct, correct, again_correct
    FROM _pairs
),
items AS (
    SELECT
        aligned_cell,
        base_cell,
        a.cluster_id,
        a.scored AND b.scored AS scored,
        a.has_baseline AND b.has_baseline AS recorded,
        a.baseline_correct AS in_a, a.correct AS right_a, a.again_correct AS again_a,
        b.baseline_correct AS in_b, b.correct AS right_b, b.again_correct AS again_b
    FROM compared
    JOIN pairs AS a ON a.cell_id = aligned_cell
    JOIN pairs AS b ON b.cell_id = base_cell AND b.item_id = a.item_id
    WHERE CASE
        WHEN a.gold <> b.gold OR a.question_hash <> b.question_hash
        THEN CAST(error(format(
            'item {} of {} has another question or gold answer for {} than for {}',
            a.item_id, a.benchmark, compared.model_base, compared.model_aligned
        )) AS BOOLEAN)
        ELSE true
    END
),
clusters AS (
    SELECT
        aligned_cell,
        base_cell,
        cluster_id,
        count(*) FILTER (recorded) AS n_recorded,
        count(*) FILTER (recorded AND NOT scored) AS n_error,
        count(*) FILTER (scored) AS n,
        count(*) FILTER (scored AND in_a) AS n_a,
        count(*) FILTER (scored AND in_a AND right_a) AS k_a,
        count(*) FILTER (scored AND in_b) AS n_b,
        count(*) FILTER (scored AND in_b AND right_b) AS k_b,
        count(*) FILTER (scored AND in_a AND in_b) AS n_matched,
        count(*) FILTER (scored AND in_a AND in_b AND right_a) AS k_a_matched,
        count(*) FILTER (scored AND in_a AND in_b AND right_b) AS k_b_matched,
        count(*) FILTER (scored AND in_a AND in_b AND right_a AND NOT right_b) AS only_a,
        count(*) FILTER (scored AND in_a AND in_b AND right_b AND NOT right_a) AS only_b,
        -- for within_noise: items with an A/A replicate for both models
        count(*) FILTER (again AND in_a) AS n_a_noise,
        count(*) FILTER (again AND in_a AND right_a) - count(*) FILTER (again AND in_a AND again_a) AS k_a_noise,
        count(*) FILTER (again AND in_b) AS n_b_noise,
        count(*) FILTER (again AND in_b AND right_b) - count(*) FILTER (again AND in_b AND again_b) AS k_b_noise
    FROM (SELECT *, scored AND again_a IS NOT NULL AND again_b IS NOT NULL AS again FROM items)
    GROUP BY aligned_cell, base_cell, cluster_id
),
sums AS MATERIALIZED (
    SELECT
        aligned_cell,
        base_cell,
        CAST(sum(n_recorded) AS BIGINT) AS n_recorded,
        CAST(sum(n_error) AS BIGINT) AS n_error,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_a) AS BIGINT) AS n_a, CAST(sum(k_a) AS BIGINT) AS k_a,
        CAST(sum(n_b) AS BIGINT) AS n_b, CAST(sum(k_b) AS BIGINT) AS k_b,
        CAST(sum(n_matched) AS BIGINT) AS n_matched,
        CAST(sum(k_a_matched) AS BIGINT) AS k_a_matched, CAST(sum(k_b_matched) AS BIGINT) AS k_b_matched,
        CAST(sum(only_a) AS BIGINT) AS only_a, CAST(sum(only_b) AS BIGINT) AS only_b,
        bootstrap_gap('alignment_gap', any_value(cell), histogram([k_a, n_a, k_b, n_b]) FILTER (n > 0)) AS b,
        bootstrap_ratio(
            'alignment_gap matched',
            any_value(cell),
            histogram([k_a_matched - k_b_matched, n_matched]) FILTER (n_matched > 0)
        ) AS matched,
        bootstrap_gap(
            'alignment_gap within_noise',
            any_value(cell),
            histogram([k_a_noise, n_a_noise, k_b_noise, n_b_noise]) FILTER (n_a_noise > 0 OR n_b_noise > 0)
        ) AS noise
    FROM clusters
    JOIN compared USING (aligned_cell, base_cell)
    GROUP BY aligned_cell, base_cell
),
gaps AS MATERIALIZED (
    SELECT
        *,
        k_a / nullif(n_a, 0) AS retention_aligned,
        k_b / nullif(n_b, 0) AS retention_base,
        k_a / nullif(n_a, 0) - k_b / nullif(n_b, 0) AS gap,
        (k_a_matched - k_b_matched) / nullif(n_matched, 0) AS gap_matched,
        newcombe(k_a, n_a, k_b, n_b) AS score_interval,
        CASE WHEN n_matched > 0 THEN mcnemar(only_a, only_b) END AS p_mcnemar
    FROM compared
    LEFT JOIN sums USING (aligned_cell, base_cell)
),
shares AS MATERIALIZED (SELECT cell_id, truncated_share FROM _accuracy),
q_gap AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(b.p ORDER BY cell))) AS q
    FROM gaps
    WHERE gap IS NOT NULL AND b.p IS NOT NULL
    GROUP BY kind
),
q_matched AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(p_mcnemar ORDER BY cell))) AS q_mcnemar
    FROM gaps
    WHERE p_mcnemar IS NOT NULL
    GROUP BY kind
)
SELECT
    pair, kind, model_base, model_aligned, revision_base, revision_aligned, stage_base, stage_aligned,
    model_family, size_b, quantization, dtype, engine, benchmark, split, prompt_style, n_shots,
    condition, perturbations, perturbation_seed, fragment_p,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, sample_seed,
    gap,
    CASE WHEN gap IS NOT NULL THEN b.low END AS ci_low,
    CASE WHEN gap IS NOT NULL THEN b.high END AS ci_high,
    coalesce(gaps.n, 0) AS n,
    retention_base, coalesce(n_b, 0) AS n_base,
    retention_aligned, coalesce(n_a, 0) AS n_aligned,
    CASE WHEN gap IS NOT NULL THEN b.p END AS p,
    q,
    CASE WHEN gap IS NOT NULL THEN b.mde END AS mde,
    b.dropped AS n_dropped,
    score_interval.low AS newcombe_low,
    score_interval.high AS newcombe_high,
    gap_matched,
    matched.low AS gap_matched_ci_low,
    matched.high AS gap_matched_ci_high,
    coalesce(n_matched, 0) AS n_matched,
    p_mcnemar,
    q_mcnemar,
    matched.mde AS mde_matched,
    sign(gap) <> sign(gap_matched) AS selection,
    CAST(sign(gap) <> sign(gap_matched) AS INTEGER) AS selection_int,
    noise.low <= 0 AND noise.high >= 0 AS within_noise,
    CAST(noise.low <= 0 AND noise.high >= 0 AS INTEGER) AS within_noise_int,
    shares_base.truncated_share AS truncated_share_base,
    shares_aligned.truncated_share AS truncated_share_aligned,
    coalesce(gaps.n_error, 0) AS n_error,
    greatest(least(items_a.n_items, items_b.n_items) - coalesce(n_recorded, 0), 0) AS n_missing
FROM gaps
JOIN _items AS items_a ON items_a.baseline_id = aligned_baseline
JOIN _items AS items_b ON items_b.baseline_id = base_baseline
JOIN shares AS shares_base ON shares_base.cell_id = base_cell
JOIN shares AS shares_aligned ON shares_aligned.cell_id = aligned_cell
LEFT JOIN q_gap USING (cell)
LEFT JOIN q_matched USING (cell)
ORDER BY pair, kind, quantization, dtype, benchmark, taboo_rank, condition, sample_seed, stage_aligned
