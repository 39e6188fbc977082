-- How far may the hidden state move before the next token's distribution does?
-- One row per cell with probed trials (replicate 0). tcb = epsilon / ||J||_F, in units of the hidden state; averages of
-- it, of tcb_relative (over the hidden state's norm: the one to compare across models) and of flip_radius (the smallest
-- move that changes the greedy token; a tie, 0, is left out) are geometric. tcb_answer: where the answer's first token
-- is predicted, over the n trials that have one, ci: bootstrap over items; tcb_answer_min: least over the answer's
-- tokens; tcb_prompt: at the prompt's last position; tcb_mean, tcb_p10, tcb_min: over each completion's tokens.
-- tcb_right, tcb_wrong: tcb_answer of trials answered right and wrong. entropy in bits, margin: ln of the best over the
-- second token's probability; both where tcb_answer is, with _prompt at the prompt's end. saturated_share: of all
-- tokens, those whose Jacobian is 0 in floating point. n_unknown: probed trials without a tcb_answer, most_unknown the
-- commonest reason. n_missing: items without a probed trial.
WITH trials AS MATERIALIZED (FROM _probed),
clusters AS (
    SELECT cell_id, cluster_id, sum(ln(tcb_answer)) AS total, CAST(count(tcb_answer) AS DOUBLE) AS n
    FROM trials
    WHERE tcb_answer IS NOT NULL
    GROUP BY cell_id, cluster_id
),
boot AS MATERIALIZED (
    SELECT
        cell_id,
        level_intervals('stability', any_value(cell), list(cluster_id), list(1), list(total), list(n)) AS ci
    FROM clusters
    JOIN cells USING (cell_id)
    GROUP BY cell_id
),
means AS (
    SELECT
        cell_id,
        count(tcb_answer) AS n,
        exp(avg(ln(tcb_answer))) AS tcb_answer,
        exp(avg(ln(tcb_answer_min))) AS tcb_answer_min,
        exp(avg(ln(tcb_relative_answer))) AS tcb_relative,
        exp(avg(ln(tcb_answer)) FILTER (correct)) AS tcb_right,
        exp(avg(ln(tcb_answer)) FILTER (NOT correct)) AS tcb_wrong,
        exp(avg(ln(nullif(flip_radius_answer, 0)))) AS flip_radius,
        exp(avg(ln(nullif(flip_relative_answer, 0)))) AS flip_relative,
        avg(entropy_answer) AS entropy,
        avg(margin_answer) AS margin,
        avg(top1_answer) AS top1,
        exp(avg(ln(tcb_prompt))) AS tcb_prompt,
        exp(avg(ln(tcb_relative_prompt))) AS tcb_relative_prompt,
        avg(entropy_prompt) AS entropy_prompt,
        exp(avg(ln(tcb_mean))) AS tcb_mean,
        exp(avg(ln(tcb_p10))) AS tcb_p10,
        exp(avg(ln(tcb_min))) AS tcb_min,
        CAST(sum(tcb_saturated) AS DOUBLE) / nullif(sum(n_tokens), 0) AS saturated_share,
        any_value(epsilon) AS epsilon,
        any_value(top_k) AS top_k,
        count(*) AS n_probed,
        mode(reason) FILTER (tcb_answer IS NULL) AS most_unknown
    FROM trials
    GROUP BY cell_id
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    means.tcb_answer,
    exp(ci[1].low) AS ci_low,
    exp(ci[1].high) AS ci_high,
    n,
    means.* EXCLUDE (cell_id, tcb_answer, n, n_probed, most_unknown),
    n_probed - n AS n_unknown,
    most_unknown,
    n_items - n_probed AS n_missing
FROM means
JOIN cells USING (cell_id)
JOIN _items USING (baseline_id)
LEFT JOIN boot USING (cell_id)
ORDER BY model, model_revision, quantization, dtype, benchmark, prompt_style, n_shots, taboo_rank, condition, sample_seed
