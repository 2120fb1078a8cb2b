"""Prompts that go on with what is under way, or are mere talk: `yes, do it`, `try the other one`, `thanks`.

They name no work of their own, so whatever agent a word of theirs meets, it is met by chance.
"""

import re

from baton.engine.routing.words.text import words

LONGEST = 100
"""Characters; what is longer says more than that something is to go on."""
_MOST_WORDS = 14
_SAID = """
    yes yeah yep yup no nope nah ok okay okey sure fine alright right exactly correct please pls thanks thank thx cheers
    hi hello hey morning evening afternoon night bye goodbye sorry oops wow cool nice great good perfect excellent awesome
    super lovely amazing best well done haha lol hm hmm huh ah oh uh um wait stop go ahead on continue proceed resume
    start keep going do does did it its that this these those them they he she one ones two both all none neither either
    same other another next last previous first second third fourth final rest remaining again once more back still yet
    now then later today tomorrow so and or but also too as well just only really very much the a an i you we me us my
    your our is are was were be been am can could will would should shall may might must have has had not dont didnt
    doesnt isnt cant wont of in on at to for from with by about into up down out off over under what which who where when
    why how if try tried work works worked working ready finish finished finally status task tasks todo step steps option
    options way thing things stuff something anything everything nothing line file files part parts version above below
    mind never changed keep old new looks look like seems sounds let lets want wanted need needed think thought know see
    say said tell told show explain mean means repeat here there bit lot quite enough long short shorter longer bigger
    smaller better worse wrong bad broken fails failed fail error errors problem issue
    ja nein doch weiter mach mache machs bitte danke genau gut passt prima super los nochmal noch einmal das es dies so
    reicht fertig stimmt richtig falsch und oui non vas y merci accord ça ca encore une fois parfait bien
    sí si claro hazlo hazla continúa continua sigue adelante gracias otra vez eso vale perfecto bueno
    sim não nao pode continuar continue faça faz isso de novo obrigado obrigada certo ótimo otimo beleza
"""
_TALK = frozenset(_SAID.split())
_POINTS = """
    it its that this these those them one ones both same other another next last previous rest again above below you your
    here there back yes yeah yep no ok okay sure great perfect thanks good
"""
_POINTING = frozenset(_POINTS.split())
"""Words that point at what was said before: with one of them, a single word of work is about that."""
# Chinese, Japanese and Korean: no spaces tell words apart, so whole phrases are matched.
_PHRASES = re.compile(
    r"(?:好的?|是的?|对的?|行|可以|不对|不是|不要|继续|請繼續|繼續|谢谢|謝謝|再试一次|再来一次|下一个|没问题|请|吧|了|嗯|停"
    r"|はい|いいえ|ええ|うん|続けて|つづけて|ください|下さい|お願いします|ありがとう|ございます|もう一度|次|それで|大丈夫|です|ね|よ|了解"
    r"|네|예|아니요?|계속|해\s?주세요|해줘|하세요|진행|감사합니다|고마워요?|다시|한\s?번|더|좋아요?|좋습니다|그래|응|됐어요?"
    r"|[\s、。\uff0c\uff0e\uff01\uff1f!?,.~…])+"
)


def is_follow_up(prompt: str) -> bool:
    """Return whether a prompt names no work of its own: it is about what was done or said before, or about nothing."""
    text = prompt.strip()
    if len(text) > LONGEST:
        return False
    if _PHRASES.fullmatch(text):
        return True
    said = words(text)
    if not 0 < len(said) <= _MOST_WORDS:
        return False
    telling = [word for word in said if word not in _TALK and not word.isdigit()]
    return not telling or (len(telling) == 1 and not _POINTING.isdisjoint(said))
