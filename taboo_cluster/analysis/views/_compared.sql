-- Which cells are compared in pairs: first_cell is the reference, `comparison` the view that shows them.
-- Kind `alignment`: the last aligned stage of a pair of models against the first unaligned one; `stage`: two consecutive
-- stages (base, sft, dpo, instruct); `quantization`: a model in lower precision against itself without quantization.
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
precise AS (
    SELECT
        *,
        CASE quantization
            WHEN 'none' THEN list_position(['float32', 'float16', 'bfloat16'], dtype)
            WHEN 'int8' THEN 5
            ELSE 6
        END AS place
    FROM cells
    WHERE NOT is_baseline
)
SELECT
    'alignment_gap' AS comparison,
    CASE WHEN b.aligned AND NOT a.aligned AND b.place = b.last_aligned AND a.place = a.first_base
         THEN 'alignment' ELSE 'stage' END AS kind,
    a.cell_id AS first_cell, b.cell_id AS second_cell,
    a.baseline_id AS first_baseline, b.baseline_id AS second_baseline,
    concat(a.cell, ' -> ', b.cell) AS cell,
    a.model AS first_name, b.model AS second_name
FROM ranked AS a
JOIN ranked AS b USING (pair, quantization, dtype, engine, setting)
WHERE b.step = a.step + 1
    OR (b.aligned AND NOT a.aligned AND b.place = b.last_aligned AND a.place = a.first_base)
UNION ALL
SELECT
    'quantization', 'quantization',
    a.cell_id, b.cell_id, a.baseline_id, b.baseline_id, concat(a.cell, ' -> ', b.cell),
    concat(a.model, ' in ', a.dtype), concat(b.model, ' in ', b.quantization, ' ', b.dtype)
FROM precise AS a
JOIN precise AS b USING (model, model_revision, engine, setting)
WHERE a.quantization = 'none' AND a.place < b.place
