"""The words around an agent's name by which people ask for it, do without it, or merely speak of it.

English first, then German, French, Spanish, Portuguese, Chinese, Japanese and Korean. Chinese, Japanese and Korean write
no spaces around a name, and the latter two put the verb behind it.
"""

import re

ARTICLES = r"(?:the|our|my|this|your|an?|den|die|das|der|dem|unseren?|einen?|le|la|un|el|o|al|ao|à|a)"
AGENT = r"(?:(?:sub-?)?agent(?:en|es|s|e)?|sous-agent|sub-?agente)"
REQUEST = (
    r"(?:use|using|ask|call|invoke|run|spawn|start|launch|try|consult|delegate\s+(?:it\s+|this\s+)?to|(?:let|have)"
    r"|hand\s+(?:it\s+|this\s+)?(?:over\s+)?to|(?:give|send|pass|assign|leave)\s+(?:it|this|that)\s+to|via|with|by"
    r"|verwende|verwenden\s+sie|nutze|nutzen\s+sie|benutze|benutzen\s+sie|frage?|fragen\s+sie|lass(?:e|en\s+sie)?|starte|rufe?|mit"
    r"|utilis(?:e|er|ez|ons)|demand(?:e|er|ez)(?:\s+à)?|appel(?:le|er|ez)|lanc(?:e|er|ez)|avec"
    r"|usa|usar|utiliza|utilizar|llama|pregunta|pide|lanza|con|utilize|chame|pergunte|pe[çc]a|rode|com)"
)
"""Verbs and prepositions straight before a name, of somebody who wants the agent."""
_FOREIGN_AGENT = r"(?:エージェント|에이전트|代理|智能体|智能體|子代理)"

NOT_WANTED = re.compile(
    r"(?:(?<!why )\bnot|n['\u2019]t|\bnever|\bdont|\bwithout|\binstead\s+of|\brather\s+than|\bother\s+than|\bunlike|\bexcept"
    r"|\bavoid|\bstop|\bignor(?:e|ing)|\bskip|\bbypass|\bexclud(?:e|ing)|\bdisable|\bforget(?!\s+to)|\bno\s+longer"
    r"|\bnicht|\bkeine?n?|\bohne|\bstatt|\bnie|\bpas|\bsans|\bjamais|\bau\s+lieu\s+d[e']|\bsin|\bnunca"
    r"|\ben\s+(?:vez|lugar)\s+de|\bsem|\bem\s+vez\s+d[eo]|\bn[ãa]o|\bwhy|\bdid)(?:\s+\w+){0,3}\s*(?:l['\u2019])?$"
    r"|\bno(?:\s+\w+){0,2}\s*$"
    r"|(?:不要|不用|别|別|勿|不必)[^\s,\uff0c。]{0,4}\s*$",
    re.IGNORECASE,
)
"""Before a name: what says that it is not to be used."""

NOT_WANTED_AFTER = re.compile(
    r"[\"'`\u201d\u2019]?\s*(?:" + AGENT + r"\s+|" + _FOREIGN_AGENT + r")?(?:nicht\b|pas\b"
    r"|(?:を|は|に)?\s*(?:使わ|つかわ|呼ば|頼ま|不要)"
    r"|(?:를|을|는|은|에게)?\s*(?:사용하지|쓰지|부르지|호출하지))",
    re.IGNORECASE,
)
"""The same behind a name, where German, Japanese and Korean put it."""

SPOKEN_OF_BEFORE = re.compile(
    r"\b(?:add|change|configure|create|debug|delete|edit|extend|fix|improve|modify|refactor|remove|rename|rewrite"
    r"|update|write|used|asked|called|ran|invoked|tried|started|launched|spawned|describe|explain|show|list|document|install|build|implement|about|from|of|what(?:['\u2019]s|\s+is|\s+does|\s+did)"
    r"|how\s+(?:does|do|did|is)|which|does|is|was|class|function|method|module|called|named)"
    r"\s+(?:" + ARTICLES + r"\s+)?[\"'`\u201c\u2018]?$",
    re.IGNORECASE,
)
"""Before "the x agent": what is to be done to it, or asked about it, and not done by it."""

SPOKEN_OF_AFTER = re.compile(
    r"(?:['\u2019]s\b|\s+(?:is|was|were|has|had|did|does|doesn['\u2019]t|didn['\u2019]t|isn['\u2019]t|wasn['\u2019]t|keeps?|kept|gave|gives"
    r"|said|says|told|made|makes|wrote|got|took|went|broke|breaks|found|thought|seems?|fails|returns|(?!need)\w{2,}ed"
    r"|hat|war|ist|a|est|dio|dijo|hizo|es|deu|disse|fez|é)\b)",
    re.IGNORECASE,
)
"""Behind "the x agent": what it has done or is like, said by somebody who reports on it."""

ASKED_AFTER = re.compile(
    r"\s*(?:" + _FOREIGN_AGENT + r""
    r"|を(?:使|つか|呼)|に(?:聞|頼|任|依頼|お願)|で"
    r"|(?:를|을)\s*(?:사용|써|쓰|호출|실행|불)|에게)"
)
"""Behind a name, where Japanese and Korean say what is to be done with it, and Chinese that it is an agent."""
ASKED_BEFORE = re.compile(r"(?:使用|调用|調用|让|讓|用|请|請|叫)\s*[\"'`]?$")
