"""A report made of headings, paragraphs, tables and figures, written as Markdown and as one self-contained page."""

from __future__ import annotations

import base64
import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 or 2."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True)
class Table:
    """A header and rows of text; every column but the first ``left`` ones is aligned right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True)
class Picture:
    """A figure that lies beside the report as PNG and SVG."""

    name: str
    caption: str


@dataclass(frozen=True)
class Chart:
    """A piece of HTML that says in a picture what a table says, too: it is left out of Markdown."""

    html: str


Block = Heading | Paragraph | Table | Picture | Chart

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: 0.3rem 0.7rem; text-align: right; }
th.left, td.left { text-align: left; }
figure { margin: 1.5rem 0; } img { max-width: 100%; } figcaption { color: #555; font-size: 14px; }
"""


def to_markdown(blocks: Sequence[Block], pictures: str = "figures") -> str:
    """Write the report as Markdown; pictures are links into a folder beside it."""
    return "\n\n".join(_markdown(block, pictures) for block in blocks if not isinstance(block, Chart)) + "\n"


def _markdown(block: Heading | Paragraph | Table | Picture, pictures: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)
        case Picture(name, caption):
            return f"![{caption}]({pictures}/{name}.png)\n\n*{caption}*"
        case Table(header, rows, left):
            rule = ["---" if n < left else "---:" for n in range(len(header))]
            cells = ([cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows))
            return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def to_html(blocks: Sequence[Block], pictures: Path, title: str, style: str = "") -> str:
    """Write the report as one page with its pictures inside; ``style`` is that of its charts."""
    body = "\n".join(_html(block, pictures) for block in blocks)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def to_fragment(blocks: Sequence[Block]) -> str:
    """Write a few blocks without pictures as a piece of HTML, for a page that has a style of its own."""
    return "<div>" + "\n".join(_html(block, Path()) for block in blocks) + "</div>"


def _html(block: Block, pictures: Path) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Picture(name, caption):
            data = base64.b64encode((pictures / f"{name}.png").read_bytes()).decode()
            words = html.escape(caption)
            image = f'<img alt="{words}" src="data:image/png;base64,{data}">'
            return f"<figure>{image}<figcaption>{words}</figcaption></figure>"
        case Chart(content):
            return f'<div class="mobai">{content}</div>'
        case Table():
            return to_rows(block)


def to_rows(table: Table) -> str:
    """Write a table as HTML; the first cell of a row is its heading."""
    top = "".join(f'<th scope="col"{_side(table, n)}>{html.escape(cell)}</th>' for n, cell in enumerate(table.header))
    rows = "".join(f"<tr>{''.join(_cell(table, n, cell) for n, cell in enumerate(row))}</tr>" for row in table.rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(table: Table, n: int, cell: str) -> str:
    tag, scope = ("th", ' scope="row"') if n == 0 else ("td", "")
    return f"<{tag}{scope}{_side(table, n)}>{html.escape(cell)}</{tag}>"


def _side(table: Table, n: int) -> str:
    return ' class="left"' if n < table.left else ""
