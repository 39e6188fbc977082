-- Which prompt is accurate and stable, and does it hold on other items and under perturbation?
-- One row per model, benchmark and prompt style of a run with `prompt_search`. Half of the items, by a seeded hash,
-- choose: among the prompts whose accuracy there is at least the threshold (eligible) the one with the highest mean of
-- ln tcb_answer of the clean trials (chosen). accuracy_choosing, tcb_choosing (geometric mean) and sd_ln_tcb are of that
-- half; accuracy (ci: Wilson) and tcb_answer of the n items of the other half, which had no part in the choice.
-- accuracy_perturbed: the other half's n_perturbed perturbed trials without taboo; flip_rate: the share of them not as
-- the clean one. is_baseline: the prompt that the others are compared with; gain: accuracy less that one's, on the items
-- of the other half scored in both.
WITH settings AS (FROM _searched),
trials AS MATERIALIZED (
    SELECT
        r.baseline_id,
        r.item_id,
        r.correct,
        r.is_baseline,
        md5_number_lower(concat('prompt_search ', seed, ' ', r.item_id)) % 2 = 0 AS chooses,
        p.tcb_answer
    FROM recorded AS r
    CROSS JOIN settings
    LEFT JOIN _probed AS p ON p.cell_id = r.cell_id AND p.item_id = r.item_id
    WHERE r.replicate = 0 AND r.correct IS NOT NULL AND coalesce(r.temperature, 0) = 0
        AND coalesce(r.taboo_rank, 0) = 0
),
clean AS (
    SELECT baseline_id, item_id, correct AS clean FROM trials WHERE is_baseline
),
sums AS (
    SELECT
        baseline_id,
        count(*) FILTER (is_baseline AND chooses) AS n_choosing,
        count(*) FILTER (is_baseline AND chooses AND trials.correct) AS k_choosing,
        avg(ln(tcb_answer)) FILTER (is_baseline AND chooses) AS ln_choosing,
        stddev_samp(ln(tcb_answer)) FILTER (is_baseline AND chooses) AS sd_ln_tcb,
        count(*) FILTER (is_baseline AND NOT chooses) AS n,
        count(*) FILTER (is_baseline AND NOT chooses AND trials.correct) AS k,
        avg(ln(tcb_answer)) FILTER (is_baseline AND NOT chooses) AS ln_other,
        count(*) FILTER (NOT is_baseline AND NOT chooses) AS n_perturbed,
        count(*) FILTER (NOT is_baseline AND NOT chooses AND trials.correct) AS k_perturbed,
        count(*) FILTER (NOT is_baseline AND NOT chooses AND trials.correct <> clean) AS n_flipped,
        count(*) FILTER (NOT is_baseline AND NOT chooses AND clean IS NOT NULL) AS n_paired
    FROM trials
    LEFT JOIN clean USING (baseline_id, item_id)
    GROUP BY baseline_id
),
named AS (
    SELECT
        sums.*,
        c.* EXCLUDE (baseline_id, cell_id, is_baseline, cell, setting, condition, perturbations, perturbation_seed,
                     fragment_p, taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
                     sample_seed),
        CAST(ROW(model, model_revision, quantization, dtype, engine, benchmark, split) AS VARCHAR) AS contest,
        prompt_style = baseline AS is_baseline_prompt,
        coalesce(k_choosing >= threshold * n_choosing AND n_choosing > 0, false) AS eligible
    FROM sums
    JOIN cells AS c ON c.baseline_id = sums.baseline_id AND c.is_baseline
    CROSS JOIN settings
),
placed AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY contest
            ORDER BY eligible DESC, ln_choosing DESC NULLS LAST, k_choosing DESC, prompt_style
        ) AS place
    FROM named
),
gains AS (
    SELECT
        named.baseline_id,
        avg(CAST(t.correct AS INTEGER) - CAST(b.correct AS INTEGER)) AS gain
    FROM named
    JOIN named AS first ON first.contest = named.contest AND first.is_baseline_prompt
    JOIN trials AS t ON t.baseline_id = named.baseline_id AND t.is_baseline AND NOT t.chooses
    JOIN trials AS b ON b.baseline_id = first.baseline_id AND b.is_baseline AND b.item_id = t.item_id
    GROUP BY named.baseline_id
),
with_ci AS MATERIALIZED (SELECT *, wilson(k, n) AS ci FROM placed)
SELECT
    model, model_revision, model_family, size_b, aligned, stage, pair, quantization, dtype, engine, benchmark, split,
    prompt_style,
    n_shots,
    chance,
    place = 1 AND eligible AND ln_choosing IS NOT NULL AS chosen,
    CAST(place = 1 AND eligible AND ln_choosing IS NOT NULL AS INTEGER) AS chosen_int,
    eligible,
    is_baseline_prompt AS is_baseline,
    k_choosing / nullif(n_choosing, 0) AS accuracy_choosing,
    exp(ln_choosing) AS tcb_choosing,
    sd_ln_tcb,
    n_choosing,
    k / nullif(n, 0) AS accuracy,
    ci.low AS ci_low,
    ci.high AS ci_high,
    n,
    gain,
    exp(ln_other) AS tcb_answer,
    k_perturbed / nullif(n_perturbed, 0) AS accuracy_perturbed,
    n_flipped / nullif(n_paired, 0) AS flip_rate,
    n_perturbed,
    CASE
        WHEN n_choosing = 0 THEN 'no item scored in the half that chooses'
        WHEN NOT eligible THEN 'accuracy below the threshold'
        WHEN ln_choosing IS NULL THEN 'not probed'
    END AS reason
FROM with_ci
LEFT JOIN gains USING (baseline_id)
ORDER BY model, model_revision, quantization, dtype, benchmark, place
