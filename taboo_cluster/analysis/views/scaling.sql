-- Are larger models of a family less brittle?
-- One row per model of a known size. pi and its interval as in view brittleness_by_model; drop and range as in the row
-- `mean of families` of view drops_paper, in percentage points (mean over sample_seeds). pi_with_size, drop_with_size:
-- Spearman correlation with size over the n_sizes models of the family and stage; null below three or where all are the
-- same.
WITH costs AS (
    SELECT model_id, pooled, avg(drop) AS drop, avg(range) AS range, any_value(n_families) AS n_families
    FROM _drops_paper
    WHERE family = 'mean of families'
    GROUP BY model_id, pooled
),
sized AS (
    SELECT cells.*, numbers.* EXCLUDE (kind, key, cell_id), costs.drop, costs.range, n_families
    FROM _pi AS numbers
    JOIN cells USING (cell_id)
    LEFT JOIN costs ON CAST(costs.model_id AS VARCHAR) = numbers.key AND costs.pooled = numbers.pooled
    WHERE kind = 'model' AND size_b IS NOT NULL
),
trends AS (
    SELECT
        pooled, model_family, stage, quantization, dtype, engine,
        spearman(list(size_b ORDER BY model) FILTER (pi IS NOT NULL), list(pi ORDER BY model) FILTER (pi IS NOT NULL))
            AS pi_with_size,
        spearman(
            list(size_b ORDER BY model) FILTER (drop IS NOT NULL), list(drop ORDER BY model) FILTER (drop IS NOT NULL)
        ) AS drop_with_size,
        count(*) AS n_sizes
    FROM sized
    GROUP BY ALL
)
SELECT
    model_family, stage, size_b, model, model_revision, aligned, quantization, dtype, engine, prompt_style, n_shots,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
    pi, ci_low, ci_high, n, n_tables AS n_benchmarks, n_variants, pi_unbiased, pi_aa,
    drop, range, n_families,
    pi_with_size, drop_with_size, n_sizes
FROM sized
JOIN trends USING (pooled, model_family, stage, quantization, dtype, engine)
ORDER BY model_family, stage, prompt_style, n_shots, taboo_rank, temperature, size_b, model
