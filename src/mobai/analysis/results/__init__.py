"""Results of evaluations that are already there: which system is best in every metric, what is proven, who is out.

One file per tool whose results are read: Inspect, promptfoo, lm-evaluation-harness, DeepEval; and plain tables.
"""

from mobai.analysis.results.analyse import TaskAnalysis, analyse_results, of_columns, of_items_in
from mobai.analysis.results.find import Evaluation, find_results

__all__ = ["Evaluation", "TaskAnalysis", "analyse_results", "find_results", "of_columns", "of_items_in"]
