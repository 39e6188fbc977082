-- What becomes of each item when its quadrant chooses its prompt?
-- Of runs with `prompt_search` that name a prompt for fragile or stubborn items. One row per model, benchmark, quadrant of
-- the item in the baseline prompt, and the last one over all items (quadrant null). prompt: what such items are given;
-- the others stay. accuracy_before and accuracy_after: clean trials of the n items scored in both prompts; tcb_before and
-- tcb_after: geometric means over the items that have both. to_robust ... to_unknown: the items' quadrants afterwards,
-- with the median of the baseline prompt. The quadrants were seen on the same items: some come back to the middle by
-- chance alone.
WITH settings AS (FROM _searched),
items AS MATERIALIZED (
    SELECT
        q.item_id,
        q.clean,
        q.accuracy,
        q.tcb_answer,
        q.middle,
        q.quadrant,
        c.prompt_style,
        CAST(ROW(c.model, c.model_revision, c.quantization, c.dtype, c.engine, c.benchmark, c.split) AS VARCHAR)
            AS contest,
        c.cell_id
    FROM _quadrants AS q
    JOIN cells AS c ON c.baseline_id = q.baseline_id AND c.is_baseline
),
moved AS (
    SELECT
        b.contest,
        b.cell_id,
        b.quadrant,
        coalesce(
            CASE b.quadrant WHEN 'fragile' THEN fragile WHEN 'stubborn' THEN stubborn END, baseline
        ) AS prompt,
        b.clean AS before,
        a.clean AS after,
        b.tcb_answer AS tcb_before,
        a.tcb_answer AS tcb_after,
        CASE
            WHEN a.tcb_answer IS NULL OR a.accuracy IS NULL OR b.middle IS NULL THEN 'unknown'
            WHEN a.accuracy >= 0.5 AND a.tcb_answer >= b.middle THEN 'robust'
            WHEN a.accuracy >= 0.5 THEN 'fragile'
            WHEN a.tcb_answer >= b.middle THEN 'stubborn'
            ELSE 'uncertain'
        END AS quadrant_after
    FROM settings
    JOIN items AS b ON b.prompt_style = baseline
    JOIN items AS a ON a.contest = b.contest AND a.item_id = b.item_id
        AND a.prompt_style = coalesce(
            CASE b.quadrant WHEN 'fragile' THEN fragile WHEN 'stubborn' THEN stubborn END, baseline
        )
    WHERE fragile IS NOT NULL OR stubborn IS NOT NULL
),
counted AS (
    SELECT
        any_value(cell_id) AS cell_id,
        contest,
        quadrant,
        CASE WHEN quadrant IS NOT NULL THEN any_value(prompt) END AS prompt,
        count(*) FILTER (before IS NOT NULL AND after IS NOT NULL) AS n,
        avg(CAST(before AS INTEGER)) FILTER (after IS NOT NULL) AS accuracy_before,
        avg(CAST(after AS INTEGER)) FILTER (before IS NOT NULL) AS accuracy_after,
        exp(avg(ln(tcb_before)) FILTER (tcb_after IS NOT NULL)) AS tcb_before,
        exp(avg(ln(tcb_after)) FILTER (tcb_before IS NOT NULL)) AS tcb_after,
        count(*) FILTER (quadrant_after = 'robust') AS to_robust,
        count(*) FILTER (quadrant_after = 'fragile') AS to_fragile,
        count(*) FILTER (quadrant_after = 'stubborn') AS to_stubborn,
        count(*) FILTER (quadrant_after = 'uncertain') AS to_uncertain,
        count(*) FILTER (quadrant_after = 'unknown') AS to_unknown
    FROM moved
    GROUP BY GROUPING SETS ((contest, quadrant), (contest))
)
SELECT
    model, model_revision, model_family, size_b, aligned, stage, pair, quantization, dtype, engine, benchmark, split,
    counted.* EXCLUDE (cell_id, contest)
FROM counted
JOIN cells USING (cell_id)
ORDER BY model, model_revision, quantization, dtype, benchmark,
    list_position(['robust', 'fragile', 'stubborn', 'uncertain', 'unknown'], quadrant) NULLS LAST
