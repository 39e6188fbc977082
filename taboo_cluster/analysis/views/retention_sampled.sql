-- What is retained when tokens are drawn, and how much do seeds differ? One row per condition, temperature and top_p.
-- retention: mean over seeds of each seed's R against the greedy baseline; ci: bootstrap over clusters of items, all
-- seeds of a cluster drawn together; retention_sd: over seeds (n - 1), null with one. n: the seeds' denominators summed;
-- n_items: distinct items in them. retention_vs_sampled_baseline: the same against rank 0 at the same temperature and
-- seed, so that temperature is not taken for Taboo; null for rank 0 itself. retention_greedy: R of the same taboo at
-- temperature 0. mde: 2.80 bootstrap standard errors. accuracy, shares and doses are means over seeds.
WITH sampled AS (
    SELECT
        *,
        hash(baseline_id, condition, stack_hash(perturbations, perturbation_seed), fragment_p, taboo_rank,
             taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p) AS group_id,
        hash(baseline_id, stack_hash(perturbations, perturbation_seed), fragment_p, temperature, top_p, sample_seed)
            AS draw_id,
        hash(baseline_id, stack_hash(perturbations, perturbation_seed), fragment_p, taboo_rank, taboo_trigger,
             taboo_word_start, taboo_trigger_params) AS taboo_id
    FROM cells
    WHERE temperature > 0
),
pairs AS MATERIALIZED (
    SELECT group_id, draw_id, taboo_rank, sample_seed, item_id, cluster_id, scored AND baseline_correct AS kept, correct
    FROM _pairs
    JOIN sampled USING (cell_id)
),
items AS (
    SELECT
        group_id, sample_seed, item_id, cluster_id, kept, pairs.correct,
        taboo_rank > 0 AND zero.correct AND pairs.correct IS NOT NULL AS kept_zero
    FROM pairs
    LEFT JOIN (SELECT draw_id, item_id, correct FROM pairs WHERE taboo_rank = 0) AS zero USING (draw_id, item_id)
),
clusters AS MATERIALIZED (
    SELECT
        group_id, sample_seed, cluster_id,
        count(*) FILTER (kept) AS n,
        count(*) FILTER (kept AND correct) AS k,
        count(*) FILTER (kept_zero) AS n_zero,
        count(*) FILTER (kept_zero AND correct) AS k_zero
    FROM items
    GROUP BY group_id, sample_seed, cluster_id
),
boot AS MATERIALIZED (
    SELECT
        group_id,
        bootstrap_mean(
            'retention_sampled', any_value(cell),
            list(sample_seed) FILTER (n > 0), list(cluster_id) FILTER (n > 0),
            list(k) FILTER (n > 0), list(n) FILTER (n > 0)
        ) AS b,
        bootstrap_mean(
            'retention_sampled vs_sampled_baseline', any_value(cell),
            list(sample_seed) FILTER (n_zero > 0), list(cluster_id) FILTER (n_zero > 0),
            list(k_zero) FILTER (n_zero > 0), list(n_zero) FILTER (n_zero > 0)
        ) AS zero
    FROM clusters
    JOIN (SELECT group_id, min(cell) AS cell FROM sampled GROUP BY group_id) USING (group_id)
    GROUP BY group_id
),
ratios AS (
    SELECT
        group_id,
        sum(k) / nullif(sum(n), 0) AS r,
        CAST(sum(n) AS BIGINT) AS n,
        sum(k_zero) / nullif(sum(n_zero), 0) AS r_zero,
        CAST(sum(n_zero) AS BIGINT) AS n_zero
    FROM clusters
    GROUP BY group_id, sample_seed
),
over_seeds AS (
    SELECT
        group_id,
        avg(r) AS retention,
        stddev_samp(r) AS retention_sd,
        count(r) AS n_seeds,
        CAST(sum(n) AS BIGINT) AS n,
        avg(r_zero) AS retention_zero,
        stddev_samp(r_zero) AS retention_zero_sd,
        count(r_zero) AS n_seeds_zero,
        CAST(sum(n_zero) AS BIGINT) AS n_zero
    FROM ratios
    GROUP BY group_id
),
distinct_items AS (
    SELECT group_id, count(DISTINCT item_id) AS n_items FROM items WHERE kept GROUP BY group_id
),
facts AS (
    SELECT
        group_id,
        any_value(taboo_id) AS taboo_id,
        avg(numbers.dose_bits) AS dose_bits,
        avg(numbers.length_ratio) AS length_ratio,
        CAST(sum(numbers.n_error) AS BIGINT) AS n_error,
        CAST(sum(numbers.n_missing) AS BIGINT) AS n_missing,
        avg(shares.accuracy) AS accuracy,
        avg(shares.truncated_share) AS truncated_share
    FROM sampled
    JOIN _retention AS numbers USING (cell_id)
    JOIN _accuracy AS shares USING (cell_id)
    GROUP BY group_id
),
greedy AS (
    SELECT
        hash(baseline_id, stack_hash(perturbations, perturbation_seed), fragment_p, taboo_rank, taboo_trigger,
             taboo_word_start, taboo_trigger_params) AS taboo_id,
        retention
    FROM cells
    JOIN _retention USING (cell_id)
    WHERE temperature = 0
),
named AS (
    SELECT group_id, any_value(COLUMNS(* EXCLUDE (group_id, cell_id, baseline_id, is_baseline, cell, setting, draw_id,
                                                  taboo_id, sample_seed)))
    FROM sampled
    GROUP BY group_id
)
SELECT
    named.* EXCLUDE (group_id),
    over_seeds.retention,
    b.low AS ci_low,
    b.high AS ci_high,
    retention_sd,
    n_seeds,
    n,
    coalesce(n_items, 0) AS n_items,
    b.mde,
    retention_zero AS retention_vs_sampled_baseline,
    zero.low AS retention_vs_sampled_baseline_ci_low,
    zero.high AS retention_vs_sampled_baseline_ci_high,
    retention_zero_sd AS retention_vs_sampled_baseline_sd,
    n_seeds_zero AS n_seeds_vs_sampled_baseline,
    n_zero AS n_vs_sampled_baseline,
    zero.mde AS mde_vs_sampled_baseline,
    greedy.retention AS retention_greedy,
    accuracy,
    dose_bits,
    length_ratio,
    truncated_share,
    n_error,
    n_missing
FROM named
JOIN over_seeds USING (group_id)
JOIN boot USING (group_id)
JOIN facts USING (group_id)
LEFT JOIN distinct_items USING (group_id)
LEFT JOIN greedy USING (taboo_id)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, temperature, top_p
