"""What people are shown: verdicts, status, analyses, bounds and summaries as plain data, tables and pieces of HTML.

The command line, notebooks and reports share them. They read the objects they show and import none of them.
"""

from mobai.views.data import (
    analysis_json,
    finite,
    intervals_json,
    means_json,
    objective_rows,
    status_json,
    status_rows,
    time_text,
    verdict_json,
)
from mobai.views.pages import (
    analysis_blocks,
    analysis_html,
    analysis_text,
    bound_html,
    status_blocks,
    status_html,
    status_text,
    summary_html,
    to_text,
    verdict_html,
)
from mobai.views.tables import arms_to_show, intervals_table, means_table, missing_table, progress_table, verdict_table
from mobai.views.words import (
    answer_text,
    certification,
    intervals_caption,
    missing_text,
    number_text,
    plural,
    samples_text,
    status_line,
    status_remarks,
    verdict_line,
)

__all__ = [
    "analysis_blocks",
    "analysis_html",
    "analysis_json",
    "analysis_text",
    "answer_text",
    "arms_to_show",
    "bound_html",
    "certification",
    "finite",
    "intervals_caption",
    "intervals_json",
    "intervals_table",
    "means_json",
    "means_table",
    "missing_table",
    "missing_text",
    "number_text",
    "objective_rows",
    "plural",
    "progress_table",
    "samples_text",
    "status_blocks",
    "status_html",
    "status_json",
    "status_line",
    "status_remarks",
    "status_rows",
    "status_text",
    "summary_html",
    "time_text",
    "to_text",
    "verdict_html",
    "verdict_json",
    "verdict_line",
    "verdict_table",
]
