-- The settings of a run's prompt search, from its latest launch that had one; no row without.
SELECT
    config ->> '$.prompt_search.baseline' AS baseline,
    CAST(config ->> '$.prompt_search.threshold' AS DOUBLE) AS threshold,
    config ->> '$.prompt_search.fragile' AS fragile,
    config ->> '$.prompt_search.stubborn' AS stubborn,
    config ->> '$.seed' AS seed
FROM launches
WHERE config ->> '$.prompt_search.baseline' IS NOT NULL
ORDER BY started_at DESC, launch_id DESC
LIMIT 1
