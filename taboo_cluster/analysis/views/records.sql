-- One row per trial, without long texts unless they were asked for; booleans also as integers.
SELECT
    * EXCLUDE (cell_id, baseline_id, is_baseline, question_hash, gold_hash),
    CAST(aligned AS INTEGER) AS aligned_int,
    CAST(changed AS INTEGER) AS changed_int,
    CAST(parse_ok AS INTEGER) AS parse_ok_int,
    CAST(correct AS INTEGER) AS correct_int,
    CAST(stopped_by_detour AS INTEGER) AS stopped_by_detour_int,
    CAST(taboo_leak AS INTEGER) AS taboo_leak_int
FROM recorded
