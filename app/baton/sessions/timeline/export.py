"""Writes a timeline as lines of JSON, or as one self-contained HTML file without scripts."""

import base64
import hashlib
import html
from collections.abc import AsyncIterator, Sequence

from baton.lib.text.visible import visible
from baton.sessions.timeline.bodies import TimelineItem, TimelineItemModel

_STYLE = (
    ":root{color-scheme:light dark}body{font:14px/1.45 system-ui,sans-serif;margin:24px}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:4px 12px 4px 0;"
    "border-bottom:1px solid #8884}td{unicode-bidi:isolate}"
    "pre{margin:0;font:12.5px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".deny,.failed,.ran_anyway,.rewrite_ignored,.changed_by_other{font-weight:600}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
"""The content security policy of the file, in the answer's header and in the file itself."""


async def as_ndjson(pages: AsyncIterator[Sequence[TimelineItem]]) -> AsyncIterator[bytes]:
    """Yield one JSON object a line for each item."""
    async for page in pages:
        lines = (visible(TimelineItemModel.build(item).model_dump_json(exclude_none=True)) for item in page)
        yield "".join(f"{line}\n" for line in lines).encode()


async def as_html(session_id: str, pages: AsyncIterator[Sequence[TimelineItem]]) -> AsyncIterator[bytes]:
    """Yield the parts of an HTML file, a row for each item."""
    title = shown(session_id)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
        f'<meta name="viewport" content="width=device-width"><title>Session {title}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body><h1>Session {title}</h1>\n<table>"
        "<thead><tr><th>Time (UTC)</th><th>Kind</th><th>Agent</th><th>What</th><th>Result</th><th>USD</th></tr></thead><tbody>\n"
    ).encode()
    usd, number = 0.0, 0
    async for page in pages:
        usd += sum(item.usd or 0.0 for item in page)
        number += len(page)
        yield "".join(map(_row, page)).encode()
    yield f"</tbody></table>\n<p>{number} items; {usd:.4f} USD, where a cost is known.</p></body></html>\n".encode()


def shown(text: str) -> str:
    """Escape a string for HTML. Invisible characters and direction marks are shown as escapes."""
    return html.escape(visible(text))


def _row(item: TimelineItem) -> str:
    agent, what, result, mark = _cells(item)
    at = item.place.at.isoformat(sep=" ", timespec="milliseconds")[:23]
    usd = "" if item.usd is None else f"{item.usd:.4f}"
    return (
        f"<tr><td>{at}</td><td>{item.kind}</td><td>{shown(agent)}</td><td><pre>{shown(what)}</pre></td>"
        f'<td class="{shown(mark)}">{shown(result)}</td><td>{usd}</td></tr>\n'
    )


def _cells(item: TimelineItem) -> tuple[str, str, str, str]:
    if item.job is not None:
        step = item.job
        tokens = f", {step.input_tokens} + {step.output_tokens} tokens" if step.input_tokens else ""
        who = step.agent_type or step.provider
        return (
            who,
            f"{step.job}\n{step.description}".strip(),
            f"{step.state or step.type} {step.error}{tokens}",
            step.state,
        )
    if item.mode is not None:
        mode = item.mode
        state = f"on, {mode.level}" if mode.enabled else "off"
        return mode.actor, f"{mode.action} {mode.scope}\n{mode.reason}".strip(), state, ""
    record = item.record
    assert record is not None  # noqa: S101 - an item is one of the three
    who = " ".join(filter(None, (record.agent_type, record.agent_id))) or "main"
    match item.kind:
        case "prompt":
            return record.user, record.prompt or "(prompts are not kept)", "", ""
        case "advisory":
            return "", record.command, "", ""
        case "route":
            return (
                "",
                f"routed to {record.routed_to or 'no agent'} by {record.routed_by}",
                f"{record.confidence:.0%}",
                "",
            )
        case "spawn":
            model = record.model_used or record.model_injected
            what = (
                f"starts {record.started_agent or record.agent_type}{f' on {model}' if model else ''}\n{record.prompt}"
            )
        case "session":
            what = record.event
        case _:
            what = "\n".join(filter(None, (record.tool, record.command, *record.paths)))
    rules = ", ".join(hit.id for hit in record.rules)
    became = " ".join(filter(None, (record.effect, record.outcome, rules)))
    # A disobeyed refusal or a failure matters more than the verdict.
    return who, what.strip(), became, record.outcome if record.outcome in {"ran_anyway", "failed"} else record.effect
