"""What kind of work a word speaks of, in the words that agents are described with.

People name the thing that hurts (`traceback`, `flaky`, `outage`), descriptions the trade that mends it (`debugging`,
`testing`, `incident`). A word leads to the trade's words, which then count for less than a word of the prompt itself.
"""

from functools import lru_cache

from baton.engine.routing.words.text import terms

_KINDS = {
    "debug debugger troubleshoot bug error": "error exception traceback stacktrace crash bug broken fail failure segfault"
    " panic undefined null nullpointer typeerror keyerror valueerror hang freeze deadlock reproduce regression wrong why"
    " 500 404 misbehave",
    "performance optimization": "slow latency optimize speed bottleneck profile profiling throughput memory leak cpu"
    " sluggish faster benchmark",
    "security vulnerability": "xss csrf injection vulnerability exploit secret leak password encrypt cve owasp pentest"
    " attacker sanitize jwt oauth traversal credential",
    "test testing qa quality": "test coverage unit e2e pytest jest vitest mock flaky playwright cypress selenium fixture"
    " regression",
    "review reviewer quality": "review pr diff feedback lint smell maintainable readable",
    "documentation technical writer": "readme document docstring tutorial guide changelog comment manual wiki jsdoc",
    "devops infrastructure deployment": "docker kubernetes ci cd pipeline deploy terraform helm ansible jenkins container"
    " workflow rollout cluster pod nginx compose dockerfile",
    "cloud infrastructure": "aws gcp azure s3 lambda ec2 vpc iam cloudformation bucket",
    "database sql": "sql query index migration schema postgresql mysql mongodb redis orm table join sqlite transaction",
    "frontend ui interface": "react vue angular svelte css html component button page layout responsive tailwind modal form"
    " browser dom navbar next",
    "backend api server": "endpoint rest graphql server microservice express django fastapi flask webhook route middleware",
    "mobile app": "ios android swift kotlin flutter react-native swiftui apk",
    "data engineering analysis": "pandas dataset csv etl spark airflow dashboard warehouse dbt kafka parquet ingest",
    "machine learning ml ai": "model training pytorch tensorflow classifier llm embedding prediction neural fine-tune rag",
    "refactor legacy simplify": "refactor cleanup duplicate simplify legacy modernize monolith spaghetti dead",
    "architecture architect design": "architecture microservice monolith scalable tradeoff boundary event-driven ddd adr",
    "git version control": "commit rebase merge branch squash cherry-pick bisect stash git",
    "accessibility": "wcag aria reader contrast blind keyboard a11y",
    "internationalization localization translation": "translate translation locale i18n l10n language rtl plural",
    "research researcher": "compare evaluate investigate survey alternatives literature competitor",
    "plan planner planning": "plan roadmap step breakdown milestone estimate sprint",
    "explore search codebase": "where locate find grep usage defined",
    "product manager requirements": "prioritize backlog prd persona requirement acceptance stakeholder",
    "ux user experience design": "usability wireframe mockup figma prototype onboarding interview",
    "seo search marketing": "seo keyword ranking serp sitemap meta",
    "marketing content": "campaign newsletter blog tweet social copy headline audience",
    "legal compliance privacy": "gdpr hipaa privacy consent license licence terms pci compliance",
    "incident sre operations": "outage incident oncall pagerduty postmortem downtime production",
    "monitoring observability": "alert metric grafana prometheus datadog tracing log logs telemetry opentelemetry",
    "dependency package": "dependency upgrade npm pip package version outdated lockfile cargo",
    "build compile": "compile build compiler linker webpack vite tsc gradle maven makefile bundler",
    "payment billing": "stripe checkout invoice payment refund subscription billing paypal",
    "blockchain smart contract": "solidity blockchain ethereum web3 contract token wallet",
    "game": "unity unreal godot sprite gameplay shader",
}


@lru_cache(maxsize=1)
def _by_term() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for trade, speaking in _KINDS.items():
        for term in terms(speaking):
            found.setdefault(term, {}).update(dict.fromkeys(terms(trade)))
    return {term: tuple(one for one in trades if one != term) for term, trades in found.items()}


def related(prompt_terms: list[str]) -> list[str]:
    """Return the trades' terms that a prompt's terms lead to and that it does not hold itself, each once."""
    kinds, own = _by_term(), set(prompt_terms)
    return [one for one in dict.fromkeys(t for term in own & kinds.keys() for t in kinds[term]) if one not in own]
