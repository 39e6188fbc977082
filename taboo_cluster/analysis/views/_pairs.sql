-- Each trial (replicate 0, not itself a baseline) beside its item's baseline and the baseline's replicate 1.
-- Joined by content: another gold answer (choices not perturbed), or another question without a perturbation, is an
-- error, never a flip. gold: null for lines of a document, which each model's cut of it has in its own way.
WITH baselines AS (
    SELECT baseline_id, item_id, correct, gold_hash, question_hash, completion_tokens, finish_reason
    FROM recorded
    WHERE is_baseline AND replicate = 0
),
again AS (
    SELECT baseline_id, item_id, correct
    FROM recorded
    WHERE is_baseline AND replicate = 1
)
SELECT
    c.cell_id,
    c.baseline_id,
    c.benchmark,
    c.item_id,
    c.cluster_id,
    CASE WHEN c.lines IS NULL AND c.correct IS NOT NULL THEN c.gold END AS gold,
    c.question_hash,
    b.baseline_id IS NOT NULL AS has_baseline,
    c.correct IS NOT NULL AND b.correct IS NOT NULL AS scored,
    b.correct AS baseline_correct,
    c.correct,
    a.correct AS again_correct,
    c.parse_ok,
    c.outcome,
    c.finish_reason,
    c.max_tokens,
    c.completion_tokens,
    c.completion_words,
    b.completion_tokens AS baseline_tokens,
    b.finish_reason AS baseline_finish_reason,
    c.interventions,
    c.surprisal_total,
    c.skipped_steps,
    c.tie_steps,
    c.glued,
    c.stopped_by_detour,
    c.taboo_leak
FROM recorded AS c
LEFT JOIN baselines AS b USING (baseline_id, item_id)
LEFT JOIN again AS a USING (baseline_id, item_id)
WHERE c.replicate = 0 AND NOT c.is_baseline
    AND CASE
        WHEN c.gold_hash <> b.gold_hash OR c.question_hash <> b.question_hash
        THEN CAST(error(format(
            'item {} of {} has another question or gold answer in its baseline than in {}',
            c.item_id, c.benchmark, c.condition
        )) AS BOOLEAN)
        ELSE true
    END
