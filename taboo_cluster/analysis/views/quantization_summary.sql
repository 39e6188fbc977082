-- How large are the differences between precisions, over all cells of a benchmark?
-- n greedy cells with an R in both precisions (view quantization). difference_median, difference_max: of the absolute
-- differences; share_within_0_07: of cells whose absolute difference is 0.07 at most. n_found: cells with q below 0.05.
SELECT
    benchmark, engine, quantization_reference, dtype_reference, quantization, dtype,
    median(abs(difference)) AS difference_median,
    max(abs(difference)) AS difference_max,
    count(*) FILTER (abs(difference) <= 0.07 + 1e-9) / nullif(count(difference), 0) AS share_within_0_07,
    count(*) FILTER (q < 0.05) AS n_found,
    count(difference) AS n,
    arg_max(model, abs(difference)) AS model_of_max,
    arg_max(condition, abs(difference)) AS condition_of_max
FROM quantization
WHERE temperature = 0
GROUP BY ALL
ORDER BY ALL
